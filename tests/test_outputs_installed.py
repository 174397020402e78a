"""What is installed and what images hold, out of the output of the usual commands."""

from __future__ import annotations

import json

import pytest

from sparkdiag.derive.image_age import image_age
from sparkdiag.facts import Fact
from sparkdiag.facts.images import DateSeen, ImageSeen
from sparkdiag.facts.piece import Piece
from sparkdiag.observe.dates import observe_dates
from sparkdiag.observe.outputs.disks import observe_disks
from sparkdiag.observe.outputs.drivers import observe_drivers
from sparkdiag.observe.outputs.images import observe_images, split_image
from sparkdiag.observe.outputs.packages import observe_packages


def output(text: str, command: str | None = None, kind: str = "output", **meta: object) -> Piece:
    return Piece(kind, text, command=command, meta=meta)


def told(facts: list[Fact], kind: str, *names: str) -> list[tuple[object, ...]]:
    return [tuple(fact.get(name) for name in names) for fact in facts if fact.kind == kind]


@pytest.mark.parametrize(
    ("command", "text", "expected"),
    [
        ("pip list", "Package  Version\n-------- -------\nray      2.51.0", [("ray", "2.51.0", None)]),
        ("pip list 2>/dev/null | grep cutlass", "nvidia-cutlass-dsl   4.5.0", [("nvidia-cutlass-dsl", "4.5.0", None)]),
        (
            "uv pip freeze",
            "torch==2.9.1+cu130\nsgl_kernel==0.3.21",
            [("torch", "2.9.1+cu130", 13.0), ("sgl-kernel", "0.3.21", None)],
        ),
        ("pip show transformers | head -2", "Name: transformers\nVersion: 5.0.0", [("transformers", "5.0.0", None)]),
        ("pip show ray", "WARNING: Package(s) not found: ray", [("ray", None, None)]),
        (
            'python3 -c "import vllm; print(vllm.__version__)"',
            "INFO 09-14 08:00:00 [x.py:1] hello\n0.28.0",
            [("vllm", "0.28.0", None)],
        ),
        (
            'python -c "import torch; print(torch.__version__, torch.version.cuda)"',
            "2.9.1+cu130 13.0",
            [("torch", "2.9.1+cu130", 13.0), ("torch", None, 13.0)],
        ),
        (
            "python -c 'import torch; print(torch.__version__, torch.cuda.is_available())'",
            "2.9.1+cpu False",
            [("torch", "2.9.1+cpu", None)],
        ),
        ("vllm --version", "0.11.0", [("vllm", "0.11.0", None)]),
        (
            "/usr/local/cuda/bin/ptxas --version | tail -1",
            "Build cuda_13.0.r13.0/compiler.36424714_0",
            [("ptxas", "13.0", 13.0)],
        ),
        ("nvcc --version", "nvcc: NVIDIA\nCuda compilation tools, release 12.8, V12.8.93", [("nvcc", "12.8", 12.8)]),
        (
            None,
            "PyTorch version              : 2.11.0+cu130\nvLLM Version                 : 0.28.0\n[pip3] triton==3.6.0",
            [("torch", "2.11.0+cu130", 13.0), ("vllm", "0.28.0", None), ("triton", "3.6.0", None)],
        ),
        ("cat notes.txt", "transformers: 4.57.1", []),
    ],
)
def test_packages(command: str | None, text: str, expected: list[tuple[object, ...]]) -> None:
    assert told(observe_packages(output(text, command)), "package", "name", "version", "cuda") == expected


def test_an_installed_engine_is_the_engine() -> None:
    facts = observe_packages(output("vllm    0.11.1+9114fd76.nv25.12", "pip list | grep vllm"))
    assert told(facts, "engine", "name", "version") == [("vllm", "0.11.1+9114fd76.nv25.12")]


def test_a_missing_package_is_no_version() -> None:
    facts = observe_packages(output("WARNING: Package(s) not found: ray", "pip show ray"))
    assert told(facts, "package", "name", "missing", "major") == [("ray", True, None)]


def test_driver_from_the_table() -> None:
    line = "| NVIDIA-SMI 580.126.09             Driver Version: 580.126.09     CUDA Version: 13.0     |"
    assert told(observe_drivers(output(line, "nvidia-smi")), "driver", "release", "cuda", "works") == [
        (580, 13.0, True)
    ]


def test_driver_from_a_query_with_its_header() -> None:
    text = "name, compute_cap, driver_version\nNVIDIA GB10, 12.1, 580.95.05"
    facts = observe_drivers(output(text, "nvidia-smi --query-gpu=name,compute_cap,driver_version --format=csv"))
    assert told(facts, "driver", "gpu", "compute_cap", "version") == [("NVIDIA GB10", "12.1", "580.95.05")]


