"""The multi-pattern scan: the same lines with and without hyperscan, first and last exact, long lines bounded."""

from __future__ import annotations

import itertools
import re
import threading
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparkdiag.facts import Signature
from sparkdiag.infer import shipped
from sparkdiag.infer.ordinary import LINES, common_anchors
from sparkdiag.observe.logs_markers import SIGNATURES as MARKS
from sparkdiag.observe.scan import MAX_EXACT, MAX_LINE, Hit, Scanner, applies, scanner_for
from sparkdiag.observe.scan_anchors import _Shapes, ahead
from sparkdiag.observe.tracebacks import EXCEPTION
from tests.corpus import logs, rule_fixtures

SIGNATURES = (
    Signature("abcd", ("abcd",), r"abcd"),
    Signature("either", ("abcd", "bcda"), r"(?P<x>b)cd", (("x", "text"),)),
    Signature("start", ("cdab",), r"\Acdab"),
    Signature("accent", ("ĠĊab",), r"Ċ"),
    Signature("never", ("zzzzz",), r"z"),
)
TEXTS = st.text(alphabet="abcdĠĊ \n\r\u2028", max_size=400)


def seen(hits: list[Hit]) -> list[tuple[int, str, int, str]]:
    return [(hit.line, hit.text, hit.signature, hit.match.group()) for hit in hits]


def plainly(text: str) -> list[tuple[int, str, int, str]]:
    """What a scan means, line by line."""
    out = []
    for number, row in enumerate(text.split("\n")):
        for line in row.split("\r"):
            for index, signature in enumerate(SIGNATURES):
                match = re.search(signature.regex, line)
                if match and any(anchor in line for anchor in signature.anchors):
                    out.append((number, line, index, match.group()))
    return out


@settings(max_examples=300, deadline=None)
@given(TEXTS)
def test_both_ways_give_what_a_plain_reading_gives(text: str) -> None:
    pytest.importorskip("hyperscan")
    scanner = Scanner(SIGNATURES)
    assert seen(scanner.scan(text, large=False)[0]) == plainly(text)
    assert seen(scanner.scan(text, large=True)[0]) == plainly(text)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.text(alphabet="ab12 \r", max_size=6), max_size=40).map("\n".join))
def test_shapes_of_lines_show_what_the_text_holds(text: str) -> None:
    literals = ("ab", "b1", "a a", "2\n", "b\n", "\r")
    shapes = _Shapes(literals)
    for part in (text, text + "\nab1", text):  # the shapes of the first are known by then
        assert shapes.found(part) == {number for number, literal in enumerate(literals) if literal in part}


def test_texts_of_ever_other_lines_are_looked_at_as_a_whole() -> None:
    shapes = _Shapes(("abcd",))
    words = ["".join(letters) for letters in itertools.product("abcde", repeat=5)]
    assert shapes.found("\n".join(words)) is None
    assert shapes.found("\n".join(words[:1000])) == {0}


