"""The options that `docker run` knows, by their long names: docker's command-line reference, 29.x (2026)."""

from __future__ import annotations

__all__ = ["DOCKER_RUN_OPTIONS", "DOCKER_RUN_SHORT"]

_LONG = """
    add-host annotation attach blkio-weight blkio-weight-device cap-add cap-drop cgroup-parent cgroupns cidfile
    cpu-count cpu-percent cpu-period cpu-quota cpu-rt-period cpu-rt-runtime cpu-shares cpus cpuset-cpus cpuset-mems
    detach detach-keys device device-cgroup-rule device-read-bps device-read-iops device-write-bps device-write-iops
    dns dns-option dns-search domainname entrypoint env env-file expose gpus group-add health-cmd health-interval
    health-retries health-start-interval health-start-period health-timeout help hostname init interactive
    io-maxbandwidth io-maxiops ip ip6 ipc isolation label label-file link link-local-ip log-driver log-opt
    mac-address memory memory-reservation memory-swap memory-swappiness mount name network network-alias
    no-healthcheck oom-kill-disable oom-score-adj pid pids-limit platform privileged publish publish-all pull quiet
    read-only restart rm runtime security-opt shm-size sig-proxy stop-signal stop-timeout storage-opt sysctl tmpfs
    tty ulimit use-api-socket user userns uts volume volume-driver volumes-from workdir
    """  # fmt: skip
DOCKER_RUN_OPTIONS = frozenset(_LONG.split())

DOCKER_RUN_SHORT = {
    "a": "attach", "c": "cpu-shares", "d": "detach", "e": "env", "h": "hostname", "i": "interactive", "l": "label",
    "m": "memory", "p": "publish", "P": "publish-all", "q": "quiet", "t": "tty", "u": "user", "v": "volume",
    "w": "workdir",
}  # fmt: skip
