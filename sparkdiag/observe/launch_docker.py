"""docker run, and what docker inspect and compose tell of a container, as container options."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

from ..facts import Value
from ..records import dataclass
from .captures import read_bytes
from .launch_options import Options, typed
from .patterns import lazy
from .wordlists import words_of

__all__ = ["FROM_CALLER", "Container", "from_compose", "from_inspect", "image_engine", "read_run"]

FROM_CALLER = "(from the caller's environment)"
"""Value of a variable that is passed on by name alone."""

_VALUES = words_of(
    "-v --volume -e --env -p --publish --name --gpus --ipc --shm-size --network --net --entrypoint --user -u "
    "--restart --env-file --runtime --ulimit --device --cap-add --cap-drop -w --workdir --memory -m --memory-swap "
    "--cpus --cpuset-cpus --hostname -h --add-host --label -l --mount --tmpfs --pid --platform --pull --security-opt "
    "--log-driver --log-opt --group-add --dns --health-cmd --stop-timeout --stop-signal --sysctl --uts --cgroupns "
    "--userns --oom-score-adj --expose --annotation --device-cgroup-rule --memory-reservation --memory-swappiness "
    "--blkio-weight --cidfile --init-path --isolation --link --mac-address --network-alias --ip --pids-limit "
    "--volumes-from --volume-driver --shm --cpu-shares --detach-keys --gpu"
)  # fmt: skip
_LONG = {
    "v": "volume", "e": "env", "p": "publish", "u": "user", "d": "detach", "it": "interactive", "i": "interactive",
    "t": "tty", "w": "workdir", "m": "memory", "h": "hostname", "l": "label", "net": "network",
}  # fmt: skip
_LISTS = words_of(
    "volume publish ulimit device cap_add cap_drop security_opt mount add_host env_file group_add label tmpfs expose "
    "dns"
)  # fmt: skip
_SIZES = frozenset({"shm_size", "memory", "memory_swap", "memory_reservation"})


@dataclass(slots=True)
class Container:
    """One container as it was asked for."""

    image: str | None = None
    options: Options = field(default_factory=dict)
    env: Options = field(default_factory=dict)
    argv: list[str] = field(default_factory=list)
    """What follows the image: arguments to its entrypoint, or a command."""
    name: str | None = None


def read_run(argv: Sequence[str]) -> Container:
    """The words after `docker run`."""
    out = Container()
    lists: dict[str, list[str]] = {}
    at = 0
    while at < len(argv) and argv[at].startswith("-") and argv[at] != "-":
        word = argv[at]
        at += 1
        if word == "--":
            break
        name, equals, value = word.partition("=")
        if not equals:
            glued = re.match(r"(-[vepuw])(.+)", word)
            if glued and not word.startswith("--"):
                name, value = glued[1], glued[2]
            elif name in _VALUES and at < len(argv):
                value = argv[at]
                at += 1
            else:
                for key in [name.lstrip("-")] if name.startswith("--") else list(name[1:]):
                    out.options[_LONG.get(key, key).replace("-", "_")] = True
                continue
        _option(out, lists, name.lstrip("-"), value)
    out.options.update({key: tuple(values) for key, values in lists.items()})
    if at < len(argv):
        out.image = argv[at]
        out.argv = list(argv[at + 1 :])
    return out


def _option(out: Container, lists: dict[str, list[str]], name: str, value: str) -> None:
    key = _LONG.get(name, name).replace("-", "_")
    if key == "env":
        variable, equals, text = value.partition("=")
        out.env[variable] = typed(variable, text) if equals else FROM_CALLER
    elif key in _LISTS:
        lists.setdefault(key, []).append(value)
    elif key in _SIZES:
        out.options[key] = _size(value)
    else:
        out.options[key] = typed(key, value)
        if key == "name":
            out.name = value


def _size(value: Any) -> Value:
    """Bytes; docker's units are powers of two, whatever their spelling."""
    text = str(value).strip().lower()
    size = read_bytes(re.sub(r"([kmgt])b\Z", r"\1", text))
    return size if size is not None else text


