"""`sparkdiag lint`: places of findings, kinds of input, exit status, memory sum, patched tokenizer, hostile input."""

from __future__ import annotations

import io
import json
import struct
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sparkdiag
from sparkdiag.advise.lint import exit_status, lint_case, lint_targets, lint_texts
from sparkdiag.cli import main
from sparkdiag.diagnosis import Diagnosis, Report
from sparkdiag.facts.setup import MemoryFit
from sparkdiag.infer import shipped
from sparkdiag.observe.parser_files import read_parser_file
from tests.lint_corpus import documents_of, setups

LAUNCH = """docker rm -f llm
docker run -d --name llm --gpus all --ipc=host \\
  -e GLOO_SOCKET_IFNAME=enp1s0f0np0 \\
  vllm/vllm-openai:v0.25.1 \\
  --model /models/ore-30b \\
  --gpu-memory-utilization 0.7 \\
  --enable-auto-tool-choice \\
  --max-model-len 32768
"""
CONFIG: dict[str, Any] = {
    "architectures": ["Qwen3MoeForCausalLM"], "model_type": "qwen3_moe", "hidden_size": 2048, "num_hidden_layers": 48,
    "num_attention_heads": 32, "num_key_value_heads": 4, "head_dim": 128, "intermediate_size": 6144,
    "moe_intermediate_size": 768, "num_experts": 128, "num_experts_per_tok": 8, "vocab_size": 151936,
    "max_position_embeddings": 40960, "tie_word_embeddings": False,
}  # fmt: skip


def finding(report: Report, name: str) -> Diagnosis:
    found = [d for d in report.claimed if d.id == name]
    assert found, [d.id for d in report.claimed]
    return found[0]


def places(d: Diagnosis) -> list[tuple[str, int | None]]:
    return [(e.source, e.line) for e in d.evidence]


# -- where a finding stands ------------------------------------------------------------------------------


def test_a_finding_about_an_option_stands_on_its_own_line() -> None:
    report = lint_texts([("launch.sh", LAUNCH)])
    found = finding(report, "launch.setting-malformed")
    assert ("launch.sh", 7) in places(found)
    assert found.evidence[0].text == "--enable-auto-tool-choice \\"


def test_a_finding_about_two_files_names_a_line_of_each() -> None:
    text = json.dumps(CONFIG, indent=1)
    line = next(n for n, words in enumerate(text.split("\n"), 1) if "max_position" in words)
    report = lint_texts([("launch.sh", LAUNCH.replace("32768", "65536")), ("ore-30b/config.json", text)])
    assert {("launch.sh", 8), ("ore-30b/config.json", line)} <= set(
        places(finding(report, "launch.context-beyond-native"))
    )


def test_a_default_of_a_recipe_stands_where_it_is_set() -> None:
    recipe = """model: feldspar/ore-30b
runtime: vllm
container: ghcr.io/quartz17/spark-vllm:v1.0.0
defaults:
  gpu_memory_utilization: 0.92
command: |
  vllm serve {model} \\
    --gpu-memory-utilization {gpu_memory_utilization}
"""
    found = finding(lint_texts([("ore.yaml", recipe)]), "memory.utilization-too-high")
    assert places(found) == [("ore.yaml", 5)]


def test_services_of_a_compose_file_are_judged_each_by_itself() -> None:
    service = "    image: vllm/vllm-openai:v0.25.1\n    ipc: host\n    command: --model feldspar/ore-{0}b --port {0}\n"
    compose = "services:\n  one:\n" + service.format(8001) + "  two:\n" + service.format(8002)
    report = lint_texts([("compose.yaml", compose)])
    hidden = [d for d in report.claimed if d.id == "launch.gpu-not-passed"]
    assert sorted((d.where["container"], d.evidence[0].line) for d in hidden) == [("one", 2), ("two", 6)]


def test_other_findings_of_one_id_are_told_as_well() -> None:
    both = LAUNCH.replace("0.7", "85").replace("32768", "32768 --max-num-seqs 64 --max-num-batched-tokens 32")
    found = finding(lint_texts([("launch.sh", both)]), "launch.setting-malformed")
    told = [found.cause, *found.notes]
    assert all(any(word in words for words in told) for word in ("utilization", "max-num-seqs", "auto-tool-choice"))


def test_variables_and_arrays_of_a_script_are_filled_in() -> None:
    script = """MODEL="Qwen/Qwen3-Coder-30B-A3B-Instruct"
PARSER=${PARSER:-hermes}
ARGS=(
  --enable-auto-tool-choice   # needed for tools
  --tool-call-parser "$PARSER"
)
vllm serve "$MODEL" --gpu-memory-utilization 0.7 "${ARGS[@]}"
"""
    found = finding(lint_texts([("serve.sh", script)]), "output.tool-call-parser-wrong")
    assert ("serve.sh", 5) in places(found)


# -- what is judged --------------------------------------------------------------------------------------


