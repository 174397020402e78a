"""Three answers for every rule: fired, ruled out because, cannot tell because which evidence is missing."""

from __future__ import annotations

from ..records import dataclass
from .conditions import Answer, explain_variant
from .memory import Memory
from .rules import Rule, Rulebook, Variant
from .strata import asked_finding


@dataclass(frozen=True, slots=True)
class RuleState:
    """What one rule came to on the evidence."""

    rule: Rule
    state: str
    """true, false or unknown."""
    answers: tuple[Answer, ...]
    missing: tuple[str, ...]
    partly: bool
    """Some positive part that observation shows is true."""


Known = dict[tuple[str, int], RuleState]
"""States found before, by rule and depth, over one memory."""


def rule_state(rule: Rule, book: Rulebook, memory: Memory, depth: int = 0, *, known: Known | None = None) -> RuleState:
    """The state of the variant that comes nearest to holding."""
    known = {} if known is None else known
    if (rule.id, depth) in known:
        return known[rule.id, depth]
    best: RuleState | None = None
    rank = {"true": 0, "unknown": 1, "false": 2}
    for variant in rule.when.variants:
        answers = tuple(_deepen(variant, book, memory, depth, known))
        states = {answer.state for answer in answers}
        state = "false" if "false" in states else "unknown" if "unknown" in states else "true"
        missing = tuple(dict.fromkeys(probe for answer in answers for probe in answer.missing if probe))
        positives = answers[: len(variant.positive)]
        partly = any(answer.state == "true" for answer in positives)
        found = RuleState(rule, state, answers, missing, partly)
        key = (rank[state], sum(a.state != "true" for a in answers))
        if best is None or key < (rank[best.state], sum(a.state != "true" for a in best.answers)):
            best = found
    assert best is not None
    known[rule.id, depth] = best
    return best


def _deepen(variant: Variant, book: Rulebook, memory: Memory, depth: int, known: Known) -> list[Answer]:
    """A finding that does not hold is unknown where one of its rules is unknown for lack of evidence."""
    answers = explain_variant(variant, memory)
    if depth >= 3:
        return answers
    binding = [p for p in variant.positive if not p.count]
    for index, pattern in enumerate(binding):
        name = asked_finding(pattern)
        if name is None or answers[index].state == "true":
            continue
        states = [rule_state(r, book, memory, depth + 1, known=known) for r in book.concluding(name)]
        open_states = [s for s in states if s.state == "unknown"]
        if open_states:
            missing = tuple(dict.fromkeys(probe for s in open_states for probe in s.missing))
            answers[index] = Answer("unknown", f"finding {name}: not known yet", missing)
    return answers
