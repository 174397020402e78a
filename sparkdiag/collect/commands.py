"""The fixed list of read-only commands that are run on a node: data, and nothing else decides what runs there.

Nothing in it writes, needs root, or takes a word from outside, but for a container's name (CONTAINER); that is checked.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["COMMANDS", "CONTAINER", "ENOUGH_KIB", "FIRST", "LISTING", "Command", "container_commands", "node_commands"]

FIRST, LISTING = "memory", "docker"
"""The groups that decide what else is run: what memory is left, and which containers there are."""

CONTAINER = "CONTAINER"
"""Stands in a command's text for the name of a container."""

ENOUGH_KIB = 2 * 2**20
"""MemAvailable from which on heavy commands are run: they start interpreters and read long files."""

_KERNEL = (
    "Out of memory|oom-kill|oom_reaper|Killed process|NV_ERR_|nvCheck|memdescAlloc|NVRM: (Xid|GPU|Going)|"
    "AER|PCIe Bus Error|soft lockup|hard LOCKUP|blocked for more than|rcu.*stall|"
    "mlx5.*(err|fail|fatal|timeout|health|down)|I/O error|page allocation failure|thermal|Call Trace"
)
"""The kernel's lines that tell of memory, GPU, network card, disks and stuck tasks; the rest of its log is left out."""


@dataclass(frozen=True, slots=True)
class Command:
    """One command: what it is called, what is run, what it may take."""

    probe: str
    shell: str
    """POSIX sh, and what the evidence shows as the command."""
    group: str
    """The commands of one group go through one session, one after the other; groups run side by side."""
    seconds: float = 5.0
    limit: int = 64 * 1024
    """Bytes of output that are kept."""
    cost: Literal["cheap", "heavy"] = "cheap"
    needs: str = ""
    """A program without which it cannot run."""
    only_if: str = ""
    """A condition in sh: without it the command says nothing new, and is left out."""
    right: str = ""
    """What the user needs where it is refused."""


_DOCKER = "membership of the group docker"
_JOURNAL = "membership of the group systemd-journal or adm"
_KIB = 1024

