"""Logs of real servers, pasted whole: failed starts are named, healthy ones claim no fault."""

from __future__ import annotations

import pytest

import sparkdiag
from tests.corpus import Labelled, logs, wrong


@pytest.mark.parametrize("log", logs(), ids=lambda log: log.id)
def test_the_log_is_taken_for_what_it_is(log: Labelled) -> None:
    assert wrong(log.expected, sparkdiag.diagnose_text(log.text)) == []
