"""Random rulebooks, as rule files, and random evidence for them: every construct, often, on small pools of values.

`python -m tests.random_rulebooks --cases 5000 --seed 1` holds both engines against the oracle by hand.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import yaml

from sparkdiag.errors import EngineError
from sparkdiag.facts import Fact, Finding, LogHit, Looked, Source, Where
from sparkdiag.facts.engine import EngineSeen, ModelServed
from sparkdiag.facts.http import HttpAnswer
from sparkdiag.facts.launch import Launch
from sparkdiag.facts.replies import ChatReply
from sparkdiag.infer.engine import Engine, Result
from sparkdiag.infer.rulebook import load_texts
from sparkdiag.infer.rules import Rulebook
from tests import oracle

HOSTILE = ['"', "\\", "a\"b'c", "{}[]$m", "%", "1", "True", "null", "", " ", "é\u2028ß", "😀", "a\tb", "x" * 300]
UNWRITABLE = ["\0", "a\0b", "\ud800", "\x1b[31m"]
"""Only evidence holds these: a rule file cannot."""
TEXTS = ["length", "stop", "a", "b", "ab", *HOSTILE]
NUMBERS: list[Any] = [0, 1, 2, 3, -1, 1.0, 0.5, 2.5, 10**30, 1e-5, float("inf")]
FLAGS = [True, False]
VERSIONS = ["0.16", "0.19.1rc1", "v0.17.2", "1", "main", "0.16.0", "0.9.9"]

Field = tuple[str, list[Any]]

FIELDS: dict[str, list[Field]] = {
    "chat": [
        ("finish_reason", TEXTS),
        ("reasoning_key", TEXTS),
        ("content_chars", NUMBERS),
        ("max_tokens", NUMBERS),
        ("text_per_token", NUMBERS),
        ("at_token_cap", FLAGS),
        ("content_null", FLAGS),
    ],
    "http": [("status", NUMBERS), ("route", TEXTS), ("openai_shape", FLAGS), ("seconds", NUMBERS)],
    "engine": [("name", ["vllm", "sglang", "ollama"]), ("version", VERSIONS), ("proxied", FLAGS)],
    "served": [("name", TEXTS), ("max_model_len", NUMBERS), ("names", TEXTS)],
    "launch": [
        ("form", TEXTS),
        ("flag.size", NUMBERS),
        ("flag.word", TEXTS),
        ("flag.switch", FLAGS),
        ("env.WORD", TEXTS),
        ("engine", ["vllm", "sglang"]),
    ],
}
SIGNATURES: dict[str, list[tuple[str, str, list[Any]]]] = {
    "sig-a": [("number", "int", NUMBERS), ("word", "text", TEXTS)],
    "sig-b": [("number", "float", NUMBERS), ("release", "version", VERSIONS)],
    "sig-c": [],
}
LOG_FIELDS: list[Field] = [("process", TEXTS), ("phase", TEXTS), ("count", NUMBERS), ("last_order", NUMBERS)]
KINDS = [*FIELDS, "log"]


class Maker:
    """One random case. The shape of a rulebook is valid by construction; what it says is chance."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.names = 0
        levels = self.random.randint(1, 5)
        findings = [f"finding-{n}" for n in range(self.random.randint(1, 5))]
        diagnoses = [f"chapter.d{n}" for n in range(self.random.randint(1, 3))]
        self.level = {name: self.random.randrange(levels) for name in [*findings, *diagnoses]}
        self.findings, self.diagnoses = findings, diagnoses
        self.kinds = self.random.sample(KINDS, 2)
        """Kinds that rules and evidence are mostly about, so that patterns of one kind meet many facts."""

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    # Rule files

    def texts(self) -> dict[str, str]:
        rules: list[dict[str, Any]] = []
        wanted = [*self.findings, *self.diagnoses]
        wanted += self.random.choices(wanted, k=self.random.randint(0, 6))
        for number, name in enumerate(wanted):
            rules.append(self.rule(f"rule-{number}", name))
        knowledge = {
            "format": 1,
            "findings": [{"id": name, "means": "something", "sign": True} for name in self.findings],
            "diagnoses": [
                {"id": name, "title": "T", "kind": "fault", "cause": "C", "fix": [{"do": "D"}], "sources": ["S"]}
                for name in self.diagnoses
            ],
            "signatures": [
                {
                    "id": name,
                    "anchor": "anchor",
                    "regex": "anchor" + "".join(f"(?P<{group}>.)" for group, _, _ in captures),
                    "captures": {group: sort for group, sort, _ in captures},
                    "benign": True,
                }
                for name, captures in SIGNATURES.items()
            ],
            "probes": [{"id": "probe", "supplies": [*KINDS, "extra"], "cost": "none", "weight": 1}],
        }
        half = len(rules) // 2
        return {
            "knowledge.yaml": _dump(knowledge),
            "first.yaml": _dump({"format": 1, "rules": rules[:half]}),
            "second.yaml": _dump({"format": 1, "chapter": "x", "rules": rules[half:]}),
        }

    def rule(self, name: str, concludes: str) -> dict[str, Any]:
        rule: dict[str, Any] = {"id": name, "concludes": concludes, "when": self.when(concludes)}
        if concludes in self.diagnoses:
            rule["confidence"] = self.random.choice(["hint", "possible", "plausible", "likely", "strong", "certain"])
            for key in ("supports", "weakens"):
                if self.chance(0.2):
                    rule[key] = [self.pattern(concludes, {}), {"any": [self.pattern(concludes, {})]}]
            if self.chance(0.2):
                rule |= {"cause": "Other", "fix": [{"do": "E", "command": "x", "risk": "restarts"}], "avoid": []}
        if self.chance(0.15):
            rule["versions"] = self.random.choice([{"vllm": ">=0.16,<0.18"}, {"vllm": "*", "sglang": "<1"}])
        return rule

    def when(self, concludes: str) -> dict[str, Any]:
        scope: dict[str, str] = {}
        when: dict[str, Any] = {}
        if self.chance(0.85):
            items = [self.pattern(concludes, scope, named=True) for _ in range(self.random.choice([1, 1, 2, 2, 3]))]
            if self.chance(0.2):
                items.append(self.counted(self.pattern(concludes, scope, complete=True)))
            self.random.shuffle(items)  # so that some refer to what stands after them
            when["all"] = items
        room = len(scope) < 3
        if room and self.chance(0.3):
            when["any"] = [self.branch(concludes, scope) for _ in range(self.random.randint(1, 3))]
        for group in ("none", "absent"):
            if self.chance(0.3):
                items = [self.pattern(concludes, scope, complete=True) for _ in range(self.random.randint(1, 2))]
                when[group] = [self.counted(item) if self.chance(0.15) else item for item in items]
        if not when:
            when["none"] = [self.pattern(concludes, scope, complete=True)]
        keys = list(when)
        self.random.shuffle(keys)
        return {key: when[key] for key in keys}

    def branch(self, concludes: str, scope: dict[str, str]) -> dict[str, Any]:
        if self.chance(0.6):
            return self.pattern(concludes, scope)
        own = dict(scope)
        inner: dict[str, Any] = {"all": [self.pattern(concludes, own, named=True)]}
        if self.chance(0.4):
            inner["none"] = [self.pattern(concludes, own, complete=True)]
        if self.chance(0.3):
            inner["any"] = [self.pattern(concludes, own), self.pattern(concludes, own)]
        return inner

    def pattern(
        self, concludes: str, scope: dict[str, str], *, named: bool = False, complete: bool = False
    ) -> dict[str, Any]:
        """One pattern; with `named` it may enter the scope that others refer to."""
        kind = self.random.choice([*self.kinds, *self.kinds, *KINDS])
        if self.chance(0.4 if complete else 0.25):
            kind = "finding"
        body: Any = None
        if kind == "finding":
            body = self.asked(concludes, complete)
            if body is None:
                kind = "chat"
        if kind == "log":
            signature = self.random.choice(list(SIGNATURES))
            fields = [(group, pool) for group, _, pool in SIGNATURES[signature]] + LOG_FIELDS
            body = {"signature": signature, **self.tests(kind, fields, scope)}
            if self.chance(0.1):
                body["signature"] = self.random.sample(list(SIGNATURES), 2)
                body = {key: body[key] for key in body if key in ("signature", *(name for name, _ in LOG_FIELDS))}
            elif len(body) == 1:
                body = signature
        elif kind != "finding":
            body = self.tests(kind, FIELDS[kind], scope) or None
        out = {kind: body}
        if self.chance(0.12):
            out["across"] = self.random.choice(["node", "node", "run", ["node", "run"]])
        for key in ("before", "after"):
            if scope and self.chance(0.12):
                out[key] = self.random.choice(list(scope))
        if self.chance(0.1):
            out["probe"] = self.random.choice(["extra", "probe"])
        if named and self.chance(0.7):
            self.names += 1
            out["as"] = f"n{self.names}"
            scope[out["as"]] = kind
        return out

    def asked(self, concludes: str, complete: bool) -> Any:
        limit = self.level[concludes] - (1 if complete or self.chance(0.7) else 0)
        names = [name for name, level in self.level.items() if level <= limit]
        if not names:
            return None
        if self.chance(0.2):
            return {"id": self.random.sample(names, min(2, len(names)))}
        name = self.random.choice(names)
        return {"id": name, "order": {"ge": self.random.randint(0, 5)}} if self.chance(0.2) else name

    def tests(self, kind: str, fields: Sequence[Field], scope: dict[str, str]) -> dict[str, Any]:
        picked = self.random.sample(list(fields), self.random.choice([0, 0, 1, 1, 1, 2, 3]) % (len(fields) + 1))
        return {name: self.test(kind, name, pool, scope) for name, pool in picked}

    def test(self, kind: str, name: str, pool: list[Any], scope: dict[str, str]) -> Any:
        value = self.common(pool)
        word = isinstance(value, str)
        sort = self.random.randrange(13)
        if pool is VERSIONS and self.chance(0.4):
            return {self.random.choice(["version", "not_version"]): self.random.choice([">=0.16", "<0.18,>=0.1", "*"])}
        if sort <= 3:
            return value if value not in ("present", "missing") else "a"
        if sort == 4:
            return self.random.choice(["present", "missing"])
        if sort == 5:
            return self.random.sample(pool, min(2, len(pool)))
        if sort == 6:
            return {self.random.choice(["in", "not_in"]): self.random.sample(pool, min(3, len(pool)))}
        if sort >= 10 and scope:
            alias = self.random.choice(list(scope))
            other = self.random.choice([field for field, _ in FIELDS.get(scope[alias], [("order", [])])])
            if not other.startswith(("flag.", "env.")):
                ref: dict[str, Any] = {"field": f"{alias}.{other}"}
                if self.chance(0.4):
                    ref["times"] = self.random.choice([2, 0.5, 1e300])
                return {self.random.choice(["eq", "ne", "gt", "le"]): ref} if self.chance(0.7) else ref
        if sort == 8 and kind in FIELDS:
            own = self.random.choice([field for field, _ in FIELDS[kind]])
            return {self.random.choice(["eq", "ge", "lt"]): {"field": own}}
        if word:
            op = self.random.choice(["ne", "matches", "not_matches", "contains", "gt", "le"])
            return {op: self.random.choice(["a", "^b", "s.op", "", "1$"]) if op.endswith("matches") else value}
        if isinstance(value, bool):
            return {"ne": value}
        if sort == 9:
            return {"between": [0, value]}
        return {self.random.choice(["eq", "ne", "gt", "ge", "lt", "le"]): value}

    def counted(self, pattern: dict[str, Any]) -> dict[str, Any]:
        pattern.pop("as", None)
        number = self.random.randint(0, 4)
        count: Any = {self.random.choice(["ge", "le", "eq", "gt", "lt", "ne"]): number}
        pattern["count"] = self.random.choice([count, count, {"between": [1, 3]}, 2])
        if "finding" not in pattern and self.chance(0.3):
            kind = next(key for key in pattern if key in KINDS)
            pattern["distinct"] = self.random.choice(FIELDS.get(kind, LOG_FIELDS))[0]
        return pattern

    # Evidence

    def facts(self) -> list[Fact]:
        out: list[Fact] = []
        kinds = [*KINDS, "log", "chat"]
        if self.chance(0.7):
            kinds = self.kinds
        for _ in range(self.random.randint(0, 20)):
            out.append(self.fact(self.random.choice(kinds) if self.chance(0.9) else "finding"))
        for probe in [*KINDS, "extra", "probe", "finding"]:
            if self.chance(0.5):
                out.append(Looked(probe=probe, where=self.where(), order=self.random.randint(0, 9)))
        self.random.shuffle(out)
        if out and self.chance(0.1):
            out.append(self.random.choice(out))  # the same fact twice
        return out

    def where(self) -> Where:
        return Where(*(self.random.choice(["x", "y"]) if self.chance(0.15) else None for _ in range(6)))

    def value(self, pool: list[Any]) -> Any:
        if self.chance(0.15):
            return None
        if pool is TEXTS and self.chance(0.1):
            return self.random.choice(UNWRITABLE)
        return self.common(pool)

    def common(self, pool: list[Any]) -> Any:
        """Mostly one of the pool's first: so that rules and evidence meet."""
        return self.random.choice(pool[:2] if self.chance(0.6) else pool)

    def fact(self, kind: str) -> Fact:
        common: dict[str, Any] = {
            "where": self.where(),
            "source": Source("log", line=self.random.randint(1, 99)),
            "order": self.random.randint(0, 9),
            "time": float(self.random.randint(0, 5)) if self.chance(0.4) else None,
            "clock": "capture" if self.chance(0.2) else None,
        }
        if kind == "finding":
            return Finding(id=self.random.choice(self.findings), **common)
        if kind == "log":
            name = self.random.choice(list(SIGNATURES))
            captures = {group: self.value(pool) for group, _, pool in SIGNATURES[name]}
            folded = {
                "count": self.random.choice([1, 1, 2, 5]),
                "last_order": self.random.choice([0, common["order"] + 3]),
                "last_time": self.random.choice([None, 6.0]),
            }
            words = {"process": self.value(TEXTS), "phase": self.value(TEXTS)}
            return LogHit(signature=name, captures=captures, **folded, **words, **common)
        values = {name: self.value(pool) for name, pool in FIELDS[kind]}
        makers: dict[str, Callable[..., Fact]] = {"chat": ChatReply, "http": HttpAnswer}
        if kind in makers:
            return makers[kind](**values, **common)
        if kind == "engine":
            return EngineSeen(**{**values, "name": values["name"] or "vllm"}, **common)
        if kind == "served":
            names = tuple(self.random.choice(TEXTS) for _ in range(self.random.randint(0, 2)))
            return ModelServed(name=values["name"] or "a", max_model_len=values["max_model_len"], names=names, **common)
        flags = {name.removeprefix("flag."): value for name, value in values.items() if name.startswith("flag.")}
        if self.chance(0.2):
            flags["word"] = ("a", "b")
        env = {"WORD": values["env.WORD"]}
        return Launch(form=values["form"] or "script", engine=values["engine"], flags=flags, env=env, **common)


