"""What a typed command is about: the program under its wrappers, where it ran, its share of the output."""

from __future__ import annotations

import json
import re

from ..records import dataclass
from .patterns import lazy
from .shell import after_words, lists, pipeline, words
from .wordlists import words_of

__all__ = ["Inner", "assign_output", "least_lines", "log_source", "unwrap"]

_MAX_WRAPS = 6
_SSH_VALUES = words_of("-o -p -i -l -L -R -D -F -J -W -b -c -E -e -I -m -O -Q -S -w -B")
_EXEC_VALUES = words_of("-e --env -u --user -w --workdir --env-file --index --detach-keys -f --file -p --project-name")
_TRIVIAL = words_of("true exit hostname whoami uptime echo : id pwd")
_SSH_ERROR = lazy(
    r"ssh: |Permission denied \(|Host key verification failed|banner exchange|"
    r"Connection (?:timed out|refused|closed|reset)|"
    r"Could not resolve hostname|kex_exchange_identification|Too many authentication failures|No route to host"
)


@dataclass(frozen=True, slots=True)
class Inner:
    """A command without its wrappers."""

    command: str
    node: str | None = None
    container: str | None = None


def unwrap(command: str, output: str = "") -> Inner:
    """Take off ssh, sudo, docker exec and their like. An ssh that failed, or asks nothing, stays as typed."""
    node = container = None
    for _ in range(_MAX_WRAPS):
        argv = words(command)
        if not argv:
            break
        program = argv[0].rsplit("/", 1)[-1]
        if program in ("sudo", "time", "nohup", "exec", "command", "nice", "ionice", "stdbuf") and len(argv) > 1:
            skip = 1
            while skip < len(argv) and argv[skip].startswith("-"):
                skip += 2 if argv[skip] in ("-u", "-g", "-n") else 1
            rest = after_words(command, skip)
        elif program == "timeout":
            skip = next((i for i, w in enumerate(argv[1:], 1) if not w.startswith("-")), 0) + 1
            rest = after_words(command, skip)
        elif program == "ssh":
            at = _skip_options(argv, 1, _SSH_VALUES)
            if at >= len(argv):
                break
            inner = after_words(command, at + 1)
            if not inner or _SSH_ERROR.search(output) or _trivial(inner):
                return Inner(command, argv[at].rsplit("@", 1)[-1], container)
            node = argv[at].rsplit("@", 1)[-1]
            rest = _unquoted(inner)
        elif program in ("docker", "podman", "nerdctl", "kubectl", "docker-compose") and "exec" in argv[1:4]:
            at = _skip_options(argv, argv.index("exec") + 1, _EXEC_VALUES)
            if at + 1 >= len(argv):
                break
            container = argv[at]
            if argv[at + 1] == "--":
                at += 1
            rest = after_words(command, at + 1)
        elif program in ("bash", "sh", "zsh") and len(argv) > 2 and re.fullmatch(r"-[a-z]*c", argv[1]):
            rest = argv[2]
        else:
            break
        if not rest or rest == command:
            break
        command = rest
    return Inner(command, node, container)


def _trivial(inner: str) -> bool:
    first = words(_unquoted(inner))
    return bool(first) and first[0] in _TRIVIAL and not lists(_unquoted(inner))[1:]


def _skip_options(argv: list[str], at: int, with_value: frozenset[str]) -> int:
    while at < len(argv) and argv[at].startswith("-"):
        at += 2 if argv[at] in with_value else 1
    return at


def _unquoted(text: str) -> str:
    """A remote command that was quoted as one word; pipes after the quote are the local shell's."""
    if text[:1] in "'\"":
        first = words(text)
        quote = text[0]
        end = text.find(quote, 1)
        return f"{first[0]}{text[end + 1 :]}" if first and end > 0 else text
    return text


_LOG_PROGRAMS = ("journalctl", "dmesg")


def log_source(command: str) -> tuple[bool, str | None]:
    """(the command prints a log, the container whose log it is)."""
    argv = list(pipeline(command)[0].words) if command else []
    if not argv:
        return False, None
    program = argv[0].rsplit("/", 1)[-1]
    if program in _LOG_PROGRAMS:
        return True, None
    if program in ("docker", "podman", "nerdctl", "kubectl") and "logs" in argv[1:3]:
        values = words_of("--tail -n --since --until -c --container --namespace")
        at = _skip_options(argv, argv.index("logs") + 1, values)
        name = argv[at] if at < len(argv) and argv[1] != "compose" else None
        return True, name
    if program == "docker" and argv[1:2] == ["compose"] and {"up", "logs"} & set(argv):
        return True, None
    if program == "sparkrun" and "logs" in argv[1:2]:
        return True, None
    if program in ("cat", "tail", "head", "less", "zcat", "grep", "zgrep", "sed", "awk"):
        return any(w.endswith((".log", ".log.1", ".out", ".err", "/syslog", ".log.gz")) for w in argv[1:]), None
    return False, None


