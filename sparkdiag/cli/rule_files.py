"""The rules as files: where they lie, checking them, compiling them, and the text of one entry."""

from __future__ import annotations

import argparse
import datetime
import re
from pathlib import Path

from ..errors import RuleError, UsageError
from ..infer import Rulebook
from .output import emit, emit_json

_DATE = re.compile(r"\b(20\d\d)-(0[1-9]|1[0-2])(?:-(0[1-9]|[12]\d|3[01]))?\b")
_PROBLEM = re.compile(r"(?P<file>.*?):(?P<line>\d+): (?P<message>.*)", re.DOTALL)
OLD = datetime.timedelta(days=366)


def rules_folder() -> Path | None:
    """The rule files of this installation: inside the package when installed, beside it in a checkout."""
    package = Path(__file__).resolve().parent.parent
    for folder in (package / "data" / "rules", package.parent / "rules"):
        if any(folder.glob("*.yaml")):
            return folder
    return None


def check(options: argparse.Namespace, given: str | None) -> int:
    """Every problem of a folder of rules, one a line. 0 if there is none, else 1."""
    folder = _folder(given)
    problems: list[str] = []
    warnings: list[str] = []
    book: Rulebook | None = None
    try:
        book = _load(folder)
    except RuleError as error:
        problems += error.problems
    shipped = rules_folder()
    if book is not None:
        warnings = [*_old_sources(book), *_common_anchors(book, folder)]
        if shipped is not None and folder.resolve() == shipped.resolve():
            problems += _not_current(book)
    if options.format == "json":
        emit_json(
            {
                "folder": str(folder),
                "problems": [_split(problem) for problem in problems],
                "warnings": [_split(warning) for warning in warnings],
                **_counts(book),
            },
            options,
        )
    else:
        lines = problems + [_warning(w) for w in warnings]
        if book is not None and not problems:
            counts = ", ".join(f"{number} {name}" for name, number in _counts(book).items())
            lines.append(f"{folder}: no problems ({counts})")
        else:
            lines.append(f"{folder}: {len(problems)} problem{'s' if len(problems) != 1 else ''}")
        emit("\n".join(lines) + "\n", options)
    return 1 if problems else 0


def compile_rules(options: argparse.Namespace, given: str | None) -> int:
    """Check a folder and write its compiled form, to the package or to --output."""
    from ..infer.rulebook import COMPILED, compile_to

    folder = _folder(given)
    out = Path(options.output) if options.output else COMPILED
    try:
        book = compile_to(folder, out)
    except OSError as error:
        raise UsageError(f"{out} cannot be written: {error.strerror}") from None
    options.output = None
    if options.format == "json":
        emit_json({"compiled": str(out), "rulebook": book.hash, **_counts(book)}, options)
    else:
        emit(f"{out}: rulebook {book.hash}, {len(book.rules)} rules\n", options)
    return 0


def source_text(at: str) -> str | None:
    """The entry that begins at `file:line` as its author wrote it; None where the rule files are not at hand."""
    folder = rules_folder()
    name, _, number = at.rpartition(":")
    if folder is None or not number.isdigit():
        return None
    try:
        lines = (folder / Path(name).name).read_text(encoding="utf-8").split("\n")[int(number) - 1 :]
    except OSError:
        return None
    if not lines:
        return None
    indent = len(lines[0]) - len(lines[0].lstrip())
    end = 1
    while end < len(lines) and (not lines[end].strip() or lines[end].startswith(" " * (indent + 1))):
        end += 1
    return "\n".join(line[indent:] for line in lines[:end]).rstrip()


def _folder(given: str | None) -> Path:
    if given is not None:
        folder = Path(given)
        if not folder.is_dir():
            raise UsageError(f"{given}: there is no such folder of rules")
        return folder
    shipped = rules_folder()
    if shipped is None:
        raise UsageError("this installation has no rule files; name a folder: sparkdiag rules check FOLDER")
    return shipped


def _load(folder: Path) -> Rulebook:
    from ..infer.rulebook import load_folder

    try:
        return load_folder(folder)
    except UnicodeDecodeError as error:
        raise RuleError([f"{folder}:1: a rule file is not UTF-8 ({error.reason})"]) from None
    except OSError as error:
        raise RuleError([f"{error.filename}:1: cannot be read: {error.strerror}"]) from None


def _not_current(book: Rulebook) -> list[str]:
    """The compiled rulebook is what diagnoses: it must say what the files say."""
    from ..infer.codec import to_data
    from ..infer.rulebook import COMPILED, render

    mend = "run: sparkdiag rules compile"
    try:
        compiled = COMPILED.read_text(encoding="utf-8")
    except OSError as error:
        return [f"{COMPILED.name}:1: the compiled rulebook cannot be read ({error.strerror}); {mend}"]
    return [] if compiled == render(to_data(book)) else [f"{COMPILED.name}:1: not current with the rule files; {mend}"]


def _old_sources(book: Rulebook) -> list[str]:
    """Diagnoses whose newest dated source is over a year old: the world may have moved on."""
    today = datetime.date.today()
    out = []
    for entry in book.diagnoses.values():
        dates = [
            datetime.date(int(m[1]), int(m[2]), min(int(m[3] or 28), 28))
            for m in _DATE.finditer(" ".join((*entry.sources, entry.known or "")))
        ]
        if dates and today - max(dates) > OLD:
            newest = f"{max(dates):%Y-%m}"
            out.append(f"{entry.at}: diagnosis '{entry.id}': its newest source is of {newest}, over a year ago")
    return out


def _common_anchors(book: Rulebook, folder: Path) -> list[str]:
    """Signatures that every line of a busy server's log would be tried on."""
    from ..infer.ordinary import common_anchors

    return [
        f"{_place(signature.id, folder)}: signature '{signature.id}': its anchor '{anchor}' stands in ordinary lines, "
        f"which makes large logs slow to read; a rarer literal will do: {line[:60]}..."
        for signature, anchor, line in common_anchors(book.signatures.values())
    ]


def _place(name: str, folder: Path) -> str:
    """`file:line` of the entry with this id."""
    entry = re.compile(rf"\s*-\s+\{{?id:\s+[\"']?{re.escape(name)}[\"',}}\s]*(?:,.*)?$")
    for file in sorted(folder.glob("*.yaml")):
        for number, line in enumerate(file.read_text(encoding="utf-8").split("\n"), 1):
            if entry.match(line):
                return f"{folder.name}/{file.name}:{number}"
    return f"{folder.name}:1"


def _warning(text: str) -> str:
    parts = _split(text)
    return f"{parts['file']}:{parts['line']}: warning: {parts['message']}"


def _split(problem: str) -> dict[str, str | int | None]:
    """`file:line: sentence` apart, for JSON."""
    match = _PROBLEM.fullmatch(problem)
    if match is None:
        return {"file": None, "line": None, "message": problem}
    return {"file": match["file"], "line": int(match["line"]), "message": match["message"]}


def _counts(book: Rulebook | None) -> dict[str, int]:
    if book is None:
        return {}
    return {
        "rules": len(book.rules),
        "diagnoses": len(book.diagnoses),
        "findings": len(book.findings),
        "signatures": len(book.signatures),
        "probes": len(book.probes),
    }
