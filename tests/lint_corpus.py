"""The labelled setups under fixtures/lint/: launches, recipes and model files with what lint must say of them."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import yaml

from sparkdiag.advise.documents import Document, document
from sparkdiag.expected import parse_expected
from tests.corpus import FIXTURES, Labelled

__all__ = ["documents_of", "engines_of", "setups"]

_BESIDE = ("expected.yaml", "engines.yaml")


@cache
def setups() -> list[Labelled]:
    """fixtures/lint/NAME/: the files of one setup, expected.yaml, and engines.yaml where versions are told."""
    places = sorted((FIXTURES / "lint").glob("*/expected.yaml"))
    return [Labelled(p.parent.name, p.parent, parse_expected(p.read_text(), str(p))) for p in places]


def documents_of(folder: Path) -> list[Document]:
    files = sorted(p for p in folder.rglob("*") if p.is_file() and p.name not in _BESIDE)
    return [document(str(p.relative_to(folder)), p.read_text()) for p in files]


def engines_of(folder: Path) -> dict[str, str]:
    told = folder / "engines.yaml"
    return yaml.safe_load(told.read_text()) if told.exists() else {}
