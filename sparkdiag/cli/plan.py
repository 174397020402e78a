"""`plan`: a complete launch for a model, from the model's own files."""

from __future__ import annotations

import argparse
import os
import re

from ..errors import UsageError
from .output import check_output, emit, emit_json, page

USAGE = "MODEL [--nodes 1|2] [--runtime RUNTIME] [options]"
DESCRIPTION = """\
Works out a launch for a model on one Spark or two: what it is, whether it fits,
with how much KV cache, which parsers, and the commands, units or recipe, each
setting with the rule and the source that set it. Nothing is started or fetched.
MODEL is a model's folder or its config.json; org/name is looked for in the
local Hugging Face cache.

exit status: 0 answered, 3 the model's config is missing, 2 wrong usage"""

RUNTIMES = ("vllm", "sglang", "sparkrun")
_HOST = re.compile(r"[A-Za-z0-9][A-Za-z0-9.:-]{0,200}\Z")


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--nodes", metavar="N", type=_nodes, default=1, help="1 (default) or 2 Sparks")
    parser.add_argument(
        "--runtime", metavar="R", type=_runtime, default="vllm", help="vllm (default), sglang, sparkrun"
    )
    parser.add_argument("--context", metavar="TOKENS", type=_count, help="context to plan for (default: up to 32768)")
    parser.add_argument("--concurrency", metavar="N", type=_count, help="sequences at once (default: 4)")
    parser.add_argument("--hosts", metavar="A,B", type=_hosts, help="the nodes' addresses on the link between them")
    parser.add_argument("--interface", metavar="NAME", type=_host, help="the link's interface (default: enp1s0f0np0)")
    parser.add_argument("--explain", action="store_true", help="say why not the alternatives")


def run(options: argparse.Namespace) -> int:
    check_output(options)
    if len(options.words) != 1:
        raise UsageError("plan takes one model: its folder, its config.json, or org/name (see sparkdiag plan --help)")
    from ..advise.plan import DEFAULT_NODES, make_plan
    from ..advise.plan_inputs import NoConfigError, read_model
    from ..advise.plan_memory import Wish
    from ..advise.plan_settings import Nodes

    link = None
    if options.hosts or options.interface:
        head, worker = options.hosts or (DEFAULT_NODES.head, DEFAULT_NODES.worker)
        link = Nodes(head, worker, options.interface or DEFAULT_NODES.interface)
    try:
        model = read_model(options.words[0], _cache())
    except NoConfigError as missing:
        return _cannot(str(missing), options)
    wish = Wish(options.context, options.concurrency)
    plan = make_plan(model, nodes=options.nodes, runtime=options.runtime, wish=wish, link=link)
    if plan is None:
        return _cannot(
            f"The config of {model.name} lacks the dimensions (hidden size, layers, heads) of a model.", options
        )
    if options.format == "json":
        emit_json(plan.to_dict(), options)
        return 0
    from ..advise.plan_text import tell_plan

    out = page(options)
    tell_plan(out, plan, explain=options.explain)
    emit(out.text(), options)
    return 0


def _cannot(why: str, options: argparse.Namespace) -> int:
    """No plan for want of evidence."""
    if options.format == "json":
        emit_json({"missing": why}, options)
    else:
        out = page(options)
        out.paragraph(why)
        emit(out.text(), options)
    return 3


def _cache() -> str:
    """The hub folder of the Hugging Face cache."""
    hub = os.environ.get("HF_HUB_CACHE")
    home = os.environ.get("HF_HOME") or os.path.join(os.path.expanduser("~"), ".cache", "huggingface")
    return hub or os.path.join(home, "hub")


def _nodes(text: str) -> int:
    if text not in ("1", "2"):
        raise argparse.ArgumentTypeError(f"'{text}' is neither 1 nor 2")
    return int(text)


def _runtime(text: str) -> str:
    from .options import _one_of

    return _one_of(text, RUNTIMES, "runtime")


def _count(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,9}", text) or int(text) == 0:
        raise argparse.ArgumentTypeError(f"'{text}' is no number above 0")
    return int(text)


def _host(text: str) -> str:
    if not _HOST.match(text):
        raise argparse.ArgumentTypeError(f"'{text}' is no host name, address or interface")
    return text


def _hosts(text: str) -> tuple[str, str]:
    parts = text.split(",")
    if len(parts) != 2 or parts[0] == parts[1]:
        raise argparse.ArgumentTypeError(f"'{text}' is not two addresses with a comma between")
    return _host(parts[0]), _host(parts[1])
