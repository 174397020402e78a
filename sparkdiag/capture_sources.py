"""Where a capture's files come from: a folder, a .tar.gz or a .zip. Bounded and read-only; nothing is unpacked to disk.

Links, special files and names that lead out of the folder are left out, each with a word on why.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from typing import IO

from .errors import CaptureError

__all__ = ["MAX_FILE", "MAX_FILES", "MAX_TOTAL", "Files", "Left", "read_archive", "read_folder", "read_single"]

MAX_FILE = 64 * 2**20
"""Bytes of one file."""
MAX_TOTAL = 256 * 2**20
"""Bytes of all files, unpacked."""
MAX_FILES = 2000
_DEPTH = 4

Files = dict[str, bytes]
"""Content by name; `/` separates folders."""
Left = list[tuple[str, str]]
"""(name, why) of what was left out."""


class _Budget:
    """What may still be read."""

    def __init__(self) -> None:
        self.files: Files = {}
        self.left: Left = []
        self._total = MAX_TOTAL

    def take(self, name: str, source: IO[bytes]) -> None:
        """Read one file, if it fits."""
        if len(self.files) >= MAX_FILES:
            if not self.left or self.left[-1][0] != "further files":
                self.left.append(("further files", f"there are more than {MAX_FILES}"))
            return
        allowed = min(MAX_FILE, self._total)
        data = source.read(allowed + 1)
        if len(data) > allowed:
            too = MAX_FILE if allowed == MAX_FILE else MAX_TOTAL
            whole = "is larger than" if allowed == MAX_FILE else "with the files before it is more than"
            self.left.append((name, f"{whole} {too // 2**20} MiB"))
            return
        self._total -= len(data)
        self.files[name] = data


def read_folder(path: str) -> tuple[Files, Left]:
    """All ordinary files of a folder, hidden ones left out."""
    budget = _Budget()
    for name, file in _walk(path, "", budget.left, 0):
        try:
            # non-blocking: what was a file a moment ago may be a pipe by now
            with open(os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW), "rb") as source:
                budget.take(name, source)
        except OSError as error:
            budget.left.append((name, f"cannot be read: {error.strerror}"))
    return budget.files, budget.left


def _walk(path: str, prefix: str, left: Left, depth: int) -> Iterator[tuple[str, str]]:
    try:
        entries = sorted(os.scandir(path), key=lambda entry: entry.name)
    except OSError as error:
        if depth == 0:
            raise CaptureError(f"cannot be read: {error.strerror}", place=path) from None
        left.append((prefix, f"cannot be read: {error.strerror}"))
        return
    for entry in entries:
        name = prefix + entry.name.encode("utf-8", "replace").decode()
        if entry.name.startswith("."):
            continue
        try:
            mode = entry.stat(follow_symlinks=False).st_mode
        except OSError as error:
            left.append((name, f"cannot be read: {error.strerror}"))
            continue
        if stat.S_ISREG(mode):
            yield name, entry.path
        elif stat.S_ISDIR(mode):
            if depth + 1 < _DEPTH:
                yield from _walk(entry.path, f"{name}/", left, depth + 1)
            else:
                left.append((name, f"lies more than {_DEPTH} folders deep"))
        else:
            left.append((name, "is a link" if stat.S_ISLNK(mode) else "is no ordinary file"))


def read_single(path: str) -> tuple[Files, Left]:
    """One file, under its own name."""
    budget = _Budget()
    try:
        with open(path, "rb") as source:
            budget.take(os.path.basename(path), source)
    except OSError as error:
        raise CaptureError(f"cannot be read: {error.strerror}", place=path) from None
    return budget.files, budget.left


def read_archive(path: str) -> tuple[Files, Left]:
    """All ordinary files of a .tar.gz, .tgz or .zip; a single folder around them is taken off."""
    budget = _Budget()
    try:
        _read_zip(path, budget) if path.lower().endswith(".zip") else _read_tar(path, budget)
    except CaptureError:
        raise
    except OSError as error:
        raise CaptureError(f"cannot be read: {error.strerror or 'damaged archive'}", place=path) from None
    except Exception as error:  # damaged archives raise whatever their decoders raise: zlib.error, EOFError, ValueError
        raise CaptureError(f"is no archive that can be read ({type(error).__name__})", place=path) from None
    return _without_outer_folder(budget.files), budget.left


def _read_tar(path: str, budget: _Budget) -> None:
    import tarfile

    with tarfile.open(path, "r:*") as archive:
        for count, member in enumerate(archive):
            if count > 4 * MAX_FILES:
                budget.left.append(("further entries", f"there are more than {4 * MAX_FILES}"))
                return
            name = member.name.removeprefix("./")
            if member.isdir() or _hidden(name):
                continue
            if not _inside(name):
                budget.left.append((name, "leads out of the archive's folder"))
            elif member.isreg():
                source = archive.extractfile(member)
                if source is not None:
                    budget.take(name, source)
            else:
                budget.left.append((name, "is a link" if member.issym() or member.islnk() else "is no ordinary file"))


def _read_zip(path: str, budget: _Budget) -> None:
    import zipfile

    with zipfile.ZipFile(path) as archive:
        for member in archive.infolist()[: 4 * MAX_FILES]:
            name = member.filename
            if member.is_dir() or _hidden(name):
                continue
            if not _inside(name):
                budget.left.append((name, "leads out of the archive's folder"))
            elif member.flag_bits & 1:
                budget.left.append((name, "is encrypted"))
            elif stat.S_ISLNK(member.external_attr >> 16):
                budget.left.append((name, "is a link"))
            else:
                with archive.open(member) as source:
                    budget.take(name, source)


def _inside(name: str) -> bool:
    return bool(name) and name[0] != "/" and "\\" not in name and ".." not in name.split("/") and ":" not in name[:2]


def _hidden(name: str) -> bool:
    return any(part.startswith(".") and part not in (".", "..") for part in name.split("/"))


def _without_outer_folder(files: Files) -> Files:
    if files and "capture.json" not in files:
        tops = {name.partition("/")[0] for name in files}
        if len(tops) == 1 and all("/" in name for name in files):
            return {name.partition("/")[2]: data for name, data in files.items()}
    return files
