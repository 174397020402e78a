"""systemd units, logind and its lingering users: systemctl, loginctl, busctl, logind.conf."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ...facts import Fact
from ...facts.piece import Piece
from ...facts.units import Login, Unit
from .lines import looked, place

__all__ = ["observe_units"]

MAX_TEXT = 200_000

_STATUS_HEAD = re.compile(
    r"[●○×↻*]?\s*(?P<name>[\w@.\\:-]+\.(?:service|timer|socket|target))(?: - (?P<about>.*))?\s*\Z"
)
_LOADED = re.compile(r"\s*Loaded: (?P<state>[\w-]+) \((?P<file>[^;)]+)(?:; (?P<enabled>[\w-]+))?")
_ACTIVE = re.compile(r"\s*Active: (?P<active>[\w-]+)(?: \((?P<sub>[\w-]+)\))?(?: \(Result: (?P<result>[\w-]+)\))?")
_ENDED = re.compile(r"\s*(?:Main PID|Process): \d+.*?\(code=(?P<code>\w+), status=(?P<status>\d+)")
_TABLE = re.compile(
    r"[●○×*]?\s*(?P<name>[\w@.\\:-]+\.service)\s+(?:loaded|not-found|masked)\s+(?P<active>[\w-]+)\s+(?P<sub>[\w-]+)\b"
)
_LISTED = re.compile(r"(?P<name>[\w@.\\:-]+\.service)\s+(?P<enabled>enabled|disabled|static|masked|linked)\b")
_SHOWN = re.compile(r"(?P<key>ActiveState|SubState|UnitFileState|Result|NRestarts|ExecMainStatus|Id)=(?P<value>.*)\Z")
_START = re.compile(r"ExecStart=-?(?P<command>\S.*)\Z")
_ONE_WORD = re.compile(r"systemctl\b.*\bis-(?P<what>active|enabled|failed)\b(?P<rest>.*)")
_UNIT_NAME = re.compile(r"(?:\s|\A)([\w@.\\-]+(?:\.service)?)(?=\s|\Z)")
_REUSED = re.compile(r"\b(?:docker|podman)(?: container)? (?:start|restart)\b")


def observe_units(piece: Piece) -> list[Fact]:
    """Unit and login facts of one piece."""
    if len(piece.text) > MAX_TEXT:
        return []
    lines = piece.text.split("\n")
    units = list(_units(piece, lines))
    logins = list(_logins(piece, lines))
    out: list[Fact] = [*units, *logins]
    for probe, found in (("unit", units), ("login", logins)):
        if found:
            out += looked(piece, probe)
    return out


def _of_user_manager(text: str) -> bool | None:
    """Whether a command or a unit's path speaks of a user manager."""
    if re.search(r"--user\b|/systemd/user/|\.config/systemd|user@\d+\.service", text):
        return True
    return False if re.search(r"\bsystemctl\b|/etc/systemd/system/|/lib/systemd/system/", text) else None


def _units(piece: Piece, lines: list[str]) -> Iterator[Unit]:
    command = piece.command or ""
    word = _ONE_WORD.match(command)
    if word is not None:
        yield from _one_word(piece, lines, word)
        return
    if re.search(r"systemctl\b.*\bshow\b", command):
        yield from _shown(piece, lines)
        return
    name: str | None = None
    at, shown = 0, ""
    told: dict[str, object] = {}

    def ended() -> Iterator[Unit]:
        if name is not None and told:
            yield _unit(piece, at, shown, name, told)

    for number, line in enumerate(lines):
        head = _STATUS_HEAD.match(line.strip())
        row = _TABLE.match(line.strip()) if head is None else None
        listed = _LISTED.match(line.strip()) if "list-unit-files" in command else None
        if head is not None:
            yield from ended()
            name, at, shown, told = head["name"], number, line, {}
        elif row is not None:
            told = {"active": row["active"], "sub": row["sub"], "user": _of_user_manager(command)}
            yield _unit(piece, number, line, row["name"], told)
            told = {}
        elif listed is not None:
            yield _unit(piece, number, line, listed["name"], {"enabled": listed["enabled"]})
        elif name is not None:
            _detail(told, line)
            if _ACTIVE.match(line):
                at, shown = number, line
    yield from ended()


def _detail(told: dict[str, object], line: str) -> None:
    """A line of `systemctl status`."""
    loaded, active, over = _LOADED.match(line), _ACTIVE.match(line), _ENDED.match(line)
    if loaded is not None:
        told["enabled"] = loaded["enabled"]
        told["user"] = _of_user_manager(loaded["file"])
    elif active is not None:
        told |= {"active": active["active"], "sub": active["sub"], "result": active["result"]}
    elif over is not None:
        told["exit_code"] = int(over["status"])
        start = re.search(r"ExecStart=(.*?) \(code=", line)
        if start is not None:
            told["starts"] = start[1]


