"""Reading files of evidence: bounded memory, whatever is in them, and with a word on what was not read.

A text of ordinary size is read whole, as a transcript. A larger one, or one that standard input goes on sending, is a
log that is read in stretches: what is in memory does not grow with it. .gz and .zst are read as what they hold.
"""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO

from .diagnosis import Problem
from .errors import InputError
from .records import dataclass

__all__ = ["WHOLE", "Read", "Stream", "read_standard_input", "read_text_file"]

WHOLE = 16 * 2**20
"""Bytes up to which a text is read whole, and cut into pieces like a transcript."""

CHUNK = 2**20

Progress = Callable[[str, int, int | None], None]
"""Called with name, bytes read so far, and bytes in all where that is known."""


@dataclass(frozen=True, slots=True)
class Stream:
    """A large log, to be read once."""

    name: str
    chunks: Iterator[bytes]


@dataclass(frozen=True, slots=True)
class Read:
    """What a file came to: its text with secrets masked, or a stream; and what could not be read."""

    name: str
    text: str = ""
    stream: Stream | None = None
    problems: tuple[Problem, ...] = ()


def read_text_file(path: str, progress: Progress | None = None) -> Read:
    """The text of a file, as far as it is one. InputError if it cannot be opened."""
    name = os.path.basename(path)
    if os.path.isdir(path):
        raise InputError("is a folder, not a file", place=path)
    try:
        file: BinaryIO = open(path, "rb")  # noqa: SIM115  (closed by _chunks, when it has been read)
        size = os.fstat(file.fileno()).st_size
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", place=path) from None
    source = file
    if path.endswith(".gz"):
        import gzip

        file, size = gzip.GzipFile(fileobj=file), 0  # type: ignore[assignment]
    elif path.endswith(".zst"):
        file, size = _zst(file, path), 0
    return _read(name, _chunks(file, source, path, size or None, progress))


def read_standard_input(progress: Progress | None = None) -> Read:
    """Everything on standard input."""
    stream = getattr(sys.stdin, "buffer", None)
    if stream is None:
        return Read("input", sys.stdin.read(WHOLE))
    return _read("input", _chunks(stream, stream, "standard input", None, progress))


def _zst(file: BinaryIO, path: str) -> BinaryIO:
    try:
        from compression import zstd  # type: ignore[import-not-found, unused-ignore]  # Python 3.14

        opened: Any = zstd.open(file)
    except ImportError:
        try:
            import zstandard
        except ImportError:
            raise InputError(
                "reading .zst needs the package zstandard (pip install 'sparkdiag[zst]')", place=path
            ) from None
        opened = zstandard.ZstdDecompressor().stream_reader(file)
    return opened  # type: ignore[no-any-return]


def _chunks(
    file: BinaryIO, source: BinaryIO, path: str, size: int | None, progress: Progress | None
) -> Iterator[bytes]:
    """The file's bytes; of one that grows meanwhile, those that it had when it was opened."""
    done = 0
    try:
        while size is None or done < size:
            data = file.read(CHUNK if size is None else min(CHUNK, size - done))
            if not data:
                break
            done += len(data)
            if progress is not None:
                progress(os.path.basename(path), done, size)
            yield data
    except (OSError, EOFError) as error:
        raise InputError(
            f"cannot be read to its end: {getattr(error, 'strerror', None) or error}", place=path
        ) from None
    except Exception as error:
        if type(error).__module__.split(".")[0] not in ("zlib", "zstandard", "compression"):
            raise
        raise InputError(f"is damaged: {error}", place=path) from None
    finally:
        source.close()


def _read(name: str, chunks: Iterator[bytes]) -> Read:
    head: list[bytes] = []
    size = 0
    for chunk in chunks:
        head.append(chunk)
        size += len(chunk)
        if size > WHOLE:
            sample = head[0][:65536]
            if _binary(sample):
                chunks.close()  # type: ignore[attr-defined]
                return Read(name, problems=(Problem(name, "binary data, not text; nothing was read"),))
            return Read(name, stream=Stream(name, itertools.chain(head, chunks)))
    text, problems = decode(b"".join(head), name)
    return Read(name, text, problems=tuple(problems))


def decode(data: bytes, name: str) -> tuple[str, list[Problem]]:
    """Text of bytes, secrets masked: UTF-8 with stand-ins for what is none, UTF-16 by its mark; binary is named."""
    text, problems = _plain(data, name)
    from .redact import redact

    return redact(text), problems


_NO_CONTROLS = bytes(b for b in range(256) if b > 31 or b in b"\t\n\v\f\r\b\033")


def _binary(sample: bytes) -> bool:
    """More control characters than any text has; a terminal's escapes are none of them."""
    return len(sample.translate(None, _NO_CONTROLS)) > len(sample) // 20


def _plain(data: bytes, name: str) -> tuple[str, list[Problem]]:
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return data.decode("utf-16", "replace"), []
    if data[:3] == b"\xef\xbb\xbf":
        data = data[3:]
    sample = data[:65536]
    if _binary(sample):
        if sample[1::2].count(0) > len(sample) // 3:
            return data.decode("utf-16-le", "replace"), []
        return "", [Problem(name, "binary data, not text; nothing was read")]
    return data.decode("utf-8", "replace").replace("\0", "\ufffd"), []
