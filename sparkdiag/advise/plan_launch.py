"""A plan written out: docker run, a systemd user unit, a sparkrun recipe, and the two nodes of a pair."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from .plan_inputs import PlannedModel
from .plan_settings import PORT, RAY_PORT, Nodes, Setting, model_word, short_name

__all__ = ["Launch", "docker_launches", "router", "shell", "sparkrun_launches"]


@dataclass(frozen=True, slots=True)
class Launch:
    """One text to run or to save."""

    form: str
    """docker-run, unit, recipe, commands, or config."""
    node: str
    """Where it goes: the node's address, `each node`, or `control`."""
    file: str | None
    """Where to save it; None: run it."""
    text: str
    argv: tuple[str, ...] = ()
    """The words of a docker run."""


def docker_launches(
    model: PlannedModel,
    engine: str,
    docker: Sequence[Setting],
    image: Setting,
    options: Sequence[Setting],
    *,
    nodes: Nodes | None = None,
    links: Sequence[Sequence[Setting]] = (),
) -> list[Launch]:
    """docker run and the unit, for one node or (`nodes` with each node's `links`) for a pair."""  # fmt: skip
    name = short_name(model.name)
    if nodes is None:
        argv = _run(name, docker, (), image, _serve(model, engine, options))
        return _forms(name, "the node", argv, "llm")
    ours = [setting for setting in docker if setting.name != "-p"]
    out: list[Launch] = []
    for rank, (own, link) in enumerate(zip((nodes.head, nodes.worker), links, strict=True)):
        tail = (
            _ray(model, options, nodes, rank)
            if engine == "vllm"
            else ["python3", "-m", "sglang.launch_server", *_sglang(model, options, nodes, rank)]
        )
        entry = ["--entrypoint", "bash"] if engine == "vllm" else []
        argv = _run(name, ours, link, image, tail, entry)
        out += _forms(name, own, argv, "llm-head" if rank == 0 else "llm-worker")
    return out


def _run(
    name: str, docker: Iterable[Setting], link: Iterable[Setting], image: Setting, tail: Sequence[str],
    entry: Sequence[str] = (),
) -> list[str]:  # fmt: skip
    words = [word for setting in (*docker, *link) for word in setting.words()]
    return ["docker", "run", "-d", "--name", name, *words, *entry, *image.words(), *tail]


def _serve(model: PlannedModel, engine: str, options: Sequence[Setting]) -> list[str]:
    """What follows the image: vLLM's has `vllm serve` as its entrypoint, SGLang's passes commands through."""
    words = [word for setting in options for word in setting.words()]
    if engine == "vllm":
        return [model_word(model), *words]
    where = ["--host", "0.0.0.0", "--port", str(PORT)]
    return ["python3", "-m", "sglang.launch_server", "--model-path", model_word(model), *words, *where]


def _sglang(model: PlannedModel, options: Sequence[Setting], nodes: Nodes, rank: int) -> list[str]:
    words = [word for setting in options for word in setting.words()]
    ranks = ["--nnodes", "2", "--node-rank", str(rank), "--dist-init-addr", f"{nodes.head}:20000"]
    return ["--model-path", model_word(model), *words, *ranks, "--host", "0.0.0.0", "--port", str(PORT)]


def _ray(model: PlannedModel, options: Sequence[Setting], nodes: Nodes, rank: int) -> list[str]:
    """Ray in the foreground on the worker; on the head Ray, a wait for the second GPU, and the server."""
    if rank == 1:
        join = f"ray start --address={nodes.head}:{RAY_PORT} --node-ip-address={nodes.worker} --block"
        return ["-c", f"until {join}; do sleep 10; done"]
    start = f"ray start --head --node-ip-address={nodes.head} --port={RAY_PORT}"
    wait = "until ray status | grep -q '/2.0 GPU'; do sleep 5; done"
    words = ["vllm", "serve", model_word(model), *(word for setting in options for word in setting.words())]
    serve = shlex.join([*words, "--host", "0.0.0.0", "--port", str(PORT)])
    return ["-c", f"{start} && {wait}; exec {serve}"]


def _forms(name: str, node: str, argv: list[str], unit: str) -> list[Launch]:
    text = f"docker rm -f {name} 2>/dev/null || true\n{shell(argv)}"
    saved = f"~/.config/systemd/user/{unit}.service"
    return [
        Launch("docker-run", node, None, text, tuple(argv)),
        Launch("unit", node, saved, _unit(name, argv)),
        Launch("commands", node, None, f"systemctl --user daemon-reload\nsystemctl --user enable --now {unit}\n"
               "sudo loginctl enable-linger $USER"),
    ]  # fmt: skip


def _unit(name: str, argv: Sequence[str]) -> str:
    """A unit that makes the container anew at each start, in the foreground so that systemd watches it."""
    words = ["/usr/bin/docker", "run", "--rm", *(word for word in argv[2:] if word != "-d")]
    return "\n".join(
        [
            "[Unit]",
            f"Description=LLM server {name}",
            "[Service]",
            f"ExecStartPre=-/usr/bin/docker rm -f {name}",
            "ExecStart=" + _folded([_systemd(word) for word in words]),
            f"ExecStop=/usr/bin/docker stop -t 60 {name}",
            "Restart=on-failure",
            "RestartSec=30",
            "TimeoutStartSec=infinity",
            "[Install]",
            "WantedBy=default.target",
        ]
    )


