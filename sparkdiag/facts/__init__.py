"""The vocabulary of facts: one module a kind, imported when the kind occurs.

Add a kind: a frozen dataclass (of `sparkdiag.records`) in a module here, and its line in `KINDS`.
"""

from __future__ import annotations

from importlib import import_module

from .base import NOWHERE, Fact, Finding, Looked, Scalar, Source, Value, Where
from .signature import LogHit, Signature

__all__ = [
    "BEFORE_START",
    "KINDS",
    "NOWHERE",
    "Fact",
    "Finding",
    "LogHit",
    "Looked",
    "Scalar",
    "Signature",
    "Source",
    "Value",
    "Where",
    "kind_class",
]

KINDS: dict[str, str] = {
    "looked": "base:Looked",
    "finding": "base:Finding",
    "log": "signature:LogHit",
    "chat": "replies:ChatReply",
    "completion": "replies:Completion",
    "http": "http:HttpAnswer",
    "reach": "http:Reachability",
    "engine": "engine:EngineSeen",
    "served": "engine:ModelServed",
    "metrics": "metrics:MetricsSample",
    "progress": "metrics:TokenProgress",
    "logit": "replies:LogitCheck",
    "client": "client:ClientReads",
    "launch": "launch:Launch",
    "exception": "exceptions:ExceptionSeen",
    "name": "model:ModelName",
    "template": "model:TemplateSeen",
    "iface": "links:Interface",
    "rdma-port": "links:RdmaPort",
    "gid": "links:Gid",
    "route": "links:Route",
    "socket": "links:Socket",
    "own-name": "links:OwnName",
    "unit": "units:Unit",
    "login": "units:Login",
    "groups": "units:Groups",
    "docker-access": "units:DockerAccess",
    "exit-status": "units:ExitStatus",
    "home": "units:Home",
    "sparkrun": "sparkrun:SparkrunOutput",
    "workload": "sparkrun:Workload",
    "ray-node": "ray:RayNode",
    "ray-status": "ray:RayStatus",
    "cluster": "cluster:ClusterLaunch",
    "pin": "cluster:InterfacePin",
    "host-address": "cluster:HostAddress",
    "stall": "cluster:StallTiming",
    "standing": "metrics:StandingRequests",
    "memory": "node:MemorySample",
    "pressure": "node:MemoryPressure",
    "cpu": "node:CpuLoad",
    "process": "node:ProcessSeen",
    "grep": "node:GrepCount",
    "temperature": "node:Temperature",
    "gpu": "gpu:GpuSample",
    "container": "container:Container",
    "budget": "sums:MemoryBudget",
    "drafter": "sums:Drafter",
    "drafting": "sums:Drafting",
    "roofline": "sums:Roofline",
    "bench": "bench:BenchRun",
    "bench-compared": "bench:BenchCompared",
    "tenancy": "sums:Tenancy",
    "config": "model:ModelConfig",
    "files": "model:ModelFiles",
    "package": "versions:PackageVersion",
    "driver": "versions:GpuDriver",
    "system": "system:SystemSeen",
    "clock": "system:ClockSeen",
    "ran": "system:CommandRan",
    "difference": "pair:Difference",
    "machine": "versions:MachineSeen",
    "image": "images:ImageSeen",
    "image-age": "images:ImageAge",
    "date": "images:DateSeen",
    "disk": "disks:DiskUse",
    "disk-load": "disks:DiskLoad",
    "folder-size": "disks:FolderSize",
    "setup": "setup:Setup",
    "fit": "setup:MemoryFit",
    "placement": "setup:Placement",
    "entry": "setup:Entry",
    "origin": "setup:Origin",
    "parser-file": "setup:ParserFile",
}
"""Kind name, as rules write it, to `module:Class` in this package."""

BEFORE_START = ("setup", "fit", "placement", "entry", "origin", "parser-file")
"""Kinds that lint alone makes, of what is about to be started."""


def kind_class(kind: str) -> type[Fact]:
    """The dataclass of a kind; KeyError for a name that is none."""
    module, _, name = KINDS[kind].partition(":")
    cls = getattr(import_module(f".{module}", __name__), name)
    assert isinstance(cls, type)
    assert issubclass(cls, Fact)
    return cls