_ONE_LINE = lazy(
    r"(?:date|uname|hostname|whoami|nproc|arch|pwd|id|getconf)\b|loginctl show-user .*-p \S+\s*\Z|"
    r"busctl get-property\b|"
    r"systemctl (?:--user )?is-(?:active|enabled)\b|cat /sys/class/thermal/\S+\s*\Z|cat /proc/sys/\S+\s*\Z|"
    r"git .*\blog -1\b|stat -c\b"
)
_NO_LINES = lazy(
    r"(?:sleep|cd|export|source|set|unset|true|mkdir|touch|rm|kill|pkill|sync|clear|chmod|wait)\b|[A-Za-z_]\w*=\S*\Z"
)


def _line_count(command: str) -> int | None:
    """How many lines a command prints, where its text alone says so."""
    stages = pipeline(command)
    if any(r.startswith((">", "1>", "&>")) and ">&" not in r for r in stages[-1].redirections):
        return 0
    last, text = stages[-1].words, stages[-1].text
    if not last:
        return 0
    program = last[0]
    if len(stages) == 1 and _NO_LINES.match(text):
        return 0
    if program in ("tail", "head") and len(stages) > 1:
        number = re.search(r"(?:-n ?|-)(\d+)\b", text)
        return 1 if number and number[1] == "1" else None
    if program == "grep" and any(re.fullmatch(r"-[a-zA-Z]*c[a-zA-Z]*", w) for w in last[1:]) and len(stages) > 1:
        return 1
    if program == "wc" and len(stages) > 1:
        return 1
    if len(stages) > 1:
        return None
    if program == "echo":
        return 1 + text.count("\\n") if "-e" in last else 1
    if program == "curl" and "-o" in last and any(w in ("-w", "--write-out") for w in last):
        return 1
    return 1 if _ONE_LINE.match(text) else None


def assign_output(command: str, lines: list[str]) -> list[tuple[str, int, int]]:
    """(command, first line, end) for each command of a `;` list; the whole as one where the shares can't be told."""
    whole = [(command, 0, len(lines))]
    parts = lists(command)
    if len(parts) < 2 or len(parts) > 12:
        return whole
    filled = len(lines)
    while filled and not lines[filled - 1].strip():
        filled -= 1
    shares = [_share(part, lines, filled) for part in parts]
    unknown = [i for i, share in enumerate(shares) if share is None]
    if not unknown:
        if sum(share or 0 for share in shares) != filled:
            return whole
    elif len(unknown) > 1:
        return whole
    else:
        rest = filled - sum(share or 0 for share in shares)
        if rest < 0:
            return whole
        shares[unknown[0]] = rest
    out, at = [], 0
    for part, share in zip(parts, shares, strict=True):
        out.append((part, at, at + (share or 0)))
        at += share or 0
    last, start, _ = out[-1]
    out[-1] = (last, start, len(lines))
    return out


def least_lines(command: str) -> int:
    """The fewest lines that a list of commands prints; 0 for a single command."""
    parts = lists(command)
    if not 1 < len(parts) <= 12:
        return 0
    counts = [_line_count(unwrap(part).command) for part in parts]
    return sum(1 if count is None else count for count in counts)


def _share(command: str, lines: list[str], filled: int) -> int | None:
    inner = unwrap(command).command
    first = pipeline(inner)[0].words
    if first and first[0] == "jq" and len(pipeline(inner)) == 1 and filled:
        filters = [w for w in first[1:] if not w.startswith("-")]
        if filters and re.fullmatch(r"\.[\w.\[\]\"]*", filters[0]):
            return _json_lines(lines[:filled])
    return _line_count(inner)


def _json_lines(lines: list[str]) -> int:
    """How many lines the first JSON value takes; one where it is no JSON."""
    if lines and lines[0].strip()[:1] in "{[":
        text = "\n".join(lines)
        try:
            _, end = json.JSONDecoder().raw_decode(text.lstrip())
        except (ValueError, RecursionError):
            return 1
        return text[: end + len(text) - len(text.lstrip())].count("\n") + 1
    return 1
