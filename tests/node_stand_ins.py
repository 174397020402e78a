"""Programs that print what they print on a DGX Spark, for a folder that is put on PATH.

`cat` and `grep` answer for the files of /proc and /etc that matter; all else they hand on. The texts are composed.
"""

from __future__ import annotations

import json
from pathlib import Path

__all__ = ["FREE", "STARVED", "Spark", "meminfo"]

FREE, STARVED = 48.0, 0.6
"""GiB available on a node that serves, and on one that thrashes."""


def meminfo(available: float, *, swap_left: float = 14.0) -> str:
    def row(name: str, gib: float) -> str:
        return f"{name + ':':<15}{round(gib * 2**20):>9} kB"

    rows = [
        row("MemTotal", 121.69), row("MemFree", available * 0.4), row("MemAvailable", available), row("Buffers", 0.01),
        row("Cached", available * 0.5), row("SwapCached", 0.1), row("AnonPages", 9.0), row("Slab", 0.9),
        row("SwapTotal", 15.25), row("SwapFree", swap_left),
    ]  # fmt: skip
    return "\n".join(rows) + "\n"


_SMI = """\
+-----------------------------------------------------------------------------------------+
| NVIDIA-SMI {driver}             Driver Version: {driver}     CUDA Version: 13.0     |
+-----------------------------------------+------------------------+----------------------+
| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |
| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |
|=========================================+========================+======================|
|   0  NVIDIA GB10                    On  |   0000000F:01:00.0 Off |                  N/A |
| N/A   61C    P0             46W /  N/A  | Not Supported          |     94%      Default |
+-----------------------------------------+------------------------+----------------------+
+-----------------------------------------------------------------------------------------+
| Processes:                                                                              |
|  GPU   GI   CI              PID   Type   Process name                        GPU Memory |
|        ID   ID                                                               Usage      |
|=========================================================================================|
|    0   N/A  N/A         3454041      C   VLLM::EngineCore                      58450MiB |
+-----------------------------------------------------------------------------------------+
"""

_LOG = """\
2026-11-02T09:14:01.102030405Z INFO 11-02 09:14:01 [api_server.py:1872] vLLM API server version 0.19.1
2026-11-02T09:14:02.102030405Z INFO 11-02 09:14:02 [utils.py:233] non-default args: {{'model': 'Qwen/Qwen3-32B-FP8', \
'gpu_memory_utilization': 0.5, 'api_key': ['{secret}']}}
2026-11-02T09:19:33.000000001Z (EngineCore pid=211) INFO 11-02 09:19:33 [gpu_model_runner.py:3338] Model loading took \
31.2 GiB and 190.1 seconds
2026-11-02T09:21:40.000000001Z (APIServer pid=1) INFO:     Application startup complete.
2026-11-02T09:22:10.000000001Z (APIServer pid=1) INFO 11-02 09:22:10 [loggers.py:127] Engine 000: \
Avg prompt throughput: 12.0 tokens/s, Avg generation throughput: 9.1 tokens/s, \
Running: 1 reqs, Waiting: 0 reqs, GPU KV cache usage: 1.2%
"""


