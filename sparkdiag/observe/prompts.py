"""Shell prompts: which lines of a transcript were typed, and where a typed command ends."""

from __future__ import annotations

import re

from ..records import dataclass
from .patterns import lazy
from .wordlists import words_of

__all__ = ["Typed", "is_command", "read_typed"]

MAX_LINES = 400
"""Lines that one typed command may have."""


@dataclass(frozen=True, slots=True)
class Typed:
    """A command as it was typed, over lines `start` to `end` (exclusive)."""

    command: str
    start: int
    end: int
    comment: str | None = None
    """What the typist remarked: the whole line, or the remark at its end."""
    host: str | None = None
    user: str | None = None


_ENV = r"(?:\((?:[\w./-]+)\)[ ]?)*"
_PROMPTS = tuple(
    lazy(pattern)
    for pattern in (
        rf"{_ENV}\[(?P<user>[\w.-]+)@(?P<host>[\w.-]+)[ :][^\]]*\][$#%] ?(?P<rest>.*)",
        rf"{_ENV}(?P<user>[a-z_][\w.-]*)@(?P<host>[\w.-]+)(?::| )?"
        r"(?:[~/][^\s$#%>]*(?: \([\w./-]+\))?)? ?[$#%❯>] ?(?P<rest>.*)",
        rf"{_ENV}(?P<host>(?!sh-|bash-|zsh-)[A-Za-z][\w.-]*)(?::[~/][^\s$#]*)?[$#] (?P<rest>.*)",
        rf"{_ENV}(?:sh|bash|zsh)-[\d.]+[$#] (?P<rest>.*)",
        rf"{_ENV}(?:~|/[\w./-]*)? ?\$ (?P<rest>.*)",
        r"(?P<rest>)\$ ?\Z",
        r"[➜❯] +(?:[~/]?[\w./-]* +(?:git:\([^)]*\) +)?(?:✗ +)?)?(?P<rest>.*)",
        r"(?:PS )?[A-Z]:\\[^>]*> ?(?P<rest>.*)",
    )
)
_WEAK = lazy(r"(?:#|%|>|\+{1,3}) (?P<rest>\S.*)")
"""Signs that also begin comments, quotations and traces: prompts only before what must be a command."""

_PYTHON = lazy(r">>> ?(?P<rest>.*)")

_BARE = {
    "docker": "run logs ps exec inspect compose image images info system events stats version pull start "
    "stop rm restart network",
    "podman": "run logs ps exec inspect compose image images",
    "systemctl": "status start stop restart is-active is-enabled show cat list-units --user",
    "sparkrun": "run stop status logs cluster list recipe show setup search proxy doctor -v -vv -vvv --version",
    "ray": "start stop status list summary memory logs",
    "vllm": "serve bench chat complete collect-env --version",
    "sglang": "serve generate version",
    "ip": "a addr address link route r -br -4 -6 -s -o neigh",
    "kubectl": "logs get describe exec apply",
    "loginctl": "show-user enable-linger disable-linger user-status list-sessions list-users session-status",
    "git": "log status -C diff describe rev-parse",
    "pip": "list show freeze install --version",
    "uv": "pip run",
    "huggingface-cli": "download scan-cache login",
    "hf": "download cache auth",
}  # fmt: skip
_BARE_WORDS = {program: frozenset(words.split()) for program, words in _BARE.items()}
_ALONE = words_of(
    "nvidia-smi free ibdev2netdev ibstat ibv_devinfo dmesg lsmod lscpu lspci lsblk mount env printenv ifconfig uname "
    "uptime top htop mpstat vmstat iostat df lsof ss netstat date hostname whoami id ulimit rdma ethtool numactl "
    "swapon nvtop"
)
"""Programs that are run without any argument."""
_WITH_ARGUMENTS = (
    words_of(
        "curl wget cat jq grep egrep zgrep rg tail head less sed awk ls ping ping6 ssh scp journalctl ps python "
        "python3 bash sh echo getent nslookup dig traceroute mpirun torchrun py-spy busctl cuobjdump nsys strings "
        "strace find du stat wc sort watch timeout time sudo nohup env export cd mkdir chmod sleep kill pkill nc "
        "telnet openssl iperf3 ib_write_bw nccl-tests all_reduce_perf sar numactl taskset pip3 conda source test xxd "
        "md5sum sha256sum cmp diff tee nvcc tar llama-server trtllm-serve ollama transformers"
    )
    | _ALONE
)
_ALSO_ENGLISH = words_of(
    "head tail less test sort watch find source tee stat strings time top free date env mount cat cut make id strace"
)
"""Words that remarks begin with as well: commands only before an option or a path."""
_PLAIN_ARGUMENT = lazy(r"-{1,2}\w|[/~|]|\./")
_ARGUMENT = lazy(r"-{1,2}[\w?]|[./~$'\"{(<>|&@]|\d|[\w.-]*[./:=@*][\w./:@*-]*|\S+\.\w{1,5}\Z")
_PROSE = lazy(
    r"(?:is|are|was|were|shows?|says?|said|gives?|prints?|reports?|works?|worked|fails?|failed|the|a|an|and|or|but|on|in|for|"
    r"with|from|to|of|that|this|it|as|not|no|still|then|when|after|before|does|did|has|had|will|can|output|returns?|crashe[sd]|hangs?)\b"
)


