# ruff: noqa: E501 - tables, one case a line
"""What the loader refuses, and that it says where and why in one plain sentence."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sparkdiag.errors import RuleError
from sparkdiag.infer.rulebook import load_folder, load_texts

GOOD = """\
format: 1
signatures:
  - id: port-taken
    anchor: already in use
    regex: 'address (?P<address>\\S+) already in use'
    captures: {address: text}
diagnoses:
  - id: demo.cut-off
    title: The answer is cut off
    kind: fault
    cause: The budget of {chat.max_tokens} tokens ran out.
    fix:
      - {do: Ask for more tokens., on: client, risk: none}
    avoid:
      - {do: restart it, because: it is well, unless: never-thinks}
    explains: [demo.port-taken]
    sources: [a place]
  - id: demo.port-taken
    title: The port is taken
    kind: fault
    cause: Something listens on {log.address} already.
    fix: []
    sources: [a place]
findings:
  - {id: never-thinks, means: The model does not think}
probes:
  - {id: ask, supplies: [chat, log, http], cost: a second, weight: 1}
rules:
  - id: cut-off
    concludes: demo.cut-off
    confidence: likely
    when:
      all:
        - chat: {finish_reason: length}
          as: reply
        - chat: {max_tokens: {lt: {field: reply.max_tokens}}}
      none:
        - finding: never-thinks
  - id: port-taken
    concludes: demo.port-taken
    confidence: strong
    versions: {vllm: ">=0.16,<0.33"}
    when: {all: [{log: port-taken}]}
  - id: never-thinks
    concludes: never-thinks
    when: {all: [{chat: {reasoning_chars: 0}, count: {ge: 2}}]}