def _unit(piece: Piece, number: int, line: str, name: str, told: dict[str, object]) -> Unit:
    user, starts = told.get("user"), told.get("starts")
    if user is None:
        user = _of_user_manager(piece.command or "")
    restarts, code = told.get("restarts"), told.get("exit_code")
    return Unit(
        name=name,
        user=user if isinstance(user, bool) else None,
        active=_word(told, "active"),
        sub=_word(told, "sub"),
        enabled=_word(told, "enabled"),
        result=_word(told, "result"),
        restarts=restarts if isinstance(restarts, int) else None,
        exit_code=code if isinstance(code, int) else None,
        starts=starts if isinstance(starts, str) else None,
        reuses_container=bool(_REUSED.search(starts)) if isinstance(starts, str) else None,
        **place(piece, number, line),
    )


def _word(told: dict[str, object], key: str) -> str | None:
    value = told.get(key)
    return value if isinstance(value, str) and value else None


def _one_word(piece: Piece, lines: list[str], asked: re.Match[str]) -> Iterator[Unit]:
    names = [n for n in _UNIT_NAME.findall(asked["rest"]) if not n.startswith("-") and not n.isdigit()]
    answers = [line.strip() for line in lines if re.fullmatch(r"[a-z-]+", line.strip())]
    for number, (name, answer) in enumerate(zip(names, answers, strict=False)):
        key = "enabled" if asked["what"] == "enabled" else "active"
        yield _unit(piece, number, answer, name, {key: answer})


def _shown(piece: Piece, lines: list[str]) -> Iterator[Unit]:
    """`systemctl show`: KEY=VALUE lines of one unit."""
    keys = {
        "ActiveState": "active", "SubState": "sub", "UnitFileState": "enabled", "Result": "result", "Id": "name",
        "NRestarts": "restarts", "ExecMainStatus": "exit_code",
    }  # fmt: skip
    told: dict[str, object] = {}
    at = None
    for number, line in enumerate(lines):
        match = _SHOWN.match(line.strip())
        if match is not None:
            at = number if at is None else at
            value = match["value"]
            told[keys[match["key"]]] = int(value) if value.isdigit() else value
    if at is None:
        return
    named = re.search(r"\bshow\s+(?:-\S+\s+)*([\w@.\\-]+)", piece.command or "")
    name = told.pop("name", None) or (named[1] if named else "unit")
    yield _unit(piece, at, lines[at], str(name), told)


def _logins(piece: Piece, lines: list[str]) -> Iterator[Login]:
    command = piece.command or ""
    asked = re.search(r"loginctl\b.*\b(?:show-user|user-status)\b\s+(?:-\S+\s+)*([\w.-]+)", command)
    user = asked[1] if asked else None
    for number, line in enumerate(lines):
        told: dict[str, bool] = {}
        text = line.strip()
        linger = re.fullmatch(r"\s*Linger[:=]\s*(yes|no)", text)
        if linger is not None:
            told["linger"] = linger[1] == "yes"
        elif "loginctl" in command and "Linger" in command and text in ("yes", "no"):
            told["linger"] = text == "yes"
        elif "RemoveIPC" in command and (bus := re.fullmatch(r"(?:b )?(true|false)", text)) is not None:
            told["remove_ipc"] = bus[1] == "true"
        elif (
            conf := re.fullmatch(r"(?:\S+logind\.conf\S*?:)?(?:\d+:)?(#?)\s*RemoveIPC=(yes|no|true|false)", text)
        ) is not None:
            # A commented line shows the built-in default, which is yes.
            told["remove_ipc"] = True if conf[1] else conf[2] in ("yes", "true")
        elif "list-users" in command and (row := re.fullmatch(r"\d+\s+(\S+)\s+(yes|no)\b.*", text)) is not None:
            user, told["linger"] = row[1], row[2] == "yes"
        elif "is not logged in or lingering" in text:
            told["linger"] = False
        if told:
            yield Login(
                user=user, linger=told.get("linger"), remove_ipc=told.get("remove_ipc"), **place(piece, number, line)
            )
    if "/var/lib/systemd/linger" in command:
        names = [line.strip() for line in lines if re.fullmatch(r"[\w.-]+", line.strip())]
        refused = any("cannot access" in line for line in lines)
        yield Login(linger=bool(names) and not refused, **place(piece, 0, lines[0] or "no lingering user"))