def test_driver_that_does_not_answer() -> None:
    text = "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver."
    assert told(observe_drivers(output(text, "nvidia-smi")), "driver", "works") == [(False,)]


@pytest.mark.parametrize(
    ("command", "text", "expected"),
    [
        ("uname -m", "aarch64", ["arm64"]),
        ("uname -a", "Linux spark-a 6.14.0-1013-nvidia #13 SMP aarch64 GNU/Linux", ["arm64"]),
        (None, "platform (linux/amd64) does not match the detected host platform (linux/arm64/v8)", ["arm64"]),
        ("echo aarch64", "aarch64", []),
    ],
)
def test_machine(command: str | None, text: str, expected: list[str]) -> None:
    assert [value for (value,) in told(observe_drivers(output(text, command)), "machine", "architecture")] == expected


def test_references_with_ports_and_digests() -> None:
    assert split_image("192.0.2.5:5000/llm/vllm:nightly") == ("192.0.2.5:5000/llm/vllm", "nightly")
    assert split_image("192.0.2.5:5000/llm/vllm") == ("192.0.2.5:5000/llm/vllm", None)
    assert split_image("vllm/vllm-openai:v0.28.0@sha256:0a1b") == ("vllm/vllm-openai", "v0.28.0")


@pytest.mark.parametrize(
    ("tag", "moving", "nightly"),
    [
        ("cu130-nightly", True, True),
        ("latest", True, False),
        ("v0.28.0", False, False),
        ("nightly-e47c98ef7a38792996e4", False, True),
        ("25.12-py3", False, False),
    ],
)
def test_tags_that_move(tag: str, moving: bool, nightly: bool) -> None:
    facts = observe_images(
        output("2026-04-23T02:11:09Z", f"docker image inspect vllm/vllm-openai:{tag} --format '{{{{.Created}}}}'")
    )
    assert told(facts, "image", "tag", "moving", "nightly", "created") == [(tag, moving, nightly, "2026-04-23")]


def test_image_inspected_by_format() -> None:
    command = "docker image inspect example/llm:xs --format '{{.Os}}/{{.Architecture}} {{json .Config.Entrypoint}}'"
    facts = observe_images(output('linux/arm64 ["/bin/bash"]', command))
    assert told(facts, "image", "name", "architecture", "entrypoint") == [("example/llm", "arm64", "/bin/bash")]
    assert told(observe_images(output("linux/amd64 null", command)), "image", "architecture", "entrypoint") == [
        ("amd64", "")
    ]


def test_image_inspected_whole() -> None:
    document = [
        {
            "RepoTags": ["example/llm:xs"],
            "Created": "2026-03-01T10:00:00Z",
            "Architecture": "amd64",
            "Config": {"Entrypoint": ["vllm", "serve"]},
        }
    ]
    facts = observe_images(output(json.dumps(document), "docker inspect example/llm:xs", "json", doc=document))
    assert told(facts, "image", "tag", "architecture", "entrypoint", "created") == [
        ("xs", "amd64", "vllm serve", "2026-03-01")
    ]


def test_a_container_is_no_image() -> None:
    assert observe_images(output("2026-03-01T10:00:00Z", "docker inspect llm --format '{{.Created}}'")) == []


def test_listed_images_tell_their_age() -> None:
    text = (
        "REPOSITORY         TAG             IMAGE ID       CREATED        SIZE\n"
        "vllm/vllm-openai   cu130-nightly   4c1d2e3f4a5b   7 weeks ago    31.2GB\n"
        "<none>             <none>          5c1d2e3f4a5b   2 days ago     31.2GB"
    )
    facts = observe_images(output(text, "docker images"))
    assert told(facts, "image", "tag", "age_days")[0] == ("cu130-nightly", 49.0)


def test_a_manifest_with_one_platform() -> None:
    text = '"architecture": "amd64",\n"os": "linux"'
    assert told(observe_images(output(text, "docker manifest inspect example/llm:1")), "image", "architecture") == [
        ("amd64",)
    ]
    both = text + '\n"architecture": "arm64"'
    assert told(observe_images(output(both, "docker manifest inspect example/llm:1")), "image", "architecture") == [
        ("arm64",)
    ]


IMAGE = ImageSeen(name="a/b", tag="nightly", nightly=True, moving=True, created="2026-04-23")


def test_age_against_dates_with_and_without_a_year() -> None:
    whole, part = DateSeen(year=2026, month=5, day=4), DateSeen(month=6, day=2)
    assert told(image_age([IMAGE, whole]), "image-age", "days", "exact") == [(11.0, True)]
    assert told(image_age([IMAGE, whole, part]), "image-age", "days", "exact") == [(40.0, False)]


def test_a_log_from_before_the_image_tells_no_age() -> None:
    assert image_age([IMAGE, DateSeen(month=4, day=1)]) == []
    assert image_age([IMAGE, DateSeen(year=2026, month=2, day=30)]) == []


