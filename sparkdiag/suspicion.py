"""A cheap look at one reply before it is judged: is anything odd in it at all? Built for a proxy's every request."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["looks_odd"]

HEAD = 2000
"""Characters looked at from each end of a text."""
SAMPLE = 400
"""Characters whose variety is counted."""
FREE_TOKENS = 6
"""Tokens that leave no text: tags, white space, the end of the turn."""

_CHAT_MARKS = (
    "think>", "thinking>", "<reasoning>", "</reasoning>", "[THINK]", "[/THINK]", "<|channel", "<tool_call",
    "<function=", "[TOOL_CALLS]", "<|tool_call", "<｜tool", "<|python_tag|>", "<minimax:tool_call>", "<arg_key>",
)  # fmt: skip
"""What belongs in fields of its own, and shows in content where no parser took it out. Each has one of two brackets."""
_GOOD_ENDS = ("stop", "tool_calls", "function_call", "end_turn", "tool_use", "stop_sequence", None)


def looks_odd(reply: Any) -> bool:
    """True for what `diagnose_exchange` should see; see `sparkdiag.suspicious`."""
    if not isinstance(reply, Mapping) or not reply:
        return True
    choices = reply.get("choices")
    if choices is None:
        return _other_api(reply)
    if not isinstance(choices, list) or not choices or not all(isinstance(choice, Mapping) for choice in choices):
        return True
    return "error" in reply or any(_choice(choice, reply.get("usage")) for choice in choices[:8])


def _choice(choice: Mapping[str, Any], usage: Any) -> bool:
    if choice.get("finish_reason") not in _GOOD_ENDS:
        return True
    message = choice.get("message", choice.get("delta"))
    if not isinstance(message, Mapping):
        text = choice.get("text")
        return not isinstance(text, str) or not text.strip() or _odd(text)
    content = message.get("content")
    text = content if isinstance(content, str) else _joined(content)
    if message.get("tool_calls") or message.get("function_call"):
        return _odd(text, chat=True)
    if not text.strip():
        return _empty(text, message, usage)
    return _odd(text, chat=True)


def _empty(content: str, message: Mapping[str, Any], usage: Any) -> bool:
    """No answer. A model may choose to say nothing: then the tokens are accounted for by what did arrive."""
    thought = message.get("reasoning") or message.get("reasoning_content") or ""
    tokens = usage.get("completion_tokens") if isinstance(usage, Mapping) else None
    if not isinstance(tokens, int) or not isinstance(thought, str):
        return True
    if thought.strip() and not content:
        return True
    details = usage.get("completion_tokens_details")
    told = details.get("reasoning_tokens") if isinstance(details, Mapping) else usage.get("reasoning_tokens")
    after = tokens - told if isinstance(told, int) and told else 0
    return max(tokens - len(thought), after) > len(content) + FREE_TOKENS


def _joined(content: Any) -> str:
    if not isinstance(content, list):
        return ""
    return "".join(p["text"] for p in content if isinstance(p, Mapping) and isinstance(p.get("text"), str))


def _other_api(reply: Mapping[str, Any]) -> bool:
    """Errors, and the replies of /v1/messages and /v1/responses; lists, counts and settings are nothing to judge."""
    if reply.get("error") or reply.get("object") == "error" or reply.get("type") == "error" or "detail" in reply:
        return True
    kind = reply.get("type") if reply.get("type") == "message" else reply.get("object")
    if kind == "message":
        return _blocks(reply.get("content"), reply.get("stop_reason") not in _GOOD_ENDS, ("text",), ("tool_use",))
    if kind == "response":
        items = reply.get("output")
        parts = [p for i in items if isinstance(i, Mapping) for p in _parts(i)] if isinstance(items, list) else None
        return _blocks(parts, reply.get("status") != "completed", ("output_text",), ("function_call",))
    return False


def _parts(item: Mapping[str, Any]) -> list[Any]:
    content = item.get("content")
    return [item, *content] if isinstance(content, list) else [item]


def _blocks(blocks: Any, cut: bool, texts: tuple[str, ...], calls: tuple[str, ...]) -> bool:
    if cut or not isinstance(blocks, list):
        return True
    found = [b for b in blocks if isinstance(b, Mapping)]
    text = "".join(b["text"] for b in found if b.get("type") in texts and isinstance(b.get("text"), str))
    if not text.strip():
        return not any(b.get("type") in calls for b in found)
    return _odd(text, chat=True)


def _odd(text: str, *, chat: bool = False) -> bool:
    """Whether a text shows something by itself; `chat` says that tags and calls have no business in it."""
    head = text if len(text) <= 2 * HEAD else text[:HEAD] + text[-HEAD:]
    if "!!!!!!!!" in head or (chat and ("<" in head or "[" in head) and any(mark in head for mark in _CHAT_MARKS)):
        return True
    sample = head[:SAMPLE]
    if not head.isascii():
        if "Ġ" in head or "Ċ" in head or "\ufffd" in head or (chat and "think▷" in head):
            return True
        if len({_block(char) for char in set(sample) if char > "\u024f"} - {None}) > 1:
            from .observe.texts import degenerate

            found = degenerate(sample)
            return found is not None and found.what != "repetition"
    return len(sample) >= 24 and len(set(sample)) <= 20 and _monotone("".join(sample.split()))


def _block(char: str) -> int | None:
    """A rough script: one number for all that Chinese, Japanese or Korean mix, none for signs and emoji."""
    page = ord(char) >> 8
    if 0x30 <= page <= 0x9F or 0xAC <= page <= 0xD7 or page == 0xFF:
        return 0x4E
    return None if 0x20 <= page <= 0x2F or page > 0xFF or page == 0xFE else page


def _monotone(letters: str) -> bool:
    """Few letters, and hardly any four of them in a row that did not come before."""
    fours = len(letters) - 3
    if fours < 20:
        return False
    return len({letters[i : i + 4] for i in range(fours)}) < 0.35 * fours
