"""The report for programs: JSON in ASCII, so that it survives every locale and nothing in it can steer a terminal."""

from __future__ import annotations

import json
import math
from typing import Any

from ..diagnosis import Report

__all__ = ["render_json", "to_json"]


def render_json(report: Report) -> str:
    return to_json(report.to_dict())


def to_json(data: Any) -> str:
    """Indented JSON with a newline at its end. Numbers that JSON does not have (a metric may be NaN) become null."""
    try:
        return json.dumps(data, indent=2, allow_nan=False) + "\n"
    except ValueError:
        return json.dumps(_finite(data), indent=2, allow_nan=False) + "\n"


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    return value
