"""Takes secrets out of text. Pure and deterministic, applied before anything is kept, shown or saved.

Every secret becomes a constant stand-in for its kind (`[secret: HF token]`), never derived from the secret. Line breaks
inside of what is masked stay, so line numbers stay true. `redact` of redacted text changes nothing.

Secrets are found in three ways: private-key blocks; values of names that hold secrets, however they are written (shell,
option, JSON, YAML, compose, header); and tokens that their own shape gives away.
"""

from .anonymize import Anonymizer
from .data import redact_data, redact_headers, redact_url
from .text import redact

__all__ = ["Anonymizer", "redact", "redact_data", "redact_headers", "redact_url"]
