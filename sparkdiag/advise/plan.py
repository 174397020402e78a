"""A launch for a model on one Spark or two, worked out from the model's own files.

    plan = make_plan(read_model("models/Qwen3-30B-A3B-FP8"), nodes=1, runtime="vllm")
    plan.settings, plan.launches, plan.to_dict()

Pure: the same files give the same plan. Every setting names the rule and the source that set it; what was not to be
known from the files is in `assumed`, and what only a real request can show is in `smoke`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ..derive.expected_speed import DecodeSpeed, PrefillSpeed, decode_speed, prefill_speed
from ..derive.model_size import ModelSize, model_size
from .plan_inputs import PlannedModel
from .plan_launch import Launch, docker_launches, router, sparkrun_launches
from .plan_memory import Fit, Wish, fit_model, fit_pair
from .plan_parsers import Parsers, choose_parsers
from .plan_reasons import alternatives, assumptions, smoke_tests
from .plan_settings import IMAGES, Nodes, Setting, container_settings, engine_settings, link_settings

__all__ = ["ARRANGEMENTS", "DEFAULT_NODES", "Plan", "make_plan"]

GIB = 2**30
DEFAULT_NODES = Nodes("192.0.2.1", "192.0.2.2", "enp1s0f0np0")
"""Stand-ins for the link's addresses, from the range for documentation, and the usual name of its first port."""

ARRANGEMENTS = {
    "one-node": "one node",
    "each-node": "one job on each node, and a router in front",
    "pair": "one job over both nodes, pipeline parallel size 2",
    "none": "it does not fit",
}


@dataclass(frozen=True, slots=True)
class Smaller:
    """The same model in another format."""

    format: str
    weights_gib: float
    fits_one_node: bool
    decode: DecodeSpeed


@dataclass(frozen=True, slots=True)
class Plan:
    """The answer."""

    model: PlannedModel
    runtime: str
    nodes: int
    size: ModelSize
    fit: Fit
    """Of the arrangement, or of what came nearest."""
    single: Fit
    """Of one node, whatever the arrangement."""
    arrangement: str
    parsers: Parsers
    settings: tuple[Setting, ...]
    launches: tuple[Launch, ...]
    decode: DecodeSpeed
    """At a short context, and with the whole context filled."""
    decode_full: DecodeSpeed
    prefill: PrefillSpeed
    assumed: tuple[str, ...]
    smoke: tuple[str, ...]
    why_not: tuple[tuple[str, str], ...]
    """(alternative, why not)."""
    smaller: tuple[Smaller, ...] = ()
    """The same model in formats well below its own."""

    def to_dict(self) -> dict[str, Any]:
        """What --json prints."""
        shape = self.size.shape
        return {
            "format": 1,
            "model": {
                "name": self.model.name,
                "family": shape.family or None,
                "dense": self.size.dense,
                "attention": self.size.attention,
                "parameters": self.size.parameters,
                "active_parameters": self.size.active_parameters,
                "experts": shape.experts or None,
                "experts_per_token": shape.experts_per_token or None,
                "native_context": shape.context or None,
                "quantization": self.size.quantization.format,
                "weights_gib": round(self.size.weights_bytes / GIB, 2),
                "weights_measured": self.size.weights_measured,
                "kv_bytes_per_token": self.size.kv.token_bytes,
                "thinks": self.parsers.thinks,
                "unknown": list(self.size.unknown),
            },
            "runtime": self.runtime,
            "nodes": self.nodes,
            "arrangement": self.arrangement,
            "fits_one_node": self.single.fits,
            "memory": _rounded(asdict(self.fit)) | {"need_gib": round(self.fit.need_gib, 2)},
            "speed": {
                "decode": _rounded(asdict(self.decode)),
                "decode_full_context": _rounded(asdict(self.decode_full)),
                "prefill": _rounded(asdict(self.prefill)),
            },
            "settings": [asdict(setting) for setting in self.settings],
            "launches": [asdict(launch) for launch in self.launches],
            "assumed": list(self.assumed),
            "smoke_test": list(self.smoke),
            "why_not": [{"alternative": what, "because": why} for what, why in self.why_not],
            "other_formats": [
                {
                    "format": other.format,
                    "weights_gib": round(other.weights_gib, 1),
                    "fits_one_node": other.fits_one_node,
                    "decode": _rounded(asdict(other.decode)),
                }
                for other in self.smaller
            ],
        }


