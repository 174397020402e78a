"""The rule engines: equal to the oracle and to each other, bounded, safe from threads, and replaceable."""

from __future__ import annotations

import gc
import random
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from sparkdiag.errors import EngineError, UsageError
from sparkdiag.facts import Fact, LogHit, Looked, Where
from sparkdiag.facts.engine import ModelServed
from sparkdiag.facts.replies import ChatReply
from sparkdiag.infer import infer
from sparkdiag.infer.engine import Engine, Result
from sparkdiag.infer.engines import engine_for, make_engine
from sparkdiag.infer.memory import Memory
from sparkdiag.infer.python_engine import PythonEngine
from sparkdiag.infer.rulebook import load_texts
from sparkdiag.infer.rules import Rulebook
from sparkdiag.infer.why import rule_state
from tests import oracle
from tests.random_rulebooks import HOSTILE, UNWRITABLE, Maker, case, compare, outcome_of_engine


def _has_durable() -> bool:
    """A dependency up to Python 3.12; from 3.13 on it is there only for those who built it themselves."""
    if sys.version_info < (3, 13):
        return True
    try:
        import durable_rules_engine  # noqa: F401
    except ImportError:
        return False
    return True


HAS_DURABLE = _has_durable()
needs_durable = pytest.mark.skipif(not HAS_DURABLE, reason="durable-rules does not import here")


def durable(**options: Any) -> Engine:
    from sparkdiag.infer.durable_engine import DurableEngine

    return DurableEngine(**options)


ENGINES = [pytest.param(PythonEngine, id="python"), pytest.param(durable, id="durable", marks=needs_durable)]

SIGNATURES = [
    {"id": name, "anchor": "anchor", "regex": "anchor (?P<number>.)", "captures": {"number": "int"}, "benign": True}
    for name in ("hit-a", "hit-b")
]


def rulebook(rules: list[dict[str, Any]], signatures: Sequence[dict[str, Any]] = SIGNATURES) -> Rulebook:
    """Rules that conclude findings (or diagnoses, by their dot), with everything that they speak of."""
    names = dict.fromkeys(rule["concludes"] for rule in rules)
    entry = {"title": "T", "kind": "fault", "cause": "C", "fix": [{"do": "D"}], "sources": ["S"]}
    data = {
        "format": 1,
        "signatures": list(signatures),
        "findings": [{"id": name, "means": "m", "sign": True} for name in names if "." not in name],
        "diagnoses": [{"id": name, **entry} for name in names if "." in name],
        "probes": [{"id": "probe", "supplies": ["chat", "log", "http", "served"], "cost": "none", "weight": 1}],
        "rules": rules,
    }
    return load_texts({"rules.yaml": yaml.safe_dump(data)})


def one(rule: str, when: dict[str, Any], concludes: str = "found") -> dict[str, Any]:
    confidence = {"confidence": "likely"} if "." in concludes else {}
    return {"id": rule, "concludes": concludes, "when": when, **confidence}


def run(make: Callable[[], Engine], book: Rulebook, facts: Sequence[Fact]) -> Result:
    engine = make()
    try:
        engine.load(book.rules)
        return engine.run(facts)
    finally:
        engine.close()


def hits(number: int, name: str = "hit-a") -> list[Fact]:
    return [LogHit(signature=name, captures={"number": n}, order=n) for n in range(number)]


CROSS = rulebook([one("cross", {"all": [{"log": "hit-a"}, {"log": "hit-b"}]})])
PLAIN = rulebook([one("plain", {"all": [{"log": "hit-a"}]}, "demo.plain")])


@pytest.mark.parametrize("start", range(0, 240, 40))
def test_engines_equal_the_oracle(start: int) -> None:
    engines = (PythonEngine, durable) if HAS_DURABLE else (PythonEngine,)
    fired = sum(compare(seed, engines)[1] for seed in range(start, start + 40))
    assert fired > 40  # else the cases would show nothing


@needs_durable
def test_both_engines_give_the_same_result_to_the_last_source() -> None:
    for seed in range(400, 480):
        book, facts = case(seed)
        assert run(durable, book, facts) == run(PythonEngine, book, facts), f"case {seed}"


