"""`bench`: tokens per second on named workloads, taken apart, and held against what the memory bandwidth allows."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from ..errors import UsageError
from .options import add_engine, api_key_option, seconds, tokens
from .output import check_output, emit, emit_json, page

if TYPE_CHECKING:
    from ..advise.bench import Bench
    from ..diagnosis import Report
    from ..facts.bench import BenchCompared
    from ..report.layout import Page
    from ..run_bench import BenchOptions

ABOVE = 1.1
"""A share of the bandwidth that cannot be."""

USAGE = "ENDPOINT [FILE...] [options]"
DESCRIPTION = """\
Measures one request at a time, streamed and greedy, on named workloads: prose
(with reasoning), code, structured (JSON under a schema). Tokens per second =
tokens per step x steps per second; every figure holds for its workload only.
Files (the server's log, the model's config.json) tell the model for the
roofline. A folder that --save wrote gives the same figures once more.
Exits 0 when every workload has its speed, 3 when one has not."""


def add_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("what to measure")
    group.add_argument(
        "--workload", metavar="NAME", action="append", help="prose, code or structured; may be repeated (default: all)"
    )
    group.add_argument("--model", metavar="NAME", help="the model to ask for (default: the first one served)")
    group.add_argument("--api-key-env", metavar="VAR", help="environment variable that holds the API key")
    group.add_argument(
        "--over-traffic", action="store_true", help="measure although others are being served: it slows them down"
    )
    group.add_argument("--max-generated", metavar="N", type=tokens, help="tokens to generate in all (default: 1500)")
    group.add_argument("--timeout", metavar="S", type=seconds, help="stop after S seconds (default: 60)")
    group.add_argument("--save", metavar="DIR", help="save the evidence, secrets removed, for replay")
    group.add_argument("--anonymize", action="store_true", help="number hosts and addresses in the output and --save")
    add_engine(parser)


def run(options: argparse.Namespace) -> int:
    check_output(options)
    if not options.words:
        raise UsageError("bench takes an endpoint: sparkdiag bench http://HOST:8000")
    from ..advise.bench import bench_of
    from ..diagnosis import Problem
    from ..evidence import Evidence
    from ..run_bench import run_bench

    evidence = Evidence()
    line = _ProgressLine()
    try:
        case = run_bench(tuple(options.words), _asked(options, line), evidence)
    except KeyboardInterrupt:
        line.clear()
        evidence.problems.append(Problem("interrupt", "stopped by the user; these are the figures until then"))
        case = evidence.judged()
        _show(bench_of(case), case.report, options)
        raise
    line.clear()
    bench = bench_of(case)
    _show(bench, case.report, options)
    return 0 if bench.answered else 3


def _asked(options: argparse.Namespace, line: _ProgressLine) -> BenchOptions:
    from ..run_bench import BenchOptions

    given = {
        name: value
        for name in ("model", "max_generated", "timeout", "save", "rule_engine")
        if (value := getattr(options, name)) is not None
    }
    return BenchOptions(
        workloads=tuple(options.workload or ()),
        over_traffic=options.over_traffic,
        api_key=None if options.api_key_env is None else api_key_option(options.api_key_env),
        anonymize=options.anonymize,
        tell=line.draw,
        **given,
    )


class _ProgressLine:
    """What runs now, on a terminal's last line. Elsewhere: silence."""

    def __init__(self) -> None:
        try:
            self._drawn = sys.stderr.isatty()
        except (AttributeError, ValueError):
            self._drawn = False

    def draw(self, what: str, number: int, of: int, seconds: float) -> None:
        if self._drawn:
            step = f" ({number} of {of})" if number else ""
            sys.stderr.write(f"\r\033[Kbench: {what}{step}, {seconds:.0f} s")
            sys.stderr.flush()

    def clear(self) -> None:
        if self._drawn:
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()


def _show(bench: Bench, report: Report, options: argparse.Namespace) -> None:
    if options.format == "json":
        told = report.to_dict()
        kept = ("sparkdiag", "rulebook", "rule_engine", "diagnoses", "next_probes", "problems", "targets")
        emit_json({**bench.to_dict(), **{key: told[key] for key in kept}}, options)
        return
    out = page(options)
    out.heading(_headline(bench))
    if bench.runs:
        out.blank()
        _table(out, bench)
        _workloads(out, bench)
    if bench.compared is not None:
        _roofline(out, bench.compared)
    if bench.missing:
        out.blank()
        out.heading("Not measured")
        for name, why in bench.missing:
            out.paragraph(f"{name}: {why}", 2, lead="- ")
    _shown(out, report)
    emit(out.text(), options)


