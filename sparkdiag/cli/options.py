"""The options that several verbs share, the types of their values, and their way into the library's arguments."""

from __future__ import annotations

import argparse
import os
import re

from ..errors import UsageError
from .parsing import near

RULE_ENGINES = ("auto", "durable", "python")
REASONING_KEYS = ("reasoning", "reasoning_content")


def add_common(parser: argparse.ArgumentParser) -> None:
    """What every verb takes."""
    group = parser.add_argument_group("general options")
    group.add_argument("-h", "--help", action="store_true", help="print this help")
    group.add_argument("--version", action="store_true", help="print the version, number of rules and rule engine")
    group.add_argument("--json", action="store_const", dest="format", const="json", help="print JSON")
    group.add_argument("--output", metavar="FILE", help="write to FILE instead of standard output")
    group.add_argument("--debug", action="store_true", help="show the traceback of a defect of sparkdiag itself")


def add_format(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--format", metavar="F", default="text", help="text (default), json, line or markdown")


def add_engine(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--rule-engine", metavar="ENGINE", type=_rule_engine, help="auto (default), durable or python")


def add_collecting(parser: argparse.ArgumentParser) -> None:
    """How evidence is collected from the targets."""
    group = parser.add_argument_group("what to look at")
    group.add_argument(
        "--ssh", metavar="DEST", action="append",
        help="look at the node [USER@]HOST[:PORT] as well, read-only, over ssh; may be given for each node of a pair",
    )  # fmt: skip
    group.add_argument("--local", action="store_true", help="look at this machine, which is the node")
    group.add_argument("--container", metavar="NAME", help="the container to look into (default: those that run)")
    group.add_argument("--log", metavar="FILE", action="append", help="a log of the same case; may be repeated")
    group.add_argument("--model", metavar="NAME", help="the model to ask for (default: the first one served)")
    group.add_argument("--api-key-env", metavar="VAR", help="environment variable that holds the API key")
    group.add_argument(
        "--client-reads", metavar="KEY", type=_reasoning_key,
        help="the key from which your client takes the thought: reasoning or reasoning_content",
    )  # fmt: skip
    group.add_argument("--tools", action="store_true", help="tool calls are meant to work: try one")
    group = parser.add_argument_group("how far to go")
    group.add_argument("--passive", action="store_true", help="generate nothing: health, models and metrics only")
    group.add_argument("--max-generated", metavar="N", type=tokens, help="tokens to generate at most (default: 1500)")
    group.add_argument("--timeout", metavar="S", type=seconds, help="stop after S seconds (default: 60)")
    group.add_argument("--save", metavar="DIR", help="save the evidence, secrets removed, for replay")
    group.add_argument("--anonymize", action="store_true", help="number hosts and addresses in the report and --save")


def library_arguments(options: argparse.Namespace) -> dict[str, object]:
    """The options that were given, as the keyword arguments of `sparkdiag.diagnose`."""
    given: dict[str, object] = {}
    for name in ("model", "client_reads", "container", "max_generated", "timeout", "save", "rule_engine"):
        value = getattr(options, name)
        if value is not None:
            given[name] = value
    for name in ("tools", "passive", "anonymize", "local"):
        if getattr(options, name):
            given[name] = True
    if options.log:
        given["log"] = tuple(options.log)
    if options.ssh:
        given["ssh"] = tuple(options.ssh)
    if options.api_key_env is not None:
        given["api_key"] = api_key_option(options.api_key_env)
    from .progress import progress_line

    drawn = progress_line()
    if drawn is not None:
        given["progress"] = drawn
    return given


def api_key_option(name: str) -> str:
    """The key in an environment variable. A name that does not look like one may be a key: it is not repeated."""
    value = os.environ.get(name)
    if value:
        return value
    if not re.fullmatch(r"[A-Z][A-Z0-9_]{0,63}", name):
        raise UsageError("--api-key-env takes the name of an environment variable that is set, not the key itself")
    raise UsageError(f"the environment variable {name} is {'empty' if value == '' else 'not set'}")


def _rule_engine(text: str) -> str:
    return _one_of(text, RULE_ENGINES, "rule engine")


def _reasoning_key(text: str) -> str:
    return _one_of(text, REASONING_KEYS, "key for the thought")


def _one_of(text: str, known: tuple[str, ...], what: str) -> str:
    if text not in known:
        hint = near(text, known)
        raise argparse.ArgumentTypeError(f"'{text}' is no {what}{hint} (there are {', '.join(known)})")
    return text


def tokens(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,9}", text):
        raise argparse.ArgumentTypeError(f"'{text}' is no number of tokens")
    return int(text)


def seconds(text: str) -> float:
    if not re.fullmatch(r"[0-9]{1,6}(\.[0-9]{1,6})?", text) or float(text) == 0:
        raise argparse.ArgumentTypeError(f"'{text}' is no number of seconds above 0")
    return float(text)
