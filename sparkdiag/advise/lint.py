"""Lint: a launch, a recipe, a model's files, judged before anything is started.

    lint_texts([("launch.sh", text), ("model/config.json", text)])  # pure; `plan` checks its output with it
    lint_targets(["compose.yaml", "models/ore-32b"])  # reads files

The facts are those of a diagnosis, and more: what is about to be started as a whole (facts/setup.py). The same rules
and engines judge them; a rule that asks for one of those facts speaks here alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from ..case import Case, judge
from ..diagnosis import Diagnosis, Problem, Report
from ..errors import UsageError
from ..facts import BEFORE_START, Fact, Looked, Source, Where
from ..facts.engine import EngineSeen
from ..facts.launch import Launch
from ..facts.setup import Entry
from ..facts.versions import PackageVersion
from ..infer import Rulebook
from .documents import Document, documents
from .entries import entries_of
from .launched import Started, read_launches, started
from .memory_fit import fit_of
from .models import ModelFolder, facts_of, read_models
from .origins import origins_of
from .placement import nodes_of, placement_of
from .setup import setup_of

__all__ = ["FAIL_ON", "exit_status", "lint_case", "lint_targets", "lint_texts"]

FAIL_ON = ("fault", "advice")
ENGINES = ("vllm", "sglang", "sparkrun", "transformers")
_STEP = 1_000_000
"""Room for the lines of one text in the order of all."""


def lint_texts(
    texts: Iterable[tuple[str, str]], *, engines: Mapping[str, str] | None = None, rule_engine: str = "python"
) -> Report:
    """Judge texts, each a (name, text), as one setup. No I/O.

    A name that is a path tells what a text is (`ore-32b/config.json`), and which files belong to one model; `engines`
    tells versions that no image tag does: {"vllm": "0.25.1", "sparkrun": "0.4.2"}. A clean setup is "healthy".
    """
    return lint_case(documents(texts), engines=engines, rule_engine=rule_engine).report


def lint_targets(
    targets: Sequence[str],
    *,
    command: str | None = None,
    engines: Mapping[str, str] | None = None,
    rule_engine: str = "auto",
) -> Report:
    """Judge files, folders and a command line as one setup. InputError for a name that is no file."""
    from .reading import read_targets

    found, problems = read_targets(list(targets), command)
    return lint_case(found, engines=engines, rule_engine=rule_engine, problems=problems).report


def exit_status(report: Report, fail_on: str = "fault") -> int:
    """1 if a finding reaches `fail_on`, 3 if nothing could be read, else 0."""
    claimed = {d.kind for d in report.claimed}
    if "fault" in claimed or (fail_on == "advice" and "advice" in claimed):
        return 1
    return 0 if "setup-read" in report.signs else 3


def lint_case(
    found: Sequence[Document],
    *,
    engines: Mapping[str, str] | None = None,
    rule_engine: str = "auto",
    problems: Iterable[Problem] = (),
    book: Rulebook | None = None,
) -> Case:
    """The whole case: `lint_texts` with everything that led to its report."""
    given = dict(engines or {})
    for name in given:
        if name not in ENGINES:
            raise UsageError(f"'{name}' is no engine whose version counts here; there are {', '.join(ENGINES)}")
    facts = setup_facts(found, given)
    told = list(problems)
    told += [Problem(one.name, "no launch and no file of a model in it") for one in found if _says_nothing(one, facts)]
    case = judge(lambda _: facts, rule_engine=rule_engine, problems=told, book=book)
    return replace(case, report=_as_lint(case))


def setup_facts(found: Sequence[Document], engines: Mapping[str, str]) -> list[Fact]:
    """Everything that the texts tell: launches, model files, and what both are together."""
    out: list[Fact] = []
    launches: list[Launch] = []
    models = read_models(found)
    for number, one in enumerate(found):
        if one.kind in ("launch", "compose", "recipe"):
            launches += read_launches(one, number * _STEP)
    for model in models:
        out += facts_of(model, len(found) * _STEP)
    versions = _versions(found, launches, engines, out)
    texts = {one.name: one.text for one in found}
    serving = started(launches, models, versions, texts)
    entries = entries_of(found, launches, versions.get("sparkrun"))
    files = [parser for model in models for parser in model.parsers]
    out += launches
    out += entries
    out += origins_of(launches, entries)
    for start in serving:
        out.append(setup_of(start, files))
        out.append(placement_of(start, _beside(start, serving), launches))
        fit = fit_of(start, nodes_of(start))
        out += [fit] if fit is not None else []
    if not serving:
        out += [setup_of(_alone(m), files) for m in models if (m.data or m.template) and not m.drafter]
    out += [Looked(probe=probe) for probe in BEFORE_START]
    out += [Looked(probe=probe) for probe, there in (("launch", launches), ("config", models)) if there]
    return sorted(out, key=lambda fact: fact.order)


def _alone(model: ModelFolder) -> Started:
    """A model without a launch: what its own files tell."""
    path = model.folder or "the model"
    document = next(iter(model.files.values()))
    bare = Launch(form="model", model=path, source=Source(document.name, 1, text=document.file))
    return Started(
        launch=bare,
        container=bare,
        model=model,
        drafter=None,
        version=None,
        text="",
        template=model.template,
        template_at=model.template_at,
    )


def _beside(one: Started, serving: Sequence[Started]) -> list[Started]:
    return [other for other in serving if other.launch.source.source == one.launch.source.source]


_NGC = {"25.09": "0.10.1", "25.10": "0.10.2", "25.11": "0.11.0"}
"""The vLLM inside NVIDIA's own image, by its month."""


