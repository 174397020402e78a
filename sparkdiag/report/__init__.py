"""Renderers: a report as text for people, JSON for programs, one line for a log, Markdown for an issue. Pure.

Add a renderer: a module here with one function from Report to str, and its line in `FORMATS`.
"""

from __future__ import annotations

from importlib import import_module

from ..diagnosis import Report
from ..errors import UsageError

__all__ = ["FORMATS", "PLANNED", "check_format", "render"]

FORMATS: dict[str, str] = {
    "text": "text:render_text",
    "json": "as_json:render_json",
    "line": "line:render_line",
    "markdown": "markdown:render_markdown",
}
"""Format name to `module:function` in this package."""

PLANNED = ("html", "sarif", "junit")
"""Formats of the contract that this version does not have."""


def check_format(name: str) -> str:
    """The name, if it is a format of this version. UsageError with the formats that there are, if it is not."""
    if name in FORMATS:
        return name
    there = f"there are {', '.join(FORMATS)}"
    if name in PLANNED:
        raise UsageError(f"the format {name} is not built yet; {there}")
    import difflib

    close = difflib.get_close_matches(name, FORMATS, n=1)
    hint = f"; did you mean {close[0]}?" if close else ""
    raise UsageError(f"there is no format {name!r}{hint} ({there})")


def render(report: Report, format: str = "text", *, width: int = 80, colour: bool = False) -> str:
    """The report in a format of FORMATS, ending in a newline. Width (columns) and colour concern text alone."""
    module, _, function = FORMATS[check_format(format)].partition(":")
    renderer = getattr(import_module(f".{module}", __name__), function)
    text = renderer(report, width=width, colour=colour) if format == "text" else renderer(report)
    assert isinstance(text, str)
    return text
