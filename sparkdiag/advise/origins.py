"""Who published the image and the weights of a launch, and what there is of the author's or the engine's own."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..facts.launch import Launch
from ..facts.setup import Entry, Origin
from ..observe.outputs.images import split_image

__all__ = ["origins_of"]

_REGISTRIES = re.compile(r"(?:[\w-]+\.)+[\w-]+(?::\d+)?/|localhost(?::\d+)?/")
_ENGINES_OWN = {("vllm", "vllm"), ("lmsysorg", "sglang"), ("nvidia", "vllm"), ("nvidia", "sglang")}
"""(publisher, engine) whose images are the engine's or the vendor's own."""
_OFFICIAL = {"vllm": "vllm/vllm-openai", "sglang": "lmsysorg/sglang"}
_KNOWN_IMAGES = frozenset(
    {"vllm", "lmsysorg", "nvidia", "spark-arena", "sparkarena", "eugr", "scitrera", "huggingface", "pytorch"}
)
_KNOWN_WEIGHTS = frozenset(
    {
        "nvidia",
        "redhatai",
        "neuralmagic",
        "unsloth",
        "intel",
        "amd",
        "quanttrio",
        "cyankiwi",
        "lmstudio-community",
        "mlx-community",
        "sparkarena",
        "bartowski",
        "ggml-org",
        "nousresearch",
    }
)
_AUTHORS = (
    (r"gpt[-_]oss", "openai"),
    (r"qwen|qwq", "Qwen"),
    (r"deepseek", "deepseek-ai"),
    (r"glm", "zai-org"),
    (r"minimax", "MiniMaxAI"),
    (r"kimi", "moonshotai"),
    (r"nemotron", "nvidia"),
    (r"llama", "meta-llama"),
    (r"mi[sx]tral|magistral|devstral|codestral", "mistralai"),
    (r"gemma", "google"),
    (r"seed-oss", "ByteDance-Seed"),
    (r"phi-?[34]", "microsoft"),
    (r"granite", "ibm-granite"),
    (r"command-[ra]", "CohereLabs"),
    (r"step-?3", "stepfun-ai"),
    (r"olmo", "allenai"),
    (r"ernie", "baidu"),
    (r"exaone", "LGAI-EXAONE"),
)
_SAME = {"thudm": "zai-org", "cohereforai": "coherelabs", "stepfun": "stepfun-ai"}
"""Organisations that were renamed."""
_QUANTIZED = re.compile(
    r"nvfp4|mxfp4|fp4|fp8|awq|gptq|int4|int8|w4a16|w8a8|autoround|gguf|4-?bit|8-?bit", re.IGNORECASE
)
_MOVING = re.compile(
    r"nightly|latest|\bmain\b|\bmaster\b|\bdev\b|\bedge\b|\bhead\b|\bstable\b|\bspark\b", re.IGNORECASE
)
_PINNED = re.compile(r"[0-9a-f]{9,}|\d{8}|\d{4}-\d\d-\d\d|v?\d+\.\d+\.\d+|\d\d\.\d\d-py3")
_HUB = re.compile(r"(?P<owner>[\w.-]+)/(?P<name>[\w.-]+)\Z")
_CACHED = re.compile(r"models--(?P<owner>[\w.-]+?)--(?P<name>[\w.-]+)")


def origins_of(launches: Sequence[Launch], entries: Sequence[Entry]) -> list[Origin]:
    """Each image and each checkpoint once."""
    out: dict[tuple[str, str], Origin] = {}
    blast = {entry.image: _blast(entry) for entry in entries if entry.image and _blast(entry)}
    for launch in launches:
        if launch.image and "$" not in launch.image and "{" not in launch.image:
            out.setdefault(("image", launch.image), _image(launch, blast.get(launch.image)))
        if launch.model and "$" not in launch.model and "{" not in launch.model and launch.engine in ("vllm", "sglang"):
            out.setdefault(("weights", launch.model), _weights(launch))
    return list(out.values())


def _blast(entry: Entry) -> str | None:
    reaches = [
        word
        for word, has in (
            ("privileged", entry.privileged),
            ("the Docker socket", entry.docker_socket),
            ("devices passed through", entry.devices),
            ("added capabilities", bool({"SYS_ADMIN", "ALL", "SYS_PTRACE"} & set(entry.capabilities))),
        )
        if has
    ]
    return ", ".join(reaches) or None


def _image(launch: Launch, blast: str | None) -> Origin:
    reference = launch.image or ""
    name, tag = split_image(reference)
    bare = _REGISTRIES.sub("", name, count=1)
    publisher = bare.split("/")[0] if "/" in bare else None
    digest = "@sha256:" in reference
    pinned = digest or bool(tag and _PINNED.search(tag))
    moving = not digest and (tag is None or bool(_MOVING.search(tag) and not _PINNED.search(tag)))
    official = (publisher, launch.engine) in _ENGINES_OWN if publisher is not None else None
    at = launch.lines.get("image", launch.source)
    fields = ("name", "publisher", "known", "official", "tag", "pinned", "instead")
    lines = dict.fromkeys(fields, at)
    reach = next(
        (
            launch.lines[n]
            for n in ("docker.privileged", "docker.device", "docker.cap_add", "docker.volume")
            if n in launch.lines
        ),
        None,
    )
    if reach is not None:
        lines["blast"] = reach
    return Origin(
        what="image",
        name=reference,
        publisher=publisher,
        known=None if publisher is None else publisher.lower() in _KNOWN_IMAGES,
        official=official,
        instead=None if official or launch.engine is None else _OFFICIAL.get(launch.engine),
        tag=tag or ("latest" if not digest else None),
        pinned=True if pinned else False if moving else None,
        blast=blast,
        lines=lines,
        where=launch.where,
        order=launch.order,
        source=at,
    )


def _weights(launch: Launch) -> Origin:
    reference = launch.model or ""
    match = _CACHED.search(reference) or (None if reference.startswith((".", "/", "~")) else _HUB.match(reference))
    owner = match["owner"] if match else None
    name = match["name"] if match else reference.rstrip("/").rsplit("/", 1)[-1]
    author = next((who for pattern, who in _AUTHORS if re.search(pattern, name, re.IGNORECASE)), None)
    mine = None if owner is None else _SAME.get(owner.lower(), owner.lower())
    official = None if mine is None or author is None else mine == author.lower()
    at = launch.lines.get("model", launch.lines.get("flag.model", launch.source))
    fields = ("name", "publisher", "known", "official", "author", "instead", "quantized_by_other")
    return Origin(
        what="weights",
        name=reference,
        publisher=owner,
        known=None if mine is None else mine in _KNOWN_WEIGHTS or official is True,
        official=official,
        author=author,
        instead=None if official is not False else author,
        local=match is None,
        quantized_by_other=official is False and bool(_QUANTIZED.search(name)),
        lines=dict.fromkeys(fields, at),
        where=launch.where,
        order=launch.order,
        source=at,
    )
