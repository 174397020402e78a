"""What the generating probes send. Greedy and short; the texts are constant, so that replies can be compared."""

from __future__ import annotations

from typing import Any

__all__ = [
    "CHAT",
    "CHAT_TOKENS",
    "COMPLETIONS",
    "GENERATE",
    "LARGER_TOKENS",
    "TOOL_TOKENS",
    "TURN",
    "chat",
    "chatml",
    "completion",
    "logit",
    "logit_sglang",
    "messages",
    "named",
    "tool_result",
    "tools",
]

CHAT = "/v1/chat/completions"
COMPLETIONS = "/v1/completions"
GENERATE = "/generate"

TURN = "plain"
"""The turn of the chat and of its raw completion."""
CHAT_TOKENS = 256
LARGER_TOKENS = 1024
TOOL_TOKENS = 384
"""A thinking model thinks before it calls."""

_QUESTION = "What is 2+2? Answer in one short sentence."
_TOOL_QUESTION = "What is the weather in Paris right now? Use the tool."
_TOOL = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Get the current weather of a city.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}
_CALL = {"id": "call_1", "type": "function", "function": {"name": "get_weather", "arguments": '{"city": "Paris"}'}}

_TEXT = (
    "Four score and seven years ago our fathers brought forth on this continent, a new nation, conceived in Liberty, "
    "and dedicated to the proposition that all men are created equal. Now we are engaged in a great civil war, testing "
    "whether that nation, or any nation so conceived and so dedicated, can long endure."
)
"""Every language model has read it: Lincoln at Gettysburg, 1863."""


def _streamed(body: dict[str, Any], tokens: int) -> dict[str, Any]:
    options = {"stream": True, "stream_options": {"include_usage": True}}
    return {**body, "max_tokens": tokens, "temperature": 0, **options}


def named(model: str | None) -> dict[str, Any]:
    """The model's name, if there is one to send."""
    return {} if model is None else {"model": model}


def messages() -> list[dict[str, str]]:
    return [{"role": "user", "content": _QUESTION}]


def chat(model: str | None, tokens: int, **more: Any) -> dict[str, Any]:
    return _streamed({**named(model), "messages": messages(), **more}, tokens)


def chatml() -> str:
    """The turn in ChatML, for servers that cannot render their model's template."""
    return f"<|im_start|>user\n{_QUESTION}<|im_end|>\n<|im_start|>assistant\n"


def completion(model: str | None, prompt: str, tokens: int, *, rendered: bool, special: bool) -> dict[str, Any]:
    """`rendered`: the server's template wrote the prompt, start token included. `special`: think tags that are special
    tokens are to be seen."""
    more = {"add_special_tokens": False} if rendered else {}
    more |= {"skip_special_tokens": False} if special else {}
    return _streamed({**named(model), "prompt": prompt, **more}, tokens)


def tools(model: str | None, tokens: int) -> dict[str, Any]:
    asked = [{"role": "user", "content": _TOOL_QUESTION}]
    return _streamed({**named(model), "messages": asked, "tools": [_TOOL], "tool_choice": "auto"}, tokens)


def tool_result(model: str | None, tokens: int) -> dict[str, Any]:
    """The way back: a call as the model should have made it, and the tool's answer to it."""
    turns = [
        {"role": "user", "content": _TOOL_QUESTION},
        {"role": "assistant", "content": None, "tool_calls": [_CALL]},
        {"role": "tool", "tool_call_id": "call_1", "content": "sunny, 21 degrees"},
    ]
    return _streamed({**named(model), "messages": turns, "tools": [_TOOL], "tool_choice": "auto"}, tokens)


def _shuffled() -> str:
    """The same words in a fixed order that no sentence has: every 17th, around and around."""
    words = _TEXT.split()
    size = len(words)
    step = 17 if size % 17 else 19
    return " ".join(words[(number * step) % size] for number in range(size))


def logit(model: str | None, *, shuffled: bool) -> dict[str, Any]:
    text = _shuffled() if shuffled else _TEXT
    return {**named(model), "prompt": text, "max_tokens": 1, "temperature": 0, "echo": True, "logprobs": 1}


def logit_sglang(*, shuffled: bool) -> dict[str, Any]:
    """SGLang's own route, which can start the log-probabilities at the first token."""
    text = _shuffled() if shuffled else _TEXT
    sampling = {"max_new_tokens": 1, "temperature": 0}
    return {"text": text, "sampling_params": sampling, "return_logprob": True, "logprob_start_len": 0}