def _versions(
    found: Sequence[Document], launches: Sequence[Launch], engines: Mapping[str, str], out: list[Fact]
) -> dict[str, str]:
    """Version by engine; the facts that say so go to `out`. What the caller tells goes before a tag."""
    from ..facts.piece import Piece
    from ..observe.launch_images import observe_images

    versions: dict[str, str] = {}
    for name, version in engines.items():
        versions[name] = version
        out.append(_told(name, version))
    for number, one in enumerate(found):
        if one.kind in ("launch", "compose", "recipe"):
            for fact in observe_images(Piece(one.kind, one.text, source=one.name, order=number * _STEP)):
                if isinstance(fact, EngineSeen) and fact.version is not None and fact.name not in engines:
                    versions.setdefault(fact.name, fact.version)
                    out.append(fact)
    for launch in launches:
        match = re.search(r"nvcr\.io/nvidia/vllm:(\d\d\.\d\d)", launch.image or "")
        inside = _NGC.get(match[1]) if match else None
        if inside is not None and "vllm" not in engines:
            versions.setdefault("vllm", inside)
        for engine in (launch.engine, "sparkrun" if launch.form in ("recipe", "sparkrun-run") else None):
            if engine is not None and (inside is not None or engine not in versions):
                told = inside if engine == "vllm" else None
                out.append(EngineSeen(name=engine, version=told, by="launch", where=launch.where, source=launch.source))
    return versions


def _told(name: str, version: str) -> Fact:
    """A version that the caller tells: of an engine, or of the package that engines read models with."""
    place = Source("command line", text=f"{name} {version}")
    if name == "transformers":
        return PackageVersion(name=name, version=version, source=place)
    return EngineSeen(name=name, version=version, by="given", source=place)


def _says_nothing(one: Document, facts: Sequence[Fact]) -> bool:
    if one.kind in ("config", "template", "parser"):
        return False
    return not any(fact.source.source == one.name and isinstance(fact, (Launch, Entry)) for fact in facts)


def _as_lint(case: Case) -> Report:
    """The report, with every further place of a finding, and without probes: nothing runs yet."""
    report = case.report
    return replace(report, diagnoses=tuple(_with_others(d, case) for d in report.diagnoses), next_probes=())


def _meets(d: Diagnosis, where: Where) -> bool:
    return all(None in (mine, d.where[name]) or mine == d.where[name] for name, mine in where.to_dict().items())


def _with_others(d: Diagnosis, case: Case) -> Diagnosis:
    """One entry stands for all findings of its id at its place: the others are told in its notes."""
    from ..infer.ranking import causes_of

    told = {(e.source, e.line) for e in d.evidence}
    causes: dict[str, None] = {}
    for cause, where, evidence in causes_of(d.id, case.book, case.inference.result, case.inference.memory):
        lines = {(e.source, e.line) for e in evidence}
        if cause != d.cause and _meets(d, where) and not lines <= told:
            causes[cause] = None
    notes = tuple(f"also: {cause}" for cause in causes)
    return replace(d, notes=(*d.notes, *notes)) if notes else d
