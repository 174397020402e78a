"""How old an image was when the rest of the evidence was written."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from ..facts import Fact, Looked
from ..facts.images import DateSeen, ImageAge, ImageSeen

MAX_DAYS_WITHOUT_YEAR = 300
"""A log's date has no year: a larger gap means that the log is older than the image, not that the image is old."""


def image_age(facts: Sequence[Fact]) -> list[Fact]:
    """One ImageAge for each image whose build date, or age, is known."""
    dates = [fact for fact in facts if isinstance(fact, DateSeen)]
    out: list[Fact] = []
    seen: set[tuple[object, ...]] = set()
    for image in facts:
        if not isinstance(image, ImageSeen):
            continue
        measured = (image.age_days, True) if image.age_days is not None else _against(image.created, dates)
        key = (image.name, image.tag, image.where)
        if measured is None or key in seen:
            continue
        seen.add(key)
        out.append(
            ImageAge(
                name=image.name,
                tag=image.tag,
                moving=image.moving,
                nightly=image.nightly,
                days=float(measured[0]),
                created=image.created,
                exact=measured[1],
                where=image.where,
                order=image.order,
                source=image.source,
            )
        )
    return [*out, *(Looked(probe="image-age", where=f.where, order=f.order, source=f.source) for f in out[:1])]


def _against(created: str | None, dates: Sequence[DateSeen]) -> tuple[float, bool] | None:
    """(days, exact) from the image's build to the latest date that the evidence shows."""
    built = _day(created)
    if built is None:
        return None
    whole, partial = 0, 0
    for d in dates:
        if d.year is not None:
            day = _made(d.year, d.month, d.day)
            whole = max(whole, (day - built).days if day else 0)
        else:
            year = built.year if (d.month, d.day) >= (built.month, built.day) else built.year + 1
            day = _made(year, d.month, d.day)
            days = (day - built).days if day else 0
            partial = max(partial, days if days <= MAX_DAYS_WITHOUT_YEAR else 0)
    if not whole and not partial:
        return None
    return (float(whole), True) if whole >= partial else (float(partial), False)


def _day(text: str | None) -> date | None:
    try:
        return date.fromisoformat(text) if text else None
    except ValueError:
        return None


def _made(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None
