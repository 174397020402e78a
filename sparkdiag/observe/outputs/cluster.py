"""Commands that tell of links, services, sparkrun and Ray: which module reads which, imported when its words occur."""

from __future__ import annotations

from importlib import import_module

from ...facts import Fact
from ...facts.piece import Piece

__all__ = ["observe_cluster"]

_READERS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    (
        "links",
        "observe_links",
        (" inet ", "<BROADCAST", " UP ", "DOWN", "LISTEN", "ESTAB", "CLOSE", " dev ", "Link detected", "/sys/class/net",
         "nmcli", "hosts", "hostname -"),
    ),
    ("rdma", "observe_rdma", ("==>", "hca_id", "CA '", "physical_state", "PORT_", ":ffff:", "fe80:", "/infiniband/")),
    ("units", "observe_units", ("systemctl", ".service", "loginctl", "Linger", "linger", "RemoveIPC")),
    ("shells", "observe_shells", ("$?", "docker", "groups", "id ", "whoami", "HOME")),
    ("sparkrun", "observe_sparkrun", ("sparkrun", "Workload")),
    ("ray", "observe_ray", ("ray ", "ray.", "Autoscaler status", "object_store_memory")),
)  # fmt: skip
"""Module, function, and words of which one stands in the text or the command of every piece that it reads."""


def observe_cluster(piece: Piece) -> list[Fact]:
    """The facts of all readers whose words occur."""
    out: list[Fact] = []
    command = piece.command or ""
    for module, function, words in _READERS:
        if any(word in piece.text or word in command for word in words):
            out += getattr(import_module(f".{module}", __package__), function)(piece)
    return out
