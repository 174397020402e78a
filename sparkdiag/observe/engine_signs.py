"""Signs of which engine answers, and of which version, in an HTTP exchange."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..facts import Fact, Source, Where
from ..facts.engine import EngineSeen, ModelServed
from ..facts.launch import Launch
from .bodies import Body, mapping, number
from .patterns import lazy

_FINGERPRINT = lazy(r"vllm-(\d+(?:\.\d+)+\S*?)-[0-9a-f]{6,}")
_OWNERS = {"vllm": "vllm", "sglang": "sglang", "llamacpp": "llamacpp", "library": "ollama"}


def engine_facts(path: str | None, body: Body, *, source: str, where: Where, order: int) -> list[Fact]:
    """Everything that an answer tells about its engine: from its route, its keys, its values."""
    data = mapping(body.data)
    plain = (path or "").split("?", 1)[0].rstrip("/")
    out: list[Fact] = []

    def seen(name: str, by: str, version: str | None = None, path: str = "$", proxied: bool = False) -> None:
        text = f"{name} {version}" if version else name
        out.append(
            EngineSeen(
                name=name, version=version, by=by, proxied=proxied, where=where, order=order,
                source=Source(source, path=path, text=f"{by}: {text}"),
            )
        )  # fmt: skip

    if plain.endswith("/version") and isinstance(data.get("version"), str) and len(data) <= 2:
        seen("vllm", "/version", data["version"], "$.version")
    fingerprint = data.get("system_fingerprint")
    if isinstance(fingerprint, str):
        match = _FINGERPRINT.match(fingerprint)
        if match:
            seen("vllm", "system_fingerprint", match[1], "$.system_fingerprint")
    if "kv_transfer_params" in data and "prompt_logprobs" in data and not out:
        seen("vllm", "keys of the reply")
    if isinstance(data.get("metadata"), dict) and "weight_version" in data["metadata"]:
        seen("sglang", "keys of the reply", path="$.metadata")
    elif _choice(data).get("matched_stop", "") != "":
        seen("sglang", "keys of the reply", path="$.choices[0].matched_stop")
    if body.text.strip().strip('"') == "SGLang is running":
        seen("sglang", "answer of /")
    if plain.endswith(("/server_info", "/get_server_info")) and "model_path" in data:
        version = data.get("version")
        seen("sglang", "server info", version if isinstance(version, str) else None, "$.version")
        out.append(_launch(data, source, where, order))
    if plain.endswith(("/model_info", "/get_model_info")) and "model_path" in data:
        seen("sglang", "model info", path="$.model_path")
        out.append(_launch(data, source, where, order))
        out += _served([data], source, where, order)
    entries = data.get("data")
    if data.get("object") == "list" and isinstance(entries, list):
        models = [entry for entry in entries if isinstance(entry, dict) and isinstance(entry.get("id"), str)]
        owners = {entry.get("owned_by") for entry in models}
        for owner in sorted(str(o) for o in owners if o):
            if owner in _OWNERS:
                seen(_OWNERS[owner], "owned_by", path="$.data[0].owned_by")
        out += _served(models, source, where, order)
    return out


def _choice(data: Mapping[str, Any]) -> Mapping[str, Any]:
    choices = data.get("choices")
    return mapping(choices[0]) if isinstance(choices, list) and choices else {}


def _served(models: list[Any], source: str, where: Where, order: int) -> list[Fact]:
    names = tuple(str(m.get("id") or m.get("served_model_name") or m.get("model_path")) for m in models)
    out: list[Fact] = []
    for index, model in enumerate(models):
        root = model.get("root", model.get("model_path"))
        owner = model.get("owned_by")
        out.append(
            ModelServed(
                name=names[index],
                root=root if isinstance(root, str) else None,
                max_model_len=number(model.get("max_model_len")),
                owned_by=owner if isinstance(owner, str) else None,
                names=names,
                where=where,
                order=order,
                source=Source(source, path=f"$.data[{index}].id", text=f"serves {names[index]}"),
            )
        )
    return out


def _launch(data: Mapping[str, Any], source: str, where: Where, order: int) -> Launch:
    """SGLang's settings, as /server_info and /get_model_info tell them."""
    flags = {k: v for k, v in data.items() if isinstance(v, (str, int, float, bool)) and v != ""}
    told = [f"{k} {flags.get(k)}" for k in ("reasoning_parser", "tool_call_parser", "grammar_backend") if k in data]
    return Launch(
        form="args",
        engine="sglang",
        model=data["model_path"] if isinstance(data.get("model_path"), str) else None,
        command=str(data.get("launch_command") or "")[:2000],
        flags=flags,
        where=where,
        order=order,
        source=Source(source, path="$", text="server settings: " + ", ".join(told)),
    )
