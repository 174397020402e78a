"""Reading files of evidence: bounded, whatever is in them, and with a word on what was not read."""

from __future__ import annotations

import io
import os
import sys
from typing import BinaryIO

from .diagnosis import Problem
from .errors import InputError

__all__ = ["MAX_TEXT", "read_standard_input", "read_text_file"]

MAX_TEXT = 64 * 2**20
"""Bytes of one file that are read; of a larger one its first quarter of this and its last three quarters."""

Read = tuple[str, str, list[Problem]]
"""Name, text, and what could not be read."""


def read_text_file(path: str) -> Read:
    """The text of a file, as far as it is one. InputError if it cannot be opened."""
    try:
        if os.path.isdir(path):
            raise InputError("is a folder, not a file", place=path)
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            return _read(os.path.basename(path), file, size)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", place=path) from None


def read_standard_input() -> Read:
    """Everything on standard input, within the same bounds."""
    stream = getattr(sys.stdin, "buffer", None)
    if stream is None:
        return "input", sys.stdin.read(MAX_TEXT), []
    data = stream.read(MAX_TEXT + 1)
    rest = len(data) > MAX_TEXT
    text, problems = decode(data[:MAX_TEXT], "input")
    if rest:
        problems.append(Problem("input", f"only the first {MAX_TEXT // 2**20} MiB were read"))
    return "input", text, problems


def _read(name: str, file: BinaryIO, size: int) -> Read:
    if size <= MAX_TEXT:
        data = file.read(MAX_TEXT + 1)
        text, problems = decode(data[:MAX_TEXT], name)
        if len(data) > MAX_TEXT:
            problems.append(Problem(name, f"only the first {MAX_TEXT // 2**20} MiB were read"))
        return name, text, problems
    head = file.read(MAX_TEXT // 4)
    file.seek(size - MAX_TEXT // 4 * 3, io.SEEK_SET)
    tail = file.read(MAX_TEXT // 4 * 3)
    first, problems = decode(head[: head.rfind(b"\n") + 1] or head, name)
    last, more = decode(tail[tail.find(b"\n") + 1 :], name)
    left_out = size - len(head) - len(tail)
    gap = Problem(name, f"{left_out // 2**20} MiB in the middle of {size // 2**20} MiB were not read")
    return name, first + last, [*problems, *more, gap]


def decode(data: bytes, name: str) -> tuple[str, list[Problem]]:
    """Text of bytes, secrets masked: UTF-8 with stand-ins for what is none, UTF-16 by its mark; binary is said to be so."""
    text, problems = _plain(data, name)
    from .redact import redact

    return redact(text), problems


def _plain(data: bytes, name: str) -> tuple[str, list[Problem]]:
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return data.decode("utf-16", "replace"), []
    if data[:3] == b"\xef\xbb\xbf":
        data = data[3:]
    sample = data[:65536]
    if sample.count(0) > len(sample) // 20:
        if sample[1::2].count(0) > len(sample) // 3:
            return data.decode("utf-16-le", "replace"), []
        return "", [Problem(name, "binary data, not text; nothing was read")]
    return data.decode("utf-8", "replace").replace("\0", "\ufffd"), []
