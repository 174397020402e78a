"""What is made later is what it would have been, made once."""

from __future__ import annotations

import copy
import pickle

import pytest

import sparkdiag
from sparkdiag.infer import probes
from sparkdiag.later import Later


def test_it_is_the_tuple_that_it_will_be() -> None:
    calls: list[int] = []

    def make() -> list[int]:
        calls.append(1)
        return [1, 2, 3]

    later = Later(make)
    assert calls == []
    assert later == (1, 2, 3)
    assert (1, 2, 3) == later == Later(lambda: (1, 2, 3))
    assert later != [1, 2, 3]
    assert (len(later), later[0], later[1:], list(later), 2 in later) == (3, 1, (2, 3), [1, 2, 3], True)
    assert hash(later) == hash((1, 2, 3))
    assert repr(later) == "(1, 2, 3)"
    assert not Later(list)
    assert calls == [1]


def test_copies_are_plain_tuples() -> None:
    later = Later(lambda: [1, [2]])
    assert type(copy.deepcopy(later)) is type(pickle.loads(pickle.dumps(later))) is tuple
    assert copy.deepcopy(later) == (1, [2])


def test_a_verdict_needs_no_next_probes(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []
    live = probes.live
    monkeypatch.setattr(probes, "live", lambda *args, **named: asked.append(args) or live(*args, **named))
    report = sparkdiag.diagnose_text("INFO 01-01 00:00:00 [api_server.py:1] Application startup complete.\n")
    assert (report.verdict, asked) == ("healthy", [])
    assert report.to_dict()["next_probes"] == [probe.to_dict() for probe in report.next_probes]
    assert len(asked) == 1