"""


def problems(text: str) -> tuple[str, ...]:
    """What the loader says of a rule file."""
    with pytest.raises(RuleError) as caught:
        load_texts({"rules/demo.yaml": text})
    assert str(caught.value) == "\n".join(caught.value.problems)
    return caught.value.problems


def changed(old: str, new: str) -> str:
    assert GOOD.count(old) == 1, old
    return GOOD.replace(old, new)


def line_of(text: str, words: str) -> int:
    return text[: text.index(words)].count("\n") + 1


def test_the_good_one_loads() -> None:
    book = load_texts({"rules/demo.yaml": GOOD})
    assert [rule.id for rule in book.rules] == ["cut-off", "never-thinks", "port-taken"]
    assert book.by_id["cut-off"].at == f"rules/demo.yaml:{line_of(GOOD, '- id: cut-off')}"
    assert book.by_id["cut-off"].stratum > book.by_id["never-thinks"].stratum


CASES = {
    # name: (what stands in the good file, what stands there instead, where the error is, what is said)
    "unknown key": ("confidence: likely", "confidense: likely", "confidense", "rule 'cut-off' has no key 'confidense'"),
    "unknown section": ("probes:", "probs: []\nprobes:", "probs:", "a rule file has no section 'probs'; did you mean 'probes'?"),
    "section that is no list": ("findings:\n  -", "findings:\n ", "findings:", "'findings' must be a list"),
    "entry that is no mapping": ("probes:\n", "probes:\n  - ask\n", "probes:", "a probe must be a mapping"),
    "missing key": ("    sources: [a place]\nfindings", "findings", "- id: demo.port", "diagnosis 'demo.port-taken' needs 'sources'"),
    "text that is none": ("cause: Something listens on {log.address} already.", "cause: [x]", "cause: [x]", "must be text"),
    "bad kind": ("kind: fault\n    cause: The", "kind: flaw\n    cause: The", "kind: flaw", "fault, limit or advice, not 'flaw'"),
    "bad id": ("- id: port-taken\n    anchor", "- id: Port Taken\n    anchor", "- id: Port", "ids are lower-case words joined"),
    "number for an id": ("{id: never-thinks,", "{id: 17,", "{id: 17", "finding 17: ids are lower-case words joined by dashes"),
    "diagnosis without chapter": ("- id: demo.port-taken", "- id: port", "- id: port\n", "ids look like chapter.problem-in-words"),
    "word for a truth": ("means: The model", "sign: yes please, means: The model", "sign:", "is true or false, not 'yes please'"),
    "bad step": ("on: client", "on: moon", "on: moon", "'on' is node, control or client, not 'moon'"),
    "bad risk": ("risk: none", "risk: some", "risk: some", "'risk' is none, restarts, needs-root or may-hang, not 'some'"),
    "bad weight": ("weight: 1", "weight: light", "weight: light", "'weight' is a whole number"),
    "short anchor": ("anchor: already in use", "anchor: use", "- id: port-taken", "the anchor 'use' is shorter than four bytes"),
    "no anchor": ("    anchor: already in use\n", "", "- id: port-taken", "needs an anchor: a literal that every hit holds"),
    "bad regex": ("'address (", "'address ((", "regex:", "the regular expression does not compile: missing )"),
    "uncaptured group": ("    captures: {address: text}\n", "", "regex:", "the named group 'address' needs a type in 'captures'"),
    "capture of no group": ("{address: text}", "{adress: text}", "captures:", "captures 'adress', which is no named group"),
    "bad capture type": ("{address: text}", "{address: word}", "captures:", "'word' is no type of capture (text, int, float"),
    "unknown fact": ("{all: [{log: port", "{all: [{chatt: port", "{chatt:", "'chatt' is no kind of fact; did you mean 'chat'?"),
    "unknown comparison": ("{lt: {field", "{less: {field", "{less:", "'less' is no comparison"),
    "bad pattern": ("finish_reason: length}", "finish_reason: [{a: b}]}", "[{a:", "a list of plain values is needed"),
    "nothing to compare with": ("reason: length", "reason: null", "reason: null", "write 'missing' for unknown"),
    "regex in a rule": ("reason: length", "reason: {matches: '('}", "matches", "does not compile"),
    "version in a rule": ("reason: length", "reason: {version: new}", "version: new", "'new' is no version bound"),
    "bad version range": ('">=0.16,<0.33"', '">=0.33,<0.16"', "versions:", "'>=0.33,<0.16' holds for no version"),
    "empty version range": ('">=0.16,<0.33"', '">=0.33,<0.33"', "versions:", "'>=0.33,<0.33' holds for no version"),
    "version of no engine": ("{vllm: ", "{vlm: ", "versions:", "'vlm' is no engine; did you mean 'vllm'?"),
    "bad level": ("confidence: likely", "confidence: sure", "confidence: sure", "'sure' is no level (hint, possible"),
    "level that is a list": ("confidence: likely", "confidence: [likely]", "confidence: [", "['likely'] is no level"),
    "no level": ("    confidence: likely\n", "", "- id: cut-off", "rule 'cut-off' needs 'confidence': one of hint, possible"),
    "level of a finding": ("concludes: never-thinks", "concludes: never-thinks\n    confidence: hint", "confidence: hint", "findings carry no confidence"),
    "empty when": ("when: {all: [{log: port-taken}]}", "when: {}", "when: {}", "'when' of rule 'port-taken' asks for nothing"),
    "empty all": ("{all: [{log: port-taken}]}", "{all: []}", "all: []", "'all' of rule 'port-taken' must be a list of conditions"),
    "two kinds": ("{log: port-taken}", "{log: port-taken, chat: {}}", "chat: {}", "must name one kind of fact, not 2"),
    "name used twice": ("{chat: {reasoning_chars: 0}, count: {ge: 2}}", "{chat: {}, as: x}, {chat: {}, as: x}", "x}, {chat", "rule 'never-thinks' uses the name 'x' twice"),
    "name that is none": ("as: reply", "as: The Reply", "as: The", "'as: The Reply' is no name"),
    "distinct without count": ("count: {ge: 2}", "distinct: model", "distinct", "'distinct' needs 'count'"),
    "count of words": ("count: {ge: 2}", "count: {ge: many}", "count: {ge: many", "'count' is compared with plain numbers"),
    "regex from a field": ("{lt: {field: reply", "{matches: {field: reply", "{matches", "'matches' takes no other field"),
    "across what": ("{log: port-taken}", "{log: port-taken, across: rank}", "across", "'across' can only be 'node', 'run', or [node, run]"),
    "across a list of what": ("{log: port-taken}", "{log: port-taken, across: [node, 3]}", "across", "'across' can only be"),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_one_entry_is_wrong(name: str) -> None:
    old, new, place, said = CASES[name]
    text = changed(old, new)
    found = problems(text)
    assert len(found) == 1, found
    assert found[0].startswith(f"rules/demo.yaml:{line_of(text, place)}: "), found
    assert said in found[0]


BETWEEN = {
    "unknown field": ("finish_reason: length", "finish_raeson: length", "- id: cut-off\n", "'chat' has no field 'finish_raeson'; did you mean 'finish_reason'?"),
    "unknown field referred to": ("field: reply.max_tokens", "field: reply.max_token", "- id: cut-off\n", "'chat' has no field 'max_token'; did you mean 'max_tokens'?"),
    "unknown name referred to": ("field: reply.max_tokens", "field: answer.max_tokens", "- id: cut-off\n", "refers to 'answer', which no pattern is named"),
    "before nothing": ("as: reply", "as: reply\n          before: anser", "- id: cut-off\n", "orders by 'anser', which no pattern is named"),
    "unknown capture": ("{log: port-taken}", "{log: {signature: port-taken, adress: x}}", "- id: port-taken\n    concludes", "'log' has no field 'adress'; did you mean 'address'?"),
    "unknown signature": ("{all: [{log: port-taken}]}", "{any: [{log: port-taken}, {log: port-takn}]}", "- id: port-taken\n    concludes", "looks for the signature 'port-takn', which is none; did you mean 'port-taken'?"),
    "unknown diagnosis": ("concludes: demo.cut-off", "concludes: demo.cut-of", "- id: cut-off\n", "concludes 'demo.cut-of', which is no diagnosis; did you mean 'demo.cut-off'?"),
    "unknown finding concluded": ("concludes: never-thinks", "concludes: never-think", "- id: never-thinks\n    concludes", "concludes 'never-think', which is no finding; did you mean 'never-thinks'?"),
    "unknown finding asked for": ("- finding: never-thinks", "- finding: {id: [never-thinks, ever]}", "- id: cut-off\n", "asks for 'ever', which is no finding"),
    "unknown finding that lifts": ("unless: never-thinks", "unless: {finding: never-think}", "- id: demo.cut-off\n", "names the finding 'never-think', which does not exist; did you mean 'never-thinks'?"),
    "unknown diagnosis explained": ("[demo.port-taken]", "[demo.port]", "- id: demo.cut-off\n", "'demo.cut-off' explains 'demo.port', which is no diagnosis"),
    "unknown probe": ("{log: port-taken}", "{log: port-taken, probe: lok}", "- id: port-taken\n    concludes", "names the probe 'lok', which nothing supplies; did you mean 'log'?"),
    "place in a title": ("title: The port is taken", "title: '{log.address} is taken'", "- id: demo.port-taken", "'title' of 'demo.port-taken' is printed as it stands, and holds '{log.address}'"),
    "place in what is known": ("title: The port is taken", "title: The port is taken\n    known: 'vLLM {engine.version}'", "- id: demo.port-taken", "'known' of 'demo.port-taken' is printed as it stands, and holds '{engine.version}'"),
    "text of no pattern": ("{chat.max_tokens} tokens", "{anser.max_tokens} tokens", "- id: cut-off\n", "its text says '{anser.max_tokens}', but no pattern is named 'anser'"),
    "text of no field": ("{chat.max_tokens} tokens", "{chat.max_token} tokens", "- id: cut-off\n", "'chat' has no field 'max_token'; did you mean 'max_tokens'?"),
    "text of no capture": ("{log.address}", "{log.port}", "- id: port-taken\n    concludes", "'log' has no field 'port'"),
    "unknown format": ("{chat.max_tokens} tokens", "{chat.max_tokens:MB} tokens", "- id: cut-off\n", "asks for an unknown format (GiB, pct, int, quoted)"),
    "unused finding": ("findings:", "findings:\n  - {id: never-thinks2, means: x}", "{id: never-thinks2", "finding 'never-thinks2' is concluded by no rule"),
    "unused signature": ("signatures:", "signatures:\n  - {id: other, anchor: other, regex: other}", "{id: other", "signature 'other' is looked for by no rule"),
    "unconcluded diagnosis": ("  - id: cut-off\n    concludes: demo.cut-off", "  - id: cut-off\n    concludes: demo.port-taken", "- id: demo.cut-off\n", "diagnosis 'demo.cut-off' is concluded by no rule"),
    "name bound in another variant": ("{all: [{log: port-taken}]}", "{any: [{log: port-taken, as: n}, {chat: {}, after: n}]}", "- id: port-taken\n    concludes", "orders by 'n', which no pattern is named"),
    "name that only counts": ("{all: [{log: port-taken}]}", "{all: [{log: port-taken, as: n, count: 2}, {chat: {}, after: n}]}", "- id: port-taken\n    concludes", "orders by 'n', which no pattern is named"),
}  # fmt: skip


@pytest.mark.parametrize("name", BETWEEN)
def test_entries_do_not_fit_together(name: str) -> None:
    old, new, place, said = BETWEEN[name]
    text = changed(old, new)
    found = problems(text)
    assert any(p.startswith(f"rules/demo.yaml:{line_of(text, place)}: ") and said in p for p in found), found
    assert len(set(found)) == len(found)


def test_a_finding_that_nobody_uses() -> None:
    text = GOOD.replace(", unless: never-thinks", "").replace("- finding: never-thinks", "- http: {status: 500}")
    assert problems(text) == (
        f"rules/demo.yaml:{line_of(text, '- {id: never')}: finding 'never-thinks' is used by no rule",
    )


def test_an_id_that_exists_already_names_both_places() -> None:
    for what, first, second in (
        ("rule", "  - id: port-taken\n    concludes", "  - id: cut-off\n    concludes: demo.port-taken\n    when: {all: [{chat: {}}]}\n"),
        ("signature", "  - id: port-taken\n    anchor", "signatures:\n  - {id: port-taken, anchor: other, regex: other}\n"),
        ("finding", "  - {id: never-thinks", "findings:\n  - {id: never-thinks, means: x}\n"),
        ("probe", "  - {id: ask", "probes:\n  - {id: ask, supplies: [chat], cost: x, weight: 1}\n"),
    ):  # fmt: skip
        if what == "rule":
            text = GOOD.replace("- id: port-taken\n    concludes", "- id: cut-off\n    concludes")
            (found,) = problems(text)
            there, here = line_of(text, "- id: cut-off"), line_of(text, "- id: cut-off\n    concludes: demo.port-taken")
            assert found == f"rules/demo.yaml:{here}: rule 'cut-off' exists already (rules/demo.yaml:{there})"
            continue
        with pytest.raises(RuleError) as caught:
            load_texts({"a.yaml": GOOD, "b.yaml": f"format: 1\n{second}"})
        name = second.split("{id: ")[1].split(",")[0]
        place = f"a.yaml:{line_of(GOOD, first)}"
        assert caught.value.problems == (f"b.yaml:3: {what} '{name}' exists already ({place})",)


def test_a_key_given_twice() -> None:
    text = changed("confidence: likely", "confidence: likely\n    confidence: strong")
    first = line_of(text, "confidence: likely")
    assert problems(text) == (f"rules/demo.yaml:{first + 1}: 'confidence' is given twice (first in line {first})",)


def test_circles_are_named() -> None:
    text = changed("    fix: []", "    fix: []\n    explained_by: [demo.cut-off]\n    explains: [demo.cut-off]")
    (found,) = problems(text)
    assert found == (
        f"rules/demo.yaml:{line_of(text, '- id: demo.cut-off')}: 'explains' runs in a circle: "
        "demo.cut-off -> demo.port-taken -> demo.cut-off"
    )
    text = changed("{all: [{chat: {reasoning_chars: 0}, count: {ge: 2}}]}", "{none: [{finding: demo.cut-off}]}")
    (found,) = problems(text)
    assert re.fullmatch(r"rules/demo\.yaml:\d+: a circle runs through negation: (.*)", found)
    assert "demo.cut-off -> never-thinks -> demo.cut-off" in found
    text = changed("{all: [{chat: {reasoning_chars: 0}, count: {ge: 2}}]}", "{none: [{finding: never-thinks}]}")
    (found,) = problems(text)
    assert found.endswith("a circle runs through negation: never-thinks -> never-thinks")


def test_two_patterns_that_wait_for_each_other() -> None:
    text = changed(
        "{all: [{log: port-taken}]}", "{all: [{log: port-taken, as: a, before: b}, {chat: {}, as: b, after: a}]}"
    )
    (found,) = problems(text)
    assert found.endswith("rule 'port-taken': a and b refer to each other in a circle; say it on one side only")


def test_too_many_variants() -> None:
    branches = ", ".join(f"{{http: {{status: {n}}}}}" for n in range(6))
    text = changed("{all: [{log: port-taken}]}", f"{{any: [{branches}], all: [{{any: [{branches}]}}]}}")
    (found,) = problems(text)
    assert found.endswith("'any' expands to more than 32 variants; split it with a finding")


def test_a_reference_to_what_stands_below_is_taken() -> None:
    text = changed("{all: [{log: port-taken}]}", "{all: [{log: port-taken, before: b}, {chat: {}, as: b}]}")
    (variant,) = load_texts({"a.yaml": text}).by_id["port-taken"].when.variants
    assert [p.alias for p in variant.positive] == ["b", "log"]


def test_what_supports_a_rule_may_speak_of_its_facts() -> None:
    supports = "supports: [{http: {status: {gt: {field: reply.max_tokens}}}}]"
    assert load_texts({"a.yaml": changed("confidence: likely", f"confidence: likely\n    {supports}")})
    found = problems(changed("confidence: likely", f"confidence: likely\n    {supports.replace('reply', 'other')}"))
    assert any("refers to 'other', which no pattern is named" in p for p in found)


def test_every_problem_is_told_at_once() -> None:
    text = changed("confidence: likely", "confidense: likely").replace("on: client", "on: moon")
    assert len(problems(text)) == 2
    with pytest.raises(RuleError) as caught:
        load_texts({"a.yaml": "format: 2\n", "b.yaml": "[", "c.yaml": "", "d.yaml": text})
    files = [problem.split(":")[0] for problem in caught.value.problems]
    assert files == ["a.yaml", "b.yaml", "c.yaml", "d.yaml", "d.yaml"]


@pytest.mark.parametrize(
    "text", ["", "[]", "a: [", "- x", "format: 1\n? [a]\n: b\n", "\0", "format: 1\nrules: 5\n", "a: !!python/x y"]
)
def test_what_is_no_rule_file(text: str) -> None:
    (found,) = problems(text)
    assert re.match(r"rules/demo\.yaml:\d+: \S", found)


def test_a_few_lines_cannot_grow_without_end() -> None:
    lists = [f"{b}: &{b} [{', '.join([f'*{a}'] * 9)}]" for a, b in zip("abcdefghij", "bcdefghijk", strict=True)]
    text = "\n".join(["format: 1", "a: &a [x, x]", *lists])
    (found,) = problems(text)
    assert found.endswith("more than 500000 values, the repeated ones counted")
    (found,) = problems("format: 1\nrules: &a [*a]\n")
    assert "recursion" in found
    (found,) = problems("format: 1\nrules: " + "[" * 100_000)
    assert "nesting" in found or "recursion" in found


def test_a_folder_without_rules(tmp_path: Path) -> None:
    with pytest.raises(RuleError, match="no rule files"):
        load_folder(tmp_path)
