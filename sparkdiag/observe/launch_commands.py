"""Commands, scripts and units that start servers, read into what they ask for."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import field, replace
from typing import Any

from ..records import dataclass
from .launch_docker import FROM_CALLER, Container, image_engine, read_run
from .launch_options import Options, read_options, typed
from .patterns import lazy
from .shell import balanced, leading_assignments, lists, pipeline, words
from .transcript_commands import unwrap
from .wordlists import words_of

__all__ = ["Shown", "engine_args", "launches_of_command", "launches_of_text", "of_container", "shown_of_argv"]

MAX_COMMANDS = 400
_SECRET = lazy(r"\[secret: [^\]\n]{1,60}\]")
_NBSP = "\u00a0"
_ASSIGNMENT = lazy(r"([A-Za-z_]\w*)\+?=(.*)\Z", re.S)
_DIRECTIVE = lazy(r"(?P<key>[A-Z][a-z][A-Za-z]+)=(?P<value>.*)\Z", re.S)
_SYSTEMD = words_of(
    "Restart RestartSec TimeoutStartSec TimeoutStopSec User Group Type KillMode PrivateTmp RemoveIPC LimitMEMLOCK "
    "After Requires Wants WantedBy EnvironmentFile WorkingDirectory MemoryMax OOMScoreAdjust"
)  # fmt: skip


@dataclass(slots=True)
class Shown:
    """One launch as it was read, before it becomes a fact."""

    form: str
    engine: str | None = None
    image: str | None = None
    model: str | None = None
    runtime: str | None = None
    command: str = ""
    flags: Options = field(default_factory=dict)
    env: Options = field(default_factory=dict)
    docker: Options = field(default_factory=dict)
    partial: bool = False
    container: str | None = None
    line: int = 0


def launches_of_text(text: str) -> list[Shown]:
    """All launches of a script, unit or environment file; variables that it sets count for all that follow."""
    text = _SECRET.sub(lambda m: m.group().replace(" ", _NBSP), text)
    env: Options = {}
    unit: Options = {}
    out: list[Shown] = []
    for number, command in _commands(text):
        directive = _DIRECTIVE.match(command)
        if directive:
            _unit_line(directive, number, env, unit, out)
            continue
        assigned = _assignments(command)
        if assigned is not None:
            env.update(assigned)
            continue
        out += launches_of_command(command, number)
    if unit:
        for shown in out:
            shown.form = "unit"
            shown.docker.update({f"unit_{key.lower()}": value for key, value in unit.items()})
    for shown in out:
        if shown.image is None:
            shown.env = {**env, **shown.env}
        else:
            shown.env = {k: env.get(k, v) if v == FROM_CALLER else v for k, v in shown.env.items()}
    if not out and env:
        out = [Shown("env", env=env, partial=True)]
    return [_readable(shown) for shown in out]


def _commands(text: str) -> list[tuple[int, str]]:
    """(line index, command) of every command in a script, continuation lines joined."""
    out: list[tuple[int, str]] = []
    current: list[str] = []
    begin = 0
    for number, line in enumerate(text.split("\n")):
        stripped = line.strip()
        if not current and (not stripped or stripped.startswith(("#", "[Unit]", "[Service]", "[Install]"))):
            continue
        if current and stripped.startswith("#"):
            continue
        if not current:
            begin = number
        current.append(line)
        joined = "\n".join(current)
        if stripped.endswith("\\") or (not balanced(joined) and len(current) < 100):
            continue
        out.append((begin, joined.strip()))
        current = []
        if len(out) >= MAX_COMMANDS:
            break
    if current:
        out.append((begin, "\n".join(current).rstrip("\\").strip()))
    return out


def _unit_line(found: re.Match[str], number: int, env: Options, unit: Options, out: list[Shown]) -> None:
    key, value = found["key"], found["value"].strip()
    if key == "Environment":
        for word in words(value):
            name, equals, text = word.partition("=")
            if equals:
                env[name] = typed(name, text)
    elif key.startswith("ExecStart") and key != "ExecStartPre":
        out += [replace(shown, form="unit") for shown in launches_of_command(value.lstrip("-+!@"), number)]
    elif key in _SYSTEMD:
        unit[key] = typed(key, value)


def _assignments(command: str) -> Options | None:
    """The variables that a line of nothing but assignments sets; None for any other line."""
    argv = words(command)
    if argv[:1] == ["export"] or argv[:2] == ["set", "-gx"]:
        argv = argv[1:] if argv[0] == "export" else [f"{argv[2]}={' '.join(argv[3:])}"] if len(argv) > 2 else []
    elif argv[:1] == ["-"]:
        argv = argv[1:]
    matches = [_ASSIGNMENT.match(word) for word in argv]
    if not argv or not all(matches):
        return None
    return {m[1]: typed(m[1], m[2]) for m in matches if m is not None}


def launches_of_command(command: str, line: int = 0) -> list[Shown]:
    """All launches that one command line holds, its lists and wrappers included."""
    out: list[Shown] = []
    env: Options = {}
    parts = [command] if re.match(r"\s*(?:for|while|if)\s", command) else lists(command)
    for part in parts[:MAX_COMMANDS]:
        assigned = _assignments(part)
        if assigned is not None:
            env.update(assigned)
            continue
        shown = _one(part)
        if shown is not None:
            shown.env = {**env, **shown.env}
            shown.command, shown.line = " ".join(command.replace("\\\n", " ").split()), line
            out.append(shown)
    return out


def _one(part: str) -> Shown | None:
    env: Options = {}
    inner = unwrap(_without_assignments(part, env))
    argv = list(pipeline(_without_assignments(inner.command, env))[0].words)
    if argv[:1] == ["env"]:
        argv = argv[1:]
        while argv and (match := _ASSIGNMENT.match(argv[0])):
            env[match[1]] = typed(match[1], match[2])
            argv = argv[1:]
    nested = lists(inner.command)
    if len(nested) > 1:
        found = [one for one in map(_one, nested[:20]) if one is not None]
        shown = found[-1] if found else None
    else:
        shown = shown_of_argv(argv)
    if shown is None:
        return None
    shown.env = {**env, **shown.env}
    shown.container = shown.container or inner.container
    return shown


def _without_assignments(command: str, env: Options) -> str:
    """The command after `A=b C=d`, which go into `env`."""
    pairs, rest = leading_assignments(command)
    env.update({name: typed(name, value) for name, value in pairs})
    return rest


def shown_of_argv(argv: Sequence[str]) -> Shown | None:
    """A launch from the words of one simple command; None where they start no server."""
    if not argv:
        return None
    program = argv[0].rsplit("/", 1)[-1]
    if program in ("docker", "podman", "nerdctl"):
        at = next((i for i, word in enumerate(argv[1:4], 1) if word == "run"), None)
        if at is not None and "compose" in argv[1:at]:
            return None  # runs a service of a file, with that file's options
        return None if at is None else of_container(read_run(argv[at + 1 :]), "docker-run")
    if program in ("nohup", "exec", "time", "stdbuf", "taskset", "numactl", "setsid", "uv"):
        at = next(
            (i for i, word in enumerate(argv[1:], 1) if _starts_engine(argv[i:]) and not word.startswith("-")), None
        )
        return None if at is None else shown_of_argv(argv[at:])
    if program in ("bash", "sh") and "-c" in argv[1:3] and len(argv) > argv.index("-c") + 1:
        found = launches_of_command(argv[argv.index("-c") + 1])
        return found[-1] if found else None
    if program in ("mpirun", "torchrun", "accelerate"):
        at = next((i for i in range(1, len(argv)) if _starts_engine(argv[i:])), None)
        return None if at is None else shown_of_argv(argv[at:])
    return _engine(argv)


def _starts_engine(argv: Sequence[str]) -> bool:
    return _engine(argv) is not None


def _engine(argv: Sequence[str]) -> Shown | None:
    program = argv[0].rsplit("/", 1)[-1]
    if program == "vllm" and argv[1:2] == ["serve"]:
        return engine_args("vllm-serve", "vllm", argv[2:])
    if re.fullmatch(r"python[\d.]*", program) and "-m" in argv[1:4]:
        at = argv.index("-m")
        module = argv[at + 1] if at + 1 < len(argv) else ""
        if module.startswith("vllm.entrypoints"):
            rest = argv[at + 2 :]
            return engine_args("vllm-serve", "vllm", rest[1:] if rest[:1] == ["serve"] else rest)
        if module.startswith("sglang.launch_server"):
            return engine_args("sglang", "sglang", argv[at + 2 :])
    if program == "sglang" and argv[1:2] == ["serve"]:
        return engine_args("sglang", "sglang", argv[2:])
    if program == "ray" and argv[1:2] == ["start"]:
        return Shown("ray-start", flags=read_options(argv[2:], None)[0])
    if program == "sparkrun" and "run" in argv[1:4]:
        return _sparkrun(argv)
    if program == "llama-server":
        return engine_args("llama-server", "llamacpp", argv[1:])
    if program == "trtllm-serve":
        return engine_args("trtllm-serve", "tensorrt-llm", argv[1:])
    if program in ("transformers", "ollama") and argv[1:2] == ["serve"]:
        return engine_args(f"{program}-serve", program, argv[2:])
    return None


def _sparkrun(argv: Sequence[str]) -> Shown:
    flags, free = read_options([word for word in argv[1:] if word != "run"], None)
    shown = Shown("sparkrun-run", "sparkrun", flags=flags)
    if free:
        shown.flags["recipe"] = free[0]
    return shown


def engine_args(form: str, engine: str | None, argv: Sequence[str]) -> Shown:
    """A launch from the arguments to an engine."""
    flags, free = read_options(argv, engine)
    model = flags.get("model", flags.get("model_path", flags.get("model_tag")))
    if model is None and free and engine in ("vllm", "transformers", "tensorrt-llm"):
        model = free[0]
        free = free[1:]
    if free:
        flags["_free"] = tuple(free[:20])
    return Shown(form, engine, model=str(model) if model is not None else None, flags=flags)


_PROGRAMS = lazy(
    r"(?:.*/)?(?:vllm|python[\d.]*|sglang|bash|sh|ray|llama-server|trtllm-serve|env|exec|nohup|uv|torchrun)\Z"
)


def of_container(container: Container, form: str) -> Shown:
    """A launch from a container: its command where it names a program, else arguments to its image's entrypoint."""
    engine = image_engine(container.image)
    argv = container.argv
    entrypoint = container.options.get("entrypoint")
    if isinstance(entrypoint, str) and entrypoint:
        argv = [*entrypoint.split(), *argv]
    elif isinstance(entrypoint, tuple):
        argv = [*entrypoint, *argv]
    inner = shown_of_argv(argv) if argv and _PROGRAMS.match(argv[0]) else None
    if inner is None and argv and engine in ("vllm", "sglang") and not (isinstance(entrypoint, str) and entrypoint):
        rest = argv[1:] if argv[0] == "serve" else argv
        if rest and (
            rest[0].startswith("-") or ("/" in rest[0] and not rest[0].startswith(("/bin", "/usr", "/opt", "./")))
        ):
            inner = engine_args(form, engine, rest)
    shown = inner if inner is not None else Shown(form)
    served = inner.engine if inner is not None else None
    shown.form, shown.engine, shown.image = form, served or engine, container.image
    shown.env = {**container.env, **shown.env}
    shown.docker = {**container.options, **shown.docker}
    if container.argv:
        shown.docker["command"] = " ".join(container.argv)[:2000]
    shown.container = container.name
    return shown


def _readable(shown: Shown) -> Shown:
    """Stand-ins of secrets with their blanks again."""

    def plain(value: Any) -> Any:
        if isinstance(value, str):
            return value.replace(_NBSP, " ")
        return tuple(plain(item) for item in value) if isinstance(value, tuple) else value

    for table in (shown.flags, shown.env, shown.docker):
        for key, value in table.items():
            table[key] = plain(value)
    shown.command = plain(shown.command)
    return shown
