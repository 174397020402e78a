"""Container images: tag, age, platform and entry point, as docker images, inspect and the registry tell them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ...facts import Fact, Looked, Source
from ...facts.images import ImageSeen
from ...facts.piece import Piece
from ..shell import words
from .drivers import ARCHITECTURES

__all__ = ["observe_images", "split_image"]

MAX_LINES = 2000
_VALUES = frozenset({"-f", "--format", "--type", "-t", "--tls-verify"})
_ISO = re.compile(r"\b(20\d\d-\d\d-\d\d)(?=[T ]|\b)")
_AGO = re.compile(
    r"\b(?P<count>\d+|[Aa]n?|[Aa]bout an?|[Ll]ess than an?) (?P<unit>second|minute|hour|day|week|month|year)s? ago\b"
)
_DAYS = {"second": 0.0, "minute": 0.0, "hour": 1 / 24, "day": 1.0, "week": 7.0, "month": 30.4, "year": 365.0}
_TABLE = re.compile(r"REPOSITORY\s+TAG\s+IMAGE ID\s+CREATED")
_CPU = re.compile(r"\b(?P<cpu>arm64|aarch64|amd64|x86_64)\b")
_JSON_LIST = re.compile(r"\[(?:\s*\"[^\"\n]*\"\s*,?)*\]|\[[^\]\"\n]*\]|\bnull\b")
_REQUESTED = re.compile(r"requested image's platform \(linux/(?P<cpu>\w+)")
_MOVING = re.compile(r"nightly|latest|\bmain\b|\bmaster\b|\bdev\b|\bedge\b|\bhead\b|\bstable\b", re.IGNORECASE)
_PINNED = re.compile(r"[0-9a-f]{9,}|\d{8}|\d{4}-\d\d-\d\d|v?\d+\.\d+\.\d+")


def split_image(reference: str) -> tuple[str, str | None]:
    """(repository, tag) of a reference; a registry's port is no tag."""
    bare = reference.split("@", 1)[0]
    head, slash, last = bare.rpartition("/")
    name, colon, tag = last.partition(":")
    return f"{head}{slash}{name}", tag if colon else None


def observe_images(piece: Piece) -> list[Fact]:
    """ImageSeen facts of one piece."""
    if piece.kind not in ("output", "log", "text", "json"):
        return []
    found = list(_read(piece))
    if not found:
        return []
    return [Looked(probe="image", where=piece.where, order=piece.order, source=found[0].source), *found]


def _read(piece: Piece) -> Iterator[ImageSeen]:
    command = piece.command or ""
    document = piece.meta.get("doc")
    lines = piece.text.split("\n", MAX_LINES)[:MAX_LINES]
    for number, line in enumerate(lines[:200]):
        requested = _REQUESTED.search(line)
        if requested:
            yield _fact(piece, number, line, None, architecture=requested["cpu"])
    if isinstance(document, list) and document and isinstance(document[0], dict) and "RepoTags" in document[0]:
        yield from (_inspected(piece, one) for one in document[:50] if isinstance(one, dict))
        return
    if re.search(r"\b(?:docker|podman|nerdctl)\b", command) is None:
        return
    if re.search(r"\bmanifest inspect\b|\bimagetools inspect\b", command):
        platforms = {ARCHITECTURES[m["cpu"]] for m in _CPU.finditer(piece.text)}
        if platforms:
            only = platforms.pop() if len(platforms) == 1 else "arm64"
            yield _fact(piece, 0, lines[0], _named(command), architecture=only)
    elif re.search(r"\binspect\b", command):
        yield from _formatted(piece, command, lines)
    elif _TABLE.search(piece.text) or re.search(r"\bimages\b|\bimage ls\b", command):
        yield from _listed(piece, lines)


def _named(command: str) -> str | None:
    """The image that an inspect command speaks of."""
    argv = words(command)
    if "inspect" not in argv:
        return None
    at = argv.index("inspect") + 1
    while at < len(argv):
        if argv[at] in _VALUES:
            at += 2
        elif argv[at].startswith("-"):
            at += 1
        else:
            return argv[at]
    return None


