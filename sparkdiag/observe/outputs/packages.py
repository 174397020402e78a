"""What is installed: pip's lists, imports that print versions, version reports, and the CUDA tools' own words."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ...facts import Fact, Looked, Source
from ...facts.engine import EngineSeen
from ...facts.piece import Piece
from ...facts.versions import PackageVersion

__all__ = ["observe_packages"]

MAX_LINES = 5000
_ENGINES = ("vllm", "sglang")

_LISTS = re.compile(r"\b(?:pip3?|conda|mamba|micromamba)\b[^|;&]*\b(?:list|freeze)\b")
_ROW = re.compile(r"(?P<name>[A-Za-z][\w.-]*)(?:\s+|==|===)(?P<version>v?\d[\w.+!-]*)(?:\s|\Z)")
_SHOW = re.compile(r"\b(?:pip3?)\b[^|;&]*\bshow\b")
_NOT_FOUND = re.compile(r"Package\(s\) not found: (?P<names>[\w., -]+)")
_REPORT_ROW = re.compile(
    r"(?:\[(?:pip3|conda)\] (?P<pip>[A-Za-z][\w.-]*)(?:==|\s+)|(?P<label>vLLM Version|PyTorch(?: version)?|"
    r"Transformers version|transformers|sglang(?:-kernel)?|sgl[_-]kernel|flashinfer[_-](?:python|cubin|jit-cache)|"
    r"triton|torch|NVCC|xgrammar|tokenizers|ray)\s*: +)"
    r"(?P<version>v?\d[\w.+!-]*|Module Not Found|Could not collect|Cuda compilation tools, release [\d.]+)"
)
_LABELS = {
    "vllm version": "vllm",
    "pytorch": "torch",
    "pytorch version": "torch",
    "transformers version": "transformers",
}
_TOOL = re.compile(r"(?P<path>\S*?)(?P<name>nvcc|ptxas)\S* (?:--version|-V)\b")
_RELEASE = re.compile(r"release (?P<release>\d+\.\d+)|Build cuda_(?P<build>\d+\.\d+)")
_PRINTED = re.compile(
    r"(?P<name>[A-Za-z_]\w*)(?:\.version)?\.(?P<what>__version__|VERSION|version|cuda)\b(?!\.\w)|"
    r"version\(['\"](?P<meta>[\w.-]+)['\"]\)"
)
_CLI = re.compile(r"(?:\S*/)?(?P<name>vllm|sglang|ray|sparkrun|pip3?)\s+(?:--version|-V|version)\s*\Z")
_CUDA_TAG = re.compile(r"\+cu(?P<major>\d{2})(?P<minor>\d)\b")


def observe_packages(piece: Piece) -> list[Fact]:
    """PackageVersion facts of one piece, with the engine where it is one of the packages."""
    if piece.kind not in ("output", "log", "text"):
        return []
    command = piece.command or ""
    lines = piece.text.split("\n", MAX_LINES)[:MAX_LINES]
    if _LISTS.search(command):
        found = list(_listed(lines))
    elif _SHOW.search(command):
        found = list(_shown(lines))
    elif _TOOL.search(command):
        found = list(_tool(command, lines))
    elif "import " in command or "version(" in command:
        found = list(_imported(command, lines))
    elif (cli := _CLI.search(command)) is not None:
        found = [(n, m[0], cli["name"], m[1], "", "tool") for n, m in _first_version(lines)]
    else:
        found = list(_reported(lines))
    if not found:
        return []
    out: list[Fact] = [_looked(piece)]
    for number, text, name, version, path, by in found:
        out += _facts(piece, number, text, name, version, path, by)
    return out


_Found = tuple[int, str, str, str | None, str, str]
"""Line, its text, name, version (None: missing), path, what said so."""


def _listed(lines: list[str]) -> Iterator[_Found]:
    for number, line in enumerate(lines):
        match = _ROW.match(line.strip())
        if match:
            yield number, line, match["name"], match["version"], "", "pip"


def _shown(lines: list[str]) -> Iterator[_Found]:
    name = None
    for number, line in enumerate(lines):
        key, _, value = line.strip().partition(": ")
        if key == "Name":
            name = value
        elif key == "Version" and name:
            yield number, f"{name} {value}", name, value, "", "pip"
            name = None
        missing = _NOT_FOUND.search(line)
        if missing:
            for one in re.split(r"[, ]+", missing["names"].strip()):
                if one:
                    yield number, line, one, None, "", "pip"


def _tool(command: str, lines: list[str]) -> Iterator[_Found]:
    tool = _TOOL.search(command)
    assert tool is not None
    for number, line in enumerate(lines):
        match = _RELEASE.search(line)
        if match:
            path = tool["path"] + tool["name"] if "/" in tool["path"] else ""
            yield number, line, tool["name"], match["release"] or match["build"], path, "tool"
            return


def _first_version(lines: list[str]) -> Iterator[tuple[int, tuple[str, str]]]:
    for number, line in enumerate(lines):
        match = re.search(r"\b\d+\.\d+[\w.+-]*", line)
        if match:
            yield number, (line, match[0])
            return


def _imported(command: str, lines: list[str]) -> Iterator[_Found]:
    """`python -c "import x; print(x.__version__)"`: the printed words belong to the names, in order."""
    printed = command[command.find("print(") :] if "print(" in command else ""
    names = [(m["meta"] or m["name"], "cuda" if m["what"] == "cuda" else "version") for m in _PRINTED.finditer(printed)]
    if not names:
        return
    for start in range(len(lines)):
        words = [word for line in lines[start : start + len(names)] for word in line.replace(",", " ").split()]
        values = [word for word in words if re.match(r"v?\d+(?:\.\d+)+|None\b", word)]
        begins = re.match(r"\S*\d\.\d|None", lines[start].strip()) is not None
        if begins and len(values) >= len(names) and len(words) <= len(names) * 3:
            for (name, what), value in zip(names, values, strict=False):
                version = value if what == "version" else f"cuda {value}"
                yield start, lines[start], name, version, "", "import"
            return


def _reported(lines: list[str]) -> Iterator[_Found]:
    """collect_env and check_env reports: at least three lines of them."""
    found: list[_Found] = []
    for number, line in enumerate(lines):
        match = _REPORT_ROW.search(line[:300])
        if match is None:
            continue
        label = (match["label"] or "").strip().rstrip(": ")
        name = match["pip"] or _LABELS.get(label.lower(), label)
        version: str | None = match["version"]
        if version == "Module Not Found":
            version = None
        elif version == "Could not collect":
            continue
        elif version and version.startswith("Cuda"):
            name, version = "nvcc", version.rsplit(" ", 1)[1]
        found.append((number, line, name.strip(), version, "", "report"))
    if len(found) >= 3:
        yield from found


def _facts(piece: Piece, number: int, text: str, name: str, version: str | None, path: str, by: str) -> Iterator[Fact]:
    plain = re.sub(r"[._]+", "-", name.lower())
    place = Source(piece.source, piece.first_line + number, text=" ".join(text.split())[:300])
    order = piece.order + number
    cuda = _cuda(plain, version)
    if version is not None and version.startswith("cuda "):
        yield PackageVersion(name=plain, cuda=cuda, by=by, where=piece.where, order=order, source=place)
        return
    major = re.match(r"v?(\d+)", version or "")
    yield PackageVersion(
        name=plain,
        version=version,
        major=int(major[1][:9]) if major else None,
        cuda=cuda,
        missing=version is None,
        path=path or None,
        by=by,
        where=piece.where,
        order=order,
        source=place,
    )
    if plain in _ENGINES and version is not None:
        yield EngineSeen(name=plain, version=version, by=by, where=piece.where, order=order, source=place)


def _cuda(name: str, version: str | None) -> float | None:
    if version is None:
        return None
    if version.startswith("cuda ") or name in ("nvcc", "ptxas"):
        match = re.search(r"\d+(?:\.\d+)?", version)
        return float(match[0]) if match else None
    tag = _CUDA_TAG.search(version)
    return float(f"{tag['major']}.{tag['minor']}") if tag else None


def _looked(piece: Piece) -> Looked:
    return Looked(probe="package", where=piece.where, order=piece.order, source=Source(piece.source, piece.first_line))
