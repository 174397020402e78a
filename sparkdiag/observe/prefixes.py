"""What stands before the message on a log line: time, level, process, rank, node, from every program that logs here.

Prefixes nest (journald around docker around vLLM), so a line is peeled layer by layer, from the outside in.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from ..records import dataclass
from .patterns import lazy

__all__ = ["LogLine", "parse_line", "rank_of"]

MAX_LAYERS = 8
MAX_PREFIX = 600
"""Characters of a line that may hold prefixes; what follows is message."""

_MONTHS = {
    "Jan": 1, "Feb": 2, "Mar": 3, "Apr": 4, "May": 5, "Jun": 6, "Jul": 7, "Aug": 8, "Sep": 9, "Oct": 10,
    "Nov": 11, "Dec": 12,
}  # fmt: skip
_DAYS_BEFORE = (0, 0, 31, 60, 91, 121, 152, 182, 213, 244, 274, 305, 335)
_LEVELS = {
    "TRACE": "debug", "DEBUG": "debug", "INFO": "info", "NOTICE": "info", "PROGRESS": "info", "WARN": "warning",
    "WARNING": "warning", "ERROR": "error", "ERR": "error", "CRITICAL": "critical", "FATAL": "critical",
    "D": "debug", "I": "info", "W": "warning", "E": "error", "C": "critical", "F": "critical",
}  # fmt: skip
_LEVEL = r"(?P<level>TRACE|DEBUG|INFO|NOTICE|PROGRESS|WARNING|WARN|ERROR|ERR|CRITICAL|FATAL)"


@dataclass(slots=True)
class LogLine:
    """One log line taken apart. `message` is what the program said."""

    message: str
    time: float | None = None
    """Seconds since the start of a leap year; years, which most prefixes leave out, are dropped."""
    zoned: bool = False
    """The time says its zone and is in UTC."""
    level: str | None = None
    process: str | None = None
    """The name that the engine gives its process: APIServer, EngineCore, Worker_TP1, raylet, kernel ..."""
    pid: int | None = None
    rank: str | None = None
    node: str | None = None
    """Host name or address, where the line itself names one."""
    container: str | None = None
    logger: str | None = None
    """File or logger that wrote it."""
    form: str | None = None
    """Whose prefix it is: vllm, sglang, ray, uvicorn, journal, kernel, nccl, torch, python; None without a prefix."""
    repeats: int = 1
    """How many lines Ray folded into this one."""


def _seconds(month: str | int, day: str | int, clock: str) -> float | None:
    number = _MONTHS.get(month) if isinstance(month, str) and not month.isdigit() else int(month)
    if number is None or not 1 <= number <= 12:
        return None
    hours, minutes, rest = clock.split(":")
    seconds = float(rest.replace(",", "."))
    return (_DAYS_BEFORE[number] + int(day) - 1) * 86400.0 + int(hours) * 3600 + int(minutes) * 60 + seconds


def _offset(zone: str | None) -> float | None:
    """Seconds east of UTC; None where the zone is not said."""
    if not zone:
        return None
    if zone in ("Z", "UTC"):
        return 0.0
    digits = zone[1:].replace(":", "")
    east = int(digits[:2]) * 3600 + int(digits[2:4] or 0) * 60
    return float(-east if zone[0] == "-" else east)


_RANK = lazy(r"(?:(?:DP|PP|TP|EP|CP|PCP|DCP)\d+(?:[ _]|$))+")


def rank_of(name: str) -> str | None:
    """`TP1` of `Worker_TP1`, `DP0_TP1` of `DP0 TP1`; None where a process name has no rank of a worker."""
    if name.startswith("EngineCore"):
        return None
    found = _RANK.search(name)
    return found.group().strip(" _").replace(" ", "_") if found else None


_Layer = Callable[[re.Match[str], LogLine], None]


def _stamp(match: re.Match[str], line: LogLine) -> None:
    """A date with digits; the outermost time on a line counts."""
    if line.time is not None:
        return
    time = _seconds(match["month"], match["day"], match["clock"])
    if time is None:
        return
    offset = _offset(match.groupdict().get("zone"))
    line.time, line.zoned = (time, False) if offset is None else (time - offset, True)


def _level(match: re.Match[str], line: LogLine) -> None:
    line.level = _LEVELS.get(match["level"].upper(), line.level)


def _journal(match: re.Match[str], line: LogLine) -> None:
    _stamp(match, line)
    _host_unit(match, line)


def _host_unit(match: re.Match[str], line: LogLine) -> None:
    line.node, line.process, line.form = match["host"], match["unit"], "journal"
    line.pid = int(match["pid"]) if match["pid"] else None
    if match["unit"] == "kernel":
        line.form = "kernel"


def _dmesg(match: re.Match[str], line: LogLine) -> None:
    line.form, line.process = "kernel", "kernel"


def _process(match: re.Match[str], line: LogLine) -> None:
    name, fields = match["name"], match["fields"] or ""
    line.process = name
    line.rank = rank_of(name) or line.rank
    line.form = line.form or ("ray" if name in ("raylet", "autoscaler", "gcs_server") else "vllm")
    for key, value in re.findall(r"(pid|ip|rank)=([\w.:-]+)", fields):
        if key == "pid" and value.isdigit():
            line.pid = int(value)
        elif key == "ip":
            line.node = value
        elif key == "rank":
            line.rank = value


def _vllm(match: re.Match[str], line: LogLine) -> None:
    _stamp(match, line)
    _level(match, line)
    line.logger, line.form = match["logger"], "vllm"


def _vllm_without_time(match: re.Match[str], line: LogLine) -> None:
    """As somebody leaves it who cut the times off."""
    _level(match, line)
    line.logger, line.form = match["logger"], "vllm"


def _sglang(match: re.Match[str], line: LogLine) -> None:
    _stamp(match, line)
    line.form = "sglang"
    words = match["rank"]
    if words:
        line.rank = rank_of(words) or line.rank
        line.process = line.process or words.strip().replace(" ", "_")


def _sglang_clock(match: re.Match[str], line: LogLine) -> None:
    """A time of day alone, which tells no moment, or none at all."""
    line.form = "sglang"
    if match["rank"]:
        line.rank = rank_of(match["rank"]) or line.rank
        line.process = line.process or match["rank"].strip().replace(" ", "_")


def _ray_core(match: re.Match[str], line: LogLine) -> None:
    _stamp(match, line)
    _level(match, line)
    line.form, line.pid = "ray", int(match["pid"])


def _python(match: re.Match[str], line: LogLine) -> None:
    _stamp(match, line)
    _level(match, line)
    line.logger = match.groupdict().get("logger")
    line.form = line.form or "python"


def _uvicorn(match: re.Match[str], line: LogLine) -> None:
    _level(match, line)
    line.form = line.form or "uvicorn"


def _bracketed(match: re.Match[str], line: LogLine) -> None:
    _level(match, line)
    line.logger = match["logger"] or line.logger
    line.form = line.form or "python"


def _glog(match: re.Match[str], line: LogLine) -> None:
    if line.time is None:
        line.time = _seconds(match["month"], match["day"], match["clock"])
    _level(match, line)
    line.form = "torch"


def _rank(match: re.Match[str], line: LogLine) -> None:
    line.rank = line.rank or match["rank"]
    line.form = line.form or "torch"


def _nccl(match: re.Match[str], line: LogLine) -> None:
    line.node = line.node or match["host"]
    line.pid = line.pid or int(match["pid"])
    line.form = "nccl"


_ISO = r"(?:\d{4})-(?P<month>\d\d)-(?P<day>\d\d)[T ](?P<clock>\d\d:\d\d:\d\d(?:[.,]\d+)?)"
_ZONE = r"(?P<zone>Z|[+-]\d\d:?\d\d)"
_HOST = r"(?P<host>[A-Za-z][\w.-]*) (?P<unit>[A-Za-z@][\w@./\\:-]*?)(?:\[(?P<pid>\d+)\])?: "

_TABLE: tuple[tuple[str, str, _Layer], ...] = (
    # what it begins with (0: a digit, A: a letter), expression, what it says
    ("0", rf"{_ISO}{_ZONE}? {_HOST}", _journal),
    ("A", rf"(?P<month>[A-Z][a-z]{{2}}) +(?P<day>\d+) (?P<clock>\d\d:\d\d:\d\d(?:\.\d+)?) {_HOST}", _journal),
    ("A", r"(?P<host>[A-Za-z][\w.-]*) (?P<unit>kernel)(?P<pid>(?!))?: ", _host_unit),
    ("[", r"\[ *\d+\.\d{5,6}\] ", _dmesg),
    ("[", r"\[[A-Z][a-z]{2} [A-Z][a-z]{2} +\d+ \d\d:\d\d:\d\d \d{4}\] ", _dmesg),
    (
        "(",
        r"\((?P<name>[A-Za-z_][\w:.-]*(?: [A-Z]{2}\d+)*|VllmWorker)"
        r"(?P<fields>(?:,? (?:pid|ip|rank)=[\w.:-]+)+|(?<=raylet)|(?<=gcs_server)|(?<=autoscaler)(?: \+[\dhms]+)?)\) ?",
        _process,
    ),
    (
        "A",
        rf"{_LEVEL} (?:\d{{4}}-)?(?P<month>\d\d)-(?P<day>\d\d) (?P<clock>\d\d:\d\d:\d\d(?:\.\d+)?) "
        r"\[?(?P<logger>[\w./-]+(?::\d+)?)\] ?",
        _vllm,
    ),
    ("A", rf"{_LEVEL} \[(?P<logger>[\w./-]+\.py:\d+)\] ?", _vllm_without_time),
    ("[", rf"\[{_ISO}(?P<rank>(?: [A-Z]{{2,3}}\d+)*)\] ?", _sglang),
    ("[", r"\[\d\d:\d\d:\d\d(?P<rank>(?: [A-Z]{2,3}\d+)*)\] ", _sglang_clock),
    ("[", r"\[(?P<rank>(?:TP|DP|PP|EP)\d+(?: (?:TP|DP|PP|EP)\d+)*)\] ", _sglang_clock),
    ("[", rf"\[{_ISO} (?P<level>[DIWECF]) (?P<pid>\d+) \d+\] (?:\(\w+\) )?", _ray_core),
    ("0", rf"{_ISO}{_ZONE}?\t{_LEVEL}\t(?P<logger>)", _python),
    ("0", rf"{_ISO} - (?P<logger>[\w.-]+) - {_LEVEL} - ", _python),
    ("0", rf"{_ISO}{_ZONE}?,? \[?{_LEVEL}\]?:? (?:(?P<logger>[\w./-]+:\d+)(?: -- |\] ))?", _python),
    ("0", rf"{_ISO}{_ZONE}? ", _stamp),
    ("[", rf"\[{_LEVEL}\] (?:(?P<logger>[\w.]+): )?", _bracketed),
    ("A", rf"{_LEVEL}:\s+", _uvicorn),
    ("A", rf"{_LEVEL}:(?P<logger>[\w.]+):", _bracketed),
    (
        "[A",
        r"\[?(?P<level>[IWEF])(?P<month>\d\d)(?P<day>\d\d) (?P<clock>\d\d:\d\d:\d\d\.\d+)(?: +\d+)? [\w./-]+:\d+\] ",
        _glog,
    ),
    ("[", r"\[(?P<rank>rank\d+)\]:? ?", _rank),
    ("A", r"(?P<host>[A-Za-z][\w.-]*):(?P<pid>\d+):\d+ \[\d+\] ", _nccl),
)
_LAYERS: dict[str, tuple[tuple[re.Pattern[str], _Layer], ...]] = {
    start: tuple((lazy(pattern), layer) for starts, pattern, layer in _TABLE if start in starts) for start in "0A(["
}
_COMPOSED = lazy(r"(?P<name>[A-Za-z][\w.-]*) *\| ?")

_FOLDED = lazy(r"\[repeated (\d+)x across cluster\]")


def parse_line(text: str) -> LogLine:
    """Peel all prefixes off one line. A line without any comes back whole, with nothing known about it."""
    line = LogLine(text)
    head, at, peeled = text[:MAX_PREFIX], 0, 0
    if "|" in head:
        service = _COMPOSED.match(head)
        if service:
            line.container, at = service["name"], service.end()
    while peeled < MAX_LAYERS and at < len(head):
        for pattern, layer in _LAYERS.get(_class(head[at]), ()):
            match = pattern.match(head, at)
            if match and match.end() > at:
                layer(match, line)
                at = match.end()
                peeled += 1
                break
        else:
            break
    if at:
        line.message = text[at:]
    if "across cluster]" in text:
        folded = _FOLDED.search(text[-200:])
        if folded:
            line.repeats = 1 + int(folded.group(1))
    return line


def _class(char: str) -> str:
    if char in "([":
        return char
    return "0" if char.isdigit() else "A" if char.isalpha() else ""
