"""In a proxy: look at each reply cheaply, judge the odd ones, and log one line. No I/O, safe from any thread."""

from typing import Any

import sparkdiag


def after_reply(request: dict[str, Any], response: dict[str, Any], status: int) -> str | None:
    """A line for the proxy's log, or None for an ordinary reply."""
    if status == 200 and not sparkdiag.suspicious(response):
        return None
    report = sparkdiag.diagnose_exchange(
        request=request, response=response, status=status, context={"engine": "vllm", "client_reads": "reasoning"}
    )
    first = report.diagnoses[0] if report.diagnoses else None
    if first is None or not first.claimed:
        return f"{report.verdict} {report.fingerprint}"
    advice = first.fix[0].do if first.fix else first.cause
    return f"{report.verdict} {report.fingerprint} {first.id} {first.level}: {advice}"


if __name__ == "__main__":
    reply = {
        "choices": [
            {"finish_reason": "length", "message": {"role": "assistant", "content": None, "reasoning": "Let me see"}}
        ],
        "usage": {"prompt_tokens": 9, "completion_tokens": 64},
    }
    print(after_reply({"messages": [{"role": "user", "content": "Why?"}], "max_tokens": 64}, reply, 200))
