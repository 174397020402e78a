"""Options of engines' command lines, by their long names, with typed values."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from ..facts import Value
from .patterns import lazy
from .wordlists import words_of

__all__ = ["Options", "add", "flatten", "read_options", "typed"]

Options = dict[str, Value]

_SHORT = {
    "vllm": {
        "tp": "tensor_parallel_size", "pp": "pipeline_parallel_size", "dp": "data_parallel_size", "q": "quantization",
        "cc": "compilation_config", "O": "optimization_level", "n": "nnodes", "r": "node_rank",
        "dpl": "data_parallel_size_local", "dpn": "data_parallel_rank", "dpa": "data_parallel_address",
        "dpr": "data_parallel_rpc_port", "asc": "api_server_count", "dcp": "decode_context_parallel_size",
        "pcp": "prefill_context_parallel_size", "ep": "enable_expert_parallel",
    },
    "sglang": {
        "tp": "tp_size", "dp": "dp_size", "pp": "pp_size", "ep": "ep_size", "model": "model_path",
        "tensor_parallel_size": "tp_size", "data_parallel_size": "dp_size", "pipeline_parallel_size": "pp_size",
        "expert_parallel_size": "ep_size", "nccl_init_addr": "dist_init_addr", "max_model_len": "context_length",
    },
}  # fmt: skip
_ALSO = {"tp_size": "tensor_parallel_size", "dp_size": "data_parallel_size", "pp_size": "pipeline_parallel_size"}
"""SGLang's sizes under vLLM's names too, so that one rule can ask for both engines."""

_SWITCHES = words_of(
    "enforce_eager trust_remote_code enable_prefix_caching no_enable_prefix_caching enable_chunked_prefill "
    "no_enable_chunked_prefill enable_auto_tool_choice disable_log_requests disable_log_stats headless "
    "enable_expert_parallel async_scheduling no_async_scheduling disable_custom_all_reduce enable_lora "
    "enable_sleep_mode language_model_only skip_mm_profiling enable_prompt_tokens_details enable_metrics "
    "disable_cuda_graph disable_radix_cache enable_torch_compile skip_server_warmup enable_cache_report "
    "skip_tokenizer_init block head enable_log_requests enable_dbo disable_hybrid_kv_cache_manager "
    "enable_dp_attention disable_overlap_schedule allow_credentials enable_mixed_chunk use_tqdm_on_load "
    "enable_reasoning disable_frontend_multiprocessing disable_sliding_window calculate_kv_scales grpc"
)  # fmt: skip
_MANY = words_of("served_model_name lora_modules allowed_origins cuda_graph_bs cudagraph_capture_sizes middleware")
_COUNTED = words_of(
    "max_model_len max_num_batched_tokens max_num_seqs context_length max_total_tokens chunked_prefill_size "
    "max_prefill_tokens kv_cache_memory_bytes long_prefill_token_threshold"
)  # fmt: skip
_HUMAN = lazy(r"(\d+(?:\.\d+)?)([kKmMgGtT])\Z")
_SCALES = {"k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
_NUMBER = lazy(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?\Z")
_MAX_OPTIONS = 600
_MAX_TEXT = 4000


def typed(name: str, text: str) -> Value:
    """A value as a number or a truth where it is one; `128k` only for options that count."""
    if name in _COUNTED:
        human = _HUMAN.match(text)
        if human:
            return round(float(human[1]) * _SCALES[human[2]])
    if _NUMBER.match(text):
        number = float(text)
        if number in (float("inf"), float("-inf")) or len(text) > 40:
            return text
        return int(text) if re.fullmatch(r"[-+]?\d+", text) else number
    if text in ("True", "true"):
        return True
    if text in ("False", "false"):
        return False
    return text[:_MAX_TEXT]


def add(out: Options, name: str, value: Any, engine: str | None) -> None:
    """One option under its long name; what a JSON value holds also stands under `name.key`."""
    if len(out) >= _MAX_OPTIONS:
        return
    name = _SHORT.get(engine or "", {}).get(name, name)
    if isinstance(value, str):
        inner = _json(value)
        out[name] = typed(name, value)
        if isinstance(inner, dict):
            flatten(out, name, inner)
    elif isinstance(value, dict):
        out[name] = json.dumps(value, default=str)[:_MAX_TEXT]
        flatten(out, name, value)
    elif isinstance(value, (list, tuple)):
        items = tuple(str(item)[:_MAX_TEXT] for item in value[:64])
        out[name] = items[0] if len(items) == 1 and name in _MANY else items
    elif value is None or isinstance(value, (bool, int, float)):
        if value is not None:
            out[name] = value
    else:
        out[name] = str(value)[:_MAX_TEXT]
    if name in _ALSO and name in out:
        out[_ALSO[name]] = out[name]
    if name.startswith("no_") and out.get(name) is True:
        out[name[3:]] = False


def flatten(out: Options, name: str, value: Mapping[str, Any], depth: int = 0) -> None:
    """What a nested value holds, each under its dotted name."""
    for key, item in list(value.items())[:100]:
        dotted = f"{name}.{str(key).replace('-', '_')}"
        if len(out) >= _MAX_OPTIONS:
            return
        if isinstance(item, dict) and depth < 3:
            flatten(out, dotted, item, depth + 1)
        elif isinstance(item, str):
            out[dotted] = item[:_MAX_TEXT]
        elif isinstance(item, (bool, int, float)):
            out[dotted] = item
        elif isinstance(item, (list, tuple)):
            out[dotted] = tuple(str(part) for part in item[:64])


def _json(text: str) -> Any:
    if text[:1] not in ("{", "[") or len(text) > 100_000:
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def read_options(argv: Sequence[str], engine: str | None) -> tuple[Options, list[str]]:
    """(options, what stood outside any option) of an engine's command line after its program."""
    out: Options = {}
    free: list[str] = []
    at = 0
    while at < len(argv):
        word = argv[at]
        at += 1
        if not word.startswith("-") or word in ("-", "--") or _NUMBER.match(word):
            if word not in ("-", "--"):
                free.append(word)
            continue
        name, equals, value = word.lstrip("-").partition("=")
        name = name.replace("-", "_") if word.startswith("--") or len(name) > 1 else name
        if not re.match(r"[A-Za-z]", name):
            continue
        if "." in name:
            head, _, tail = name.partition(".")
            name = f"{_SHORT.get(engine or '', {}).get(head, head)}.{tail}"
        long = _SHORT.get(engine or "", {}).get(name, name)
        if equals:
            add(out, long, value, engine)
            continue
        values: list[str] = []
        while at < len(argv) and _is_value(argv[at]) and (not values or long in _MANY):
            if long in _SWITCHES:
                break
            values.append(argv[at])
            at += 1
        if not values:
            add(out, long, True, engine)
        elif long in _MANY and len(values) > 1:
            add(out, long, values, engine)
        else:
            add(out, long, values[0], engine)
    return out, free


def _is_value(word: str) -> bool:
    return not word.startswith("-") or bool(_NUMBER.match(word)) or word == "-"
