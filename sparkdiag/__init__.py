"""sparkdiag: names the true cause when an LLM server on a DGX Spark fails, from replies, metrics and logs.

    report = await sparkdiag.diagnose("http://spark-a:8000")
    report = sparkdiag.diagnose_text(log_or_transcript)
    report = sparkdiag.diagnose_exchange(request=request_body, response=reply_body, status=200)
    report = sparkdiag.diagnose_capture("path/to/capture")
    report.to_dict()

Importing this module starts no thread, opens nothing, reads no environment and configures no logging.
"""

from __future__ import annotations

from ._version import __version__
from .errors import CaptureError, EngineError, InputError, Interrupted, RuleError, SparkdiagError, UsageError

TYPE_CHECKING = False  # importing typing would double the time of `import sparkdiag`

if TYPE_CHECKING:
    from .api import diagnose, diagnose_capture, diagnose_exchange, diagnose_sync, diagnose_text, suspicious
    from .diagnosis import Avoid, Diagnosis, Evidence, FixStep, NextProbe, Problem, Report, Suppressed

__all__ = [
    "Avoid",
    "CaptureError",
    "Diagnosis",
    "EngineError",
    "Evidence",
    "FixStep",
    "InputError",
    "Interrupted",
    "NextProbe",
    "Problem",
    "Report",
    "RuleError",
    "SparkdiagError",
    "Suppressed",
    "UsageError",
    "__version__",
    "diagnose",
    "diagnose_capture",
    "diagnose_exchange",
    "diagnose_sync",
    "diagnose_text",
    "suspicious",
]

_FUNCTIONS = ("diagnose", "diagnose_capture", "diagnose_exchange", "diagnose_sync", "diagnose_text", "suspicious")


def __getattr__(name: str) -> object:
    """Public names are imported when they are first used, so that `import sparkdiag` costs next to nothing."""
    if name not in __all__:
        raise AttributeError(f"module 'sparkdiag' has no attribute '{name}'")
    from importlib import import_module

    value = getattr(import_module(".api" if name in _FUNCTIONS else ".diagnosis", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