def test_both_ways_find_the_same_in_every_fixture(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("hyperscan")
    monkeypatch.setattr("sparkdiag.observe.scan_anchors._MANY", 500)
    scanner = scanner_for((*shipped().signatures.values(), *MARKS, EXCEPTION), "log")
    texts = [fixture.text for fixture in (*logs(), *rule_fixtures())]
    texts.append("\n".join(text.replace("\n", " ") for text in texts))  # lines far beyond the window
    found = 0
    for text in texts:
        one, other = scanner.scan(text, large=False), scanner.scan(text, large=True)
        assert seen(one[0]) == seen(other[0])
        assert one[1] == other[1]
        found += len(one[0])
    assert found > 1000


@pytest.mark.parametrize("spent", [MAX_EXACT - 2, MAX_EXACT])
def test_what_was_seen_often_is_cut_short_alike_both_ways(spent: int) -> None:
    pytest.importorskip("hyperscan")
    scanner = scanner_for((*shipped().signatures.values(), *MARKS, EXCEPTION), "log")
    before = [spent] * len(scanner.signatures)
    text = "\n".join(fixture.text for fixture in logs())
    one, other = scanner.scan(text, before, large=False), scanner.scan(text, before, large=True)
    assert [(h.skipped, h.start) for h in one[0]] == [(h.skipped, h.start) for h in other[0]]
    assert seen(one[0]) == seen(other[0])
    last = {hit.signature: hit.start for hit in scanner.scan(text)[0]}
    assert {hit.signature: hit.start for hit in one[0]} == last


def test_ordinary_lines_hold_no_anchor_of_what_does_not_mean_them() -> None:
    signatures = (*shipped().signatures.values(), *MARKS, EXCEPTION)
    assert [(s.id, anchor) for s, anchor, _ in common_anchors(signatures)] == []
    usage = Signature("usage", ("usage: ",), r"^usage: ")
    elsewhere = Signature("config", ("usage: ",), r"^usage: ", pieces=("config",))
    meant = Signature("kv", ("usage: ",), r"usage: ")
    assert [(s.id, anchor, line) for s, anchor, line in common_anchors((usage, elsewhere, meant))] == [
        ("usage", "usage: ", LINES[0]),
    ]


def test_without_hyperscan_large_texts_are_scanned_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "xx\n" * 200_000 + "an abcd\n"
    with_it = seen(Scanner(SIGNATURES).scan(text)[0])
    monkeypatch.setitem(__import__("sys").modules, "hyperscan", None)
    assert seen(Scanner(SIGNATURES).scan(text)[0]) == with_it
    assert [hit[0] for hit in with_it] == [200_000, 200_000]


def test_several_threads_scan_at_a_time() -> None:
    pytest.importorskip("hyperscan")
    scanner = Scanner(SIGNATURES)
    text = "an ordinary line\n" * 100_000 + "an abcd\n"
    wanted, found = seen(scanner.scan(text, large=True)[0]), []
    threads = [
        threading.Thread(target=lambda: found.extend(seen(scanner.scan(text, large=True)[0]) for _ in range(10)))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [wanted] * 40


def test_texts_are_looked_at_ahead_in_order_and_the_thread_ends() -> None:
    before = threading.active_count()
    found = list(ahead((str(n) for n in range(50)), lambda text: (int(text),)))
    assert found == [(str(n), (n,)) for n in range(50)]
    assert list(ahead([], lambda text: ())) == []
    some = ahead(("a", "b", "c"), lambda text: (1,))
    assert next(some) == ("a", (1,))
    some.close()  # type: ignore[attr-defined]
    assert threading.active_count() == before


def test_what_goes_wrong_ahead_comes_out_where_it_is_waited_for() -> None:
    def texts() -> Iterator[str]:
        yield "a"
        yield "b"
        raise OSError("the disk is gone")

    def refuse(text: str) -> tuple[int, ...]:
        raise ValueError(text)

    before = threading.active_count()
    seen_before = []
    with pytest.raises(OSError, match="the disk is gone"):
        seen_before.extend(ahead(texts(), lambda text: ()))
    with pytest.raises(ValueError, match="a"):
        list(ahead(("a", "b"), refuse))
    assert threading.active_count() == before


def test_beyond_the_exact_count_only_the_last_hit_is_given() -> None:
    scanner = Scanner(SIGNATURES[:1])
    text = "abcd 1\nx\nabcd 2\nabcd 3\ny\n"
    (last,) = scanner.scan(text, [MAX_EXACT])[0]
    assert (last.line, last.text, last.skipped) == (3, "abcd 3", True)
    assert [(hit.line, hit.skipped) for hit in scanner.scan(text, [MAX_EXACT - 1])[0]] == [(0, False), (3, True)]
    assert [(hit.line, hit.skipped) for hit in scanner.scan(text, [MAX_EXACT - 3])[0]] == [
        (0, False),
        (2, False),
        (3, False),
    ]


def test_the_last_hit_is_one_that_the_expression_takes() -> None:
    scanner = Scanner([Signature("four", ("abcd",), r"abcd 4")])
    (last,) = scanner.scan("abcd 4\nabcd 5\nabcd 6\n", [MAX_EXACT])[0]
    assert (last.line, last.text) == (0, "abcd 4")


def test_expressions_see_a_window_of_a_long_line() -> None:
    scanner = Scanner([Signature("s", ("abcd",), r"abcd (?P<n>\d)", (("n", "int"),))])
    (hit,) = scanner.scan("x" * 1_000_000 + " abcd 7 " + "y" * 1_000_000)[0]
    assert hit.match["n"] == "7"
    assert len(hit.match.string) <= MAX_LINE


@settings(max_examples=200, deadline=None)
@given(st.lists(st.text(alphabet="abcd0123 x", max_size=12).map(lambda t: f"abcd{t}"), max_size=30))
def test_lines_of_a_known_shape_are_refused_for_the_same_reason(lines: list[str]) -> None:
    told = Signature("s", ("abcd",), r"abcd\d{2} x")
    picky = Signature("p", ("abcd",), r"abcd1\d x")
    scanner = Scanner([told, picky])
    for _ in range(2):
        found = seen(scanner.scan("\n".join(lines))[0])
        wanted = [
            (number, line, index, match.group())
            for number, line in enumerate(lines)
            for index, signature in enumerate((told, picky))
            if (match := re.search(signature.regex, line))
        ]
        assert found == wanted


@pytest.mark.parametrize(
    ("regex", "blind"),
    [
        (r"took \d+(?:\.\d+)? s", True),
        (r"(?P<n1>\d{1,3}) [a-z]{2}", True),
        (r"Running: [1-9]", False),
        (r"0\.0", False),
        (r"(a)\1", False),
        (r"(?P<a>x)(?P=a)", False),
        (r"\x41", False),
    ],
)
def test_expressions_that_take_all_digits_alike(regex: str, blind: bool) -> None:
    scanner = Scanner([Signature("s", ("abcd",), regex)])
    assert (scanner._shapes(0) is not None) is blind


def test_a_slow_expression_is_bounded_by_the_window() -> None:
    scanner = Scanner([Signature("s", ("aaaa",), r"(?:a?){12}a{12}b")])
    assert scanner.scan("a" * 100_000)[0] == []


@pytest.mark.parametrize(
    ("pieces", "kinds"),
    [
        (("log",), {"log", "output", "text"}),
        (("exchange",), {"exchange"}),
        (("launch", "config"), {"launch", "config"}),
        (("any",), {"log", "output", "text", "exchange", "launch", "config", "comment", "json"}),
    ],
)
def test_where_a_signature_is_looked_for(pieces: tuple[str, ...], kinds: set[str]) -> None:
    signature = Signature("s", ("abcd",), "abcd", (), pieces)
    every = {"log", "output", "text", "exchange", "launch", "config", "comment", "json", "repeat", "command"}
    assert {kind for kind in every if applies(signature, kind)} == kinds
    assert {kind for kind in every if scanner_for((signature,), kind).signatures} == kinds
