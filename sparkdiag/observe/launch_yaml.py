"""Launches written as YAML: compose files and sparkrun's recipes, whole or in part."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping
from typing import Any

from .launch_commands import Shown, launches_of_command, of_container
from .launch_docker import from_compose, image_engine
from .launch_options import Options, add, typed
from .patterns import lazy

__all__ = ["launches_of_compose", "launches_of_recipe"]

MAX_TEXT = 200_000
_NUMBERED = lazy(r"^\d+[:-]", re.M)
_PLACEHOLDER = lazy(r"\{(\w+)\}")


def load(text: str) -> Any:
    """YAML as data; None where it is none, or too large to be a configuration. Aliases are not expanded without end."""
    import yaml

    if len(text) > MAX_TEXT or text.count("&") > 50 or text.count("*") > 200:
        return None
    try:
        return yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError, TypeError):
        return None


def launches_of_compose(text: str) -> list[Shown]:
    """One launch a service."""
    data = load(text)
    services = data.get("services") if isinstance(data, Mapping) else None
    if isinstance(services, Mapping):
        out = []
        for name, service in services.items():
            if isinstance(service, Mapping):
                shown = of_container(from_compose(str(name), service), "compose")
                shown.line = _line_of(text, str(name))
                shown.command = shown.command or str(shown.docker.get("command", ""))
                out.append(shown)
        return out
    part = load(textwrap.dedent(_NUMBERED.sub("", text)))
    pods = _pod_containers(data, 0) if isinstance(data, Mapping) else []
    if pods:
        return [of_container(from_compose("", container), "compose") for container in pods]
    if isinstance(part, Mapping) and "args" in part:
        part = _as_service(part)
    if isinstance(part, Mapping) and {"image", "command"} & set(part):
        shown = of_container(from_compose("", part), "compose")
        shown.partial = True
        return [shown]
    return _fragment(text, "compose")


def _pod_containers(data: Any, depth: int) -> list[dict[str, Any]]:
    """Containers of a Kubernetes manifest, as services of a compose file."""
    if depth > 12:
        return []
    if isinstance(data, Mapping):
        listed = data.get("containers")
        if isinstance(listed, list):
            return [_as_service(c) for c in listed if isinstance(c, Mapping) and {"image", "args"} & set(c)]
        return [c for value in data.values() for c in _pod_containers(value, depth + 1)]
    return []


def _as_service(container: Mapping[str, Any]) -> dict[str, Any]:
    """Kubernetes calls a command's options `args`, and its variables `env`, a list of names with values."""
    words = [str(word) for key in ("command", "args") for word in _listed(container.get(key))]
    if container.get("image") is None and words[:1] and words[0].startswith("--"):
        sglang = "--model-path" in words
        words = [*(("python3", "-m", "sglang.launch_server") if sglang else ("vllm", "serve")), *words]
    variables = [e for e in _listed(container.get("env")) if isinstance(e, Mapping) and "name" in e]
    return {
        "image": container.get("image"),
        "container_name": container.get("name"),
        "command": words,
        "environment": {str(e["name"]): str(e.get("value", "")) for e in variables},
    }


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _line_of(text: str, key: str) -> int:
    found = re.search(rf"^\s*{re.escape(key)}:", text, re.M)
    return text.count("\n", 0, found.start()) if found else 0


def _fragment(text: str, form: str) -> list[Shown]:
    """Lines cut out of a file: the image, and commands as they stand."""
    plain = _NUMBERED.sub("", text)
    out: list[Shown] = []
    for match in re.finditer(r"^\s*-?\s*(?:image|container):\s*[\"']?([\w./:@-]+)", plain, re.M):
        line = plain.count("\n", 0, match.start())
        out.append(
            Shown(form, image_engine(match[1]), match[1], partial=True, line=line, command=match.group().strip())
        )
    for number, words in enumerate(plain.split("\n")):
        for shown in launches_of_command(words.strip().lstrip("- ").strip(), number):
            shown.form, shown.partial = form, True
            out.append(shown)
    return out


def launches_of_recipe(text: str) -> list[Shown]:
    """A sparkrun recipe: its command with its defaults filled in."""
    data = load(text)
    if not isinstance(data, Mapping) or not ({"model", "container", "command"} & set(data)):
        return _fragment(text, "recipe")
    defaults = data.get("defaults")
    values = dict(defaults) if isinstance(defaults, Mapping) else {}
    values.setdefault("model", data.get("model"))
    command = data.get("command")
    image = data.get("container") if isinstance(data.get("container"), str) else None
    shown = Shown("recipe", image_engine(image), image)
    if isinstance(command, str):
        filled = _PLACEHOLDER.sub(lambda m: str(values.get(m[1], m.group())), command)
        found = launches_of_command(" ".join(filled.replace("\\\n", " ").split("\n")).strip())
        if found:
            shown = found[-1]
            shown.form, shown.image = "recipe", image
            shown.line = _line_of(text, "command")
    runtime = data.get("runtime")
    shown.runtime = str(runtime) if runtime is not None else None
    shown.engine = shown.engine or next(
        (e for e in ("vllm", "sglang", "llamacpp") if e in str(runtime or "").replace("-", "")), None
    )
    shown.model = shown.model or (str(data["model"]) if data.get("model") else None)
    _defaults(shown, values)
    env = data.get("env")
    if isinstance(env, Mapping):
        shown.env = {**{str(k): _plain(v) for k, v in env.items() if v is not None}, **shown.env}
    executor = data.get("executor_config")
    if isinstance(executor, Mapping):
        shown.docker = {**{str(k): _plain(v) for k, v in executor.items() if v is not None}, **shown.docker}
    for key in ("min_nodes", "max_nodes", "mode", "cluster_only", "solo_only"):
        if key in data:
            shown.flags[f"recipe_{key}"] = _plain(data[key])
    return [shown]


_NAMES = {
    "tensor_parallel": "tensor_parallel_size",
    "pipeline_parallel": "pipeline_parallel_size",
    "data_parallel": "data_parallel_size",
}


def _defaults(shown: Shown, values: Mapping[str, Any]) -> None:
    """Defaults are options too, under their engine's names; what the command says counts."""
    told: Options = {}
    for key, value in values.items():
        if key != "model" and value is not None:
            add(told, _NAMES.get(str(key), str(key)), value, shown.engine)
    shown.flags = {**told, **shown.flags}


def _plain(value: Any) -> Any:
    if isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, (list, tuple)):
        return tuple(str(item) for item in value)
    return typed("", str(value))