def is_command(text: str) -> bool:
    """Whether text that no strong prompt marks can only be a command: a known program with fitting arguments."""
    words = text.split()
    while words and ("=" in words[0] and re.match(r"[A-Z_][A-Z0-9_]*=", words[0])):
        words = words[1:]
    while words and words[0] in ("sudo", "time", "nohup", "exec"):
        words = words[1:]
    if not words:
        return False
    program, arguments = words[0].rsplit("/", 1)[-1], words[1:]
    if program in _BARE_WORDS:
        if not arguments or arguments[0] not in _BARE_WORDS[program]:
            return False
        if arguments[0] in ("run", "serve", "start") and len(arguments) > 1:
            return re.match(r"[-$\"'./~]|\S*[-/:.=\d]", arguments[1]) is not None
        return len(arguments) == 1 or not _PROSE.match(arguments[1])
    if program == "python" or program == "python3":
        return bool(arguments) and (arguments[0] in ("-m", "-c", "-V", "--version") or arguments[0].endswith(".py"))
    if not arguments:
        return program in _ALONE and (program not in _ALSO_ENGLISH or text == text.strip())
    if program in _ALSO_ENGLISH:
        return _PLAIN_ARGUMENT.match(arguments[0]) is not None
    if program not in _WITH_ARGUMENTS or _PROSE.match(arguments[0]):
        return False
    if words[0].endswith(":") or arguments[1:2] == [":"]:
        return False  # a program's own message: `curl: (7) ...`, `nvcc fatal   : ...`
    if program in ("echo", "sleep", "cd", "export", "source", "mkdir", "kill"):
        return True
    return any(_ARGUMENT.match(word) for word in arguments)


def read_typed(lines: list[str], at: int, *, weak: bool = True, bare: bool = False) -> Typed | None:
    """The command typed at a line, with all its continuation lines; None where nothing was typed.

    `weak` also takes `# cmd`, `> cmd` and `+ cmd`, `bare` a command without any prompt; both only where the text can
    only be a command.
    """
    line = lines[at]
    host = user = rest = None
    for pattern in _PROMPTS:
        match = pattern.match(line)
        if match:
            groups = match.groupdict()
            rest, host, user = groups["rest"], groups.get("host"), groups.get("user")
            if pattern is _PROMPTS[1] and not re.search(r"[$#%❯>](?: |\Z)", line[: match.start("rest") + 1]):
                rest = None
                continue
            break
    if rest is None:
        found = _PYTHON.match(line)
        if found:
            return _python(lines, at, found["rest"])
        found = _WEAK.match(line) if weak else None
        if found and is_command(found["rest"]):
            rest = found["rest"]
        elif bare and line[:1].strip() and is_command(line):
            rest = line
        else:
            return None
    if rest.lstrip().startswith("#"):
        return Typed("", at, at + 1, comment=rest.strip().lstrip("#").strip(), host=host, user=user)
    return _whole(lines, at, rest, host, user)


