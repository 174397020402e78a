"""A launch over several nodes, and what its environment ties to which interface or address."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from ..facts import Fact, Looked, Value
from ..facts.cluster import ClusterLaunch, HostAddress, InterfacePin
from .model_names import quantization_format

__all__ = ["cluster_launches", "network_pins"]

MAX_PINS = 64

_PINS = (
    "GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME", "TP_SOCKET_IFNAME", "UCX_NET_DEVICES", "OMPI_MCA_btl_tcp_if_include",
    "NCCL_IB_HCA", "MN_IF_NAME",
)  # fmt: skip
_HOST_ADDRESSES = ("VLLM_HOST_IP", "SGLANG_HOST_IP", "HOST_IP")
_BILLIONS = re.compile(r"(?<![A-Za-z0-9.])(\d{1,4}(?:\.\d{1,2})?)[bB](?![A-Za-z0-9])")
_FOUR_BITS = re.compile(r"(?i)int4|4-?bit|w4a|awq|gptq|q4|nvfp4|mxfp4|(?<![a-z0-9])fp4")
_EIGHT_BITS = re.compile(r"(?i)fp8|int8|8-?bit|w8a|q8")


def cluster_launches(facts: Sequence[Fact]) -> list[Fact]:
    """One fact for each launch that asks for more than one node of one GPU each."""
    launches = [fact for fact in facts if fact.kind == "launch"]
    ray = any("ray start" in str(launch.get("command") or "") for launch in launches) or any(
        fact.kind in ("ray-node", "ray-status") for fact in facts
    )
    out: dict[tuple[object, ...], Fact] = {}
    for launch in launches:
        found = _cluster(launch, launches, ray, facts)
        if found is not None:
            out.setdefault((found.nodes, found.tensor, found.pipeline, found.executor, found.where), found)
    looked = (Looked(probe="cluster", where=f.where, order=f.order, source=f.source) for f in launches[:1])
    return [*out.values(), *looked]


def _cluster(launch: Fact, launches: Sequence[Fact], ray: bool, facts: Sequence[Fact]) -> ClusterLaunch | None:
    tensor, pipeline, data = (
        _int(launch.get(f"flag.{name}_parallel_size")) or 1 for name in ("tensor", "pipeline", "data")
    )
    executor = launch.get("flag.distributed_executor_backend")
    nodes = _int(launch.get("flag.nnodes")) or 1
    if nodes < 2 and (ray or executor == "ray") and tensor * pipeline > 1:
        nodes = tensor * pipeline
    if nodes < 2:
        return None
    model = launch.get("model")
    if model is None:
        model = next((one.get("model") for one in launches if one.get("model") and one.where.joins(launch.where)), None)
    name = model if isinstance(model, str) else None
    billions = _billions(name)
    weights = _summed_gib(facts)
    if weights is None and billions is not None:
        weights = round(billions * 1e9 * _bytes(name, launch) / 2**30, 1)
    return ClusterLaunch(
        nodes=nodes,
        tensor=tensor,
        pipeline=pipeline,
        data=data,
        executor=executor if isinstance(executor, str) else None,
        model=name,
        billions=billions,
        weights_gib=weights,
        # Each node's launch shows the whole of the cluster: the fact is about no single node.
        where=replace(launch.where, node=None, container=None, rank=None),
        order=launch.order,
        time=launch.time,
        source=launch.source,
    )


def _summed_gib(facts: Sequence[Fact]) -> float | None:
    """GiB of weights by the model's config.json, where there is just one: a second may be a drafter's."""
    configs = [
        dimensions for fact in facts if fact.kind == "config" and (dimensions := getattr(fact, "dimensions", None))
    ]
    if len(configs) != 1:
        return None
    from .model_size import model_size

    size = model_size(configs[0])
    usable = size is not None and size.quantization.known and size.shape.vocab
    return round(size.weights_bytes / 2**30, 1) if size is not None and usable else None


def _int(value: Value) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 10_000 else None


def _billions(name: str | None) -> float | None:
    """The largest number of parameters in a name: `235B-A22B` has 235, the active ones are fewer."""
    sizes = [float(size) for size in _BILLIONS.findall(name.rsplit("/", 1)[-1].replace("_", "-"))] if name else []
    return max(sizes) if sizes else None


def _bytes(name: str | None, launch: Fact) -> float:
    """Bytes per parameter, scales and unquantized layers included."""
    words = f"{name or ''} {launch.get('flag.quantization') or ''}"
    if quantization_format(words) == "mxfp4":
        return 0.55
    if _FOUR_BITS.search(words) or quantization_format(words) in ("nvfp4", "mxfp4", "awq", "gptq"):
        return 0.6
    return 1.05 if _EIGHT_BITS.search(words) else 2.0


def network_pins(facts: Sequence[Fact]) -> list[Fact]:
    """Interfaces, RDMA devices and addresses that environments name."""
    launches = [fact for fact in facts if fact.kind == "launch"]
    out: list[Fact] = []
    for launch in launches:
        out += list(_pins(launch))[:MAX_PINS]
    out += _addresses(launches)
    return [*out, *(Looked(probe="pin", where=one.where, order=one.order, source=one.source) for one in out[:1])]


def _pins(launch: Fact) -> Iterator[Fact]:
    for variable in _PINS:
        value = launch.get(f"env.{variable}")
        if not isinstance(value, str) or value.startswith("^") or "$" in value:
            continue
        for name in re.split(r"[,;]", value.lstrip("=")):
            name = name.split(":")[0].strip()
            if name and re.fullmatch(r"[A-Za-z][\w.-]{1,24}", name):
                yield InterfacePin(
                    variable=variable,
                    name=name,
                    rdma=variable in ("NCCL_IB_HCA", "UCX_NET_DEVICES"),
                    where=replace(launch.where, container=None),
                    order=launch.order,
                    time=launch.time,
                    source=launch.source,
                )


def _addresses(launches: Sequence[Fact]) -> list[Fact]:
    """VLLM_HOST_IP and its like, with the number of nodes that are told the same address."""
    told: dict[tuple[str, str], list[Fact]] = {}
    for launch in launches:
        for variable in _HOST_ADDRESSES:
            value = launch.get(f"env.{variable}")
            if isinstance(value, str) and re.fullmatch(r"[\d.]{7,15}|[0-9a-fA-F:]{3,39}", value):
                told.setdefault((variable, value), []).append(launch)
    out: list[Fact] = []
    for (variable, value), owners in told.items():
        nodes = {owner.where.node for owner in owners} - {None}
        roles = {_role(owner) for owner in owners} - {None}
        first = owners[0]
        out.append(
            HostAddress(
                variable=variable,
                address=value,
                on_nodes=max(1, len(nodes), len(roles)),
                where=replace(first.where, container=None, node=None if len(nodes) > 1 else first.where.node),
                order=max(owner.order for owner in owners),
                source=owners[-1].source,
            )
        )
    return out


def _role(launch: Fact) -> str | None:
    """Which of the nodes this launch is for, where it says so: one node is not told to be two of them."""
    rank = launch.get("flag.node_rank")
    if rank is not None:
        return str(rank)
    command = f"{launch.get('command') or ''} {launch.get('docker.command') or ''}"
    started = re.search(r"ray start .{0,200}?--(head|address)\b", command)
    return started[1] if started else None
