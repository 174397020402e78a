"""Facts about how a server was started: one command, whatever it was written as."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import ClassVar

from ..records import dataclass
from .base import Fact, Source, Value, places_among


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch(Fact):
    """A launch command with its engine options, container options and environment.

    Options are read by their long name with dashes as underscores (`--max-model-len` is `max_model_len`).
    A rule may test any of them: `flag.NAME`, `env.NAME`, `docker.NAME`; a switch without a value is True.
    """

    kind: ClassVar[str] = "launch"
    form: str
    """vllm-serve, sglang, docker-run, compose, recipe, unit, args (arguments as a program prints them), env (variables
    alone), ray-start, sparkrun-run, llama-server ..."""
    engine: str | None = None
    image: str | None = None
    model: str | None = None
    runtime: str | None = None
    """sparkrun's runtime, if a recipe names one."""
    command: str = ""
    partial: bool = False
    """Only a part of the options was shown (grep, a cut): what is missing here may have been set."""
    flags: Mapping[str, Value] = field(default_factory=dict)
    env: Mapping[str, Value] = field(default_factory=dict)
    docker: Mapping[str, Value] = field(default_factory=dict)
    lines: Mapping[str, Source] = field(default_factory=dict)
    """Where each option stands by itself, by its name as rules write it; filled by lint alone."""

    def places(self, names: Iterable[str]) -> tuple[Source, ...]:
        return places_among(self.lines, names, self.source)

    def get(self, name: str) -> Value:
        group, dot, key = name.partition(".")
        if dot:
            table = {"flag": self.flags, "env": self.env, "docker": self.docker}.get(group)
            return None if table is None else table.get(key)
        return getattr(self, name, None)
