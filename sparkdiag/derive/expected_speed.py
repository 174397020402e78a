"""How fast a GB10 can decode and prefill a model, from its sizes alone.

Decode reads each active weight and the sequence's cache once a token: bandwidth over bytes. Prefill computes: two
operations for each active parameter and token.
"""

from __future__ import annotations

from ..records import dataclass
from .model_size import ModelSize
from .roofline import BANDWIDTH

__all__ = ["DecodeSpeed", "PrefillSpeed", "decode_speed", "prefill_speed"]

REACHED = (0.55, 0.9)
"""Share of the nominal bandwidth that published single-request decodes reach."""
STEP_SECONDS = 0.002
"""What a step takes beside reading: launches, sampling, the scheduler."""
COMPUTE = {"dense": (40e12, 120e12), "sparse": (15e12, 45e12)}
"""Operations a second that published prefills reach."""


@dataclass(frozen=True, slots=True)
class DecodeSpeed:
    """Tokens per second of one request alone."""

    context: int
    read_gib: float
    """Weights and cache that one token reads."""
    ceiling: float
    """At the nominal 273 GB/s."""
    low: float
    high: float
    accepted: float
    """Tokens a step: 1 without speculation."""


@dataclass(frozen=True, slots=True)
class PrefillSpeed:
    """Prompt tokens per second."""

    low: float
    high: float


def decode_speed(size: ModelSize, context: int, *, accepted: float = 1.0, stages: int = 1) -> DecodeSpeed:
    """Expected decode at a context length. `accepted` is speculation's mean accepted length, counting the step's own
    token; pipeline `stages` read one after another, so that they gain one request nothing."""
    read = size.streamed_bytes + size.kv.of(context)
    reading = read / BANDWIDTH
    low, high = (accepted / (reading / reached + STEP_SECONDS * stages) for reached in REACHED)
    return DecodeSpeed(context, read / 2**30, accepted / reading, low, high, accepted)


def prefill_speed(size: ModelSize) -> PrefillSpeed:
    """Expected prefill of a prompt of a few thousand tokens."""
    low, high = COMPUTE["dense" if size.dense else "sparse"]
    work = 2.0 * max(size.active_parameters, 1)
    return PrefillSpeed(low / work, high / work)