@pytest.mark.parametrize("setup", setups(), ids=lambda setup: setup.id)
def test_no_rule_of_lint_speaks_of_pasted_text(setup: Any) -> None:
    texts = [one.text for one in documents_of(setup.path)]
    rules = {d.rule for d in sparkdiag.diagnose_text(*texts).diagnoses}
    assert [name for name in rules if name.startswith("lint-")] == []


def test_every_rule_of_lint_asks_for_what_only_lint_makes() -> None:
    own = {"setup", "fit", "placement", "entry", "origin", "parser-file"}
    for rule in shipped().rules:
        if rule.at.startswith(("rules/lint_", "rules/provenance")):
            for variant in rule.when.variants:
                assert {p.kind for p in variant.positive} & own, rule.id


def test_the_measured_site_is_what_the_sum_says() -> None:
    """At 0.45 a host in daily use had 72 GB used and 48 available while it served."""
    facts = lint_case(documents_of_texts([("launch.sh", LAUNCH.replace("0.7", "0.45"))])).facts
    (fit,) = [fact for fact in facts if isinstance(fact, MemoryFit)]
    assert fit.used_gib == pytest.approx(72, abs=2)
    assert fit.left_low_gib == pytest.approx(48, abs=2)


def documents_of_texts(texts: list[tuple[str, str]]) -> Any:
    from sparkdiag.advise.documents import documents

    return documents(texts)


def test_both_sources_are_named_where_they_differ() -> None:
    found = finding(lint_texts([("launch.sh", LAUNCH.replace("0.7", "0.85"))]), "memory.utilization-too-high")
    assert "0.45" in found.cause
    assert "0.85" in found.cause


def test_a_clean_setup_is_healthy_and_without_probes() -> None:
    report = lint_texts([("launch.sh", LAUNCH.replace("  --enable-auto-tool-choice \\\n", ""))])
    assert (report.verdict, report.claimed, report.next_probes) == ("healthy", (), ())


def test_engines_agree() -> None:
    texts = [("launch.sh", LAUNCH), ("ore-30b/config.json", json.dumps(CONFIG))]
    one, other = (lint_texts(texts, rule_engine=engine).to_dict() for engine in ("python", "auto"))
    assert one["diagnoses"] == other["diagnoses"]


def test_an_unknown_engine_is_refused() -> None:
    with pytest.raises(sparkdiag.errors.UsageError, match="'vlm' is no engine"):
        lint_texts([("launch.sh", LAUNCH)], engines={"vlm": "1.0"})


# -- parser files ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("decorator", "names"),
    [
        ('@ReasoningParserManager.register_module("ore_v2")', ("ore_v2",)),
        ('@ReasoningParserManager.register_module(name=["ore_v2", "ore"])', ("ore_v2", "ore")),
        ("@ReasoningParserManager.register_module()", ("OreParser",)),
        ("@reasoning.ReasoningParserManager.register_module('ore')", ("ore",)),
    ],
)
def test_names_are_read_and_nothing_is_run(decorator: str, names: tuple[str, ...]) -> None:
    source = f"raise SystemExit('imported')\n{decorator}\nclass OreParser:\n    pass\n"
    found = read_parser_file(source, "ore_parser.py")
    assert found is not None
    assert (found.reasoning, found.source.line) == (names, 2)


def test_lazy_registrations_and_other_pythons_are_read() -> None:
    lazy = read_parser_file(
        'ToolParserManager.register_lazy_module(name="ore", module_path="m", class_name="C")', "p.py"
    )
    assert lazy is not None
    assert lazy.tools == ("ore",)
    broken = read_parser_file('print "old"\n@ReasoningParserManager.register_module("ore")\nclass P: pass\n', "p.py")
    assert broken is not None
    assert broken.reasoning == ("ore",)
    assert read_parser_file("def register(): pass", "p.py") is None


# -- files -----------------------------------------------------------------------------------------------


@pytest.fixture
def model(tmp_path: Path) -> Path:
    folder = tmp_path / "ore-30b"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(CONFIG))
    (folder / "tokenizer_config.json").write_text('{"tokenizer_class": "LlamaTokenizer", "add_bos_token": false}')
    (folder / "tokenizer.json").write_text('{"decoder": {"type": "ByteLevel"}, "model": {"type": "BPE"}}')
    (folder / "README.md").write_text("a model\n")
    return folder


