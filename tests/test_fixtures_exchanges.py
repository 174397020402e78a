"""Every labelled exchange, judged alone: the right cause first, nothing rejected, no fault where nothing is wrong."""

from __future__ import annotations

import pytest

import sparkdiag
from tests.corpus import SERVERS, Labelled, exchanges, wrong


@pytest.mark.parametrize("recording", exchanges(), ids=lambda recording: recording.id)
def test_the_exchange_is_taken_for_what_it_is(recording: Labelled) -> None:
    assert wrong(recording.expected, sparkdiag.diagnose_exchange(**recording.exchange())) == []


def test_every_server_has_labelled_exchanges() -> None:
    labelled = {recording.path.parent for recording in exchanges()}
    assert labelled == set(SERVERS.iterdir())


def test_the_cheap_look_passes_over_no_faulty_reply() -> None:
    """Faults that show in a whole reply; what only its request tells is for the long look."""
    faulty, missed = 0, []
    for recording in exchanges():
        arguments = recording.exchange()
        if isinstance(arguments["response"], dict) and sparkdiag.diagnose_exchange(**arguments).verdict == "fault":
            faulty += 1
            if not sparkdiag.suspicious(arguments["response"]):
                missed.append(recording.id)
    assert faulty > 50
    assert missed == []