_ENGINES = (
    ("sglang", lazy(r"(?i)sglang|/sgl[-:/]")),
    ("vllm", lazy(r"(?i)vllm")),
    ("tensorrt-llm", lazy(r"(?i)tensorrt-?llm|trtllm")),
    ("llamacpp", lazy(r"(?i)llama[._-]?cpp|llama-server")),
    ("ollama", lazy(r"(?i)ollama")),
)


def image_engine(image: str | None) -> str | None:
    """The engine that an image's name tells."""
    return next((name for name, pattern in _ENGINES if image and pattern.search(image)), None)


def from_compose(name: str, service: Mapping[str, Any]) -> Container:
    """One service of a compose file."""
    from .shell import words

    out = Container(image=_text(service.get("image")), name=_text(service.get("container_name")) or name or None)
    out.env = _environment(service.get("environment"))
    command = service.get("command")
    if isinstance(command, str):
        out.argv = words(" ".join(command.split("\n")))
    elif isinstance(command, list):
        out.argv = [str(part) for part in command]
    for key, value in service.items():
        if key in ("image", "environment", "command", "deploy"):
            continue
        option = {"network_mode": "network", "volumes": "volume", "ports": "publish", "devices": "device"}.get(key, key)
        if option in _SIZES or option == "mem_limit":
            out.options[option] = _size(value)
        elif isinstance(value, list):
            out.options[option] = tuple(str(item) for item in value[:64])
        elif isinstance(value, Mapping):
            out.options[option] = str(dict(value))[:500]
        elif value is not None:
            out.options[option] = value if isinstance(value, (bool, int, float)) else str(value)
    if _reserves_gpu(service):
        out.options["gpus"] = "all"
    return out


def _reserves_gpu(service: Mapping[str, Any]) -> bool:
    text = str(service.get("deploy", "")) + str(service.get("gpus", "")) + str(service.get("runtime", ""))
    return "nvidia" in text or "gpu" in text or "all" in str(service.get("gpus", ""))


def _environment(value: Any) -> Options:
    if isinstance(value, Mapping):
        return {str(k): v if isinstance(v, (bool, int, float)) else str(v) for k, v in value.items() if v is not None}
    out: Options = {}
    for item in value if isinstance(value, list) else ():
        key, _, text = str(item).partition("=")
        out[key.strip()] = typed(key, text)
    return out


def _text(value: Any) -> str | None:
    return str(value) if isinstance(value, (str, int, float)) else None


def from_inspect(data: Mapping[str, Any]) -> Container | None:
    """One entry of `docker inspect`; None where it tells nothing of how the container was started."""
    config = data.get("Config") if isinstance(data.get("Config"), Mapping) else {}
    host = data.get("HostConfig") if isinstance(data.get("HostConfig"), Mapping) else {}
    assert isinstance(config, Mapping)
    assert isinstance(host, Mapping)
    if not config and not host and not isinstance(data.get("Args"), list):
        return None
    out = Container(image=_text(config.get("Image")), name=str(data.get("Name", "")).lstrip("/") or None)
    out.env = _environment(config.get("Env"))
    path, args = data.get("Path"), data.get("Args")
    if isinstance(args, list):
        out.argv = [*([str(path)] if isinstance(path, str) else []), *(str(arg) for arg in args)]
    elif isinstance(config.get("Cmd"), list):
        entry = config.get("Entrypoint")
        out.argv = [*(map(str, entry) if isinstance(entry, list) else ()), *map(str, config["Cmd"])]
    for key, option in (
        ("IpcMode", "ipc"),
        ("NetworkMode", "network"),
        ("Privileged", "privileged"),
        ("Runtime", "runtime"),
    ):
        if host.get(key) not in (None, ""):
            out.options[option] = host[key]
    for key, option in (("ShmSize", "shm_size"), ("Memory", "memory")):
        if isinstance(host.get(key), int) and host[key]:
            out.options[option] = host[key]
    if isinstance(config.get("User"), str) and config["User"]:
        out.options["user"] = config["User"]
    restart = host.get("RestartPolicy")
    if isinstance(restart, Mapping) and restart.get("Name"):
        out.options["restart"] = str(restart["Name"])
    if host.get("DeviceRequests"):
        out.options["gpus"] = "all"
    if isinstance(host.get("Binds"), list):
        out.options["volume"] = tuple(str(bind) for bind in host["Binds"])
    return out
