"""Evidence about the machine itself: which parser reads a piece, decided by its command and a few words.

Most pieces are logs that hold none of it, so a parser is imported only when its signs are there.
"""

from __future__ import annotations

from importlib import import_module

from ...facts import Fact
from ...facts.piece import Piece
from .lines import looked, program

__all__ = ["observe_node"]

_READERS: tuple[tuple[str, str, frozenset[str], tuple[str, ...]], ...] = (
    (
        "memory", "observe_memory", frozenset({"free", "sar", "vmstat"}),
        ("Mem:", " kB", "buff/cache", "kbavail", "kbmemfree", "swpd", "avg10=", "vail", "mFree", "free mem",
        "memory free", "memory_free"),
    ),
    ("gpu", "observe_gpu", frozenset({"nvidia-smi"}), ("NVIDIA-SMI", "GPU-Util", "utilization.gpu", "MiB |",
    "NVSMI LOG", "Attached GPUs", "Event Reasons", "GPU Current Temp", "# gpu ", "nvidia-smi")),
    (
        "processes", "observe_processes", frozenset({"ps", "pgrep", "top", "htop", "mpstat", "sensors"}),
        ("%CPU", "%Cpu", "  PID", "%idle", "°C", "VLLM::", "sglang::", "/sys/class/thermal", "/sys/class/hwmon"),
    ),
    (
        "reach", "observe_reach", frozenset({"ping", "ssh", "nc", "ncat", "netcat", "telnet", "timeout"}),
        ("packets transmitted", "icmp_seq", "banner", "kex_exchange", "ssh: ", "Permission denied (", "debug1: ",
        "curl: (", "nc: ", "Ncat: ",
         "] succeeded", "telnet: ", "Last login: "),
    ),
    ("containers", "observe_containers", frozenset({"docker", "podman", "nerdctl"}), ("CONTAINER ID", '"HostConfig"')),
    ("greps", "observe_greps", frozenset(), (" grep -", "| grep ", "| rg ")),
    ("systems", "observe_systems", frozenset({"uname", "timedatectl", "date"}), ("-release",)),
    ("drafters", "observe_drafter", frozenset(), ("block_size", "speculative_tokens")),
)  # fmt: skip
"""(module, function, programs, words): read when the piece's program is one of these, or a word occurs."""

LARGE_LOG = 300_000
"""Characters from which a log is taken for nothing but a log: tables of commands are not looked for in it."""
_IN_LOGS = frozenset({"memory", "reach"})


def observe_node(piece: Piece) -> list[Fact]:
    """Memory, GPU, processes, reachability, containers, system and drafters, as far as one piece shows them."""
    out: list[Fact] = []
    first = "ssh" if str(piece.meta.get("typed", "")).startswith("ssh ") else ""
    ran, command = {program(piece), first}, piece.command or ""
    large = piece.kind == "log" and len(piece.text) > LARGE_LOG
    for module, function, programs, words in _READERS:
        if large and module not in _IN_LOGS:
            continue
        if programs & ran or any(word in piece.text or word in command for word in words):
            out += getattr(import_module(f".{module}", __package__), function)(piece)
    if ran & {"dmesg", "journalctl"} or " kernel: " in piece.text or "NVRM: " in piece.text:
        out += looked(piece, "kernel-log")
    return out