def _systemd(word: str) -> str:
    """A word as systemd reads it: %h for the home, %% and $$ for the signs themselves, quotes where needed."""
    word = word.replace("%", "%%").replace("$HOME", "%h").replace("$", "$$")
    if word and not any(sign in word for sign in " \t\"'\\;&|<>()"):
        return word
    return '"' + word.replace("\\", "\\\\").replace('"', '\\"') + '"'


def shell(argv: Sequence[str]) -> str:
    """Words as one command for a shell, an option a line; only $HOME is left for the shell to fill in."""
    return _folded([_quoted(word) for word in argv])


def _quoted(word: str) -> str:
    if word.startswith("$HOME/"):
        rest = word.removeprefix("$HOME")
        if shlex.quote(rest) == rest:
            return f'"{word}"'
    return shlex.quote(word)


def _folded(words: Sequence[str]) -> str:
    """Lines that end in a backslash: a new one before each option."""
    lines: list[list[str]] = [[]]
    for at, word in enumerate(words):
        if at > 2 and (word.startswith("-") or _begins(words, at)):
            lines.append([])
        lines[-1].append(word)
    return " \\\n  ".join(" ".join(line) for line in lines if line)


def _begins(words: Sequence[str], at: int) -> bool:
    """A free word (image, model, program) after an option's value begins a line as well."""
    return not words[at - 1].startswith("-") and at > 3 and words[at - 2].startswith("-")


def sparkrun_launches(
    model: PlannedModel, image: Setting, options: Sequence[Setting], *, hosts: Sequence[str], pair: bool
) -> list[Launch]:
    """A recipe, and the command that runs it: on both hosts at once, or once for each."""
    name = short_name(model.name)
    file = f"{name}.yaml"
    text = _recipe(model, image, options, pair)
    runs = (
        [f"sparkrun run {file} -H {','.join(hosts)}"]
        if pair
        else [f"sparkrun run {file} -H {host} --solo" for host in hosts]
    )
    return [
        Launch("recipe", "control", file, text),
        Launch("commands", "control", None, "\n".join([f"sparkrun recipe validate {file}", *runs])),
    ]


_KEYS = {
    "--served-model-name": "served_model_name", "--max-model-len": "max_model_len",
    "--gpu-memory-utilization": "gpu_memory_utilization", "--max-num-seqs": "max_num_seqs",
    "--reasoning-parser": "reasoning_parser", "--tool-call-parser": "tool_call_parser",
    "--tensor-parallel-size": "tensor_parallel", "--pipeline-parallel-size": "pipeline_parallel",
}  # fmt: skip
"""Options that stand under `defaults`, where -o can change them."""


def _recipe(model: PlannedModel, image: Setting, options: Sequence[Setting], pair: bool) -> str:
    defaults = ["  host: 0.0.0.0", f"  port: {PORT}"]
    words = ["      {model}", "      --host {host}", "      --port {port}"]
    for setting in options:
        key = _KEYS.get(setting.name)
        if key is not None and setting.value is not None:
            defaults.append(f"  {key}: {_yaml(setting.value)}")
            words.append(f"      {setting.name} {{{key}}}")
        else:
            words.append("      " + shlex.join(setting.words()))
    return "\n".join(
        [
            f"model: {_yaml(model.repository or model_word(model))}",
            "runtime: vllm",
            f"container: {image.value}",
            *(["min_nodes: 2"] if pair else ["max_nodes: 1"]),
            "executor_config:",
            '  entrypoint: ""',
            "defaults:",
            *defaults,
            "command: |",
            "  cd /tmp && vllm serve \\",
            *(f"{word} \\" for word in words[:-1]),
            words[-1],
        ]
    )


def _yaml(value: str) -> str:
    """A scalar that YAML reads back as it is."""
    import json

    plain = value.replace(".", "", 1).isdigit() or (
        value[:1].isalpha() and all(c.isalnum() or c in "-_./" for c in value) and value.lower() not in _YAML_WORDS
    )
    return value if plain else json.dumps(value, ensure_ascii=False)


_YAML_WORDS = {"true", "false", "yes", "no", "on", "off", "null", "none", "y", "n"}


def router(nodes: Nodes) -> list[Launch]:
    """A plain router over two equal servers, for who has no proxy of his own."""
    text = "\n".join(
        [
            "upstream llm {",
            "  least_conn;",
            f"  server {nodes.head}:{PORT};",
            f"  server {nodes.worker}:{PORT};",
            "}",
            "server {",
            "  listen 8080;",
            "  client_max_body_size 64m;",
            "  location / {",
            "    proxy_pass http://llm;",
            "    proxy_http_version 1.1;",
            "    proxy_buffering off;",
            "    proxy_read_timeout 3600s;",
            "  }",
            "}",
        ]
    )
    argv = (
        "docker", "run", "-d", "--name", "llm-router", "--network", "host",
        "-v", "$HOME/llm-router.conf:/etc/nginx/conf.d/default.conf:ro", "nginx:1.28",
    )  # fmt: skip
    run = f"docker rm -f llm-router 2>/dev/null || true\n{shell(argv)}"
    return [
        Launch("config", nodes.head, "~/llm-router.conf", text),
        Launch("docker-run", nodes.head, None, run, argv),
    ]
