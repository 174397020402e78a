"""Plans: what is decided for which model, how it is written out, and that it reads back as what was meant."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparkdiag.advise.lint import lint_texts
from sparkdiag.advise.plan import Plan, make_plan
from sparkdiag.advise.plan_docker_options import DOCKER_RUN_OPTIONS, DOCKER_RUN_SHORT
from sparkdiag.advise.plan_inputs import NoConfigError, PlannedModel, read_model
from sparkdiag.advise.plan_memory import CEILING, HOST_GIB, Wish, available_gib
from sparkdiag.advise.plan_parsers import BY_FAMILY, BY_STYLE, BY_TAGS, BY_TYPE, choose_parsers
from sparkdiag.advise.plan_settings import Nodes
from sparkdiag.cli import main
from sparkdiag.derive import model_families
from sparkdiag.observe.launch_commands import launches_of_text
from sparkdiag.observe.launch_yaml import launches_of_recipe

from .corpus import FIXTURES

MODELS: dict[str, Any] = json.loads((FIXTURES / "models.json").read_text())["models"]
NVFP4 = {"quant_method": "modelopt", "quant_algo": "NVFP4", "ignore": ["lm_head"]}


def folder(name: str, template: str | None = None, **more: Any) -> PlannedModel:
    config = {**MODELS[name]["config"], **more}
    return PlannedModel(name=f"org/{name}", repository=f"org/{name}", path=None, config=config, template=template)


def plan(name: str, nodes: int = 1, runtime: str = "vllm", template: str | None = None, **more: Any) -> Plan:
    made = make_plan(folder(name, template, **more), nodes=nodes, runtime=runtime)
    assert made is not None
    return made


def value(made: Plan, name: str) -> str | None:
    return next((s.value or "" for s in made.settings if s.name == name), None)


@pytest.mark.parametrize(
    ("name", "more", "nodes", "arrangement"),
    [
        ("Qwen3-30B-A3B", {}, 1, "one-node"),
        ("Qwen3-30B-A3B", {}, 2, "each-node"),
        ("gpt-oss-120b", {}, 2, "each-node"),
        ("MiniMax-M2", {"quantization_config": NVFP4}, 1, "none"),
        ("MiniMax-M2", {"quantization_config": NVFP4}, 2, "pair"),
        ("Qwen3-235B-A22B", {"quantization_config": NVFP4}, 2, "pair"),
        ("MiniMax-M2", {}, 2, "none"),
        ("DeepSeek-V3", {}, 2, "none"),
    ],
)
def test_the_arrangement(name: str, more: dict[str, Any], nodes: int, arrangement: str) -> None:
    made = plan(name, nodes, **more)
    assert made.arrangement == arrangement
    assert bool(made.launches) == bool(made.settings) == (arrangement != "none")


def test_a_pair_stays_below_what_ran_out_of_memory() -> None:
    made = plan("MiniMax-M2", 2, quantization_config=NVFP4)
    assert 55 < made.fit.weights_gib < 75
    assert made.fit.need_gib <= 90
    assert plan("MiniMax-M2", 2).fit.need_gib > 110


def test_note_a_s_measurement() -> None:
    """0.45 of 121 GiB: 72 used, 48 available."""
    assert available_gib(0.45, 121.0) == pytest.approx(48, abs=1.5)
    assert pytest.approx(72, abs=0.5) == 0.45 * 121 + HOST_GIB
    assert available_gib(0.80) < 8
    assert available_gib(CEILING) >= 8


def test_the_share_is_decided_by_the_numbers_and_names_both_sources() -> None:
    small, large = plan("gpt-oss-20b"), plan("gpt-oss-120b")
    assert value(small, "--gpu-memory-utilization") == "0.45"
    assert 0.55 < float(value(large, "--gpu-memory-utilization") or 0) <= CEILING
    for made in (small, large):
        why = next(s.why for s in made.settings if s.name == "--gpu-memory-utilization")
        assert "0.45" in why
        assert "0.85" in why


def test_what_does_not_fit_is_cut_down_and_said() -> None:
    made = plan("Llama-3.3-70B-Instruct", quantization_config={"quant_method": "fp8"})
    assert made.arrangement == "one-node"
    assert made.fit.sequences < 4
    assert made.fit.reduced
    asked = make_plan(folder("Qwen3-32B"), wish=Wish(context=10**6, sequences=1))
    assert asked is not None
    assert asked.fit.context == 40960
    assert any("the model's own ends there" in words for words in asked.fit.reduced)


def test_every_setting_has_a_source_and_the_rules_named_exist() -> None:
    from sparkdiag.infer import shipped

    known = set(shipped().diagnoses)
    cases = [plan("gpt-oss-120b"), plan("Qwen3-30B-A3B", 2, quantization_config=NVFP4)]
    cases += [plan("MiniMax-M2", 2, quantization_config=NVFP4, auto_map={"AutoConfig": "x.Y"})]
    cases += [plan("Qwen3-8B", runtime="sglang"), plan("Qwen3-8B", runtime="sparkrun")]
    for made in cases:
        assert all(setting.why and setting.source for setting in made.settings)
        assert {setting.rule for setting in made.settings if setting.rule} <= known
        told = " ".join([*made.smoke, *(why for _, why in made.why_not)])
        assert set(re.findall(r"\b(?:[a-z]+)\.[a-z0-9]+(?:-[a-z0-9]+)+\b", told)) <= known


def test_kernels_by_format() -> None:
    assert value(plan("Qwen3-30B-A3B", quantization_config=NVFP4), "--moe-backend") == "marlin"
    assert value(plan("Qwen3-32B", quantization_config=NVFP4), "--moe-backend") is None
    mxfp4 = plan("gpt-oss-120b")
    assert value(mxfp4, "--moe-backend") is None
    assert any("output.mxfp4-marlin-corruption" in words for words in mxfp4.smoke)
    assert any("60 times slower" in why for _, why in mxfp4.why_not)


def test_mla_is_smoke_tested_first() -> None:
    assert plan("DeepSeek-V2-Lite-Chat").smoke[0].startswith("MLA: send one real request")
    assert not any("MLA" in words for words in plan("Qwen3-8B").smoke)


def test_an_image_must_know_what_a_new_transformers_wrote() -> None:
    said = [words for words in plan("Qwen3-8B", transformers_version="5.2.0").smoke if "transformers 5.2.0" in words]
    assert len(said) == 1
    assert "image.architecture-unknown" in said[0]
    for older in ({"transformers_version": "4.57.1"}, {"transformers_version": 5}, {}):
        assert not any("transformers" in words for words in plan("Qwen3-8B", **older).smoke)


def test_why_not_the_ngc_image() -> None:
    mixed = {"quant_method": "modelopt", "quant_algo": "MIXED_PRECISION"}
    told = dict(plan("Qwen3-30B-A3B", quantization_config=mixed).why_not)["NVIDIA's image (nvcr.io/nvidia/vllm)"]
    assert "MIXED_PRECISION" in told
    plain = dict(plan("Qwen3-30B-A3B").why_not)["NVIDIA's image (nvcr.io/nvidia/vllm)"]
    assert "MIXED_PRECISION" not in plain


SWITCH = "{%- if add_generation_prompt %}{%- if enable_thinking is defined and enable_thinking is false %}<think>\n\n"
SWITCH += "</think>\n\n{%- endif %}{%- endif %} tools <tool_call>"
PLAIN = "{%- if tools %}<tool_call>{%- endif %}{% for m in messages %}{{ m.content }}{% endfor %}"


@pytest.mark.parametrize(
    ("kind", "name", "template", "reasoning", "tools"),
    [
        ("qwen3_moe", "Qwen3-30B-A3B-Instruct-2507", PLAIN, None, "hermes"),
        ("qwen3_moe", "x", PLAIN + "<think>{% set a = 1 %}", "qwen3", "hermes"),
        ("qwen3_moe", "Qwen3-Coder-30B-A3B-Instruct", PLAIN + "<function=", None, "qwen3_xml"),
        ("qwen3_moe", "Qwen3-30B-A3B-Thinking-2507", None, "qwen3", "hermes"),
        ("qwen3", "Qwen3-8B", None, None, "hermes"),
        ("llama", "Llama-3.1-8B-Instruct", None, None, None),
        ("llama", "x", "{% if tools %}<|python_tag|>{% endif %}", None, "llama3_json"),
        ("llama", "DeepSeek-R1-Distill-Llama-70B", None, "deepseek_r1", None),
        ("gpt_oss", "gpt-oss-20b", None, "openai_gptoss", "openai"),
        ("glm4_moe", "GLM-4.5-Air", "{{ tools }}<arg_key>{{ '<think>' }}", "glm45", "glm45"),
        ("qwen3_5_moe", "Qwen3.5-35B-A3B", None, "qwen3", "qwen3_xml"),
        ("gemma3", "gemma-3-27b-it", None, None, None),
        ("gpt_oss", "gpt-oss-20b", "tools <|channel|>", "openai_gptoss", "openai"),
        ("glm4_moe", "a-tuned-glm", PLAIN, None, "hermes"),
        ("novel", "novel-7b", None, None, None),
        ("novel", "x", "{{ m.split('</think>') }}{% if add_generation_prompt %}<think>{% if a %}", "deepseek_r1", None),
    ],
)  # fmt: skip
def test_parsers(kind: str, name: str, template: str | None, reasoning: str | None, tools: str | None) -> None:
    chosen = choose_parsers({"model_type": kind}, name, template, "vllm")
    assert (chosen.reasoning, chosen.tools) == (reasoning, tools), chosen
    assert chosen.reasoning_why
    assert chosen.tools_why


VLLM_REASONING = {
    "deepseek_r1", "deepseek_v3", "deepseek_v4", "deepseek_v41", "poolside_v1", "cohere_command3",
    "cohere_command4", "ernie45", "gemma4", "glm45", "glm47", "ling3", "openai_gptoss", "granite",
    "granite_thinking_parser", "hf", "holo2", "hunyuan_a13b", "hy_v3", "hy_v4", "kimi_k2", "kimi_k3", "k2_horizon",
    "mimo", "minicpmv", "minimax_m2", "minimax_m2_append_think", "minimax_m3", "mistral", "nemotron_v3", "olmo3",
    "plamo3", "muse_glimmer", "qwen3", "seed_oss", "step3", "step3p5", "inkling",
}  # fmt: skip
VLLM_TOOLS = {
    "deepseek_v3", "deepseek_v31", "deepseek_v32", "deepseek_v4", "cohere_command3", "cohere_command4", "ernie45",
    "glm45", "glm47", "granite-20b-fc", "granite", "granite4", "hermes", "poolside_v1", "hunyuan_a13b", "hy_v3",
    "internlm", "jamba", "lfm2", "kimi_k2", "kimi_k3", "llama3_json", "llama4_json", "llama4_pythonic", "longcat",
    "mimo", "minimax_m2", "minimax_m3", "minicpm5", "mistral", "olmo3", "openai", "phi4_mini_json", "pythonic",
    "qwen3_coder", "qwen3_xml", "seed_oss", "step3", "step3p5", "inkling", "xlam", "gigachat3", "functiongemma",
    "gemma4", "apertus", "solar_open2",
}  # fmt: skip
SGLANG_REASONING = {
    "apertus2509", "deepseek-r1", "deepseek-v3", "deepseek-v4", "glm45", "hunyuan", "gpt-oss", "kimi", "kimi_k2",
    "kimi_k3", "mimo", "poolside_v1", "qwen3", "qwen3-thinking", "minimax", "minimax-append-think", "minimax-m3",
    "step3", "step3p5", "mistral", "nemotron_3", "interns1", "gemma4", "inkling", "cohere_command4", "telechat4",
}  # fmt: skip
SGLANG_TOOLS = {
    "apertus2509", "cohere_command4", "deepseekv3", "deepseekv31", "deepseekv32", "deepseekv4", "dots", "glm",
    "glm45", "glm47", "gpt-oss", "k2_horizon", "kimi_k2", "kimi_k3", "lfm2", "ling3", "llama3", "mimo", "minicpm5",
    "mistral", "muse", "poolside_v1", "pythonic", "qwen", "qwen25", "qwen3_coder", "spark25", "step3", "step3p5",
    "minimax-m2", "minimax-m3", "trinity", "interns1", "hermes", "hunyuan", "gigachat3", "gigachat35", "gemma4",
    "inkling",
}  # fmt: skip


def test_parser_names_are_registered_in_the_engines() -> None:
    reasoning = {"vllm": VLLM_REASONING, "sglang": SGLANG_REASONING}
    tools = {"vllm": VLLM_TOOLS, "sglang": SGLANG_TOOLS}
    tables = [(by, reasoning) for by in BY_TAGS.values()] + [(by, tools) for by in BY_STYLE.values()]
    for thought, calls in BY_FAMILY.values():
        tables += [(thought, reasoning), (calls, tools)]
    for named, registered in tables:
        for engine, name in named.items():
            assert name in registered[engine], (engine, name)


def test_every_family_has_its_parsers_or_needs_none() -> None:
    known = {family.name for family in (*BY_TYPE.values(), *(family for _, family in model_families._FAMILIES))}
    assert known - set(BY_FAMILY) == {"deepseek-v2", "gemma", "qwen3-embedding"}


# --- written out, and read back ---------------------------------------------------------------------------------------


def docker_words(made: Plan) -> list[list[str]]:
    """Each docker run as a shell would split it."""
    out = []
    for launch in made.launches:
        if launch.form == "docker-run":
            command = launch.text.split("\n", 1)[1].replace("\\\n", " ")
            words = shlex.split(command)
            assert words == list(launch.argv)
            out.append(words)
    return out


def check_docker(words: list[str]) -> list[str]:
    """Only options that docker run knows stand before the image; what follows the image is returned."""
    assert words[:2] == ["docker", "run"]
    at = 2
    switches = {"detach", "interactive", "tty", "rm", "init", "privileged"}
    while words[at].startswith("-"):
        name = words[at].lstrip("-")
        long = DOCKER_RUN_SHORT[name] if not words[at].startswith("--") else name
        assert long in DOCKER_RUN_OPTIONS, words[at]
        at += 1 if long in switches else 2
    return words[at:]


@pytest.mark.parametrize("runtime", ["vllm", "sglang"])
@pytest.mark.parametrize(("name", "nodes"), [("Qwen3-30B-A3B", 1), ("Qwen3-30B-A3B", 2), ("MiniMax-M2", 2)])
def test_docker_run_survives_a_shell_and_has_known_options(name: str, nodes: int, runtime: str) -> None:
    made = plan(name, nodes, runtime, quantization_config=NVFP4)
    words = docker_words(made)
    assert len(words) == (1 if nodes == 1 else 2)
    for one in words:
        rest = check_docker(one)
        assert rest[0].rsplit(":", 1)[-1] not in ("latest", "nightly")


def test_the_launch_reads_back_as_the_settings() -> None:
    made = plan("Qwen3.5-35B-A3B", auto_map={"AutoConfig": "a.B"})
    (run,) = [launch for launch in made.launches if launch.form == "docker-run"]
    (unit,) = [launch for launch in made.launches if launch.form == "unit"]
    for text, form in ((run.text, "docker-run"), (unit.text, "unit")):
        (shown,) = launches_of_text(text)
        assert (shown.form, shown.engine, shown.model) == (form, "vllm", "org/Qwen3.5-35B-A3B")
        flags = {f"--{key.replace('_', '-')}": value for key, value in shown.flags.items()}
        for setting in made.settings:
            if setting.place == "engine":
                assert str(flags[setting.name]) == (setting.value or "True"), setting.name


def test_a_pair_s_nodes_have_the_environment_of_the_link() -> None:
    link = Nodes("198.51.100.1", "198.51.100.2", "enp1s0f1np1")
    made = make_plan(folder("MiniMax-M2", quantization_config=NVFP4), nodes=2, link=link)
    assert made is not None
    runs = {launch.node: launch for launch in made.launches if launch.form == "docker-run"}
    assert set(runs) == {"198.51.100.1", "198.51.100.2"}
    for own, launch in runs.items():
        words = list(launch.argv)
        assert f"VLLM_HOST_IP={own}" in words
        assert {"GLOO_SOCKET_IFNAME=enp1s0f1np1", "NCCL_SOCKET_IFNAME=enp1s0f1np1"} <= set(words)
    head, worker = (runs[host].argv[-1] for host in ("198.51.100.1", "198.51.100.2"))
    assert "ray start --head --node-ip-address=198.51.100.1" in head
    assert "ray start --address=198.51.100.1:6379 --node-ip-address=198.51.100.2" in worker
    (shown,) = launches_of_text(runs["198.51.100.1"].text)
    assert (shown.flags["tensor_parallel_size"], shown.flags["pipeline_parallel_size"]) == (1, 2)
    assert shown.flags["distributed_executor_backend"] == "ray"


def test_two_nodes_that_each_hold_the_model_get_a_router() -> None:
    made = plan("gpt-oss-120b", 2)
    (config,) = [launch for launch in made.launches if launch.form == "config"]
    assert "server 192.0.2.1:8000;" in config.text
    assert "server 192.0.2.2:8000;" in config.text
    assert not any(setting.name == "--pipeline-parallel-size" for setting in made.settings)


def test_a_unit_makes_the_container_anew_and_in_the_foreground() -> None:
    (unit,) = [launch for launch in plan("gpt-oss-20b").launches if launch.form == "unit"]
    assert "ExecStartPre=-/usr/bin/docker rm -f gpt-oss-20b" in unit.text
    assert "run --rm" in unit.text
    assert " -d " not in unit.text
    assert "%h/.cache" in unit.text
    assert "$HOME" not in unit.text


@pytest.mark.parametrize(("name", "nodes", "runs"), [("Qwen3-8B", 2, 2), ("Qwen3-8B", 1, 1), ("MiniMax-M2", 2, 1)])
def test_a_sparkrun_recipe_reads_back(name: str, nodes: int, runs: int) -> None:
    made = plan(name, nodes, "sparkrun", quantization_config=NVFP4)
    recipe, commands = made.launches
    (shown,) = launches_of_recipe(recipe.text)
    assert shown.model == f"org/{name}"
    assert shown.docker["entrypoint"] == ""
    assert shown.flags["gpu_memory_utilization"] == float(value(made, "--gpu-memory-utilization") or 0)
    assert commands.text.count("sparkrun run") == runs
    assert shown.flags.get("pipeline_parallel_size", 1) == (2 if name == "MiniMax-M2" else 1)


NAMES = st.text(min_size=1, max_size=30).filter(lambda text: text.strip("/ ") != "")


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(sorted(MODELS)), st.sampled_from([None, NVFP4, {"quant_method": "fp8"}]), st.sampled_from([1, 2]),
    st.sampled_from(["vllm", "sglang", "sparkrun"]), NAMES, st.booleans(), st.integers(1, 300_000), st.integers(1, 64),
)  # fmt: skip
def test_any_plan_is_written_so_that_it_reads_back(
    name: str, quantization: dict[str, Any] | None, nodes: int, runtime: str, called: str, code: bool, context: int,
    sequences: int,
) -> None:  # fmt: skip
    config = {**MODELS[name]["config"], "auto_map": {"a": "b"} if code else None}
    if quantization:
        config["quantization_config"] = quantization
    model = PlannedModel(name=called, repository=None, path=f"/models/{called}", config=config)
    made = make_plan(model, nodes=nodes, runtime=runtime, wish=Wish(context, sequences))
    assert made is not None
    json.dumps(made.to_dict())
    for words in docker_words(made):
        check_docker(words)
    for launch in made.launches:
        if launch.form == "recipe":
            (shown,) = launches_of_recipe(launch.text)
            assert shown.engine == "vllm"
    assert made.fit.utilization <= CEILING
    if made.arrangement != "none":
        assert made.fit.need_gib <= made.fit.budget_gib + 0.01


# --- linted -----------------------------------------------------------------------------------------------------------

OF_THE_MODEL = {
    "launch.dense-over-moe", "throughput.hybrid-below-promise", "persistence.linger-unchecked",
    "reasoning.crossnode-budget",
}  # fmt: skip
"""What lint says of a sound launch as well: of the model itself, and of what a unit cannot show; and who published
the weights and the image (provenance), which no launch can change."""
TEMPLATES = {
    None: "",
    "plain": PLAIN,
    "coder": PLAIN + "<function=",
    "switch": SWITCH,
    "always": "{{ m.split('</think>')[-1] }}{% if add_generation_prompt %}<think>\n{% endif %}",
    "glm": "{% if tools %}<arg_key>{% endif %}{{ '<think>' }}</think>",
}
EXTENSIONS = {"docker-run": "sh", "unit": "service", "recipe": "yaml"}
FORMATS: list[dict[str, Any] | None] = [
    None, NVFP4, {"quant_method": "fp8"}, {"quant_method": "awq", "bits": 4, "group_size": 128},
    {
        "quant_method": "compressed-tensors",
        "config_groups": {"g": {"weights": {"num_bits": 4, "type": "float", "group_size": 16}}},
    },
]  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(sorted(MODELS)), st.sampled_from(FORMATS), st.sampled_from([1, 2]),
    st.sampled_from(["vllm", "sglang", "sparkrun"]), st.sampled_from(sorted(TEMPLATES, key=str)), st.booleans(),
    st.booleans(), st.sampled_from([None, 8192, 100_000]),
)  # fmt: skip
def test_plans_lint_clean(
    name: str, quantization: dict[str, Any] | None, nodes: int, runtime: str, template: str | None, code: bool,
    cached: bool, context: int | None,
) -> None:  # fmt: skip
    config = {**MODELS[name]["config"]}
    config |= {"auto_map": {"AutoConfig": "a.B"}} if code else {}
    if quantization and "quantization_config" not in config:
        config["quantization_config"] = quantization
    model = PlannedModel(
        name=f"org/{name}", repository=f"org/{name}" if cached else None, path=None if cached else f"/srv/{name}",
        config=config, template=None if template is None else TEMPLATES[template],
    )  # fmt: skip
    made = make_plan(
        model,
        nodes=nodes,
        runtime=runtime,
        wish=Wish(context),
        link=Nodes("198.51.100.1", "198.51.100.2", "enp1s0f0np0"),
    )
    assert made is not None
    files = [(f"{name}/config.json", json.dumps(config))]
    if template is not None:
        files.append((f"{name}/chat_template.jinja", TEMPLATES[template]))
    for launch in made.launches:
        if launch.form in EXTENSIONS and not launch.text.startswith("docker rm -f llm-router"):
            report = lint_texts([(f"launch.{EXTENSIONS[launch.form]}", launch.text), *files])
            found = {diagnosis.id: diagnosis.cause for diagnosis in report.diagnoses}
            told = {one for one in found if not one.startswith("provenance.")}
            assert told <= OF_THE_MODEL, (launch.text, found)
            assert report.verdict != "fault"


def test_a_spoilt_plan_does_not_lint_clean() -> None:
    """The check can fail: a parser that the model's template rules out is named."""
    made = plan("Qwen3-30B-A3B", template=PLAIN)
    (run,) = [launch for launch in made.launches if launch.form == "docker-run"]
    spoilt = run.text + " --reasoning-parser qwen3"
    files = [("m/config.json", json.dumps(made.model.config)), ("m/chat_template.jinja", PLAIN)]
    assert lint_texts([("launch.sh", spoilt), *files]).verdict == "fault"


