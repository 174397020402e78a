"""The phrases that all renderers for people share: verdict, level, place, risk."""

from __future__ import annotations

from collections.abc import Mapping

from ..chain import LINKS
from ..diagnosis import Diagnosis, Evidence, Report

__all__ = [
    "avoided",
    "certainty",
    "chain_words",
    "costs",
    "headline",
    "not_collected",
    "place",
    "signature",
    "step_tag",
    "summary",
    "titled",
    "to_do_heading",
    "where_words",
]

_ON = {"node": "on the node", "control": "on the control machine", "client": "in the client"}
_RISK = {"restarts": "restarts the server", "needs-root": "needs root", "may-hang": "can hang the machine"}
_QUOTED = 200
"""Characters of an unknown error that the headline quotes."""
_TO_DO = {"fault": "Fix", "limit": "What helps", "advice": "What to do"}
_WHERE = {"target": "", "node": "node ", "container": "container ", "rank": "rank ", "run": "run "}


def certainty(d: Diagnosis) -> str:
    """`likely, 0.70`"""
    return f"{d.level}, {d.confidence:.2f}"


def titled(d: Diagnosis) -> str:
    return f"{d.title} ({certainty(d)})"


def headline(report: Report) -> str:
    """The verdict and what it rests on, in one sentence."""
    claimed = report.claimed
    if report.verdict == "fault":
        fault = next((d for d in claimed if d.kind == "fault"), None)
        return f"fault: {titled(fault)}" if fault else "fault"
    if report.verdict == "healthy":
        signs = ", ".join(sign.replace("-", " ") for sign in report.signs)
        return "healthy: no fault found" + (f" ({signs})" if signs else "")
    limit = next((d for d in claimed if d.kind == "limit"), None)
    if limit is not None:
        return f"inconclusive: no fault claimed; {titled(limit)}"
    if report.diagnoses and not claimed:
        return f"inconclusive: nothing is sure enough to claim; perhaps: {titled(report.diagnoses[0])}"
    # a program that is not there is no problem of its own
    problem = next((one for one in report.problems if one.why != "not there"), None)
    looked = any(fact["kind"] == "ran" and fact["status"] == "ok" for fact in report.facts)
    if problem is not None and not looked:
        address = next(iter(report.targets.values())) if len(report.targets) == 1 else ""
        return f"inconclusive: {address or problem.what}: {problem.why}"
    unknown = _unknown_error(report)
    if unknown is not None:
        return f"inconclusive: no rule knows the error that is in the evidence: {unknown}"
    return "inconclusive: nothing wrong was seen, and no sign of health either"


def _unknown_error(report: Report) -> str | None:
    """The first exception of a case in which nothing is claimed, with its place; an echo only for want of another."""
    seen = [fact for fact in report.facts if fact.get("kind") == "exception"]
    first = next((fact for fact in seen if fact.get("first")), None) or next(iter(seen), None)
    if first is None:
        return None
    words = f"{first['type']}: {first.get('message') or ''}".rstrip(": ")
    return f"{words if len(words) <= _QUOTED else words[:_QUOTED].rstrip() + ' ...'} ({first['source']})"


def summary(report: Report) -> str | None:
    """How much stands below, where it is more than the one fault of the headline."""
    claimed = report.claimed
    counts = [
        (sum(d.kind == "fault" for d in claimed), "fault", "faults"),
        (sum(d.kind == "limit" for d in claimed), "limit", "limits"),
        (sum(d.kind == "advice" for d in claimed), "piece of advice", "pieces of advice"),
    ]
    named = [f"{number} {one if number == 1 else many}" for number, one, many in counts if number]
    only_fault = report.verdict == "fault" and len(claimed) == 1
    return None if not named or only_fault else "In all: " + ", ".join(named) + "."


def chain_words(report: Report) -> str | None:
    """Where the chain breaks, and what waits for its repair; None where no fault is in it, or nothing runs yet."""
    link = report.broken_link
    if link is None or "setup-read" in report.signs:
        return None
    after = ", ".join(LINKS[LINKS.index(link) + 1 :])
    return f"The chain breaks at: {link}" + (f" (after it come {after})" if after else "")


def where_words(where: Mapping[str, str | None], targets: Mapping[str, str]) -> str:
    """What is known of the place, in words, a target by its address; empty when nothing is."""
    known = {key: value for key, value in where.items() if value}
    if "target" in known:
        known["target"] = targets.get(known["target"]) or known["target"]
    return ", ".join(f"{word}{known[key]}" for key, word in _WHERE.items() if key in known)


def not_collected(report: Report) -> list[str]:
    """The problems, those of one target with the same reason together: a closed port stops every probe for one."""
    by_reason: dict[tuple[str, str], list[str]] = {}
    for problem in report.problems:
        target, colon, probe = problem.what.rpartition(": ")
        by_reason.setdefault((target + colon, problem.why), []).append(probe)
    return [f"{target}{', '.join(dict.fromkeys(names))}: {why}" for (target, why), names in by_reason.items()]


def place(e: Evidence) -> str:
    """source:line, or the source and the path within it."""
    if e.line is not None:
        return f"{e.source}:{e.line}"
    return f"{e.source} {e.path}" if e.path else e.source


def step_tag(on: str, risk: str) -> str:
    """Where a step is done and what it risks: `on the node; restarts the server`."""
    return _ON[on] + (f"; {_RISK[risk]}" if risk in _RISK else "")


def to_do_heading(kind: str) -> str:
    """A limit is not fixed, and advice mends nothing: the heading says which it is."""
    return _TO_DO[kind]


def signature(report: Report) -> str:
    """What made the report, so that it can be made again; hashes are cut as version control cuts them."""
    return (
        f"sparkdiag {report.version}, rulebook {report.rulebook[:8]}, engine {report.rule_engine}, "
        f"fingerprint {report.fingerprint}"
    )


def costs(cost: str) -> str:
    return "costs nothing" if cost in ("", "none") else f"costs {cost}"


def avoided(do: str, because: str) -> str:
    """`Do not X: Y`, whatever case, full stop and `because` the rule's author wrote."""
    do = do.strip().rstrip(".")
    for start in ("do not ", "don't "):
        if do.lower().startswith(start):
            do = do[len(start) :]
    if do[:1].isupper() and do[1:2].islower():
        do = do[0].lower() + do[1:]
    because = because.strip()
    if because.lower().startswith("because "):
        because = because[len("because ") :]
    return f"Do not {do}: {because}" + ("" if because.endswith((".", "!", "?")) else ".")