def test_a_model_folder_is_read_with_what_its_weights_say(model: Path) -> None:
    header = json.dumps({"model.norm.weight": {"dtype": "BF16", "shape": [4], "data_offsets": [0, 8]}}).encode()
    (model / "model.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + bytes(8))
    report = lint_targets([str(model)])
    assert [d.id for d in report.claimed if d.kind == "fault"] == ["output.byte-level-artifacts"]
    assert report.problems == ()


def test_the_tokenizer_is_patched_into_a_new_folder(model: Path, tmp_path: Path, capsys: Any) -> None:
    new = tmp_path / "patched"
    before = {file.name: file.read_bytes() for file in model.iterdir()}
    assert main(["lint", str(model), "--write-tokenizer", str(new), "--format", "line"]) == 1
    assert json.loads((new / "tokenizer_config.json").read_text()) == {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "add_bos_token": False,
    }
    assert (new / "tokenizer.json").read_bytes() == before["tokenizer.json"]
    assert {file.name: file.read_bytes() for file in model.iterdir()} == before
    assert str(new) in capsys.readouterr().err
    assert lint_targets([str(new)]).verdict == "healthy"


def test_an_existing_folder_is_not_written_into(model: Path, tmp_path: Path, capsys: Any) -> None:
    assert main(["lint", str(model), "--write-tokenizer", str(tmp_path)]) == 2
    assert "exists already" in capsys.readouterr().err
    assert main(["lint", str(tmp_path / "ore-30b" / "config.json"), "--write-tokenizer", str(tmp_path / "n")]) == 2
    assert not (tmp_path / "n").exists()


def test_a_folder_of_launches_is_read(tmp_path: Path) -> None:
    (tmp_path / "launch.sh").write_text(LAUNCH)
    (tmp_path / "notes.bin").write_bytes(bytes(range(256)))
    assert [d.id for d in lint_targets([str(tmp_path)]).claimed] == ["launch.setting-malformed"]


# -- the command line ------------------------------------------------------------------------------------


def test_exit_status(tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    launch = tmp_path / "launch.sh"
    launch.write_text(LAUNCH)
    assert main(["lint", str(launch)]) == 1
    launch.write_text(LAUNCH.replace("  --enable-auto-tool-choice \\\n", ""))
    assert main(["lint", str(launch)]) == 0
    launch.write_text(launch.read_text().replace("v0.25.1", "nightly"))
    assert main(["lint", str(launch)]) == 0
    assert main(["lint", str(launch), "--fail-on", "advice"]) == 1
    launch.write_text("buy tea\n")
    assert main(["lint", str(launch)]) == 3
    assert main(["lint", str(tmp_path / "nothing.sh")]) == 2
    assert main(["lint"]) == 2
    assert main(["lint", str(launch), "--fail-on", "limit"]) == 2
    capsys.readouterr()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(LAUNCH.encode())))
    assert main(["lint", "-"]) == 1
    assert "standard input:7" in capsys.readouterr().out


def test_a_command_after_two_dashes(capsys: Any) -> None:
    words = ["docker", "run", "--rm", "--gpus", "all", "--ipc=host", "vllm/vllm-openai:v0.25.1", "--model", "a/b"]
    assert main(["lint", "--json", "--", *words, "--gpu-memory-utilization", "85"]) == 1
    report = json.loads(capsys.readouterr().out)
    assert report["diagnoses"][0]["id"] == "launch.setting-malformed"
    assert report["diagnoses"][0]["evidence"][0]["source"] == "command"


def test_versions_that_no_tag_tells(tmp_path: Path, capsys: Any) -> None:
    launch = tmp_path / "stop.sh"
    launch.write_text("sparkrun stop ore-30b\n")
    assert main(["lint", str(launch)]) == 0
    assert main(["lint", str(launch), "--engine", "sparkrun=0.3.3"]) == 1
    assert main(["lint", str(launch), "--engine", "sparkrun"]) == 2
    assert main(["lint", str(launch), "--engine", "docker=29.0"]) == 2
    capsys.readouterr()


# -- hostile input ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "services:\n  a: &a [x, x]\n  b: [*a, *a]\n",
        "services: " + "[" * 3000,
        "model: x\nruntime: vllm\ncontainer: [1, 2]\ncommand: {a: 1}\n",
        '{"architectures": ' + "[" * 5000,
        '{"architectures": [7], "model_type": 3, "num_hidden_layers": -1, "hidden_size": "x", "head_dim": 1e999}',
        "vllm serve m --gpu-memory-utilization nan --max-model-len -5 --tensor-parallel-size 99999999999",
        "docker run 'unbalanced vllm/vllm-openai --model",
        "A=$A\nB=${B:-${B}}\nvllm serve $A $B\n",
        "\0\0\0",
    ],
)
@pytest.mark.parametrize("name", ["x.yaml", "config.json", "tokenizer.json", "launch.sh", "parser.py", "t.jinja"])
def test_odd_texts_are_judged_or_passed_over(name: str, text: str) -> None:
    report = lint_texts([(name, text), ("launch.sh", LAUNCH)])
    assert report.verdict == "fault"
    assert exit_status(report) == 1


ODD = st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=5), st.lists(st.integers(), max_size=2))


@given(st.dictionaries(st.sampled_from(sorted(CONFIG)), ODD))
@settings(max_examples=60, deadline=None)
def test_configs_with_values_of_any_kind(odd: dict[str, Any]) -> None:
    text = json.dumps({**CONFIG, **odd})
    assert lint_texts([("launch.sh", LAUNCH), ("ore-30b/config.json", text)]).verdict == "fault"


def test_what_cannot_be_read_is_told(tmp_path: Path) -> None:
    (tmp_path / "huge.sh").write_bytes(b"#" * (5 * 2**20))
    (tmp_path / "binary.sh").write_bytes(bytes(range(32)) * 100)
    report = lint_targets([str(tmp_path / "huge.sh"), str(tmp_path / "binary.sh")])
    assert len(report.problems) == 2
    assert exit_status(report) == 3
