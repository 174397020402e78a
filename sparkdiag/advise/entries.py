"""How the containers and units of what is about to be started are begun, and what of an earlier run they meet."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..facts import Source, Value
from ..facts.launch import Launch
from ..facts.setup import Entry
from .documents import Document

__all__ = ["entries_of"]

GIB = 2**30
_ENTRYPOINTS = (
    ("engine", re.compile(r"(?:^|/)vllm/vllm-openai(?:-\w+)?(?:[:@]|\Z)")),
    (
        "wrapper",
        re.compile(r"(?:^|/)(?:nvcr\.io/nvidia/(?:vllm|sglang|pytorch|tritonserver)|lmsysorg/sglang)(?:[:@]|\Z)"),
    ),
)
"""Images whose ENTRYPOINT is known: the engine with its server, or a script that runs whatever it is given."""
_AMD64 = re.compile(r"(?:x86[_-]64|amd64)")
_SHELLS = ("bash", "sh", "/bin/bash", "/bin/sh", "/usr/bin/bash")
_PROGRAM = re.compile(r"(?:\S*/)?(?:vllm|serve|sglang|python[\d.]*|ray|torchrun|uv)\Z")
_STARTS = re.compile(
    r"(?:ExecStart=\S*/?|^[ \t]*(?:sudo )?)(?:docker|podman)(?: container)? start (?:-\w+ |--\w+ )*(?P<name>[\w.-]+)",
    re.MULTILINE,
)
_SPARKRUN = re.compile(r"^[^#\n]*\bsparkrun (?P<verb>stop|run)\b(?P<rest>[^\n;|&]*)", re.MULTILINE)
_REMOVES = r"(?:docker|podman)(?: container)? (?:rm|kill|stop)[^\n]*%s"
_LINGERS = re.compile(r"enable-linger|Linger=yes")
_CACHES = ("HOME", "VLLM_CACHE_ROOT", "TRITON_CACHE_DIR")


def entries_of(documents: Sequence[Document], launches: Sequence[Launch], sparkrun: str | None) -> list[Entry]:
    """One for each container or unit that is started, and for each script line that handles one."""
    texts = {one.name: one.text for one in documents}
    everything = "\n".join(texts.values())
    out = [
        _entry(launch, texts.get(launch.source.source, ""), everything, sparkrun)
        for launch in launches
        if launch.form in ("docker-run", "compose", "recipe", "unit") and not launch.partial
    ]
    for number, one in enumerate(documents):
        if one.kind == "launch":
            out += _script(one, everything, number, sparkrun)
    return out


def _entry(launch: Launch, text: str, everything: str, sparkrun: str | None) -> Entry:
    docker, image = launch.docker, launch.image
    command = docker.get("command")
    words = str(command).split() if isinstance(command, str) else []
    unit = launch.form == "unit"
    named = docker.get("name")
    name = named if isinstance(named, str) else None
    shm = docker.get("shm_size")
    privileged = docker.get("privileged") is True
    return Entry(
        form=launch.form,
        engine=launch.engine,
        image=image,
        entrypoint=next((kind for kind, pattern in _ENTRYPOINTS if image and pattern.search(image)), None),
        overridden="entrypoint" in docker,
        begins=_begins(words),
        command=" ".join(words)[:200] or None,
        gpu=_gpu(launch),
        amd64=bool(_AMD64.search(f"{(image or '').rpartition(':')[2]} {docker.get('platform', '')}"))
        if image
        else None,
        ipc_shared=str(docker.get("ipc", "")).startswith(("host", "shareable", "container", "service")),
        shm_gib=round(shm / GIB, 2) if isinstance(shm, int) and not isinstance(shm, bool) else None,
        privileged=privileged,
        devices=any("infiniband" in item or "/dev/mem" in item for item in _items(docker.get("device"))),
        capabilities=_items(docker.get("cap_add")),
        docker_socket=any("docker.sock" in item for item in _items(docker.get("volume"))),
        restart=str(docker["restart"]) if docker.get("restart") is not None else None,
        unit=unit,
        user_unit=_user_unit(launch) if unit else None,
        linger=bool(_LINGERS.search(everything)) if unit else None,
        container=name,
        removed=_removed(launch, name, text),
        started_again=False,
        ray="ray start" in " ".join(words) or "ray start" in launch.command,
        sparkrun=sparkrun,
        cache_redirected=all(variable in launch.env for variable in _CACHES) if launch.form == "recipe" else None,
        enters_cache=("cd /" in text) if launch.form == "recipe" else None,
        lines=_lines(launch),
        where=launch.where,
        order=launch.order,
        source=launch.source,
    )


def _items(value: Value) -> tuple[str, ...]:
    if isinstance(value, tuple):
        return value
    return (value,) if isinstance(value, str) and value else ()


def _begins(words: Sequence[str]) -> str | None:
    if not words:
        return None
    if words[0].startswith("-"):
        return "options"
    if words[0] in _SHELLS:
        return "shell"
    return "program" if _PROGRAM.match(words[0]) else "model" if "/" in words[0] else None


def _gpu(launch: Launch) -> bool | None:
    """Whether the container gets the GPU; None where that cannot be told from what is here."""
    docker = launch.docker
    if (
        launch.image is None
        or launch.form == "recipe"
        or launch.engine not in ("vllm", "sglang")
        or launch.model is None
    ):
        return None  # no server of an engine: a client, a benchmark, a shell
    if any(docker.get(name) is not None for name in ("gpus", "gpu", "runtime", "device_requests", "deploy")):
        return True
    if any("nvidia" in item for item in _items(docker.get("device"))):
        return True
    if docker.get("privileged") is True or "extends" in docker or "NVIDIA_VISIBLE_DEVICES" in launch.env:
        return None
    return False


def _user_unit(launch: Launch) -> bool | None:
    wanted = str(launch.docker.get("unit_wantedby", ""))
    if launch.docker.get("unit_user") is not None or "multi-user" in wanted:
        return False
    return True if "default.target" in wanted else None


def _removed(launch: Launch, name: str | None, text: str) -> bool | None:
    if launch.form not in ("docker-run", "unit") or launch.image is None:
        return None
    if launch.docker.get("rm") is True or name is None or "$" in name or "%" in name:
        return True
    return re.search(_REMOVES % re.escape(name), text) is not None


def _lines(launch: Launch) -> dict[str, Source]:
    lines = launch.lines
    names = {
        "image": "image",
        "entrypoint": "image",
        "amd64": "image",
        "overridden": "docker.entrypoint",
        "gpu": "docker.gpus",
        "shm_gib": "docker.shm_size",
        "ipc_shared": "docker.ipc",
        "privileged": "docker.privileged",
        "devices": "docker.device",
        "capabilities": "docker.cap_add",
        "docker_socket": "docker.volume",
        "restart": "docker.restart",
        "container": "docker.name",
        "user_unit": "docker.unit_wantedby",
    }
    found = {field: lines[name] for field, name in names.items() if name in lines}
    if "docker.platform" in lines:
        found["amd64"] = lines["docker.platform"]
    return found


def _script(one: Document, everything: str, number: int, sparkrun: str | None) -> list[Entry]:
    """Lines of a script or unit that handle a container without starting a new one."""
    out = []
    wanted = re.search(r"^WantedBy=.*(?P<target>default|multi-user)\.target", one.text, re.MULTILINE)
    unit = re.search(r"^\[Service\]", one.text, re.MULTILINE) is not None

    def entry(match: re.Match[str], **known: object) -> Entry:
        line = one.text.count("\n", 0, match.start())
        words = one.text.split("\n", line + 1)[line].strip()[:300]
        source = Source(one.name, line + 1, text=words)
        base: dict[str, object] = {"form": "unit" if unit else "script", "unit": unit, "sparkrun": sparkrun}
        return Entry(**{**base, **known}, source=source, order=number * 1_000_000 + line)  # type: ignore[arg-type]

    for match in _STARTS.finditer(one.text):
        out.append(
            entry(
                match,
                started_again=True,
                container=match["name"],
                ray="ray" in one.text,
                user_unit=None if wanted is None else wanted["target"] == "default",
                linger=bool(_LINGERS.search(everything)) if unit else None,
            )
        )
    for match in _SPARKRUN.finditer(one.text):
        rest, stops = match["rest"], match["verb"] == "stop"
        blind = stops and re.search(r"\s\w", rest) is not None and not re.search(r"--(?:cluster|all|help)\b", rest)
        out.append(entry(match, form="sparkrun", stops_blind=blind, unfollowed=not stops and "--no-follow" in rest))
    return out
