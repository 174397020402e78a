"""Arguments as programs print them: docker inspect, ps, env, and engines' own lists of what they were started with."""

from __future__ import annotations

import re
from typing import Any

from .launch_commands import Shown, engine_args, of_container, shown_of_argv
from .launch_docker import from_inspect
from .launch_options import Options, add, typed
from .patterns import lazy
from .shell import pipeline

__all__ = ["args_of_line", "launches_of_output"]

_ENV_LINE = lazy(r"(?:export )?([A-Za-z_]\w*)=(.*)\Z")
_GREPS = frozenset({"grep", "egrep", "rg", "head", "tail", "sed", "awk", "cut"})
_ENGINE_WORD = lazy(r"sglang|launch_server|context-length|mem-fraction-static|model-path|tp-size")


def launches_of_output(command: str, text: str, document: Any) -> list[Shown]:
    """What the output of docker inspect, ps or env tells of a launch; nothing for other commands."""
    stages = pipeline(command)
    argv = list(stages[0].words)
    if not argv or not text.strip():
        return []
    program = argv[0].rsplit("/", 1)[-1]
    partial = any(stage.words[:1] and stage.words[0] in _GREPS for stage in stages[1:])
    if program in ("docker", "podman", "nerdctl") and "inspect" in argv[1:3] and "image" not in argv[1:2]:
        return _inspected(argv, text, document, partial)
    if (
        program in ("ps", "pgrep", "pstree")
        or (program == "cat" and "cmdline" in argv[-1])
        or (program == "tr" and "cmdline" in command)
    ):
        return _processes(text.replace("\x00", " "), partial)
    if program in ("env", "printenv") or (program == "cat" and argv[-1].endswith((".env", "environ"))):
        env = _environment(text)
        return [Shown("env", env=env, partial=partial, command=command)] if env else []
    return []


def _inspected(argv: list[str], text: str, document: Any, partial: bool) -> list[Shown]:
    if isinstance(document, list) and document and all(isinstance(item, dict) for item in document):
        containers = [from_inspect(item) for item in document[:16]]
        return [of_container(c, "docker-run") for c in containers if c is not None]
    asked = " ".join(argv)
    name = next((w for w in argv[argv.index("inspect") + 1 :] if not w.startswith("-") and "{{" not in w), None)
    if ".Env" in asked or ("Config" in asked and _environment(text)):
        env = _environment(text)
        return [Shown("env", env=env, partial=True, container=name)] if env else []
    if ".Args" not in asked and ".Cmd" not in asked and ".Path" not in asked:
        return []
    words = [str(item) for item in document] if isinstance(document, list) else joined_words(text)
    shown = _from_words(words, partial)
    if shown is None:
        return []
    shown.container = name
    return [shown]


def _environment(text: str) -> Options:
    pairs = [match for line in text.split("\n") if (match := _ENV_LINE.match(line.strip()))]
    return {match[1]: typed(match[1], match[2]) for match in pairs}


def joined_words(text: str) -> list[str]:
    """Arguments joined by blanks, which lost their quotes: a JSON value stays in one piece."""
    out: list[str] = []
    at = 0
    while at < len(text):
        if text[at] in " \t\n":
            at += 1
            continue
        end = _json_end(text, at) if text[at] in "{[" else at
        while end < len(text) and text[end] not in " \t\n":
            end = _json_end(text, end) if text[end] in "{[" else end + 1
        word = text[at:end]
        if len(word) > 1 and word[0] == word[-1] and word[0] in "'\"":
            word = word[1:-1]
        out.append(word)
        at = end
    return out


def _json_end(text: str, at: int) -> int:
    """Past a JSON value, or the stand-in of a secret; past its bracket where it is neither."""
    import json

    if text.startswith("[secret: ", at):
        return text.find("]", at, at + 80) + 1 or at + 1
    try:
        return json.JSONDecoder().raw_decode(text, at)[1]
    except (ValueError, RecursionError):
        return at + 1


def _from_words(words: list[str], partial: bool) -> Shown | None:
    if not words:
        return None
    at = next(
        (i for i in range(len(words)) if not words[i].startswith("-") and shown_of_argv(words[i:]) is not None), None
    )
    if at is not None and at < 4:
        shown = shown_of_argv(words[at:])
        assert shown is not None
        shown.form, shown.partial = "args", partial
    else:
        engine = "sglang" if _ENGINE_WORD.search(" ".join(words)) else "vllm"
        if not any(word.startswith("--") for word in words):
            return None
        shown = engine_args("args", engine, words[1:] if words[0] == "serve" else words)
        shown.partial = partial
        if partial:
            shown.engine = engine if _telling(shown.flags) else None
    shown.command = " ".join(words)[:2000]
    return shown


def _telling(flags: Options) -> bool:
    return bool(
        {"model", "model_path", "gpu_memory_utilization", "max_model_len", "mem_fraction_static", "context_length"}
        & set(flags)
    )


