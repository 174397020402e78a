"""Version numbers of engines, compared without a packaging library: `0.19.1rc1.dev35+cu130` is 0.19.1 here.

A pre-release counts as its release: nightlies carry the behaviour of the version that they lead to.
"""

from __future__ import annotations

import re

_NUMBER = re.compile(r"v?(\d+(?:\.\d+)*)")
_BOUND = re.compile(r"\s*(>=|<=|==|>|<)\s*v?(\d+(?:\.\d+)*)\s*\Z")


def parse(text: str) -> tuple[int, ...] | None:
    """(0, 19, 1) for '0.19.1rc1'; None if the text does not start like a version."""
    match = _NUMBER.match(text.strip())
    return None if match is None else tuple(int(part) for part in match[1].split("."))


def bounds(spec: str) -> list[tuple[str, tuple[int, ...]]]:
    """The comparisons of '>=0.16,<0.33'; `*` has none. ValueError with a sentence for anything else."""
    if spec.strip() == "*":
        return []
    out = []
    for part in spec.split(","):
        match = _BOUND.match(part)
        if match is None:
            raise ValueError(f"'{part.strip()}' is no version bound; write for example '>=0.16,<0.33' or '*'")
        out.append((match[1], tuple(int(n) for n in match[2].split("."))))
    lower = max(((_pad(v), op == ">") for op, v in out if op in (">=", ">")), default=None)
    upper = min(((_pad(v), op == "<=") for op, v in out if op in ("<=", "<")), default=None)
    if lower and upper and (lower[0] > upper[0] or (lower[0] == upper[0] and (lower[1] or not upper[1]))):
        raise ValueError(f"'{spec}' holds for no version")
    return out


def _pad(version: tuple[int, ...]) -> tuple[int, ...]:
    return (*version, 0, 0, 0, 0)[:4]


def in_range(version: str, spec: str) -> bool:
    """Whether a version lies in a range; False if it cannot be read as one."""
    number = parse(version)
    if number is None:
        return False
    mine = _pad(number)
    checks = {
        ">=": lambda other: mine >= other,
        "<=": lambda other: mine <= other,
        ">": lambda other: mine > other,
        "<": lambda other: mine < other,
        "==": lambda other: mine == other,
    }
    return all(checks[op](_pad(bound)) for op, bound in bounds(spec))