def _dump(data: dict[str, Any]) -> str:
    return str(yaml.safe_dump(data, sort_keys=False, allow_unicode=True))


def case(seed: int) -> tuple[Rulebook, list[Fact]]:
    """The rulebook and the evidence of one seed."""
    maker = Maker(seed)
    return load_texts(maker.texts()), maker.facts()


def outcome_of_engine(result: Result, facts: Sequence[Fact]) -> tuple[set[Any], set[Any]]:
    """What was derived and what fired, so that two evaluators can be compared."""
    keys = _keys(facts)
    fired = [(a.rule, a.variant, tuple(_key(fact, keys) for _, fact in a.bound)) for a in result.activations]
    assert len(set(fired)) == len(fired), "an activation is there twice"
    return {_key(finding, {}) for finding in result.derived}, set(fired)


def outcome_of_oracle(book: Rulebook, facts: Sequence[Fact]) -> tuple[set[Any], set[Any]]:
    derived, fired = oracle.evaluate(book.rules, facts)
    keys = _keys(facts)
    return (
        {_key(finding, {}) for finding in derived},
        {(one.rule, one.variant, tuple(_key(fact, keys) for fact in one.facts)) for one in fired},
    )


def _keys(facts: Sequence[Fact]) -> dict[int, int]:
    return {id(fact): place for place, fact in enumerate(facts)}


