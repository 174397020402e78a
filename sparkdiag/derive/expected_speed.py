"""How fast a GB10 decodes and prefills a model, from its sizes alone.

Decode reads each active weight, and the sequence's cache, once a step: bytes over bandwidth, and a little for each
layer's kernels. Prefill computes: two operations for each active parameter and token. docs/roofline.md compares both
with published results.
"""

from __future__ import annotations

from ..records import dataclass
from .model_size import ModelSize
from .roofline import BANDWIDTH

__all__ = ["DecodeSpeed", "PrefillSpeed", "decode_speed", "prefill_speed"]

REACHED = 0.75
"""Share of the nominal bandwidth that decode kernels reach while they read: the middle of published results."""
REACHED_LOW, REACHED_HIGH = 0.6, 0.85
"""The band of published results. 0.85 is what a kernel that does nothing but read measured: 231 to 234 GB/s of 273
(antirez/ds4#773)."""
LAYER_SECONDS = 60e-6
"""What each layer takes beside reading: its kernels start, and drain."""
LINK_SECONDS = 100e-6
"""What tensor parallelism over the link adds for each layer: two exchanges of a token's activations."""
COMPUTE_DENSE = (45e12, 170e12)
COMPUTE_SPARSE = (13e12, 57e12)
"""Operations a second that published prefills reach: llama.cpp at the low end, FP8 in vLLM and FP4 in TensorRT-LLM at
the high one."""


@dataclass(frozen=True, slots=True)
class DecodeSpeed:
    """Tokens per second of one request alone."""

    context: int
    read_gib: float
    """Weights and cache that one token reads on each node."""
    ceiling: float
    """At the nominal 273 GB/s, with nothing else: no step comes faster."""
    low: float
    expected: float
    high: float
    accepted: float
    """Tokens a step: 1 without speculation."""


@dataclass(frozen=True, slots=True)
class PrefillSpeed:
    """Prompt tokens per second."""

    low: float
    high: float


def decode_speed(size: ModelSize, context: int, *, accepted: float = 1.0, ranks: int = 1) -> DecodeSpeed:
    """Expected decode at a context length.

    `accepted` is speculation's mean accepted length, the step's own token counted; what the drafter reads is not in
    the sum. `ranks` are tensor-parallel nodes, which read their shares at once. Pipeline stages read one after
    another: for one request they are as one node.
    """
    read = (size.streamed_bytes + size.kv.of(context)) / ranks
    reading = read / BANDWIDTH
    beside = len(size.shape.layers) * (LAYER_SECONDS + (LINK_SECONDS if ranks > 1 else 0.0))
    low, expected, high = (accepted / (reading / share + beside) for share in (REACHED_LOW, REACHED, REACHED_HIGH))
    return DecodeSpeed(context, read / 2**30, accepted / reading, low, expected, high, accepted)


def prefill_speed(size: ModelSize) -> PrefillSpeed:
    """Expected prefill of a prompt of a few hundred to a few thousand tokens."""
    low, high = COMPUTE_DENSE if size.dense else COMPUTE_SPARSE
    work = 2.0 * max(size.active_parameters, 1)
    return PrefillSpeed(low / work, high / work)
