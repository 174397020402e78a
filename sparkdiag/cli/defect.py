"""An error that sparkdiag did not raise on purpose is its own defect: a short message, the traceback out of the way."""

from __future__ import annotations

import tempfile
import traceback


def describe_defect(error: BaseException, *, show: bool) -> str:
    """The message for standard error; the traceback stands in it (`show`) or in a file that it names."""
    trace = "".join(traceback.format_exception(error))
    head = f"a defect of sparkdiag itself: {type(error).__name__}"
    if show:
        return f"{head}\n{trace.rstrip()}"
    try:
        with tempfile.NamedTemporaryFile(
            "w", prefix="sparkdiag-defect-", suffix=".txt", delete=False, encoding="utf-8", errors="backslashreplace"
        ) as file:
            file.write(trace)
    except OSError:
        return f"{head}; please report it with what --debug prints"
    return f"{head}; please report it with the traceback in {file.name}"
