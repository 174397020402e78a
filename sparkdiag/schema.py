"""The published JSON Schemas (data/schemas), generated from the classes, and users' files checked against them.

`python -m sparkdiag.schema` writes them anew after a class has changed; a test holds them current.
"""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path
from typing import Any

from .errors import CaptureError

__all__ = ["NAMES", "check", "current", "published", "write"]

NAMES = ("capture", "expected", "report")
_DIALECT = "https://json-schema.org/draft/2020-12/schema"


def published(name: str) -> dict[str, Any]:
    """The schema that ships with this version."""
    text = resources.files("sparkdiag").joinpath("data", "schemas", f"{name}.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


def current(name: str) -> dict[str, Any]:
    """The schema as the classes have it now."""
    schema = {"capture": _capture, "expected": _expected, "report": _report}[name]()
    return {"$schema": _DIALECT, "title": f"sparkdiag {name}, format 1", **_plain(schema)}


def write(folder: Path | None = None) -> list[Path]:
    """Write all current schemas; the files written."""
    folder = folder or Path(__file__).parent / "data" / "schemas"
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for name in NAMES:
        file = folder / f"{name}.json"
        file.write_text(json.dumps(current(name), indent=1, sort_keys=True) + "\n", encoding="utf-8")
        files.append(file)
    return files


def check(data: Any, name: str, place: str) -> None:
    """CaptureError with the file, the path in it and a plain sentence for the first thing that does not fit."""
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import best_match

    error = best_match(Draft202012Validator(published(name)).iter_errors(data))
    if error is not None:
        raise CaptureError(_sentence(error), place=place)


# --- generation


def _generated(cls: type) -> dict[str, Any]:
    from pydantic import TypeAdapter

    return TypeAdapter(cls).json_schema()


def _plain(node: Any, names: bool = False) -> Any:
    """Without what says nothing: titles that repeat names, and `anything may follow`. `names`: the keys are fields'."""
    if isinstance(node, list):
        return [_plain(item) for item in node]
    if not isinstance(node, dict):
        return node
    return {
        key: _plain(value, key in ("properties", "$defs"))
        for key, value in node.items()
        if names or (key != "title" and (key, value) != ("additionalProperties", True))
    }


_FORMAT = {"const": 1, "description": "This is format 1. Readers ignore keys that they do not know."}


def _capture() -> dict[str, Any]:
    from .capture import Capture

    schema = _generated(Capture)
    schema["properties"] = {"format": _FORMAT, **schema["properties"]}
    schema["required"] = ["format", "items"]
    item = schema["$defs"]["Item"]
    del item["properties"]["text"]  # stands in a file beside capture.json
    item["properties"]["file"]["anyOf"][0] |= {"pattern": r"^[^/\\\x00-\x1f]{1,200}$"}
    return schema


def _expected() -> dict[str, Any]:
    from .diagnosis import LEVELS
    from .expected import ONLY_WITH, VERDICTS, Expected

    schema = _generated(Expected)
    properties = schema["properties"] = {"format": _FORMAT, **schema["properties"]}
    schema["required"] = ["format"]
    schema["additionalProperties"] = False
    properties["only_with"]["items"] = {"enum": list(ONLY_WITH)}
    properties["verdict"] = {"enum": [*VERDICTS, None], "default": None}
    properties["pinned"] = {
        "anyOf": [{"type": "object", "additionalProperties": {"enum": list(LEVELS)}}, {"type": "null"}],
        "default": None,
    }
    return schema


_LINK = {
    "anyOf": [{"type": "string"}, {"type": "null"}],
    "description": "Where the chain of what a reply depends on breaks: memory, container, engine ...",
}


def _report() -> dict[str, Any]:
    from .diagnosis import Report

    schema = _generated(Report)
    properties = schema["properties"]
    properties["sparkdiag"] = properties.pop("version")
    schema["properties"] = {"format": _FORMAT, **properties, "fingerprint": {"type": "string"}, "broken_link": _LINK}
    schema["required"] = sorted(schema["properties"])
    diagnosis = schema["$defs"]["Diagnosis"]
    diagnosis["properties"]["confidence"] = {"type": "number", "minimum": 0, "maximum": 1}
    diagnosis["required"] = sorted(diagnosis["properties"])
    return schema


# --- sentences

_KINDS = {
    "object": "a mapping", "array": "a list", "string": "text", "integer": "a whole number", "number": "a number",
    "boolean": "true or false", "null": "null",
}  # fmt: skip


def _sentence(error: Any) -> str:
    if error.validator == "anyOf" and error.context:
        kinds = [_KINDS[part["type"]] for part in error.validator_value if part.get("type") in _KINDS]
        deeper = [sub for sub in error.context if len(sub.absolute_path) > len(error.absolute_path)]
        if deeper:
            return _sentence(deeper[0])
        if kinds:
            return f"{_where(error)} must be {' or '.join(kinds)}, not {_shown(error.instance)}"
    where, wanted = _where(error), error.validator_value
    match error.validator:
        case "required":
            missing = next(name for name in wanted if name not in error.instance)
            return f"{where} has no '{missing}'"
        case "type":
            kinds = [wanted] if isinstance(wanted, str) else list(wanted)
            told = " or ".join(_KINDS.get(kind, kind) for kind in kinds)
            return f"{where} must be {told}, not {_shown(error.instance)}"
        case "enum":
            return f"{where} is {_shown(error.instance)}; it must be one of {', '.join(str(v) for v in wanted if v)}"
        case "const":
            return f"{where} is {_shown(error.instance)}; this version reads {wanted}"
        case "additionalProperties":
            return _unknown_key(error)
        case "minItems" | "maxItems":
            return f"{where} must have {wanted} entries, not {len(error.instance)}"
        case "pattern":
            return f"{where} is {_shown(error.instance)}; it must be the name of a file beside this one"
        case _:
            return f"{where}: {error.message[:200]}"


def _unknown_key(error: Any) -> str:
    from difflib import get_close_matches

    known = list(error.schema["properties"])
    stray = sorted(str(key) for key in error.instance if key not in known)[0]
    near = get_close_matches(stray, known, 1)
    return f"{_where(error)} has no key '{stray}'" + (f"; did you mean '{near[0]}'?" if near else "")


def _where(error: Any) -> str:
    parts = (
        f".{part}" if isinstance(part, str) and part.isidentifier() else f"[{part}]" for part in error.absolute_path
    )
    path = "".join(parts).lstrip(".")
    return f"'{path}'" if path else "the document"


def _shown(value: Any) -> str:
    kind = {dict: "a mapping", list: "a list", str: None, bool: None, type(None): "null"}.get(type(value), "")
    return kind if kind else repr(value)[:60]


if __name__ == "__main__":
    for file in write():
        print(file)