class Spark:
    """A node with one engine in a container. Change what it prints with `program` before it is looked at.

    `secrets` are planted in the environment of the container, its arguments, its log and a process; none may come back.
    """

    NAME = "vllm-qwen"

    def __init__(
        self,
        folder: Path,
        *,
        available: float = FREE,
        driver: str = "580.126.09",
        digest: str = "1f" * 32,
        host_ip: str = "192.0.2.11",
        secrets: tuple[str, str, str] = ("hf_" + "Q7" * 17, "sk-live-" + "Z3" * 12, "correct-horse-battery"),
    ) -> None:
        self.folder = folder
        self.secrets = secrets
        folder.mkdir(parents=True, exist_ok=True)
        self.file("proc/meminfo", meminfo(available))
        self.file("proc/pressure/memory", _pressure(40.0 if available < 2 else 0.0))
        self.file("etc/os-release", 'PRETTY_NAME="Ubuntu 24.04.3 LTS"\nNAME="Ubuntu"\nVERSION_ID="24.04"\n')
        self.file("etc/dgx-release", 'DGX_NAME="DGX Spark"\nDGX_SWBUILD_VERSION="7.2.3"\nDGX_OTA_VERSION="7.3.1"\n')
        self.program("cat", _redirected("/usr/bin/cat", self.folder))
        self.program("grep", _redirected("/usr/bin/grep", self.folder))
        self.program(
            "uname",
            '[ "$1" = -n ] && exec echo spark-x\n'
            'echo "Linux spark-x 6.14.0-1013-nvidia #13-Ubuntu SMP PREEMPT_DYNAMIC aarch64 aarch64 aarch64 GNU/Linux"',
        )
        self.prints("nvidia-smi-table", _SMI.format(driver=driver))
        self.program(
            "nvidia-smi",
            'case "$*" in\n'
            "  *query-gpu*) echo 'index, name, driver_version, temperature.gpu, pstate, clocks.current.sm [MHz], "
            "clocks.max.sm [MHz], power.draw [W], utilization.gpu [%], clocks_event_reasons.active'\n"
            f"    echo '0, NVIDIA GB10, {driver}, 61, P0, 2405 MHz, 3003 MHz, 46.10 W, 94 %, 0x0000000000000000' ;;\n"
            "  *query-compute-apps*) echo 'gpu_uuid, pid, process_name, used_gpu_memory [MiB]'\n"
            "    echo 'GPU-0, 3454041, VLLM::EngineCore, 58450 MiB' ;;\n"
            f"  *) exec /usr/bin/cat {folder}/nvidia-smi-table ;;\n"
            "esac",
        )
        self.prints("inspect", json.dumps([self._inspect(host_ip)], indent=4))
        self.prints("image", json.dumps([_image(digest)], indent=4))
        self.prints("logs", _LOG.format(secret=secrets[1]))
        self.docker()
        self.program("journalctl", 'case "$*" in *-1*) ;; *) echo "-- No entries --" ;; esac')
        self.program("loginctl", "printf 'Linger=yes\\nSessions=3\\n'")
        self.program("busctl", "echo 'b true'")
        self.program("systemctl", "exit 0")
        self.program("vmstat", "echo")
        self.program(
            "sparkrun",
            'case "$1" in\n  --version) echo "sparkrun, version 0.4.2" ;;\n'
            '  *) echo "No sparkrun containers running." ;;\nesac',
        )
        self.program(
            "ibdev2netdev",
            "echo 'rocep1s0f0 port 1 ==> enp1s0f0np0 (Down)'\necho 'rocep1s0f1 port 1 ==> enp1s0f1np1 (Up)'",
        )
        self.program(
            "ps",
            "echo '    PID    PPID USER     STAT   RSS %CPU ELAPSED COMMAND'\n"
            "echo '3454041 3453900 root     Sl   8123456 98.0    4400 VLLM::EngineCore'\n"
            "echo '3453900 3453880 root     Ssl  2123456  4.0    4460 /usr/bin/python3 /usr/local/bin/vllm serve "
            f"Qwen/Qwen3-32B-FP8 --gpu-memory-utilization 0.5 --port 8000 --api-key {secrets[1]}'",
        )

    def docker(self, *, refused: str | None = None) -> None:
        """docker as it answers; or with its refusal."""
        if refused is not None:
            self.program("docker", f"echo '{refused}' >&2\nexit 1")
            return
        at = self.folder
        self.prints(
            "ps-table",
            "CONTAINER ID   IMAGE                      COMMAND                  CREATED       STATUS       NAMES\n"
            '4c3f1a2b9d8e   vllm/vllm-openai:v0.19.1   "vllm serve Qwen/Qwe…"   2 hours ago   Up 2 hours   '
            f"{self.NAME}\n",
        )
        self.prints("shm", "Filesystem  Size  Used Avail Use% Mounted on\nshm          64G     0   64G   0% /dev/shm\n")
        self.program(
            "docker",
            'case "$*" in\n'
            f"  'ps --format'*|'ps -a --format'*) echo {self.NAME} ;;\n"
            f"  'ps -a') exec /usr/bin/cat {at}/ps-table ;;\n"
            f"  'inspect --format'*) echo sha256:{'9a' * 32} ;;\n"
            f"  'inspect {self.NAME}') exec /usr/bin/cat {at}/inspect ;;\n"
            f"  'image inspect'*) exec /usr/bin/cat {at}/image ;;\n"
            f"  'logs '*' {self.NAME}') exec /usr/bin/cat {at}/logs ;;\n"
            f"  'top {self.NAME}') echo 'UID PID PPID C STIME TTY TIME CMD' ;;\n"
            f"  'exec {self.NAME} df'*) exec /usr/bin/cat {at}/shm ;;\n"
            f"  'exec {self.NAME} pip'*) printf 'torch==2.9.1+cu130\\nvllm==0.19.1\\n' ;;\n"
            "  *) echo \"docker: '$1' is not a docker command.\" >&2; exit 1 ;;\n"
            "esac",
        )

    def file(self, path: str, text: str) -> None:
        """What `cat` and `grep` find at this place of the node."""
        place = self.folder / "root" / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)

    def prints(self, name: str, text: str) -> None:
        (self.folder / name).write_text(text)

    def program(self, name: str, body: str) -> None:
        place = self.folder / name
        place.write_text(f"#!/bin/sh\n{body}\n")
        place.chmod(0o755)

    def _inspect(self, host_ip: str) -> dict[str, object]:
        token, key, password = self.secrets
        return {
            "Id": "4c" * 32,
            "Name": f"/{self.NAME}",
            "Created": "2026-11-02T09:13:58Z",
            "Image": f"sha256:{'9a' * 32}",
            "RestartCount": 0,
            "State": {"Status": "running", "Running": True, "OOMKilled": False, "ExitCode": 0, "Error": ""},
            "HostConfig": {
                "IpcMode": "host", "ShmSize": 67108864, "NetworkMode": "host", "Privileged": False, "Runtime": "runc",
                "Memory": 0, "RestartPolicy": {"Name": "no"},
                "DeviceRequests": [{"Driver": "", "Count": -1, "Capabilities": [["gpu"]]}],
            },
            "Config": {
                "Image": "vllm/vllm-openai:v0.19.1", "User": "", "WorkingDir": "/vllm-workspace",
                "Entrypoint": ["vllm", "serve"],
                "Cmd": ["Qwen/Qwen3-32B-FP8", "--gpu-memory-utilization", "0.5", "--port", "8000", "--api-key", key],
                "Env": [
                    f"HF_TOKEN={token}", f"VLLM_HOST_IP={host_ip}", f"PROXY=http://operator:{password}@proxy.example:3128",
                    f"DATABASE_PASSWORD={password}", "GLOO_SOCKET_IFNAME=enp1s0f1np1",
                ],
            },
            "Mounts": [{"Type": "bind", "Source": "/home/llm/.cache/huggingface", "Destination": "/cache"}],
        }  # fmt: skip


def _image(digest: str) -> dict[str, object]:
    return {
        "Id": f"sha256:{'9a' * 32}",
        "RepoTags": ["vllm/vllm-openai:v0.19.1"],
        "RepoDigests": [f"vllm/vllm-openai@sha256:{digest}"],
        "Created": "2026-10-20T08:00:00Z",
        "Architecture": "arm64",
        "Os": "linux",
        "Config": {"Entrypoint": ["vllm", "serve"], "Env": ["PATH=/usr/bin"]},
    }


def _pressure(full: float) -> str:
    return "".join(f"{kind} avg10={full:.2f} avg60={full:.2f} avg300=0.00 total=1\n" for kind in ("some", "full"))


def _redirected(real: str, folder: Path) -> str:
    """The real program, with those files of the node that are there instead of this machine's."""
    return (
        "n=$#\nwhile [ $n -gt 0 ]; do\n  word=$1; shift; n=$((n - 1))\n"
        f'  case $word in /*) [ -e "{folder}/root$word" ] && word="{folder}/root$word" ;; esac\n'
        f'  set -- "$@" "$word"\ndone\nexec {real} "$@"'
    )
