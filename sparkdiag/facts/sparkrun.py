"""Facts about sparkrun: what it was asked, what it claims, and what runs after it."""

from __future__ import annotations

from typing import ClassVar

from ..records import dataclass
from .base import Fact


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkrunOutput(Fact):
    """What one sparkrun command printed."""

    kind: ClassVar[str] = "sparkrun"
    verb: str
    """run, stop, status, logs ..."""
    version: str | None = None
    cluster: str | None = None
    """The cluster named on the command line."""
    all_jobs: bool = False
    hosts: str | None = None
    """--hosts or -H."""
    claims_stopped: bool | None = None
    """stop: it says that the workload or the jobs were stopped (True), or that they were not (False)."""
    denied: bool = False
    """ssh was refused: Permission denied (publickey...)."""
    ssh_failed: bool = False
    """Any failure of ssh itself, a refusal included."""
    login: str | None = None
    """The user name that ssh tried, if an error shows it."""
    unconfirmed: bool = False
    """The teardown was not confirmed on some host."""
    placement: str | None = None
    """run: solo or cluster."""
    nodes_used: int | None = None
    nodes_given: int | None = None
    output_lines: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload(Fact):
    """A container of sparkrun's, as docker ps, sparkrun itself or a docker command names it."""

    kind: ClassVar[str] = "workload"
    name: str
    up: bool | None
    """None where only the name is known."""
    solo: bool
    seen_by: str
    """docker, sparkrun, or name for one that a command was given."""