def _rounded(values: dict[str, Any]) -> dict[str, Any]:
    return {key: round(value, 2) if isinstance(value, float) else value for key, value in values.items()}


def make_plan(
    model: PlannedModel,
    *,
    nodes: int = 1,
    runtime: str = "vllm",
    wish: Wish | None = None,
    link: Nodes | None = None,
) -> Plan | None:
    """The plan, or None where the config lacks what the sums need."""
    size = _sized(model)
    if size is None:
        return None
    wish = wish or Wish()
    engine = "sglang" if runtime == "sglang" else "vllm"
    native = size.shape.context
    single = fit_model(size, wish, native=native)
    pair = fit_pair(size, wish, native=native) if nodes == 2 and not single.fits else None
    fit = pair or single
    arrangement = "none" if not fit.fits else "pair" if pair else "each-node" if nodes == 2 else "one-node"
    parsers = choose_parsers(model.config, model.name, model.template, engine, model.parser_files)
    settings, launches = _written(model, size, fit, parsers, runtime, arrangement, link or DEFAULT_NODES)
    return Plan(
        model=model,
        runtime=runtime,
        nodes=nodes,
        size=size,
        fit=fit,
        single=single,
        arrangement=arrangement,
        parsers=parsers,
        settings=tuple(settings),
        launches=tuple(launches),
        decode=decode_speed(size, 1024),
        decode_full=decode_speed(size, fit.context),
        prefill=prefill_speed(size),
        assumed=assumptions(model, size, fit, parsers, arrangement, runtime, link),
        smoke=smoke_tests(model, size, fit, parsers, arrangement, engine),
        why_not=alternatives(model, size, fit, single, parsers, arrangement, engine),
        smaller=_smaller(model, size, wish),
    )


def _sized(model: PlannedModel) -> ModelSize | None:
    index = dict(model.index)
    if not index and model.weights_bytes is not None:
        index = {"metadata": {"total_size": model.weights_bytes}}
    return model_size(model.config, index=index or None, quant=model.quant or None)


def _written(
    model: PlannedModel, size: ModelSize, fit: Fit, parsers: Parsers, runtime: str, arrangement: str, link: Nodes
) -> tuple[list[Setting], list[Launch]]:
    """The settings and the launches, none where the model does not fit."""
    if arrangement == "none":
        return [], []
    engine = "sglang" if runtime == "sglang" else "vllm"
    pair = arrangement == "pair"
    tag, why = IMAGES[engine]
    image = Setting("image", "image", tag, f"pinned: {why}", "image.stale-nightly", "playbook B§1, §10")
    options = engine_settings(model, size, fit, parsers, engine, pair)
    if runtime == "sparkrun":
        hosts = [link.head, link.worker] if arrangement != "one-node" else [link.head]
        entry = Setting(
            "docker", "entrypoint", "", "sparkrun runs its own bootstrap as IMAGE bash -c",
            "sparkrun.image-entrypoint", "playbook A, sparkrun",
        )  # fmt: skip
        return [image, entry, *options], sparkrun_launches(model, image, options, hosts=hosts, pair=pair)
    docker = container_settings(model, engine)
    if not pair:
        launches = docker_launches(model, engine, docker, image, options)
        more = router(link) if arrangement == "each-node" else []
        return [image, *docker, *options], [*launches, *more]
    links = [link_settings(link, own, engine) for own in (link.head, link.worker)]
    launches = docker_launches(model, engine, docker, image, options, nodes=link, links=links)
    shown = [setting for setting in docker if setting.name != "-p"]
    return [image, *shown, *links[0], *options], launches


_FORMATS: Sequence[tuple[str, dict[str, Any]]] = (
    ("fp8", {"quant_method": "fp8", "weight_block_size": [128, 128]}),
    ("nvfp4", {"quant_method": "modelopt", "quant_algo": "NVFP4"}),
)


def _smaller(model: PlannedModel, own: ModelSize, wish: Wish) -> tuple[Smaller, ...]:
    """What the same model would weigh in formats well below its own."""
    out = []
    for name, quantization in _FORMATS:
        size = model_size({**model.config, "quantization_config": quantization})
        if size is not None and size.weights_bytes < 0.75 * own.weights_bytes:
            fit = fit_model(size, wish, native=size.shape.context)
            out.append(Smaller(name, size.weights_bytes / GIB, fit.fits, decode_speed(size, 1024)))
    return tuple(out)
