"""The launches among the texts, each with what the others say of it: container, environment, model files."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ..facts import Source, Value
from ..facts.launch import Launch
from ..facts.piece import Piece
from ..observe.launch_lines import option_pattern, with_lines
from .documents import Document, expanded
from .models import ModelFolder

__all__ = ["Started", "read_launches", "started"]

_ENGINES = ("vllm", "sglang")
_RAY = re.compile(r"\bray start\b")


@dataclass(slots=True)
class Started:
    """One launch that serves a model, with all that bears on it."""

    launch: Launch
    container: Launch
    """Where its container's options stand: the launch itself, or the docker run of the container that it runs in."""
    model: ModelFolder | None
    drafter: ModelFolder | None
    version: str | None
    text: str
    """All of the text that it stands in."""
    ray_started: bool = False
    template: str | None = None
    """The chat template that will be used, where it was read."""
    template_at: Source | None = None
    template_hidden: bool = False
    """The launch names a template of its own that was not read."""

    def flag(self, *names: str) -> Value:
        """The first of these options that is set."""
        return next((v for name in names if (v := self.launch.flags.get(name)) is not None), None)

    def env(self, name: str) -> Value:
        return self.launch.env.get(name, self.container.env.get(name))

    def number(self, *names: str) -> int | None:
        value = self.flag(*names)
        return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10**9 else None

    def word(self, *names: str) -> str | None:
        value = self.flag(*names)
        return value if isinstance(value, str) and value and "$" not in value and "{" not in value else None

    def line(self, *names: str) -> Source | None:
        """Where the first of these fields stands."""
        for name in names:
            for launch in (self.launch, self.container):
                if name in launch.lines:
                    return launch.lines[name]
        return None


def read_launches(document: Document, order: int) -> list[Launch]:
    """The launch facts of one text, with the lines of their options."""
    from ..observe.launch import observe_launch

    text = expanded(document.text) if document.kind == "launch" else document.text
    piece = Piece(document.kind, text, source=document.name, order=order)
    found = [fact for fact in observe_launch(piece) if isinstance(fact, Launch)]
    if document.kind == "recipe":
        found = [_as_commanded(launch, document.text) for launch in found]
    return with_lines(found, document.text)


_COMMAND = re.compile(r"^command\s*:", re.MULTILINE)
_NEXT_KEY = re.compile(r"^\w[\w-]*\s*:", re.MULTILINE)
_PLACES = re.compile(r"(?:tensor|pipeline|data)_parallel_size|recipe_\w+|model")


def _as_commanded(launch: Launch, text: str) -> Launch:
    """A recipe's defaults reach the engine through its command, where it has one; sparkrun itself reads the sizes."""
    start = _COMMAND.search(text)
    if start is None:
        return launch
    rest = text[start.end() :]
    end = _NEXT_KEY.search(rest)
    command = rest[: end.start()] if end is not None else rest
    kept = {
        name: value
        for name, value in launch.flags.items()
        if _PLACES.fullmatch(name) or option_pattern(name.partition(".")[0]).search(command)
    }
    return replace(launch, flags=kept)


def started(
    launches: Sequence[Launch], models: Sequence[ModelFolder], versions: Mapping[str, str], texts: Mapping[str, str]
) -> list[Started]:
    """Those of the launches that serve a model."""
    out = []
    for launch in launches:
        if launch.engine not in _ENGINES or launch.form in ("env", "args", "ray-start", "sparkrun-run"):
            continue
        if launch.model is None:
            continue
        container = launch if launch.image is not None else _container_of(launch, launches)
        text = texts.get(launch.source.source, "")
        model = _model_of(launch, models)
        template, at, hidden = _template_of(launch, model, models)
        out.append(
            Started(
                launch=launch,
                container=container,
                model=model,
                template=template,
                template_at=at,
                template_hidden=hidden,
                drafter=next((m for m in models if m.drafter), None),
                version=versions.get(launch.engine),
                text=text,
                ray_started=any(_RAY.search(one) for one in texts.values()),
            )
        )
    return out


def _template_of(
    launch: Launch, model: ModelFolder | None, models: Sequence[ModelFolder]
) -> tuple[str | None, Source | None, bool]:
    """(template, its place, whether it was not read): the one that the launch names, else the model's own."""
    named = launch.flags.get("chat_template")
    if not isinstance(named, str):
        return (None, None, False) if model is None else (model.template, model.template_at, False)
    file = named.rsplit("/", 1)[-1]
    for one in models:
        if one.template is not None and one.template_at is not None and one.template_at.source.endswith(file):
            return one.template, one.template_at, False
    return None, None, True


def _container_of(launch: Launch, launches: Sequence[Launch]) -> Launch:
    """The docker run of the container that a launch is executed in."""
    runs = [one for one in launches if one is not launch and one.image is not None and one.form != "recipe"]
    name = launch.where.container
    named = next((one for one in runs if name is not None and one.where.container == name), None)
    if named is not None:
        return named
    same = [one for one in runs if one.source.source == launch.source.source]
    return same[0] if same and name is not None else launch


def _model_of(launch: Launch, models: Sequence[ModelFolder]) -> ModelFolder | None:
    """The folder whose name the launch names, else the only one that there is."""
    serving = [model for model in models if not model.drafter and (model.config or model.template or model.data)]
    name = (launch.model or "").rstrip("/").rsplit("/", 1)[-1].lower()
    for model in serving:
        if name and model.folder.rstrip("/").rsplit("/", 1)[-1].lower() == name:
            return model
    configured = [model for model in serving if model.config] or serving
    return configured[0] if len(configured) == 1 else None
