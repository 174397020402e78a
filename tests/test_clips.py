"""CLIPS as a further judge of the engines: patterns with constants, negation of findings, strata, chaining."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Sequence
from typing import Any

import pytest
import yaml

from sparkdiag.facts import Fact
from sparkdiag.facts.replies import ChatReply
from sparkdiag.infer.engine import Engine
from sparkdiag.infer.python_engine import PythonEngine
from sparkdiag.infer.rulebook import load_texts
from sparkdiag.infer.rules import Pattern, Rule, Rulebook

clips = pytest.importorskip("clips")

Fired = set[tuple[str, tuple[Any, ...]]]

FIELDS: dict[str, list[Any]] = {
    "finish_reason": ["stop", "length", 'a"b'],
    "max_tokens": [1, 2],
    "content_chars": [0, 7],
}


def random_case(seed: int) -> tuple[Rulebook, list[Fact]]:
    """Facts that differ in nothing but their values, so that a finding is no more than its name."""
    chance = random.Random(seed)
    levels = {f"f{n}": chance.randrange(4) for n in range(6)}
    rules = []
    for number, name in enumerate([*levels, *chance.choices(list(levels), k=6)]):
        lower = [other for other, level in levels.items() if level < levels[name]]
        level = [other for other, at in levels.items() if at <= levels[name]]
        when: dict[str, Any] = {"all": [_chat(chance) for _ in range(chance.randint(1, 2))]}
        if chance.random() < 0.5:
            when["all"].append({"finding": chance.choice(level)})
        if lower and chance.random() < 0.6:
            when["none"] = [{"finding": other} for other in chance.sample(lower, min(len(lower), chance.randint(1, 2)))]
        if chance.random() < 0.2:
            when.setdefault("none", []).append(_chat(chance))
        rules.append({"id": f"r{number}", "concludes": name, "when": when})
    data = {
        "format": 1,
        "findings": [{"id": name, "means": "m", "sign": True} for name in levels],
        "probes": [{"id": "probe", "supplies": ["chat"], "cost": "none", "weight": 1}],
        "rules": rules,
    }
    facts: list[Fact] = [
        ChatReply(**{name: chance.choice(values) for name, values in FIELDS.items()})
        for _ in range(chance.randint(1, 6))
    ]
    return load_texts({"a.yaml": yaml.safe_dump(data)}), facts


def _chat(chance: random.Random) -> dict[str, Any]:
    tests: dict[str, Any] = {
        name: chance.choice(values) if chance.random() < 0.6 else {"ne": chance.choice(values)}
        for name, values in FIELDS.items()
        if chance.random() < 0.5
    }
    return {"chat": tests or None}


def fired_in_clips(book: Rulebook, facts: Sequence[Fact]) -> Fired:
    fired: Fired = set()
    environment = clips.Environment()
    environment.define_function(lambda name, *ids: fired.add((str(name), tuple(ids))), "note")
    environment.build("(deftemplate chat (slot id) (slot finish_reason) (slot max_tokens) (slot content_chars))")
    environment.build("(deftemplate finding (slot id))")
    for rule in book.rules:
        environment.build(_as_clips(rule))
    template = environment.find_template("chat")
    for number, fact in enumerate(facts):
        template.assert_fact(id=number, **{name: fact.get(name) for name in FIELDS})
    environment.run()
    return fired


def _as_clips(rule: Rule) -> str:
    """Higher strata have lower salience: they see what those below have derived, whole."""
    (variant,) = rule.when.variants
    parts = [f"?f{n} <- {_pattern(p, f'?i{n}')}" for n, p in enumerate(variant.positive)]
    places = range(len(variant.positive))
    parts += [f"(test (neq ?f{a} ?f{b}))" for b in places for a in range(b)]
    parts += [f"(not {_pattern(p, None)})" for p in variant.none]
    ids = " ".join(f"?i{n}" for n in places)
    return (
        f"(defrule {rule.id} (declare (salience {-rule.stratum})) {' '.join(parts)} => "
        f'(note "{rule.id}" {ids}) (assert (finding (id "{rule.concludes}"))))'
    )


def _pattern(pattern: Pattern, name: str | None) -> str:
    slots = [
        f"({t.field} {'~' if t.op == 'ne' else ''}{_constant(t.operand)})" for t in pattern.tests if t.field != "id"
    ]
    wanted = [_constant(t.operand) for t in pattern.tests if t.field == "id"]
    if name or wanted:
        slots.append(f"(id {'&'.join([*([name] if name else []), *wanted])})")
    return f"({pattern.kind} {' '.join(slots)})"


def _constant(value: object) -> str:
    escaped = str(value).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"' if isinstance(value, str) else str(value)


def fired_in(make: Callable[[], Engine], book: Rulebook, facts: Sequence[Fact]) -> Fired:
    engine = make()
    try:
        engine.load(book.rules)
        place = {id(fact): number for number, fact in enumerate(facts)}
        return {
            (a.rule, tuple(place.get(id(fact), fact.get("id")) for _, fact in a.bound))
            for a in engine.run(facts).activations
        }
    finally:
        engine.close()


def test_engines_agree_with_clips() -> None:
    engines: list[Callable[[], Engine]] = [PythonEngine]
    if sys.version_info < (3, 13):
        from sparkdiag.infer.durable_engine import DurableEngine

        engines.append(DurableEngine)
    total = 0
    for seed in range(80):
        book, facts = random_case(seed)
        expected = fired_in_clips(book, facts)
        total += len(expected)
        for make in engines:
            assert fired_in(make, book, facts) == expected, f"case {seed}"
    assert total > 400
