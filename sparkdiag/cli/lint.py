"""`lint`: a launch, a recipe, a model's files, judged before anything is started."""

from __future__ import annotations

import argparse
import shlex

from ..errors import UsageError
from .options import add_engine, add_format
from .output import check_output, emit_report

USAGE = "TARGET... [options]\n       sparkdiag lint [TARGET...] [options] -- COMMAND..."
DESCRIPTION = """\
Judges what is about to be started, with the rules that also judge failures. A
TARGET is a launch script, a compose file, a systemd unit, a sparkrun recipe, a
model's folder (config.json, tokenizer, template, parser files), or - for
standard input; a launch command may stand after --. All of them are one setup.

exit status: 0 nothing found, 1 a finding of the kind of --fail-on, 2 wrong
  usage, 3 nothing could be read, 4 a defect of sparkdiag"""


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--fail-on", metavar="KIND", type=_kind, default="fault",
        help="what makes the exit status 1: fault (default), or advice as well",
    )  # fmt: skip
    parser.add_argument(
        "--engine", metavar="NAME=VERSION", action="append", type=_version, default=[],
        help="a version that no image tag tells: vllm=0.25.1, sglang=..., sparkrun=..., transformers=...",
    )  # fmt: skip
    parser.add_argument(
        "--write-tokenizer", metavar="DIR",
        help="write the model's tokenizer into the new folder DIR, with a class that keeps its byte-level decoder",
    )  # fmt: skip
    add_engine(parser)
    add_format(parser)


def run(options: argparse.Namespace) -> int:
    check_output(options)
    tail = options.tail
    targets = options.words[: len(options.words) - len(tail)]
    if not targets and not tail:
        raise UsageError("no target: a launch, a recipe, a model's folder, or a command after --")
    from ..advise.lint import exit_status, lint_targets

    report = lint_targets(
        targets,
        command=shlex.join(tail) if tail else None,
        engines=dict(options.engine),
        **({"rule_engine": options.rule_engine} if options.rule_engine else {}),
    )
    emit_report(report, options)
    if options.write_tokenizer is not None:
        from ..advise.tokenizer_patch import write_patched
        from . import print_aside

        for line in write_patched(targets, options.write_tokenizer):
            print_aside(line)
    return exit_status(report, options.fail_on)


def _kind(text: str) -> str:
    if text not in ("fault", "advice"):
        raise argparse.ArgumentTypeError(f"'{text}' is no kind of finding (there are fault, advice)")
    return text


def _version(text: str) -> tuple[str, str]:
    name, equals, version = text.partition("=")
    if not equals or not version[:1].isdigit():
        raise argparse.ArgumentTypeError(f"'{text}' is not NAME=VERSION, for example vllm=0.25.1")
    return name.strip().lower(), version
