"""Exchanges with everything replaced that a diagnosis must not hang on: names, ids, times, and the words of all texts.

Kept are tags, tool-call syntax, byte markers, white space, lengths, error sentences, max_tokens and status.
"""

from __future__ import annotations

import copy
import json
import random
import re
from collections.abc import Callable
from typing import Any

TEXTS = {"content", "reasoning", "reasoning_content", "text", "thinking", "token", "arguments", "input", "prompt"}
"""Keys whose strings somebody wrote, the model or the user."""

_KEPT = re.compile(r"<[^<>\n]{1,80}>|\"(?:name|arguments|parameters|city)\"|get_weather|\\[nrtu]")
"""Tags and special tokens, the keys and the name of a tool call, escapes."""
_WORD = re.compile(r"[A-Za-z]+")
_IDS = {"id", "request_id", "tool_call_id", "signature", "system_fingerprint"}
_TIMES = {"created", "created_at", "completed_at"}

_OTHER_WORDS = """
a I an to of or we it is the and for blue tree snow hill over then that rain lake stone green under seven light river
north cloud autumn window yellow bridge silver mountain distance evening harvest february thursday question wonderful
carpenter telephone afternoon
"""
VOCABULARY = re.findall(r"\w+", _OTHER_WORDS)


class Scrambler:
    """Consistent within one exchange: the same word becomes the same other word, so repetition stays repetition."""

    def __init__(self, seed: str, *, cipher: bool) -> None:
        self._random = random.Random(seed)
        self._cipher = cipher
        self._words: dict[str, str] = {}
        self._names: dict[str, str] = {}
        letters = list("abcdefghijklmnopqrstuvwxyz")
        self._random.shuffle(letters)
        self._table = dict(zip("abcdefghijklmnopqrstuvwxyz", letters, strict=True))

    def exchange(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Arguments of diagnose_exchange, scrambled."""
        out = copy.deepcopy(arguments)
        for body in (out["request"], out["response"]):
            if isinstance(body, dict):
                self._learn(body.get("model"))
        response = out["response"]
        stream = isinstance(response, str) and response.startswith("data:")
        out["request"] = self._walk(out["request"])
        out["response"] = self._stream(response) if stream else self._walk(response)
        return out

    def _learn(self, name: Any) -> None:
        if isinstance(name, str) and name not in self._names:
            slash = "/" if name.startswith("/") else ""
            self._names[name] = slash + "".join(self._random.choices("abcdefghijklmnopqrstuvwxyz-", k=11))

    def _walk(self, node: Any, key: str = "") -> Any:
        if isinstance(node, dict):
            return {name: self._walk(value, name) for name, value in node.items()}
        if isinstance(node, list):
            return [self._walk(item, key) for item in node]
        if key in _TIMES and isinstance(node, (int, float)):
            return type(node)(self._random.randrange(1_500_000_000, 1_900_000_000))
        if not isinstance(node, str):
            return node
        if key in _IDS:
            return self._id(node)
        return self.text(node) if key in TEXTS else self._renamed(node)

    def _id(self, text: str) -> str:
        """Other digits and letters, the engine's prefix and version left."""
        prefix, dash, rest = text.rpartition("-")
        return prefix + dash + re.sub(r"[0-9a-f]", lambda _: self._random.choice("0123456789abcdef"), rest)

    def _renamed(self, text: str) -> str:
        for old, new in self._names.items():
            text = re.sub(rf"(?<![\w/]){re.escape(old)}(?!\w)", new, text)
        return text

    def text(self, text: str) -> str:
        """As long as before, with other words."""
        out, end = [], 0
        for kept in _KEPT.finditer(text):
            out += [_WORD.sub(self._word, text[end : kept.start()]), kept.group()]
            end = kept.end()
        return "".join([*out, _WORD.sub(self._word, text[end:])])

    def _word(self, match: re.Match[str]) -> str:
        word = match.group()
        if word not in self._words:
            same = [w for w in VOCABULARY if len(w) == len(word)]
            found = (
                "".join(self._table[c] for c in word.lower()) if self._cipher or not same else self._random.choice(same)
            )
            self._words[word] = "".join(n.upper() if o.isupper() else n for o, n in zip(word, found, strict=True))
        return self._words[word]

    def _stream(self, text: str) -> str:
        """Texts are cut in mid-word and mid-tag: each is scrambled whole, and cut again in the same places."""
        blocks: list[Any] = []
        for block in text.split("\n\n"):
            try:
                blocks.append(json.loads(block.removeprefix("data: ")))
            except ValueError:
                blocks.append(block)
        chunks = [block for block in blocks if isinstance(block, dict)]
        for chunk in chunks:
            self._learn(chunk.get("model"))
        pieces: dict[str, list[tuple[str, Callable[[str], None]]]] = {}
        for chunk in chunks:
            for choice in chunk.get("choices") or ():
                _collect(choice, pieces)
        whole = {key: iter(self.text("".join(old for old, _ in found))) for key, found in pieces.items()}
        out = [self._walk_but_texts(block) if isinstance(block, dict) else block for block in blocks]
        again: dict[str, list[tuple[str, Callable[[str], None]]]] = {}
        for chunk in out:
            for choice in (chunk.get("choices") or ()) if isinstance(chunk, dict) else ():
                _collect(choice, again)
        for key, found in again.items():
            for old, put in found:
                put("".join(next(whole[key]) for _ in old))
        return "\n\n".join(f"data: {json.dumps(b)}" if isinstance(b, dict) else b for b in out)

    def _walk_but_texts(self, node: Any, key: str = "") -> Any:
        if isinstance(node, dict):
            return {k: v if k in TEXTS and isinstance(v, str) else self._walk_but_texts(v, k) for k, v in node.items()}
        if isinstance(node, list):
            return [self._walk_but_texts(item, key) for item in node]
        return self._walk(node, key)


def _collect(node: Any, found: dict[str, list[tuple[str, Callable[[str], None]]]]) -> None:
    """Every text of a chunk, by its key, with the way to replace it."""
    if isinstance(node, list):
        for item in node:
            _collect(item, found)
    elif isinstance(node, dict):
        for key, value in node.items():
            if key in TEXTS and isinstance(value, str):
                found.setdefault(key, []).append((value, lambda new, node=node, key=key: node.__setitem__(key, new)))  # type: ignore[misc]
            else:
                _collect(value, found)
