"""The chain that a reply depends on, link by link; a fault says at which one it breaks."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["LINKS", "broken_link", "link_of"]

LINKS = ("power and network", "SSH", "memory", "container", "engine", "model", "parser")
"""Each depends on those before it."""

_CHAPTERS = {
    "memory": "memory",
    "image": "container",
    "sparkrun": "container",
    "persistence": "container",
    "endpoint": "engine",
    "launch": "engine",
    "loading": "engine",
    "kernel": "engine",
    "crossnode": "engine",
    "throughput": "engine",
    "output": "model",
    "reasoning": "parser",
}
_OTHER: dict[str, str | None] = {
    "endpoint.node-unreachable": "power and network",
    "node.nic-pcie-lockup": "power and network",
    "node.gpu-low-power": "power and network",
    "node.driver-hangs": "container",  # nothing in one gets at the GPU
    "node.driver-mismatch": "container",
    "crossnode.link-port-down": "power and network",
    "crossnode.rdma-port-pairing": "power and network",
    "crossnode.nccl-transport": "power and network",
    "crossnode.queue-on-wrong-network": "power and network",
    "crossnode.load-peak-oom": "memory",
    "launch.entrypoint-conflict": "container",
    "launch.gpu-not-passed": "container",
    "launch.model-not-found": "model",
    "launch.chat-template-missing": "model",
    "loading.weights-file-broken": "model",
    "loading.quant-export-keyerror": "model",
    "loading.quant-method-unknown": "model",
    "loading.stale-tokenizer-mirror": "model",
    "loading.config-weights-mismatch": "model",
    "output.tool-call-parser-wrong": "parser",
    "output.tool-choice-not-enabled": "parser",
    "output.tool-parser-not-registered": "parser",
    # the chain holds, and the client asks for something else
    "endpoint.auth-required": None,
    "endpoint.model-name-unknown": None,
    "launch.max-tokens-beyond-context": None,
    "reasoning.budget-spent-thinking": None,
    "reasoning.field-name-mismatch": None,
}
"""Diagnoses that stand on another link than the rest of their chapter, or on none."""


def link_of(diagnosis: str) -> str | None:
    """The link at which this fault breaks the chain; None for one that is not in it."""
    return _OTHER[diagnosis] if diagnosis in _OTHER else _CHAPTERS.get(diagnosis.partition(".")[0])


def broken_link(faults: Iterable[str]) -> str | None:
    """The first link that one of these faults breaks: whatever comes after it waits for its repair."""
    found = [link for fault in faults if (link := link_of(fault)) is not None]
    return min(found, key=LINKS.index, default=None)
