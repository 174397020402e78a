"""Takes secrets out of text. Pure and deterministic, applied before anything is kept, shown or saved.

Every secret becomes a constant stand-in for its kind (`[secret: HF token]`), never derived from the secret. Line breaks
inside of what is masked stay, so line numbers stay true. `redact` of redacted text changes nothing.

Secrets are found in three ways: private-key blocks; values of names that hold secrets, however they are written (shell,
option, JSON, YAML, compose, header); and tokens that their own shape gives away.
"""

from __future__ import annotations

from .text import redact

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .anonymize import Anonymizer
    from .data import redact_data, redact_headers, redact_url

__all__ = ["Anonymizer", "redact", "redact_data", "redact_headers", "redact_url"]


def __getattr__(name: str) -> object:
    """What few runs need is imported when it is used."""
    if name == "Anonymizer":
        from .anonymize import Anonymizer

        return Anonymizer
    if name in __all__:
        from . import data

        return getattr(data, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
