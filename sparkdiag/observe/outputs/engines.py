"""Which model server a process, an image or a container's name stands for."""

from __future__ import annotations

import re

__all__ = ["engine_of", "role_of"]

_ENGINES: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("vllm", re.compile(r"vllm(?!-playground|.doctor)", re.IGNORECASE)),
    ("sglang", re.compile(r"sglang|sgl[-_:]|\bsgl\b", re.IGNORECASE)),
    (
        "llama.cpp",
        re.compile(r"llama[-_]?(?:server|cpp|cli|box)|llama\.cpp|lmstudio|lm-studio|koboldcpp", re.IGNORECASE),
    ),
    ("ollama", re.compile(r"ollama", re.IGNORECASE)),
    ("tensorrt-llm", re.compile(r"trtllm|tensorrt[-_]llm|tritonserver", re.IGNORECASE)),
    ("comfyui", re.compile(r"comfy", re.IGNORECASE)),
    ("tei", re.compile(r"text-embeddings-(?:inference|router)|\btei[-_]", re.IGNORECASE)),
    ("tgi", re.compile(r"text-generation-(?:inference|server|launcher)", re.IGNORECASE)),
    ("nim", re.compile(r"nvcr\.io/nim/|\bnim[-_/]", re.IGNORECASE)),
    ("exllama", re.compile(r"tabby-?api|exllama", re.IGNORECASE)),
    ("whisper", re.compile(r"whisper|speaches", re.IGNORECASE)),
    (
        "training",
        re.compile(
            r"unsloth|llamafactory|axolotl|nemo_run|torchrun|deepspeed|accelerate launch|train(?:er|ing)?\.py",
            re.IGNORECASE,
        ),
    ),
    ("notebook", re.compile(r"jupyter|ipykernel", re.IGNORECASE)),
    ("sparkrun", re.compile(r"sparkrun_[0-9a-f]{8}")),
    ("transformers", re.compile(r"transformers serve", re.IGNORECASE)),
)
_NOT_SERVERS = re.compile(
    r"\bgrep\b|docker (?:logs|inspect|exec|ps|pull)|\bbash -c\b.{0,20}tail|vllm bench|benchmark", re.IGNORECASE
)


def engine_of(text: str) -> str | None:
    """The engine that a command line, process title, image or name belongs to; None for anything else."""
    if _NOT_SERVERS.search(text):
        return None
    return next((name for name, pattern in _ENGINES if pattern.search(text)), None)


def role_of(text: str) -> str | None:
    """`core` for the process that stands for one engine instance, `worker` for its ranks, `api` for its front end."""
    if re.search(
        r"EngineCor|sglang::(?:scheduler|data_parallel)|llama-server|ollama (?:runner|serve)|trtllm-serve", text
    ):
        return "core"
    if re.search(r"VLLM::Worker|RayWorkerWrapper|ray::", text):
        return "worker"
    if re.search(r"vllm serve|api_server|launch_server|sglang serve|detokenizer|APIServer", text):
        return "api"
    return None
