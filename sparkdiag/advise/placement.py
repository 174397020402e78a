"""Where the ranks of a launch go, and what ties them together: each DGX Spark has one GPU."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..derive.clusters import network_pins
from ..derive.memory import DEFAULT_UTILIZATION
from ..facts import Source, Value
from ..facts.cluster import HostAddress
from ..facts.launch import Launch
from ..facts.setup import Placement
from .launched import Started

__all__ = ["nodes_of", "placement_of"]

_LOOPBACK = re.compile(r"(?:127\.|localhost\Z|::1\Z|lo\Z)")
_ELSEWHERE = (
    "data_parallel_address",
    "data_parallel_rank",
    "data_parallel_size_local",
    "headless",
    "data_parallel_backend",
)


def _size(one: Started, name: str) -> int:
    return max(1, one.number(f"{name}_parallel_size") or 1)


def _ranks(one: Started) -> int:
    data = 1 if one.flag("enable_dp_attention") is True else _size(one, "data")
    return _size(one, "tensor") * _size(one, "pipeline") * data


def _spread(one: Started) -> str | None:
    """What lets the launch reach beyond one node."""
    if (one.number("nnodes") or 1) > 1 or (one.flag("nnodes") is not None and one.number("nnodes") is None):
        return "nnodes"
    if one.launch.form == "recipe":
        return "sparkrun"
    if one.flag("distributed_executor_backend") == "ray" or one.flag("use_ray") is True:
        return "ray"
    if one.flag("distributed_executor_backend") != "mp" and (one.ray_started or one.env("RAY_ADDRESS") is not None):
        return "ray"
    if any(one.flag(name) is not None for name in _ELSEWHERE):
        return "data-parallel"
    return None


def nodes_of(one: Started) -> int:
    """Nodes over which the launch is spread; 1 where nothing says so."""
    spread = _spread(one)
    if spread == "nnodes":
        return one.number("nnodes") or 2
    return _ranks(one) if spread is not None else 1


def placement_of(one: Started, beside: Sequence[Started], launches: Sequence[Launch]) -> Placement:
    """The fact of one launch; `beside` are those that the same file starts with it, `launches` all that there are."""
    launch = one.launch
    spread, ranks, nodes = _spread(one), _ranks(one), nodes_of(one)
    room = nodes if spread is not None else 1
    executor = one.word("distributed_executor_backend")
    own = launch.image is not None and launch.form != "recipe"
    certain = launch.engine == "sglang" or executor == "mp" or own
    host_ip = _text(one.env("SGLANG_HOST_IP" if launch.engine == "sglang" else "VLLM_HOST_IP"))
    gloo, nccl = _text(one.env("GLOO_SOCKET_IFNAME")), _text(one.env("NCCL_SOCKET_IFNAME"))
    told = one.container.docker.get("env_file") is not None or spread == "sparkrun"
    between = [value for value in (host_ip, gloo, nccl) if value is not None]
    share, together = _together(one, beside)
    return Placement(
        form=launch.form,
        engine=launch.engine,
        version=one.version,
        ranks=ranks,
        tensor=_size(one, "tensor"),
        pipeline=_size(one, "pipeline"),
        data=_size(one, "data"),
        nodes=nodes,
        spread=spread,
        surplus=max(0, ranks - room),
        certain=certain,
        executor=executor,
        ray_started=one.ray_started,
        network=_network(one),
        host_ip=host_ip,
        gloo_interface=gloo,
        nccl_interface=nccl,
        loopback=any(_LOOPBACK.match(value.lstrip("=")) for value in between) if between else None,
        pinned=None if told else None not in (host_ip, gloo, nccl),
        ray_v2=_switch(one.env("VLLM_USE_RAY_V2_EXECUTOR_BACKEND")),
        address_on=_told_to(one, launches),
        channel=_text(one.env("VLLM_USE_RAY_COMPILED_DAG_CHANNEL_TYPE")),
        min_nodes=one.number("recipe_min_nodes"),
        service_engines=together,
        service_share=share,
        lines=_lines(one),
        where=launch.where,
        order=launch.order,
        source=launch.source,
    )


def _told_to(one: Started, launches: Sequence[Launch]) -> int:
    """How many nodes are told the address that this launch has in VLLM_HOST_IP."""
    own = one.env("VLLM_HOST_IP")
    found = [f for f in network_pins(launches) if isinstance(f, HostAddress) and f.variable == "VLLM_HOST_IP"]
    return max((fact.on_nodes for fact in found if fact.address == own), default=1)


def _text(value: Value) -> str | None:
    return None if value is None or value == "" else str(value)


def _switch(value: Value) -> bool | None:
    return None if value is None else value in (1, True, "1", "true")


def _network(one: Started) -> str | None:
    container = one.container
    if container.image is None or container.form == "recipe":
        return None
    value = container.docker.get("network", container.docker.get("networks"))
    if isinstance(value, tuple):
        return ", ".join(value) or None
    return "bridge" if value is None or value == "" else str(value)


def _together(one: Started, beside: Sequence[Started]) -> tuple[float | None, int]:
    """(sum of the utilizations, number of engines) of what one compose file starts side by side."""
    if one.launch.form != "compose" or "profiles" in one.launch.docker:
        return None, 1
    mates = [s for s in beside if s.launch.form == "compose" and "profiles" not in s.launch.docker]
    if len({_port(s) for s in mates}) < len(mates) or len({s.launch.where.container for s in mates}) < len(mates):
        return None, 1  # one port or one name for several: they are choices, and one of them runs
    shares = [s.flag("gpu_memory_utilization", "mem_fraction_static") for s in mates]
    known = [DEFAULT_UTILIZATION if v is None else v for v in shares]
    numbers = [float(v) for v in known if isinstance(v, (int, float)) and not isinstance(v, bool)]
    return round(sum(numbers), 2), len(mates)


def _port(one: Started) -> str:
    """Where a service of a compose file is reached on its host."""
    published = one.launch.docker.get("publish")
    if isinstance(published, tuple) and published:
        return published[0].rpartition(":")[0].rpartition(":")[2] or published[0]
    return str(one.flag("port") or 8000)


def _lines(one: Started) -> dict[str, Source]:
    places = {
        "tensor": one.line("flag.tensor_parallel_size", "flag.tp_size"),
        "pipeline": one.line("flag.pipeline_parallel_size", "flag.pp_size"),
        "data": one.line("flag.data_parallel_size", "flag.dp_size"),
        "nodes": one.line("flag.nnodes"),
        "executor": one.line("flag.distributed_executor_backend"),
        "network": one.line("docker.network", "docker.networks"),
        "host_ip": one.line("env.VLLM_HOST_IP", "env.SGLANG_HOST_IP"),
        "gloo_interface": one.line("env.GLOO_SOCKET_IFNAME"),
        "nccl_interface": one.line("env.NCCL_SOCKET_IFNAME"),
        "address_on": one.line("env.VLLM_HOST_IP"),
        "version": one.line("image"),
        "ray_v2": one.line("env.VLLM_USE_RAY_V2_EXECUTOR_BACKEND"),
        "channel": one.line("env.VLLM_USE_RAY_COMPILED_DAG_CHANNEL_TYPE"),
        "min_nodes": one.line("flag.recipe_min_nodes"),
        "service_share": one.line("flag.gpu_memory_utilization"),
    }
    found = {name: at for name, at in places.items() if at is not None}
    first = next((found[name] for name in ("tensor", "pipeline", "data") if name in found), None)
    if first is not None:
        found["surplus"] = found["ranks"] = first
        found.setdefault("nodes", first)
    between = next((found[n] for n in ("host_ip", "gloo_interface", "nccl_interface") if n in found), None)
    if between is not None:
        found["loopback"] = between
    return found