def _formatted(piece: Piece, command: str, lines: list[str]) -> Iterator[ImageSeen]:
    """`docker image inspect NAME --format ...`: which fields it prints is in the command."""
    named = _named(command)
    asked = command
    image = "image inspect" in command or (named is not None and ("/" in named or ":" in named))
    if not image or not any(field in asked for field in (".Created", ".Architecture", ".Entrypoint")):
        return
    for number, line in enumerate(lines[:50]):
        created = _ISO.search(line) if ".Created" in asked else None
        cpu = _CPU.search(line) if ".Architecture" in asked else None
        entry = _JSON_LIST.search(line) if ".Entrypoint" in asked else None
        if created or cpu or entry:
            yield _fact(
                piece, number, line, named,
                created=created[1] if created else None,
                architecture=cpu["cpu"] if cpu else None,
                entrypoint=_words_of(entry[0]) if entry else None,
            )  # fmt: skip


def _words_of(shown: str) -> str:
    """`["vllm","serve"]` and Go's `[vllm serve]` as words."""
    if shown == "null":
        return ""
    quoted = re.findall(r"\"([^\"]*)\"", shown)
    return " ".join(quoted) if quoted else " ".join(shown.strip("[]").split())


def _listed(piece: Piece, lines: list[str]) -> Iterator[ImageSeen]:
    for number, line in enumerate(lines):
        ago = _AGO.search(line)
        cells = line.split()
        if ago is None or len(cells) < 4 or not re.match(r"[\w.-]+(?:[/:][\w./:-]+)?\Z|<none>", cells[0]):
            continue
        table = ":" not in cells[0].rsplit("/", 1)[-1]
        reference = f"{cells[0]}:{cells[1]}" if table and "<none>" not in cells[:2] else cells[0]
        yield _fact(piece, number, line, reference, age_days=_days(ago))


def _days(ago: re.Match[str]) -> float:
    count = float(ago["count"]) if ago["count"].isdigit() else 1.0
    return count * _DAYS[ago["unit"]]


def _inspected(piece: Piece, document: Mapping[str, Any]) -> ImageSeen:
    tags = document.get("RepoTags")
    config = document.get("Config")
    entry = config.get("Entrypoint") if isinstance(config, dict) else None
    created = _ISO.match(str(document.get("Created") or ""))
    architecture = document.get("Architecture")
    digests = document.get("RepoDigests")
    pulled = str(digests[0]).rpartition("@")[2] if isinstance(digests, list) and digests else None
    return _fact(
        piece, 0, f"Created {document.get('Created')}, {architecture}, Entrypoint {entry}",
        str(tags[0]) if isinstance(tags, list) and tags else None,
        created=created[1] if created else None,
        architecture=architecture if isinstance(architecture, str) else None,
        entrypoint=" ".join(map(str, entry)) if isinstance(entry, list) else ("" if isinstance(config, dict) else None),
        digest=pulled,
    )  # fmt: skip


def _fact(
    piece: Piece,
    number: int,
    line: str,
    reference: str | None,
    *,
    created: str | None = None,
    architecture: str | None = None,
    entrypoint: str | None = None,
    age_days: float | None = None,
    digest: str | None = None,
) -> ImageSeen:
    name, tag = split_image(reference) if reference else (None, None)
    whole = f"{name}:{tag or 'latest'}" if name else ""
    return ImageSeen(
        name=name,
        tag=tag,
        moving=_MOVING.search(tag or "latest") is not None and _PINNED.search(tag or "") is None if name else None,
        nightly="nightly" in whole.lower() if name else None,
        architecture=ARCHITECTURES.get(architecture) if architecture else None,
        entrypoint=entrypoint,
        created=created,
        digest=digest,
        age_days=age_days,
        where=piece.where,
        order=piece.order + number,
        source=Source(piece.source, piece.first_line + number, text=" ".join(line.split())[:300]),
    )