def _processes(text: str, partial: bool) -> list[Shown]:
    """Launches in a process list; a list that was grepped down to options is one launch in part."""
    out: list[Shown] = []
    for number, line in enumerate(text.split("\n")):
        if "grep" in line.split("--")[0]:
            continue
        found = re.search(
            r"(?:\S*/)?(?:vllm serve|python[\d.]* (?:-\w+ )*-m (?:vllm|sglang)|sglang serve|llama-server )", line
        )
        if found:
            shown = shown_of_argv(
                joined_words(re.sub(r"(python[\d.]*) (?:-[a-ln-z]+ )+", r"\1 ", line[found.start() :]))
            )
            if shown is not None:
                shown.form, shown.line, shown.command = "args", number, line.strip()[:2000]
                out.append(shown)
    headed = re.match(r"\s*(?:USER|UID|PID|PPID)\s", text)
    if out or not partial or headed:
        return out
    shown = _from_words(joined_words(text), True)
    if shown is None:
        pairs = re.findall(r"[\"']?(\w+)[\"']?: ?[\"']?([\w.-]+)", text)
        flags: Options = {}
        for key, value in pairs if text.strip().count("\n") < 3 else []:
            if key == "num_speculative_tokens":
                add(flags, "speculative_config.num_speculative_tokens", value, None)
        shown = Shown("args", flags=flags, partial=True) if flags else None
    return [shown] if shown is not None else []


_NON_DEFAULT = lazy(r"non-default args: (\{.*)")
_SERVER_ARGS = lazy(r"server_args=(?:ServerArgs|PortArgs)?\((.*)|server_args: ?(\{.*)")
MAX_ARGS = 60_000


def args_of_line(message: str) -> Shown | None:
    """The launch that an engine prints of itself, in one line; None for any other line."""
    found = _NON_DEFAULT.search(message)
    if found:
        flags = _literal(found[1])
        return None if flags is None else _printed("vllm", flags)
    found = _SERVER_ARGS.search(message)
    if found:
        flags = _literal(found[2]) if found[2] else _call(found[1])
        return None if not flags else _printed("sglang", flags)
    return None


def _printed(engine: str, values: dict[str, Any]) -> Shown:
    flags: Options = {}
    for name, value in values.items():
        add(flags, str(name), value, engine)
    model = flags.get("model") or flags.get("model_path") or flags.get("model_tag")
    return Shown("args", engine, model=str(model) if model else None, flags=flags)


def _literal(text: str) -> dict[str, Any] | None:
    """A dictionary as Python prints it; of one with values that are no literals, the others."""
    text = text[:MAX_ARGS]
    end = _closing(text)
    import ast

    try:
        value = ast.literal_eval(text[:end])
        return value if isinstance(value, dict) else None
    except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
        return _pairs(text[1 : end - 1], re.compile(r"\s*['\"]([\w.-]+)['\"]:\s*"))


def _call(text: str) -> dict[str, Any]:
    """Keyword arguments as a dataclass prints them."""
    text = text[:MAX_ARGS]
    end = _closing("(" + text) - 1
    return _pairs(text[: end - 1], re.compile(r"\s*(\w+)="))


def _closing(text: str) -> int:
    """Past the bracket that closes the first one; the end of a text that was cut."""
    depth, quote, at = 0, "", 0
    while at < len(text):
        char = text[at]
        if quote:
            if char == "\\":
                at += 1
            elif char == quote:
                quote = ""
        elif char in "'\"":
            quote = char
        elif char in "([{":
            depth += 1
        elif char in ")]}":
            depth -= 1
            if depth == 0:
                return at + 1
        at += 1
    return len(text) + 1


def _pairs(text: str, key: re.Pattern[str]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for part in _split(text):
        match = key.match(part)
        if match:
            value = part[match.end() :].strip()
            import ast

            try:
                out[match[1]] = ast.literal_eval(value)
            except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
                out[match[1]] = _word(value)
    return out


def _word(value: str) -> str:
    """`<Enum.name: 'x'>` and its like by what they stand for."""
    found = re.fullmatch(r"<[\w.]+: '?([^'>]*)'?>", value)
    return found[1] if found else value.strip("'\"")


def _split(text: str) -> list[str]:
    """At the commas outside brackets and quotes."""
    out, start, depth, quote, at = [], 0, 0, "", 0
    while at < len(text):
        char = text[at]
        if quote:
            if char == "\\":
                at += 1
            elif char == quote:
                quote = ""
        elif char in "'\"":
            quote = char
        elif char in "([{<":
            depth += 1
        elif char in ")]}>":
            depth -= 1
        elif char == "," and depth <= 0:
            out.append(text[start:at])
            start = at + 1
        at += 1
    out.append(text[start:])
    return out