def _headline(bench: Bench) -> str:
    if not bench.runs:
        return f"bench of {bench.address or 'this case'}: nothing was measured"
    engine = " ".join(part for part in (bench.engine, bench.version) if part)
    what = ", ".join(part for part in (bench.model, engine) if part)
    return f"bench of {bench.address}{f' ({what})' if what else ''}: one request at a time, greedy"


_COLUMNS = (10, 7, 9, 8, 9, 8, 7, 7, 7)


def _table(out: Page, bench: Bench) -> None:
    from ..advise.bench import figures

    rows = [figures(run) for run in bench.runs]
    names = list(rows[0])
    for cells in (names, *([row[name] for name in names] for row in rows)):
        padded = [
            cell.ljust(w) if n == 0 else cell.rjust(w) for n, (cell, w) in enumerate(zip(cells, _COLUMNS, strict=True))
        ]
        out.verbatim("".join(padded), 2)
    out.paragraph(
        "tok/s = tokens per step x steps/s; accepted: of the drafted tokens; first: time to the first text; gap, p99: "
        "median and 99th percentile between arrivals, in milliseconds",
        2,
        style="dim",
    )


def _workloads(out: Page, bench: Bench) -> None:
    from ..advise.bench import notes

    out.blank()
    for run in bench.runs:
        prompt = "" if run.prompt_tokens is None else f", prompt of {run.prompt_tokens} tokens"
        thought = f", {run.thought_share:.0%} of the text is thought" if run.thought_share else ""
        out.paragraph(f"{run.workload}: {run.about}{prompt}, at most {run.max_tokens} to generate{thought}.", 2)
        for note in notes(run):
            out.paragraph(note, 4, lead="- ")


def _roofline(out: Page, compared: BenchCompared) -> None:
    out.blank()
    if compared.ceiling_steps_per_s is None:
        out.paragraph(
            "Roofline: not known, for neither the server nor a name tells the size of the weights; give the server's "
            "log or name the model folder's config.json beside the endpoint."
        )
        return
    size = f"{compared.weights_gib:g} GiB of weights" + (" (by the model's name)" if compared.estimated else "")
    kind = {True: "dense", False: "a mixture of experts", None: "dense or not, which is not known"}[compared.dense]
    ceiling = f"Roofline: {size}, {kind}: 273 GB/s allow {compared.ceiling_steps_per_s:g} steps a second"
    if compared.share is not None and compared.share > ABOVE and compared.dense is False:
        out.paragraph(
            f"Roofline: {size}, {kind}, of which a step reads the active experts only; how large these are is not "
            "known, so neither is the ceiling."
        )
    elif compared.share is not None and compared.share > ABOVE:
        out.paragraph(
            f"{ceiling}; measured {compared.steps_per_s:g}, which is more: the size is not that of what is served, or "
            "this is no GB10."
        )
    elif compared.share is None:
        out.paragraph(f"{ceiling}; the steps per second of this server are not known.")
    else:
        out.paragraph(
            f"{ceiling}; measured {compared.steps_per_s:g}, {compared.share:.0%} of it. Published results of this "
            "machine mostly reach 60 to 75%."
        )


def _shown(out: Page, report: Report) -> None:
    from ..report.words import avoided, step_tag, titled

    for d in report.claimed:
        out.blank()
        out.paragraph(f"{d.kind}: {titled(d)}", style="bold")
        out.paragraph(f"{d.id}", 2, style="dim")
        out.paragraph(d.cause, 2)
        for step in d.fix:
            out.paragraph(f"{step.do} [{step_tag(step.on, step.risk)}]", 2, lead="- ")
            if step.command:
                out.verbatim(step.command, 6)
        for entry in d.avoid:
            out.paragraph(avoided(entry.do, entry.because), 2, lead="! ")
    problems = [p for p in report.problems if p.what != "bench"]
    if problems:
        out.blank()
        out.heading("Not collected, or not readable")
        for problem in problems:
            out.paragraph(f"{problem.what}: {problem.why}", 2, lead="- ")
