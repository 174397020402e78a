"""Rules are made, and loaded into an engine, only where evidence can reach them; no answer may depend on it."""

from __future__ import annotations

from pathlib import Path

import pytest

from sparkdiag.facts import LogHit, Source
from sparkdiag.infer import Rulebook, infer, make_engine, shipped
from sparkdiag.infer.codec import Lines, from_compiled
from sparkdiag.infer.engines import MAX_LOADS, OnDemand
from sparkdiag.infer.memory import Memory, slot_of, slots_of
from sparkdiag.infer.rulebook import COMPILED, load_folder
from tests.conditions import cases
from tests.random_rulebooks import case as random_case

RULES = Path(__file__).resolve().parent.parent / "rules"


def test_every_fixture_comes_out_as_with_all_rules_at_hand() -> None:
    book = load_folder(RULES)
    whole, _ = make_engine("python", book)
    number = 0
    for case in cases():
        told, lazily = infer(case.facts, book, whole), infer(case.facts, shipped(), OnDemand("python", shipped()))
        assert lazily.result == told.result
        assert lazily.diagnoses == told.diagnoses == case.inference.diagnoses
        assert lazily.suppressed == told.suppressed
        assert lazily.next_probes == told.next_probes
        assert lazily.signs == told.signs
        assert _naively_touched(book, told.memory) == book.index.touched(told.memory.slots())
        number += 1
    assert number > 300


def _naively_touched(book: Rulebook, memory: Memory) -> list[str]:
    held = set(memory.slots())
    return [
        rule.id
        for rule in book.rules
        if "." in rule.concludes and held & {slot_of(p) for v in rule.when.variants for p in v.positive}
    ]


@pytest.mark.parametrize("name", ["python", "auto"])
def test_random_evidence_that_grows_fires_what_all_rules_fire(name: str) -> None:
    for seed in range(3000, 3060):
        book, facts = random_case(seed)
        whole, _ = make_engine(name, book)
        lazily = OnDemand(name, book)
        for size in {0, 1, len(facts) // 2, len(facts)}:
            some = facts[:size]
            assert set(Memory(some).slots()) == slots_of(some)
            assert lazily.run(some) == whole.run(some), f"case {seed}"
        whole.close()


def test_evidence_of_ever_more_kinds_has_all_rules_loaded_at_last() -> None:
    book = shipped()
    engine = OnDemand("python", book)
    place = Source("a log", line=1)
    for number, name in enumerate(book.signatures):
        engine.run([LogHit(signature=name, captures={}, source=place)])
        if number == 0:
            assert len(engine._loaded) < 30
    assert engine._loads == MAX_LOADS + 1
    assert engine._loaded == set(book.by_id)


def test_a_small_case_leaves_most_rules_unmade() -> None:
    book = from_compiled(COMPILED.read_bytes())
    assert isinstance(book.by_id, Lines)
    facts = [LogHit(signature="server-ready", captures={}, source=Source("a log", line=1))]
    infer(facts, book, OnDemand("python", book))
    assert 0 < len(book.by_id._made) < 30
    assert len(book.rules) == len(book.by_id) > 400
    assert "no-such-rule" not in book.by_id
    with pytest.raises(KeyError):
        book.by_id["no-such-rule"]
