"""One argument parser for all verbs: argparse for options and help; words are told from options before.

Options may stand anywhere between the words; nothing is abbreviated, so that a later option cannot change a script's
meaning; and no message repeats a value that could be a key.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable

from ..errors import UsageError
from .verbs import KEY_OPTIONS, PLANNED_OPTIONS

TYPE_CHECKING = False  # --help is too quick to wait for typing

if TYPE_CHECKING:
    from typing import NoReturn

HELP_WIDTH = 80


class Parser(argparse.ArgumentParser):
    """Raises UsageError where argparse would exit, and takes words apart from options."""

    def __init__(self, prog: str, usage: str, description: str, epilog: str = "") -> None:
        super().__init__(
            prog=prog,
            usage=usage,
            description=description,
            epilog=epilog,
            add_help=False,
            allow_abbrev=False,
            formatter_class=_formatter,
        )

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message.removeprefix('argument ')} (see {self.prog} --help)")

    def parse(self, argv: list[str]) -> argparse.Namespace:
        """The options, with everything else as `words`. What follows `--` is never an option; it is `tail` as well."""
        head, tail = split_words(argv)
        refuse_early(head)
        options, rest = self.parse_known_args(head)
        for word in rest:
            if is_option(word):
                self._refuse_option(word.split("=", 1)[0])
        options.words = [*rest, *tail]
        options.tail = tail
        return options

    def value_options(self) -> set[str]:
        """Options whose next word is their value."""
        return {name for action in self._actions if action.nargs is None for name in action.option_strings}

    def _refuse_option(self, name: str) -> NoReturn:
        known = [option for action in self._actions for option in action.option_strings if option.startswith("--")]
        raise UsageError(f"there is no option {name}{near(name, known)} (see {self.prog} --help)")


def _formatter(prog: str) -> argparse.HelpFormatter:
    return argparse.RawDescriptionHelpFormatter(prog, width=HELP_WIDTH, max_help_position=26)


def split_words(argv: list[str]) -> tuple[list[str], list[str]]:
    """What stands before `--`, and what stands behind it."""
    if "--" not in argv:
        return argv, []
    at = argv.index("--")
    return argv[:at], argv[at + 1 :]


def is_option(word: str) -> bool:
    return word.startswith("-") and word != "-"


def refuse_early(head: Iterable[str]) -> None:
    """Options that are refused with a sentence of their own, whatever follows them."""
    for word in head:
        name = word.split("=", 1)[0]
        if name in KEY_OPTIONS:
            raise UsageError(
                f"{name} is not taken: others can read the command line. Put the key into an environment variable "
                "and name that: --api-key-env VAR"
            )
        if name in PLANNED_OPTIONS:
            raise UsageError(f"{name} ({PLANNED_OPTIONS[name]}) is not built yet")


def near(word: str, known: Iterable[str], cutoff: float = 0.6) -> str:
    """`; did you mean X?`, or nothing."""
    import difflib

    close = difflib.get_close_matches(word, list(known), n=1, cutoff=cutoff)
    return f"; did you mean {close[0]}?" if close else ""
