"""A diagnosis hangs on structure, not on words: every exchange comes out right with its words and names replaced."""

from __future__ import annotations

import json

import pytest

import sparkdiag
from tests.corpus import Labelled, exchanges, wrong
from tests.scramble import Scrambler

SEED = "2026"


@pytest.mark.parametrize("cipher", [True, False], ids=["other-letters", "other-words"])
@pytest.mark.parametrize("recording", exchanges(), ids=lambda recording: recording.id)
def test_other_words_the_same_diagnosis(recording: Labelled, cipher: bool) -> None:
    scrambled = Scrambler(f"{SEED} {recording.id}", cipher=cipher).exchange(recording.exchange())
    assert wrong(recording.expected, sparkdiag.diagnose_exchange(**scrambled)) == []


def test_what_is_replaced_and_what_is_kept() -> None:
    (recording,) = [r for r in exchanges() if r.id == "vllm-think-noparser/chat-hi-stream"]
    before = recording.exchange()
    after = Scrambler(SEED, cipher=True).exchange(before)
    assert after["status"] == 200
    assert after["request"]["max_tokens"] == 100
    assert after["request"]["model"] != "tiny"
    texts = ["", ""]
    for index, body in enumerate((before["response"], after["response"])):
        for block in body.split("\n\n"):
            if block.startswith("data: {"):
                for choice in json.loads(block[6:])["choices"]:
                    texts[index] += choice["delta"].get("content") or ""
    old, new = texts
    assert old == "<think>\nThe user greets me.\n</think>\n\nHello there!"
    assert (len(new), new.split("\n")[0], new.split("\n")[2]) == (len(old), "<think>", "</think>")
    assert not {"user", "greets", "Hello", "there"} & set(new.replace("!", "").split())
    assert "tiny" not in after["response"]
    assert "vllm-0.32.0-" in after["response"]
    assert after["response"].count("chatcmpl-") == before["response"].count("chatcmpl-")
