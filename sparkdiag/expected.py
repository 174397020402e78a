"""expected.yaml: what a fixture's report must say, read with file and line, and compared with a report."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .diagnosis import LEVELS, Report
from .errors import CaptureError

if TYPE_CHECKING:
    from .infer.yaml_source import Located

__all__ = ["Difference", "Expected", "differences", "parse_expected"]

VERDICTS = ("fault", "healthy", "inconclusive")
ONLY_WITH = ("tools", "thinking-off")
KEYS = ("format", "about", "expect", "reject", "negative", "verdict", "only_with", "fix_any", "fix_none", "pinned")


@dataclass(frozen=True, slots=True)
class Expected:
    """What must come out. None: not said."""

    about: str | None = None
    expect: tuple[str, ...] | None = None
    """Ids of which any may stand first; () means that no fault may be claimed."""
    reject: tuple[str, ...] = ()
    """Ids that must neither be claimed nor stand first."""
    negative: bool = False
    """No fault may be claimed, but for those of `expect`."""
    verdict: str | None = None
    only_with: tuple[str, ...] = ()
    """Of a recorded server: the fault shows only in requests with tools, or with thinking switched off."""
    fix_any: tuple[str, ...] = ()
    """Patterns of which one must be found in the first diagnosis's fix."""
    fix_none: tuple[str, ...] = ()
    pinned: Mapping[str, str] | None = None
    """All claimed ids with their levels."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One point in which a report is not as expected."""

    key: str
    expected: tuple[str, ...]
    got: tuple[str, ...]


def differences(expected: Expected, report: Report, *, strict: bool = False) -> list[Difference]:
    """Every point in which the report differs; `strict` also compares what is pinned."""
    out: list[Difference] = []

    def differ(key: str, wanted: tuple[str, ...], got: tuple[str, ...]) -> None:
        out.append(Difference(key, wanted, got))

    claimed = report.claimed
    shown = tuple(f"{d.id} ({d.level}, {d.confidence:.2f})" for d in claimed) or ("nothing claimed",)
    if expected.expect and (not claimed or claimed[0].id not in expected.expect):
        differ("expect", tuple(f"{name} first" for name in expected.expect), shown)
    if expected.negative or expected.expect == ():
        stray = tuple(d.id for d in claimed if d.kind == "fault" and d.id not in (expected.expect or ()))
        if stray:
            differ("negative" if expected.negative else "expect", ("no fault claimed",), stray)
    rejected = {d.id for d in claimed} | {d.id for d in report.diagnoses[:1]}
    wrong = tuple(name for name in expected.reject if name in rejected)
    if wrong:
        differ("reject", tuple(f"not {name}" for name in wrong), shown)
    if expected.verdict is not None and report.verdict != expected.verdict:
        differ("verdict", (expected.verdict,), (report.verdict,))
    out += _fix_differences(expected, report)
    if strict:
        out += _pin_differences(expected, report)
    return out


def _fix_differences(expected: Expected, report: Report) -> list[Difference]:
    steps = report.diagnoses[0].fix if report.claimed else ()
    advice = "\n".join(f"{step.do}\n{step.command or ''}" for step in steps)
    shown = tuple(line for line in advice.split("\n") if line) or ("no fix",)
    out = []
    if expected.fix_any and not any(_found(pattern, advice) for pattern in expected.fix_any):
        out.append(Difference("fix_any", expected.fix_any, shown))
    harmful = tuple(pattern for pattern in expected.fix_none if _found(pattern, advice))
    if harmful:
        out.append(Difference("fix_none", tuple(f"not {pattern}" for pattern in harmful), shown))
    return out


def _found(pattern: str, text: str) -> bool:
    return re.search(pattern, text, re.IGNORECASE | re.DOTALL) is not None


def _pin_differences(expected: Expected, report: Report) -> list[Difference]:
    if expected.pinned is None:
        raise CaptureError("nothing is pinned here, so a strict replay has nothing to compare", place="expected.yaml")
    got: dict[str, str] = {}
    for d in report.claimed:
        got.setdefault(d.id, d.level)
    if got == dict(expected.pinned):
        return []
    wanted = tuple(f"{name}: {level}" for name, level in sorted(expected.pinned.items())) or ("nothing claimed",)
    return [Difference("pinned", wanted, tuple(f"{n}: {v}" for n, v in sorted(got.items())) or ("nothing claimed",))]


def parse_expected(text: str, name: str = "expected.yaml") -> Expected:
    """The file's text. CaptureError with file and line for anything that does not belong there."""
    from .infer.yaml_source import Located, YamlError, load

    try:
        data = load(text)
    except YamlError as error:
        raise CaptureError(str(error), place=f"{name}:{error.line}") from None
    if not isinstance(data, Located):
        raise CaptureError("this file is a mapping with 'format: 1'", place=f"{name}:1")
    for key, line in data.lines.items():
        if key not in KEYS:
            raise CaptureError(f"there is no key '{key}' here ({', '.join(KEYS)})", place=f"{name}:{line}")
    if data.get("format") != 1:
        raise CaptureError("an expected.yaml says 'format: 1'", place=f"{name}:{data.lines.get('format', 1)}")
    read = _Reader(data, name)
    return Expected(
        about=read.one_of("about", None),
        expect=read.words("expect") if "expect" in data else None,
        reject=read.words("reject"),
        negative=read.switch("negative"),
        verdict=read.one_of("verdict", VERDICTS),
        only_with=read.words("only_with", ONLY_WITH),
        fix_any=read.patterns("fix_any"),
        fix_none=read.patterns("fix_none"),
        pinned=read.pins("pinned"),
    )


class _Reader:
    """Values of the keys, each checked for its shape."""

    def __init__(self, data: Located, name: str) -> None:
        self._data, self._name = data, name

    def _wrong(self, key: str, message: str) -> CaptureError:
        return CaptureError(f"'{key}' {message}", place=f"{self._name}:{self._data.lines[key]}")

    def words(self, key: str, known: tuple[str, ...] | None = None) -> tuple[str, ...]:
        value: Any = self._data.get(key, [])
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise self._wrong(key, "is a list of words")
        if known is not None and not set(value) <= set(known):
            raise self._wrong(key, f"is a list of {' and '.join(known)}")
        return tuple(value)

    def patterns(self, key: str) -> tuple[str, ...]:
        found = self.words(key)
        for pattern in found:
            try:
                re.compile(pattern)
            except re.error as error:
                raise self._wrong(key, f"holds a regular expression that does not compile: {error}") from None
        return found

    def switch(self, key: str) -> bool:
        value = self._data.get(key, False)
        if not isinstance(value, bool):
            raise self._wrong(key, "is true or false")
        return value

    def one_of(self, key: str, known: tuple[str, ...] | None) -> str | None:
        value = self._data.get(key)
        if value is not None and (not isinstance(value, str) or (known is not None and value not in known)):
            raise self._wrong(key, f"is one of {', '.join(known)}" if known else "is text")
        return value

    def pins(self, key: str) -> dict[str, str] | None:
        value = self._data.get(key)
        if value is None:
            return None
        if not isinstance(value, dict) or not all(level in LEVELS for level in value.values()):
            raise self._wrong(key, f"is a mapping of id to level ({', '.join(LEVELS)})")
        return dict(value)