def _key(fact: Fact, keys: dict[int, int]) -> Any:
    if id(fact) in keys:
        return keys[id(fact)]
    assert isinstance(fact, Finding)
    return fact.id, fact.where, fact.order, fact.time, fact.clock


def compare(seed: int, make: Sequence[Callable[[], Engine]]) -> tuple[int, int]:
    """Hold engines against the oracle on one seed; AssertionError with the seed where they differ.

    Returns the numbers of rules and activations; no activations for a case that is too much for the oracle.
    """
    book, facts = case(seed)
    try:
        wanted = outcome_of_oracle(book, facts)
    except oracle.TooMuchError:
        return len(book.rules), 0
    for maker in make:
        engine = maker()
        try:
            engine.load(book.rules)
            got = outcome_of_engine(engine.run(facts), facts)
        except EngineError as error:
            print(f"case {seed}: {engine.name} gave up: {error}")
            continue
        finally:
            engine.close()
        assert got == wanted, f"{engine.name} differs from the oracle in case {seed}"
    return len(book.rules), len(wanted[1])


def main() -> int:
    from sparkdiag.infer.durable_engine import DurableEngine
    from sparkdiag.infer.python_engine import PythonEngine

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0, help="of the first case; the others follow")
    options = parser.parse_args()
    began = time.monotonic()
    rules = fired = wrong = 0
    for seed in range(options.seed, options.seed + options.cases):
        try:
            more = compare(seed, (PythonEngine, DurableEngine))
        except AssertionError as error:
            print(error)
            wrong += 1
        else:
            rules, fired = rules + more[0], fired + more[1]
    took = time.monotonic() - began
    print(f"{options.cases} cases, {rules} rules, {fired} activations, {wrong} wrong, {took:.1f} s")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