@pytest.mark.parametrize("make", ENGINES)
def test_the_order_of_evidence_changes_nothing(make: Callable[[], Engine]) -> None:
    for seed in range(600, 640):
        book, facts = case(seed)
        shuffled = random.Random(seed).sample(facts, len(facts))
        place = {id(fact): n for n, fact in enumerate(shuffled)}
        derived, fired = outcome_of_engine(run(make, book, facts), facts)
        again, refired = outcome_of_engine(run(make, book, shuffled), shuffled)
        moved = {
            (rule, variant, tuple(place[id(facts[key])] if isinstance(key, int) else key for key in keys))
            for rule, variant, keys in fired
        }
        assert (derived, {_last_place(f, shuffled) for f in moved}) == (
            again,
            {_last_place(f, shuffled) for f in refired},
        )


def _last_place(fired: tuple[str, int, tuple[Any, ...]], facts: Sequence[Fact]) -> tuple[str, int, tuple[Any, ...]]:
    """A fact that is there twice counts as its first."""
    rule, variant, keys = fired
    first = {id(fact): n for n, fact in reversed(list(enumerate(facts)))}
    return rule, variant, tuple(first[id(facts[key])] if isinstance(key, int) else key for key in keys)


def test_a_rule_fired_exactly_where_its_condition_is_true() -> None:
    for seed in range(700, 820):
        book, facts = case(seed)
        result = run(PythonEngine, book, facts)
        memory = Memory([*facts, *result.derived])
        fired = {activation.rule for activation in result.activations}
        assert {rule.id for rule in book.rules if rule_state(rule, book, memory).state == "true"} == fired, (
            f"case {seed}"
        )


def test_strata_of_the_loader_are_as_deep_as_they_must_be() -> None:
    for seed in range(80):
        book = load_texts(Maker(seed).texts())
        assert {rule.concludes: rule.stratum for rule in book.rules} == oracle.levels_of(book.rules), f"case {seed}"


@pytest.mark.parametrize("make", ENGINES)
def test_hostile_values_are_told_apart(make: Callable[[], Engine]) -> None:
    texts = [*HOSTILE, "x" * 70_000, "x" * 70_001]
    rules = [one(f"text-{n}", {"all": [{"chat": {"finish_reason": text}}]}, f"f{n}") for n, text in enumerate(texts)]
    numbers = [0, 1, -1, 2**63, 2**64, 10**30, 1e-5, 1e16, float("inf"), 0.1 + 0.2, True, False]
    rules += [one(f"number-{n}", {"all": [{"chat": {"max_tokens": x}}]}, f"n{n}") for n, x in enumerate(numbers)]
    book = rulebook(rules)
    values: list[Any] = [*texts, *UNWRITABLE, *numbers, 1.0, 0.3, float("nan"), -(2**63), "\ud800\ud800"]
    facts: list[Fact] = [ChatReply(finish_reason=value, max_tokens=value, order=n) for n, value in enumerate(values)]
    assert outcome_of_engine(run(make, book, facts), facts)[1] == {
        (one.rule, one.variant, tuple(facts.index(fact) for fact in one.facts))
        for one in oracle.evaluate(book.rules, facts)[1]
    }


