"""From the words of a command line to the verb that they ask for."""

from __future__ import annotations

import os
from importlib import import_module
from types import ModuleType

from ..errors import UsageError
from .options import add_common
from .parsing import Parser, is_option, near, refuse_early, split_words
from .verbs import DEFAULT, PLANNED, VERBS

DESCRIPTION = """\
Names the true cause when an LLM server on a DGX Spark (vLLM, SGLang, sparkrun)
fails or answers rubbish, and the fix. Read-only: fixes are printed, never run.

A TARGET is an endpoint (http://host:8000, host:port), a log, a saved JSON
reply, a metrics dump, a capture, or - for standard input. Its kind is
recognised. Several targets are one case. A file named like a verb: ./replay"""

EXIT_STATUS = """\
exit status: 0 healthy, 1 a fault is claimed, 2 wrong usage or input that cannot
  be read, 3 inconclusive, 4 a defect of sparkdiag, 130 interrupted"""


def dispatch(argv: list[str]) -> int:
    """Find the verb, parse its options, run it."""
    verb, rest = find_verb(argv)
    parser = parser_of(verb)
    options = parser.parse(rest)
    options.verb = verb
    if options.help:
        from .output import emit

        emit(parser.format_help(), options)
        return 0
    if options.version:
        from .version import print_version

        return print_version(options)
    status = _module(verb).run(options)
    assert isinstance(status, int)
    return status


def find_verb(argv: list[str]) -> tuple[str, list[str]]:
    """The verb and what remains without it. The first word that is no option (or its value) may be one."""
    head, _ = split_words(argv)
    refuse_early(head)
    takes_value = parser_of(DEFAULT).value_options()
    at = 0
    while at < len(head) and is_option(head[at]):
        at += 2 if head[at] in takes_value else 1
    if at >= len(head):
        return DEFAULT, argv
    word = head[at]
    if word in VERBS:
        return word, [*argv[:at], *argv[at + 1 :]]
    if word in PLANNED:
        raise UsageError(
            f"the verb {word} is not built yet; there are {', '.join(VERBS)}. A file of that name is ./{word}"
        )
    _refuse_near_verb(word)
    return DEFAULT, argv


def _refuse_near_verb(word: str) -> None:
    """A bare word that is no file is no target either: most likely a verb was meant."""
    if any(mark in word for mark in ".:/\\") or word == "-" or os.path.lexists(word):
        return
    if word == "help":
        raise UsageError("for help: sparkdiag --help, or sparkdiag VERB --help")
    hint = near(word, (*VERBS, *PLANNED), cutoff=0.7)
    if hint:
        raise UsageError(f"'{word}' is neither a verb nor a file{hint} (a host is written host:port)")


def parser_of(verb: str) -> Parser:
    """The parser of a verb, or of targets alone."""
    if verb == DEFAULT:
        verbs = "\n".join(f"  {name:<9} {text}" for name, (_, text) in VERBS.items())
        usage = "sparkdiag TARGET... [options]\n       sparkdiag VERB ... [options]"
        epilog = f"verbs (each has its own --help):\n{verbs}\n\n{EXIT_STATUS}"
        parser = Parser("sparkdiag", usage, DESCRIPTION, epilog)
    else:
        module = _module(verb)
        parser = Parser(f"sparkdiag {verb}", f"sparkdiag {verb} {module.USAGE}", module.DESCRIPTION)
    _module(verb).add_options(parser)
    add_common(parser)
    return parser


def _module(verb: str) -> ModuleType:
    name = DEFAULT if verb == DEFAULT else VERBS[verb][0]
    return import_module(f".{name}", __package__)