def _python(lines: list[str], at: int, first: str) -> Typed:
    words, end = [first], at + 1
    while end < len(lines) and end - at < MAX_LINES and lines[end].startswith("..."):
        words.append(lines[end][4:])
        end += 1
    return Typed(">>> " + "\n".join(words), at, end)


def _whole(lines: list[str], at: int, first: str, host: str | None, user: str | None) -> Typed:
    """Follow backslashes, open quotes, here-documents, pipes and loops to the command's last line."""
    from .shell import heredoc_word

    text, end = first, at + 1
    limit = min(len(lines), at + MAX_LINES)
    word = heredoc_word(text)
    while end < limit and word is None and _goes_on(text):
        if not text.rstrip().endswith("\\") and any(p.match(lines[end]) for p in _PROMPTS[:6]):
            return _unclosed(lines, at, first, limit, host, user)
        text += "\n" + _continuation(lines[end])
        end += 1
        word = heredoc_word(text)
    if word is not None:
        begin = end
        while end < limit and _continuation(lines[end]).strip() != word:
            end += 1
        if end == limit:
            return _typed(text, at, begin, host, user)
        text += "\n" + "\n".join(_continuation(line) for line in lines[begin : end + 1])
        end += 1
    elif _goes_on(text) and not text.rstrip().endswith("\\"):
        return _unclosed(lines, at, first, limit, host, user)
    return _typed(text, at, end, host, user)


_CLOSING = lazy(r"\s*[}\]]+\s*['\"](?:\s*(?:[|>2&\\].*)?)\Z")


def _unclosed(lines: list[str], at: int, first: str, limit: int, host: str | None, user: str | None) -> Typed:
    """A quote that never closes: a body in braces ends with its last brace, all else where backslashes end."""
    end, text = at + 1, first
    while end < limit and text.rstrip().endswith("\\"):
        text += "\n" + _continuation(lines[end])
        end += 1
    if re.search(r"['\"]\s*[{\[]\s*\Z", text):
        for stop in range(end, min(limit, end + 200)):
            if any(p.match(lines[stop]) for p in _PROMPTS[:6]):
                break
            if _CLOSING.match(lines[stop]):
                text += "\n" + "\n".join(_continuation(line) for line in lines[end : stop + 1])
                end = stop + 1
                break
    return _typed(text, at, end, host, user)


def _continuation(line: str) -> str:
    return line[2:] if line.startswith("> ") else "" if line == ">" else line


_LOOP = lazy(r"\s*(for|while|until|if)\s")
_DONE = lazy(r"(?:^|[;\s])(?:done|fi)\b")


def _goes_on(text: str) -> bool:
    from .shell import balanced

    last = text.rstrip()
    if last.endswith("\\") and not last.endswith("\\\\"):
        return True
    if last.endswith(("|", "&&")) or not balanced(text):
        return True
    return bool(_LOOP.match(text)) and not _DONE.search(text)


_REMARK = lazy(r"\s+#\s+([^'\"]*)\Z|\s{3,}\(([^()]*)\)\Z")


def _typed(text: str, at: int, end: int, host: str | None, user: str | None) -> Typed:
    from .shell import balanced

    remark = _REMARK.search(text) if "\n" not in text else None
    if remark and balanced(text[: remark.start()]):
        return Typed(text[: remark.start()].strip(), at, end, (remark[1] or remark[2] or "").strip(), host, user)
    return Typed(text.strip(), at, end, None, host, user)