@pytest.mark.parametrize("make", ENGINES)
def test_wide_rulebooks(make: Callable[[], Engine]) -> None:
    """More patterns of one kind than one network of the core can hold, and more signatures."""
    signatures = [{"id": f"s{n}", "anchor": "anchor", "regex": "anchor", "benign": True} for n in range(700)]
    rules = [
        one(f"chat-{n}", {"all": [{"chat": {"max_tokens": n % 7}, "as": "a"}, {"chat": None}]}) for n in range(150)
    ]
    rules += [one(f"log-{n}", {"all": [{"log": f"s{n}"}]}) for n in range(700)]
    book = rulebook(rules, signatures)
    facts: list[Fact] = [ChatReply(max_tokens=n, order=n) for n in range(4)]
    facts += [LogHit(signature=f"s{n}", captures={}, order=n) for n in range(0, 700, 3)]
    fired = outcome_of_engine(run(make, book, facts), facts)[1]
    chats = {(f"chat-{n}", 0, (n % 7, other)) for n in range(150) for other in range(4) if n % 7 < 4 and other != n % 7}
    assert fired == chats | {(f"log-{n}", 0, (4 + n // 3,)) for n in range(0, 700, 3)}


@pytest.mark.parametrize("make", ENGINES)
def test_a_variant_that_binds_nothing_fires_once(make: Callable[[], Engine]) -> None:
    when = {"absent": [{"chat": {"max_tokens": 1}}], "all": [{"log": "hit-a", "count": {"ge": 2}}]}
    book = rulebook([one("quiet", when), one("next", {"all": [{"finding": "found"}]}, "more")])
    facts = [*hits(2), Looked(probe="chat")]
    derived, fired = outcome_of_engine(run(make, book, facts), facts)
    nowhere = (Where(), 0, None, None)
    assert derived == {("found", *nowhere), ("more", *nowhere)}
    assert fired == {("quiet", 0, ()), ("next", 0, (("found", *nowhere),))}
    assert run(make, book, hits(2)).activations == ()
    assert run(make, book, [*facts, ChatReply(max_tokens=1)]).activations == ()


MEETINGS = {
    "another node": ("node", Where(node="a", run="1"), Where(node="b", run="2"), True),
    "another container": ("node", Where(container="a", run="1"), Where(container="b", run="2"), True),
    "another rank of one run": ("node", Where(rank="0", run="1"), Where(rank="1", run="1"), True),
    "another run of one log": ("node", Where(rank="0", run="1"), Where(rank="1", run="2"), False),
    "a run of a log that may be the same": ("node", Where(node="a", run="1"), Where(run="2"), False),
    "no run told": ("node", Where(node="a", run="1"), Where(node="a"), True),
    "another run": ("run", Where(node="a", run="1"), Where(node="a", run="2"), True),
    "another run on another node": ("run", Where(node="a", run="1"), Where(node="b", run="2"), False),
    "anything": (["node", "run"], Where(node="a", rank="0", run="1"), Where(node="a", rank="1", run="2"), True),
}


@pytest.mark.parametrize("make", ENGINES)
@pytest.mark.parametrize("name", MEETINGS)
def test_what_a_pattern_reaches_across(make: Callable[[], Engine], name: str) -> None:
    """Runs are counted within one log: `across: node` does not join what two runs of one log show."""
    across, first, second, meet = MEETINGS[name]
    facts: list[Fact] = [
        LogHit(signature="hit-a", captures={}, where=first, order=1),
        LogHit(signature="hit-b", captures={}, where=second, order=2),
    ]
    both = [{"log": "hit-a", "across": across}, {"log": "hit-b"}]
    silenced = {"all": [{"log": "hit-a", "across": across}], "none": [{"log": "hit-b"}]}
    book = rulebook([one("both", {"all": both}), one("silenced", silenced, "quiet")])
    fired = {activation.rule for activation in run(make, book, facts).activations}
    assert fired == ({"both"} if meet else {"silenced"})
    assert {rule.rule for rule in oracle.evaluate(book.rules, facts)[1]} == fired


@pytest.mark.parametrize("make", ENGINES)
def test_where_a_finding_holds_that_reaches_across(make: Callable[[], Engine]) -> None:
    fact = LogHit(signature="hit-a", captures={}, where=Where(node="a", rank="0", run="1"))
    for across, where in (("node", Where()), ("run", Where(node="a", rank="0")), (["node", "run"], Where())):
        book = rulebook([one("it", {"all": [{"log": "hit-a", "across": across}]})])
        assert [finding.where for finding in run(make, book, [fact]).derived] == [where]


# Bounds


class Clock:
    """Says that time is up after so many questions."""

    left: int | None = None

    def __call__(self) -> bool:
        if self.left is None:
            return False
        self.left -= 1
        return self.left < 0


def test_python_stops_at_the_budget_and_says_so() -> None:
    engine = PythonEngine(budget=100)
    engine.load(CROSS.rules)
    result = engine.run([*hits(20), *hits(20, "hit-b")])
    assert len(result.activations) == 100
    assert result.notes == (
        "more than 100 activations; the last rule was cross; not all rules were tried on all facts",
    )
    assert engine.run([*hits(10), *hits(10, "hit-b")]).notes == ()


def test_the_budget_ends_on_the_rule_that_uses_it_up() -> None:
    book = rulebook(
        [
            one("a-cross", {"all": [{"log": "hit-a"}, {"log": "hit-b"}]}),
            one("z-single", {"all": [{"chat": None}]}, "single"),
            one(
                "above",
                {"all": [{"finding": "single"}], "none": [{"finding": "found", "count": {"gt": 10**6}}]},
                "high",
            ),
        ]
    )
    engine = PythonEngine(budget=50)
    engine.load(book.rules)
    fired = {a.rule for a in engine.run([*hits(20), *hits(20, "hit-b"), ChatReply()]).activations}
    assert fired == {"a-cross", "z-single", "above"}


def test_python_tries_a_bounded_number_of_combinations() -> None:
    never = {"log": {"signature": "hit-b", "number": {"lt": {"field": "a.number", "times": -1}}}}
    wide = {"all": [{"log": "hit-a", "as": "a"}, {"log": {"signature": "hit-a"}}, {"log": "hit-b"}, never]}
    book = rulebook([one("wild", wide), one("tame", {"all": [{"log": "hit-b"}]}, "tame")])
    engine = PythonEngine()
    engine.load(book.rules)
    result = engine.run([*hits(150), *hits(150, "hit-b")])
    assert result.notes == ("rule wild: too many combinations of facts to try; the rest was left out",)
    assert {a.rule for a in result.activations} == {"tame"}


@needs_durable
def test_durable_gives_up_beyond_its_bounds() -> None:
    engine = durable(budget=100)
    engine.load(CROSS.rules)
    with pytest.raises(EngineError, match="more than 100 activations; the last rule was cross"):
        engine.run([*hits(20), *hits(20, "hit-b")])
    with pytest.raises(EngineError, match="combinations"):
        engine.run([*hits(400), *hits(400, "hit-b")])
    assert len(engine.run([*hits(10), *hits(10, "hit-b")]).activations) == 100  # and is fit for use again
    engine.close()


@needs_durable
def test_durable_ends_when_time_is_up() -> None:
    clock = Clock()
    engine = durable(expired=clock)
    engine.load(CROSS.rules)
    facts = [*hits(30), *hits(30, "hit-b")]
    whole = engine.run(facts)
    for calls in (0, 1, 2, 8, 500):
        clock.left = calls
        with pytest.raises(EngineError, match="out of time"):
            engine.run(facts)
    clock.left = None
    assert engine.run(facts) == whole  # what was broken off leaves no trace
    engine.close()


@needs_durable
def test_durable_refuses_what_it_cannot_take() -> None:
    many = {"all": [{"log": "hit-a", "as": f"n{n}"} for n in range(13)]}
    book = rulebook([one("long", many)])
    with pytest.raises(EngineError, match="rule long has 13 patterns"):
        durable().load(book.rules)
    engine, note = make_engine("durable", book)
    assert engine.name == "python"
    assert note is not None
    assert "rule long has 13 patterns; at most 12 can be taken" in note
    odd: Any = ("a", "b")
    served = rulebook([one("served", {"all": [{"served": {"name": "a"}}]})])
    with pytest.raises(EngineError, match="holds a tuple"):
        run(durable, served, [ModelServed(name=odd)])


@needs_durable
def test_a_closed_engine_says_so() -> None:
    engine = durable()
    engine.load(PLAIN.rules)
    engine.run(hits(1))
    engine.close()
    engine.close()
    with pytest.raises(EngineError, match="closed"):
        engine.run(hits(1))


# Falling back


class Broken:
    """An engine that fails in the middle of its work."""

    name = "durable"

    def load(self, rules: Sequence[object]) -> None:
        """Takes anything."""

    def run(self, facts: Sequence[Fact]) -> Result:
        raise EngineError("it broke")

    def close(self) -> None:
        """Holds nothing."""


def test_an_engine_error_falls_back_to_python_and_is_told() -> None:
    found = infer(hits(1), PLAIN, Broken())
    assert found.engine == "python"
    assert [d.id for d in found.diagnoses] == ["demo.plain"]
    (problem,) = found.problems
    assert (problem.what, problem.why) == ("rule engine durable", "it broke; the Python engine was used instead")


def test_what_was_left_out_is_told() -> None:
    engine = PythonEngine(budget=3)
    engine.load(PLAIN.rules)
    (problem,) = infer(hits(9), PLAIN, engine).problems
    assert problem.why.startswith("more than 3 activations; the last rule was plain")


def test_without_durable_the_python_engine_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "durable_rules_engine", None)
    monkeypatch.delitem(sys.modules, "sparkdiag.infer.durable_engine", raising=False)
    engine, note = make_engine("durable", PLAIN)
    assert engine.name == "python"
    assert note is not None
    assert note.startswith("durable-rules cannot be used here (")
    assert note.endswith("the Python engine was used")
    engine, note = make_engine("auto", PLAIN)
    assert (engine.name, note) == ("python", None)  # nobody asked for the other


def test_engines_by_name() -> None:
    for name, expected in (("python", "python"), ("auto", "durable" if HAS_DURABLE else "python")):
        engine, note = make_engine(name, PLAIN)
        assert (engine.name, note) == (expected, None)
        assert len(engine.run(hits(2)).activations) == 2
        engine.close()
    with pytest.raises(UsageError, match="'clips' is no rule engine; there are auto, durable, python"):
        make_engine("clips", PLAIN)


def test_loaded_engines_are_shared_and_at_most_a_few_are_kept() -> None:
    found: list[Engine] = []
    threads = [threading.Thread(target=lambda: found.append(engine_for("auto", CROSS)[0])) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({id(engine) for engine in found}) == 1
    for number in range(40):
        other = rulebook([one(f"rule-{number}", {"all": [{"log": "hit-a"}]})])
        assert engine_for("auto", other)[0].run(hits(1)).activations[0].rule == f"rule-{number}"
    assert found[0].run([*hits(2), *hits(2, "hit-b")]).derived  # pushed out, and still good for who has it
    assert engine_for("auto", CROSS)[0] is not found[0]


# Threads and memory


@pytest.mark.parametrize("make", ENGINES)
def test_eight_threads_on_one_engine(make: Callable[[], Engine]) -> None:
    book, _ = case(3)
    evidence = [Maker(seed).facts() for seed in range(48)]
    engine = make()
    engine.load(book.rules)
    alone = [engine.run(facts) for facts in evidence]
    together: list[Result | None] = [None] * len(evidence)
    errors: list[BaseException] = []

    def work(start: int) -> None:
        try:
            for place in range(start, len(evidence), 8):
                together[place] = engine.run(evidence[place])
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    engine.close()
    assert errors == []
    assert together == alone
    assert sum(len(result.activations) for result in alone) > 0


def _resident() -> int:
    """Bytes of this process in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


@pytest.fixture
def settled() -> Iterator[None]:
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@needs_durable
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs Linux's /proc")
@pytest.mark.usefixtures("settled")
def test_a_thousand_runs_do_not_leak() -> None:
    facts = [*hits(12), *hits(12, "hit-b")]
    clock = Clock()
    engine = durable(expired=clock)
    engine.load(CROSS.rules)

    def runs(number: int) -> None:
        for place in range(number):
            clock.left = None
            if place % 4 == 0:
                clock.left = 5
                with pytest.raises(EngineError):
                    engine.run(facts)
            else:
                engine.run(facts)

    runs(100)
    before = _resident()
    runs(1000)
    grown = _resident() - before
    engine.close()
    assert grown < 1 << 20, f"{grown} bytes more after 1000 runs"


@needs_durable
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs Linux's /proc")
@pytest.mark.usefixtures("settled")
def test_engines_that_are_let_go_of_give_back_their_rulesets() -> None:
    def loads(number: int) -> None:
        for place in range(number):
            engine = durable()
            engine.load(CROSS.rules)
            engine.run([*hits(1), *hits(1, "hit-b")])
            if place % 2:
                engine.close()

    loads(50)
    before = _resident()
    loads(400)
    assert _resident() - before < 1 << 20