COMMANDS: tuple[Command, ...] = (
    # first of all, alone: what is left of memory decides what else is run
    Command("meminfo", "cat /proc/meminfo", FIRST),
    Command("pressure", "cat /proc/pressure/memory", FIRST),
    Command("clock", "date -u '+%s %Y-%m-%dT%H:%M:%SZ'", FIRST),
    Command("uptime", "cat /proc/uptime /proc/loadavg", FIRST),
    # the machine
    Command("uname", "uname -a", "system"),
    Command("os-release", "cat /etc/os-release", "system", limit=8 * _KIB),
    Command("dgx-release", "grep -v SERIAL /etc/dgx-release", "system", limit=8 * _KIB),
    Command("driver-module", "cat /proc/driver/nvidia/version", "system", limit=4 * _KIB),
    Command(
        "temperature",
        "paste -d ' ' /sys/class/thermal/thermal_zone*/type /sys/class/thermal/thermal_zone*/temp",
        "system",
        limit=8 * _KIB,
    ),
    Command("time-sync", "timedatectl show -p NTPSynchronized", "system", needs="timedatectl", seconds=3),
    Command(
        "processes",
        "ps -eo pid,ppid,user,stat,rss,pcpu,etimes,args --sort=-rss | head -n 40",
        "processes",
        limit=128 * _KIB,
    ),
    Command("swapping", "vmstat 1 2", "processes", needs="vmstat"),
    Command("cpu", "mpstat -P ALL 1 1", "cpu", needs="mpstat"),
    # links
    Command("links", "ip -br link", "links", needs="ip"),
    Command("addresses", "ip -br addr", "links", needs="ip"),
    Command("routes", "ip route", "links", needs="ip", limit=16 * _KIB),
    Command("route", "ip route get 192.0.2.1", "links", needs="ip"),
    Command("link-speeds", "grep -H . /sys/class/net/*/speed /sys/class/net/*/mtu 2>/dev/null", "links"),
    Command("rdma-ports", "ibdev2netdev", "links", needs="ibdev2netdev"),
    Command("rdma-states", "grep -H . /sys/class/infiniband/*/ports/*/state 2>/dev/null", "links"),
    Command("gids", "show_gids", "links", needs="show_gids"),
    Command("sockets", "ss -ltn", "links", needs="ss"),
    Command("own-name", 'getent hosts "$(uname -n)"', "links", seconds=3),
    # disks
    Command("disk", 'df -hP / /tmp /dev/shm "$HOME" /var/lib/docker 2>/dev/null', "disks"),
    Command("inodes", "df -iP /", "disks"),
    Command("ray-files", "ls -ld --time-style=+%Y-%m-%dT%H:%M:%S /tmp/ray /tmp/ray/session_latest", "disks"),
    Command("disk-load", "iostat -dxm 1 2", "disk-load", needs="iostat"),
    # the user and the units
    Command("groups", "id", "users"),
    Command("docker-group", "getent group docker", "users"),
    Command(
        "manager-groups",
        'pid=$(pgrep -u "$(id -u)" -o -x systemd) && '
        """getent group $(sed -n 's/^Groups://p' "/proc/$pid/status") | cut -d: -f1 | tr '\\n' ' '""",
        "users",
        needs="pgrep",
    ),
    Command("linger", 'loginctl show-user "$(id -un)" -p Linger -p Sessions', "users", needs="loginctl"),
    Command(
        "remove-ipc",
        "busctl get-property org.freedesktop.login1 /org/freedesktop/login1 org.freedesktop.login1.Manager RemoveIPC",
        "users",
        needs="busctl",
    ),
    Command("memlock", "ulimit -l", "users"),
    Command(
        "units",
        "systemctl --user list-units --type=service --all --no-pager --plain --no-legend",
        "units",
        needs="systemctl",
    ),
    Command(
        "units-failed",
        "systemctl --user status --no-pager --full --lines=10 --state=failed,activating,auto-restart",
        "units",
        needs="systemctl",
    ),
    Command(
        "unit-files",
        'systemctl --user cat --no-pager $(ls "$HOME/.config/systemd/user" | grep "[.]service$")',
        "units",
        needs="systemctl",
        only_if='ls "$HOME"/.config/systemd/user/*.service',
    ),
    Command(
        "system-units-failed",
        "systemctl list-units --failed --no-pager --plain --no-legend",
        "units",
        needs="systemctl",
    ),
    # the GPU: a driver that no longer answers holds up this session alone
    Command("nvidia-smi", "nvidia-smi", "gpu", seconds=8, needs="nvidia-smi"),
    Command(
        "gpu",
        "nvidia-smi --query-gpu=index,name,driver_version,temperature.gpu,pstate,clocks.sm,clocks.max.sm,power.draw,"
        "utilization.gpu,clocks_event_reasons.active --format=csv",
        "gpu-query",
        seconds=8,
        needs="nvidia-smi",
    ),
    Command(
        "gpu-processes",
        "nvidia-smi --query-compute-apps=gpu_uuid,pid,process_name,used_memory --format=csv",
        "gpu-processes",
        seconds=8,
        needs="nvidia-smi",
    ),
    # sparkrun
    Command("sparkrun-version", "sparkrun --version", "sparkrun", needs="sparkrun"),
    Command("sparkrun-status", "sparkrun status", "sparkrun", seconds=12, needs="sparkrun"),
    Command(
        "sparkrun-job",
        'cat "$(ls -t "$HOME"/.cache/sparkrun/jobs/*.yaml | head -n 1)"',
        "sparkrun",
        only_if='ls "$HOME"/.cache/sparkrun/jobs/*.yaml',
    ),
    # logs of the system
    Command(
        "kernel-log-before",
        f"journalctl -k -b -1 -n 20000 --no-pager -o short-iso | grep -E '{_KERNEL}' | tail -n 200",
        "boot-before",
        seconds=10,
        limit=128 * _KIB,
        cost="heavy",
        needs="journalctl",
        right=_JOURNAL,
    ),
    Command(
        "kernel-log",
        f"journalctl -k -b 0 -n 20000 --no-pager -o short-iso | grep -E '{_KERNEL}' | tail -n 200",
        "journal",
        seconds=10,
        limit=128 * _KIB,
        cost="heavy",
        needs="journalctl",
        right=_JOURNAL,
    ),
    Command(
        "kernel-no-memory",
        "journalctl -k --since -10min --no-pager -q | grep -c NV_ERR_NO_MEMORY",
        "kernel-counts",
        seconds=8,
        cost="heavy",
        needs="journalctl",
        right=_JOURNAL,
        only_if="journalctl -k -n 1 -q --no-pager | grep -q .",
    ),
    Command(
        "dmesg",
        f"dmesg -T | grep -E '{_KERNEL}' | tail -n 200",
        "kernel-counts",
        limit=128 * _KIB,
        cost="heavy",
        needs="dmesg",
        right="root",
        only_if="! journalctl -k -n 1 -q --no-pager | grep -q .",
    ),
    Command(
        "system-log",
        "journalctl -b 0 -u earlyoom -u systemd-oomd -u systemd-logind -u docker --no-pager -o short-iso -n 200",
        "services",
        seconds=8,
        limit=128 * _KIB,
        cost="heavy",
        needs="journalctl",
        right=_JOURNAL,
    ),
    Command(
        "user-log",
        "journalctl --user -b 0 --no-pager -o short-iso -n 200",
        "user-log",
        seconds=8,
        limit=128 * _KIB,
        cost="heavy",
        needs="journalctl",
    ),
    # containers: what happened before how it stands now, so that the order of the evidence is that of time
    Command(
        "docker-logs",
        "docker logs --timestamps --tail 1500 CONTAINER 2>&1 | tail -c 500000",
        "container-log",
        seconds=10,
        limit=500_000,
        cost="heavy",
        needs="docker",
        right=_DOCKER,
    ),
    Command(
        "serve-log",
        "docker exec CONTAINER tail -n 1500 /tmp/sparkrun_serve.log 2>&1 | tail -c 500000",
        "container-log",
        seconds=10,
        limit=500_000,
        cost="heavy",
        needs="docker",
        only_if="case CONTAINER in sparkrun_*) docker top CONTAINER ;; *) false ;; esac",
        right=_DOCKER,
    ),
    Command(
        "container-shm",
        "docker exec CONTAINER df -h /dev/shm",
        "container-log",
        cost="heavy",
        needs="docker",
        only_if="docker top CONTAINER",
        right=_DOCKER,
    ),
    Command(
        "package",
        "docker exec CONTAINER pip list --format=freeze --disable-pip-version-check",
        "container-packages",
        seconds=15,
        cost="heavy",
        needs="docker",
        only_if="docker top CONTAINER",
        right=_DOCKER,
    ),
    Command(
        "ray-status",
        "docker exec CONTAINER ray status",
        "ray",
        seconds=12,
        cost="heavy",
        needs="docker",
        only_if="docker top CONTAINER | grep -q raylet",
        right=_DOCKER,
    ),
    Command(
        "ray-nodes",
        "docker exec CONTAINER ray list nodes",
        "ray-nodes",
        seconds=12,
        cost="heavy",
        needs="docker",
        only_if="docker top CONTAINER | grep -q raylet",
        right=_DOCKER,
    ),
    Command(
        "docker-inspect",
        "docker inspect CONTAINER",
        "container",
        seconds=8,
        limit=256 * _KIB,
        needs="docker",
        right=_DOCKER,
    ),
    Command(
        "image",
        "docker image inspect -- \"$(docker inspect --format '{{.Image}}' CONTAINER)\"",
        "image",
        seconds=8,
        limit=256 * _KIB,
        needs="docker",
        right=_DOCKER,
    ),
    Command("docker-ps", "docker ps -a", LISTING, seconds=8, needs="docker", right=_DOCKER),
)
"""In the order in which `sparkdiag commands` runs them, and in which a capture holds them."""


def node_commands() -> tuple[Command, ...]:
    return tuple(one for one in COMMANDS if CONTAINER not in one.shell)


def container_commands() -> tuple[Command, ...]:
    """Those that are run once for each container that is looked into."""
    return tuple(one for one in COMMANDS if CONTAINER in one.shell)
