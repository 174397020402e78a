"""`commands`: everything that a look at a node runs, as one script."""

from __future__ import annotations

import argparse

from ..errors import UsageError
from .output import emit, emit_json

USAGE = "[--container NAME] [options]"
DESCRIPTION = """\
Prints all commands that --ssh and --local run on a node as one POSIX script,
for a node where nothing may be installed, or that cannot be reached from here:

    sparkdiag commands > commands.sh        here
    sh commands.sh > node.txt               on the node
    sparkdiag node.txt                      here again

Read-only and without root; what needs a right that is missing says so. Of
secrets only the plainest are masked on the node: sparkdiag masks the others
when it reads the file."""


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--container", metavar="NAME", help="the container to look into (default: those that run)")


def run(options: argparse.Namespace) -> int:
    if options.words:
        raise UsageError(f"commands takes no word '{options.words[0]}' (see sparkdiag commands --help)")
    from .._version import __version__
    from ..collect.commands import COMMANDS
    from ..collect.scripts import node_script
    from ..collect.ssh import container_name

    container = None if options.container is None else container_name(options.container)
    if options.format == "json":
        from dataclasses import asdict

        emit_json([asdict(command) for command in COMMANDS], options)
    else:
        emit(node_script(__version__, container), options)
    return 0