def test_dates_in_logs_and_in_words() -> None:
    pieces = [
        output("(EngineCore pid=1) INFO 06-02 11:20:14 [core.py:1] x", "docker logs llm", "log"),
        output("Mon Apr 27 05:09:31 UTC 2026", "date"),
        output("2026-08-01T00:00:00Z", "docker image inspect a/b"),
    ]
    assert told(observe_dates(pieces), "date", "year", "month", "day") == [(None, 6, 2), (2026, 4, 27)]


def test_df_rows() -> None:
    text = (
        "Filesystem      Size  Used Avail Use% Mounted on\n"
        "/dev/nvme0n1p2  917G  915G  1.9G 100% /\n"
        "tmpfs            61G   12K   61G   1% /dev/shm"
    )
    facts = observe_disks(output(text, "df -h"))
    assert told(facts, "disk", "mount", "used_share", "memory", "inodes") == [
        ("/", 1.0, False, False),
        ("/dev/shm", 0.01, True, False),
    ]
    assert told(facts, "disk", "available_bytes")[0] == (round(1.9 * 2**30),)


def test_df_counts_blocks_and_inodes() -> None:
    row = "/dev/nvme1n1p1 61054976 61054976    0  100% /data"
    assert told(observe_disks(output(row, "df -i /data")), "disk", "inodes", "size_bytes") == [(True, None)]
    assert told(observe_disks(output(row, "df /data")), "disk", "inodes", "size_bytes") == [(False, 61054976 * 1024)]


def test_iostat_by_header_and_by_words() -> None:
    table = "Device            r/s     rMB/s   %util\nnvme0n1       2012.00      7.86   98.60"
    words = "nvme0n1  r/s 2105.0  rMB/s 8.3  %util 99.1"
    for text in (table, words):
        ((device, busy, read),) = told(
            observe_disks(output(text, "iostat -xm 5 2")), "disk-load", "device", "busy_share", "read_bytes_per_s"
        )
        assert device == "nvme0n1"
        assert isinstance(busy, float)
        assert busy > 0.98
        assert isinstance(read, float)
        assert 7e6 < read < 9e6


@pytest.mark.parametrize(
    ("command", "text", "expected"),
    [
        (
            "iostat -xm 5 2 | tail -1",
            "nvme0n1 2110.0 8.0 0.00 0.00 0.47 4.00 1.0 0.01 0.00 0.00 0.20 8.00 0 0 0 0 0 0 0 0 0.99 98.0",
            ("nvme0n1", 8e6, 0.98),
        ),
        (
            "sar -d 5 1",
            "10:00:01 DEV tps rkB/s wkB/s dkB/s areq-sz aqu-sz await %util\n"
            "10:00:06 nvme0n1 2110.0 8000.0 0 0 4.0 1.0 0.5 98.0",
            ("nvme0n1", 8e6, 0.98),
        ),
        (
            "pidstat -d -p 611 5 1",
            "10:00:01 UID PID kB_rd/s kB_wr/s kB_ccwr/s iodelay Command\n10:00:06 0 611 8000.0 0.0 0.0 497 VLLM",
            ("process 611", 8e6, None),
        ),
        (
            "pidstat -d -p 611 5 1 | tail -1",
            "Average: 1000 611 8000.0 0.00 0.00 497 VLLM::EngineCor",
            ("process 611", 8e6, None),
        ),
        (
            "sudo iotop -b -o -n 1",
            "    611 be/4 root        8.00 M/s    0.00 B/s  0.00 % 98.00 % VLLM::EngineCor",
            ("process 611", 8 * 2**20, 0.98),
        ),
        ("vmstat 5 2", "r b swpd\n1 1 0", None),
    ],
)
def test_how_much_is_read(command: str, text: str, expected: tuple[object, ...] | None) -> None:
    found = told(observe_disks(output(text, command)), "disk-load", "device", "read_bytes_per_s", "busy_share")
    assert found == ([] if expected is None else [expected])


def test_folders_that_du_measures() -> None:
    text = "31G\t/models/hub/models--a--b\n36G\t/models/hub/models--a--b"
    sizes = told(observe_disks(output(text, "du -sh X; sleep 60; du -sh X")), "folder-size", "path", "size_bytes")
    assert sizes == [("/models/hub/models--a--b", 31 * 2**30), ("/models/hub/models--a--b", 36 * 2**30)]
    assert told(observe_disks(output("1024\t/models", "du -s /models")), "folder-size", "size_bytes") == [(2**20,)]
    assert told(observe_disks(output("31G\t/models", "cat notes.txt")), "folder-size", "path") == []


def test_other_text_is_nothing() -> None:
    plain = output("the disk is 100% full / and pip list says torch 2.9.1", "echo x")
    for observe in (observe_packages, observe_drivers, observe_images, observe_disks):
        assert observe(plain) == []
