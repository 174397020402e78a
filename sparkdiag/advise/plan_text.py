"""A plan as a page for a terminal."""

from __future__ import annotations

from ..derive.expected_speed import DecodeSpeed
from ..report.layout import Page
from .plan import ARRANGEMENTS, Plan
from .plan_memory import PAIR_LIMIT_GIB
from .plan_settings import Setting

__all__ = ["tell_plan"]

GIB = 2**30


def tell_plan(out: Page, plan: Plan, *, explain: bool = False) -> None:
    """The whole answer; with `explain`, why not the alternatives."""
    _model(out, plan)
    _memory(out, plan)
    _speed(out, plan)
    if plan.settings:
        out.blank()
        out.heading("Settings, and who set them")
        for setting in plan.settings:
            _setting(out, setting)
    for launch in plan.launches:
        out.blank()
        where = f", saved as {launch.file}" if launch.file else ""
        out.heading(f"{_FORMS[launch.form]} ({_node(plan, launch.node)}){where}")
        out.verbatim(launch.text, 2)
    _list(out, "Try first", plan.smoke)
    _list(out, "Assumed", plan.assumed)
    if explain:
        out.blank()
        out.heading("Why not")
        for what, why in plan.why_not:
            out.paragraph(f"{what}: {why}.", 2, lead="- ")
    elif plan.why_not:
        out.blank()
        out.paragraph("Why not the alternatives: --explain", style="dim")


_FORMS = {
    "docker-run": "Start", "unit": "Start at boot: a systemd user unit", "recipe": "sparkrun recipe",
    "commands": "Then", "config": "Router's settings",
}  # fmt: skip


def _node(plan: Plan, node: str) -> str:
    if node == "control":
        return "on the control machine"
    if node == "the node":
        return "on each node" if plan.arrangement == "each-node" else "on the node"
    return f"on {node}"


def _list(out: Page, heading: str, entries: tuple[str, ...]) -> None:
    if entries:
        out.blank()
        out.heading(heading)
        for entry in entries:
            out.paragraph(entry, 2, lead="- ")


def _billions(number: float) -> str:
    return f"{number / 1e9:.1f}B" if number < 1e11 else f"{number / 1e9:.0f}B"


def _model(out: Page, plan: Plan) -> None:
    size, shape = plan.size, plan.size.shape
    out.heading(f"{plan.model.name}: {ARRANGEMENTS[plan.arrangement]}")
    if size.dense:
        kind = f"dense, {_billions(size.parameters)} parameters, all read for each token"
    else:
        kind = (
            f"mixture of {shape.experts} experts ({shape.experts_per_token} a token), {_billions(size.parameters)} "
            f"parameters, {_billions(size.active_parameters)} active"
        )
    out.paragraph(f"{kind}; {size.attention} attention; {size.quantization.format} weights", 2)
    context = f"native context {shape.context:,} tokens" if shape.context else "native context not told"
    thinks = {True: "it thinks", False: "it does not think by default", None: "whether it thinks is not told"}
    out.paragraph(f"{context}; {thinks[plan.parsers.thinks]}", 2)


def _memory(out: Page, plan: Plan) -> None:
    fit, size = plan.fit, plan.size
    out.blank()
    out.heading("Memory" + (", on each node" if plan.nodes == 2 else ""))
    measured = "" if size.weights_measured else " (by sum)"
    out.paragraph(
        f"weights {fit.weights_gib:.1f} GiB{measured} + KV cache {fit.kv_gib:.1f} GiB for {fit.sequences} x "
        f"{fit.context:,} tokens + {fit.work_gib:.1f} GiB for the work = {fit.need_gib:.1f} GiB",
        2,
    )
    if not fit.fits:
        _no_room(out, plan)
        return
    if fit.nodes == 1:
        out.paragraph("It fits one node.", 2)
    else:
        out.paragraph(
            f"It does not fit one node ({plan.single.need_gib:.0f} GiB), and fits two: {fit.need_gib:.0f} GiB a node "
            f"(65 worked, 110 did not, {PAIR_LIMIT_GIB:.0f} is the limit here).",
            2,
        )
    out.paragraph(
        f"{fit.utilization:g} of the pool is {fit.budget_gib:.1f} GiB; it leaves {fit.kv_capacity_gib:.1f} GiB for the "
        f"cache{_capacity(plan)}, and about {fit.available_gib:.0f} GiB to the system.",
        2,
    )
    for what in fit.reduced:
        out.paragraph(f"Cut down: {what}.", 2)


def _capacity(plan: Plan) -> str:
    fit = plan.fit
    if not fit.capacity_tokens:
        return ""
    native = plan.size.shape.context
    words = f" ({fit.capacity_tokens:,} tokens in one sequence"
    if native and fit.capacity_tokens >= native > fit.context:
        return words + f": the native {native:,} fits too, with --context {native})"
    return words + ")"


def _no_room(out: Page, plan: Plan) -> None:
    fit = plan.fit
    where = "two nodes" if fit.nodes == 2 else "one node"
    least = f"even with one sequence of {fit.context:,} tokens"
    out.paragraph(f"It does not fit {where}, {least}.", 2)
    if fit.nodes == 1:
        out.paragraph("Over two nodes: sparkdiag plan with --nodes 2.", 2)


def _speed(out: Page, plan: Plan) -> None:
    short, full = plan.decode, plan.decode_full
    out.blank()
    out.heading("Expected speed, of one request alone")
    out.paragraph(
        f"decode {_span(short)} tok/s at {short.context:,} tokens of context, {_span(full)} at {full.context:,}; a "
        f"token reads {short.read_gib:.1f} to {full.read_gib:.1f} GiB, and 273 GB/s set the ceiling at "
        f"{short.ceiling:.0f}",
        2,
    )
    out.paragraph(f"prefill {plan.prefill.low:,.0f} to {plan.prefill.high:,.0f} tok/s", 2)
    for other in plan.smaller:
        word = "fit" if other.fits_one_node else "do not fit"
        out.paragraph(
            f"As {other.format.upper()}: weights of {other.weights_gib:.0f} GiB, which {word} one node; decode "
            f"{_span(other.decode)} tok/s",
            2,
        )
    out.paragraph("No speculation is counted: with it, times the mean accepted length of your own workload.", 2)


def _span(speed: DecodeSpeed) -> str:
    digits = 1 if speed.high < 10 else 0
    return f"about {speed.expected:.{digits}f} ({speed.low:.{digits}f} to {speed.high:.{digits}f})"


def _setting(out: Page, setting: Setting) -> None:
    told = setting.name if setting.value is None else f"{setting.name} {setting.value}"
    if setting.place == "env":
        told = f"{setting.name}={setting.value}"
    if setting.name == "entrypoint":
        told = 'entrypoint ""'
    by = ", ".join(part for part in (setting.rule, setting.source) if part)
    out.paragraph(told, 2)
    out.paragraph(f"{setting.why} [{by}]", 6)