# --- the command line -------------------------------------------------------------------------------------------------


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "Qwen3-30B-A3B"
    path.mkdir()
    (path / "config.json").write_text(json.dumps(MODELS["Qwen3-30B-A3B"]["config"]))
    return path


def test_the_page_keeps_to_eighty_columns(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", str(model), "--explain"]) == 0
    text = capsys.readouterr().out
    assert "one node" in text
    assert "Why not" in text
    long = [line for line in text.splitlines() if len(line) > 80 and str(model) not in line]
    assert long == []


def test_json_has_the_settings_with_their_sources(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", str(model / "config.json"), "--nodes", "2", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["arrangement"] == "each-node"
    assert all({"name", "value", "why", "rule", "source"} <= set(setting) for setting in data["settings"])
    assert data["speed"]["decode"]["low"] < data["speed"]["decode"]["high"] < data["speed"]["decode"]["ceiling"]


def test_exit_statuses(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", str(model / "nothing")]) == 3
    assert main(["plan", "org/never-fetched"]) == 3
    assert "hf download org/never-fetched" in " ".join(capsys.readouterr().out.split())
    (model / "config.json").write_text('{"model_type": "x"}')
    assert main(["plan", str(model)]) == 3
    (model / "config.json").write_text("[1, 2]")
    assert main(["plan", str(model)]) == 2
    for wrong in (["--nodes", "3"], ["--runtime", "llama"], ["--hosts", "a"], ["--context", "0"]):
        assert main(["plan", str(model), *wrong]) == 2
    assert main(["plan"]) == 2


def test_a_folder_is_read_with_all_its_documents(model: Path) -> None:
    (model / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "LlamaTokenizerFast"}))
    (model / "tokenizer.json").write_text('{"decoder": {"type": "ByteLevel"}}')
    (model / "chat_template.jinja").write_text(SWITCH)
    (model / "hf_quant_config.json").write_text(json.dumps({"quantization": {"quant_algo": "NVFP4"}}))
    (model / "model-00001-of-00001.safetensors").write_bytes(b"0" * 10)
    (model / "my_reasoning_parser.py").write_text("")
    read = read_model(str(model))
    assert (read.decoder, read.weights, read.parser_files) == ("ByteLevel", True, ("my_reasoning_parser.py",))
    made = make_plan(read)
    assert made is not None
    assert made.size.quantization.format == "nvfp4"
    assert value(made, "--reasoning-parser") == "qwen3"
    assert any("Ġ" in words for words in made.smoke)


def test_the_local_cache_is_looked_into(tmp_path: Path) -> None:
    snapshot = tmp_path / "models--org--name" / "snapshots" / "abc"
    snapshot.mkdir(parents=True)
    (snapshot / "config.json").write_text(json.dumps(MODELS["Qwen3-8B"]["config"]))
    assert read_model("org/name", str(tmp_path)).repository == "org/name"
    with pytest.raises(NoConfigError):
        read_model("org/other", str(tmp_path))
