"""Files of evidence: whatever is in them, memory stays bounded and what was not read is said."""

import gzip
import tracemalloc
from pathlib import Path

import pytest
import zstandard

import sparkdiag
from sparkdiag import files
from sparkdiag.errors import InputError
from sparkdiag.run import Options, run_sync

ERROR = "OSError: [Errno 98] Address already in use\n"
LINE = '(APIServer pid=1) INFO:     127.0.0.1:39114 - "POST /v1/chat/completions HTTP/1.1" 200 OK\n'


def ids(path: Path) -> list[str]:
    return [d.id for d in run_sync([str(path)], Options()).report.claimed]


def problems(path: Path) -> list[str]:
    return [f"{p.what}: {p.why}" for p in run_sync([str(path)], Options()).report.problems]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le"])
def test_encodings(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "engine.log"
    path.write_bytes((LINE * 20 + ERROR).encode(encoding))
    assert ids(path) == ["launch.port-in-use"]


def test_gz_and_zst(tmp_path: Path) -> None:
    data = (LINE * 20 + ERROR).encode()
    (tmp_path / "engine.log.gz").write_bytes(gzip.compress(data))
    (tmp_path / "engine.log.zst").write_bytes(zstandard.compress(data))
    assert ids(tmp_path / "engine.log.gz") == ids(tmp_path / "engine.log.zst") == ["launch.port-in-use"]


def test_damaged_archives_are_told(tmp_path: Path) -> None:
    data = gzip.compress((LINE * 2000).encode())
    (tmp_path / "cut.log.gz").write_bytes(data[: len(data) // 2])
    (tmp_path / "no.log.gz").write_bytes(b"this is no gzip data")
    (tmp_path / "no.log.zst").write_bytes(b"this is no zstandard data")
    for name in ("cut.log.gz", "no.log.gz", "no.log.zst"):
        with pytest.raises(InputError, match=name):
            files.read_text_file(str(tmp_path / name))


def test_binary_is_said_to_be_binary(tmp_path: Path) -> None:
    path = tmp_path / "model.bin"
    path.write_bytes(bytes(range(256)) * 400 + b"\0" * 100_000)
    assert problems(path) == ["model.bin: binary data, not text; nothing was read"]
    path.write_bytes(b"\0\1\2\3" * (files.WHOLE // 2))
    assert problems(path) == ["model.bin: binary data, not text; nothing was read"]


def test_missing_file_and_folder() -> None:
    with pytest.raises(InputError, match="no such file"):
        sparkdiag.diagnose_sync("./not/there.log")
    with pytest.raises(InputError, match="is a folder"):
        files.read_text_file("/")


def test_a_large_log_is_read_in_stretches_with_exact_lines(tmp_path: Path) -> None:
    path = tmp_path / "large.log"
    lines = files.WHOLE // len(LINE) + 50_000
    with path.open("w") as file:
        for _ in range(100):
            file.write(LINE * (lines // 100))
        file.write(ERROR)
    tracemalloc.start()
    report = run_sync([str(path)], Options()).report
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert [d.id for d in report.claimed] == ["launch.port-in-use"]
    assert report.claimed[0].evidence[0].line == lines // 100 * 100 + 1
    assert peak < 80 * 2**20


def test_an_endless_line_is_bounded(tmp_path: Path) -> None:
    path = tmp_path / "endless.log"
    path.write_bytes(b"x" * (files.WHOLE + 5 * 2**20) + b"\n" + ERROR.encode())
    assert ids(path) == ["launch.port-in-use"]


def test_secrets_in_large_logs_are_masked(tmp_path: Path) -> None:
    path = tmp_path / "large.log"
    secret = "hf_" + "aB3" * 12
    with path.open("w") as file:
        file.write(LINE * (files.WHOLE // len(LINE) + 1000))
        file.write(f"HF_TOKEN={secret} OSError: [Errno 98] Address already in use\n")
    assert secret not in str(run_sync([str(path)], Options()).report.to_dict())


def test_a_file_that_grows_is_read_to_its_size_at_the_start(tmp_path: Path) -> None:
    path = tmp_path / "growing.log"
    path.write_text(LINE * 10)

    def grow(name: str, done: int, size: int | None) -> None:
        with path.open("a") as file:
            file.write(ERROR)

    assert files.read_text_file(str(path), grow).text.count("\n") == 10
