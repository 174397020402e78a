"""Facts about container images."""

from __future__ import annotations

from typing import ClassVar

from ..records import dataclass
from .base import Fact


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageSeen(Fact):
    """What one command tells about one image."""

    kind: ClassVar[str] = "image"
    name: str | None = None
    """Repository without the tag: vllm/vllm-openai."""
    tag: str | None = None
    moving: bool | None = None
    """The tag names no version: nightly, latest, main."""
    nightly: bool | None = None
    """The tag promises frequent builds."""
    architecture: str | None = None
    """arm64 or amd64."""
    entrypoint: str | None = None
    """Its words joined by spaces; empty if it has none."""
    created: str | None = None
    """YYYY-MM-DD"""
    digest: str | None = None
    """What was pulled, whatever its tag says today: sha256:..."""
    age_days: float | None = None
    """As `docker images` says it: 7 weeks ago is 49."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageAge(Fact):
    """How old an image was when the rest of the evidence was written."""

    kind: ClassVar[str] = "image-age"
    name: str | None = None
    tag: str | None = None
    moving: bool | None = None
    nightly: bool | None = None
    days: float
    created: str | None = None
    exact: bool = True
    """False where the other date has no year."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DateSeen(Fact):
    """The latest calendar date that a piece of evidence shows."""

    kind: ClassVar[str] = "date"
    year: int | None = None
    month: int
    day: int
