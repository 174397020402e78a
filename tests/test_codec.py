"""The compiled form of a rulebook is the rulebook."""

from __future__ import annotations

from sparkdiag.infer.codec import from_compiled, to_data
from sparkdiag.infer.engine import Engine
from sparkdiag.infer.python_engine import PythonEngine
from sparkdiag.infer.rulebook import load_texts, render
from sparkdiag.infer.rules import Rulebook
from tests.random_rulebooks import Maker, case


def again(book: Rulebook) -> Rulebook:
    return from_compiled(render(to_data(book)).encode())


def test_random_rulebooks_come_back_equal() -> None:
    for seed in range(1000, 1120):
        book = load_texts(Maker(seed).texts())
        assert again(book) == book, f"case {seed}"


def test_every_part_of_an_entry_comes_back() -> None:
    text = r"""
format: 1
chapter: demo
signatures:
  - {id: line, anchors: [one anchor, another], regex: '(?P<size>\d+) "quoted"', captures: {size: bytes}, in: [log, any]}
diagnoses:
  - id: demo.all
    title: "Title: é \\ \""
    kind: limit
    cause: "{log.size:GiB}"
    fix:
      - {do: Do it., on: control, risk: may-hang, command: "a 'b'\nc", undo: Undo it.}
    avoid: [{do: this, because: that, unless: found}]
    confirm: Look again.
    sources: [one, two]
    known: in 2026
    explained_by: ["*"]
    refuted_by: [found]
  - {id: demo.other, title: T, kind: advice, cause: C, fix: [], sources: S}
findings: [{id: found, means: M, sign: true}]
probes:
  - {id: ask, supplies: [chat, log], cost: little, weight: 3, command: curl, tier: active}
  - {id: look, supplies: [http], cost: none, weight: 1, do: Look., tier: passive}
rules:
  - id: all-of-it
    concludes: demo.all
    confidence: hint
    when:
      all:
        - {log: {signature: line, size: {between: [1, 2.5]}}, as: l, across: node}
        - {chat: {max_tokens: {ge: {field: l.size, times: 0.5}}, content_null: true}, before: l, after: l}
        - {chat: {finish_reason: [a, b], model: missing}, count: {gt: 2}, distinct: model, probe: ask}
      any: [{http: {status: 500}}, {http: {route: {matches: /v1}}}]
      none: [{finding: found}]
      absent: [{http: {seconds: .inf}}]
    supports: [{any: [{chat: {}}]}]
    weakens: [{chat: {}}]
    versions: {vllm: "*", sglang: ">=1"}
    explains: [demo.other]
    cause: Other.
    fix: []
    avoid: []
  - {id: other, concludes: demo.other, confidence: certain, when: {all: [{log: line}]}}
  - {id: found, concludes: found, when: {all: [{http: {status: 200}}]}}
"""
    book = load_texts({"a.yaml": text})
    assert again(book) == book
    assert again(book).by_id["all-of-it"].fix == ()  # an empty list is an answer; None would be none
    assert again(book).by_id["other"].fix is None


def test_the_compiled_rulebook_fires_alike() -> None:
    for seed in range(1200, 1230):
        book, facts = case(seed)
        engines: list[Engine] = [PythonEngine(), PythonEngine()]
        engines[0].load(book.rules)
        engines[1].load(again(book).rules)
        assert engines[0].run(facts) == engines[1].run(facts)
