"""The commands of the fixed list as POSIX sh: the text that goes through one session, and the script for all of a node.

Both are the same functions and the same lines; so what a person pastes reads as what a live run collects.
"""

from __future__ import annotations

from collections.abc import Iterable

from .commands import CONTAINER, ENOUGH_KIB, LISTING, Command, container_commands, node_commands

__all__ = ["MAX_CONTAINERS", "node_script", "session_script"]

MAX_CONTAINERS = 4
"""Containers that are looked into where none is named: those that run first, then the newest."""

_MASK = (
    r"s/([A-Za-z0-9_]*(TOKEN|API_KEY|ACCESS_KEY|SECRET|SECRET_KEY|PASSWORD|PASSWD))=[^\", ]+/\1=[secret: masked]/g; "
    r"s/(--(api-key|hf-token)[= \",]+)[^\", ]+/\1[secret: masked]/g; "
    r"s/(^|[^A-Za-z0-9_])hf_[A-Za-z0-9]{20,}/\1[secret: masked]/g"
)
"""The plainest secrets do not even leave the node; whatever reads the output masks all others."""

_FUNCTIONS = f"""\
LC_ALL=C SYSTEMD_COLORS=0 SYSTEMD_PAGER=cat PAGER=cat NO_COLOR=1
export LC_ALL SYSTEMD_COLORS SYSTEMD_PAGER PAGER NO_COLOR
PATH="${{PATH:-/usr/bin:/bin}}:/usr/sbin:/sbin:/usr/local/bin:${{HOME:-/}}/.local/bin"
XDG_RUNTIME_DIR="${{XDG_RUNTIME_DIR:-/run/user/$(id -u)}}"
HOME="${{HOME:-/}}"
export PATH XDG_RUNTIME_DIR HOME
node=$(uname -n)
exec 3>&1
limited() {{ # seconds command
  if command -v timeout >/dev/null 2>&1; then timeout -k 2 "$1" sh -c "$2"; else sh -c "$2"; fi
}}
when() {{ # condition
  limited 5 "$1" >/dev/null 2>&1 </dev/null
}}
masked() {{
  sed -E '{_MASK}'
}}
run() {{ # name program seconds bytes command
  printf '\\n=== sparkdiag %s begin %s on %s: %s\\n' "$run_id" "$1" "$node" "$5"
  if [ -n "$2" ] && ! command -v "$2" >/dev/null 2>&1; then
    echo "$2: not found"
    code=127
  else
    code=$({{ {{ limited "$3" "$5" 3>&- 4>&-; echo "$?" >&4; }} </dev/null 2>&1 | head -c "$4" | masked >&3; }} 4>&1)
  fi
  printf '\\n=== sparkdiag %s end %s: %s\\n' "$run_id" "$1" "$code"
}}
"""


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _line(command: Command, text: str) -> str:
    return f"run {command.probe} {command.needs or _quoted('')} {command.seconds:g} {command.limit} {text}"


def session_script(run: str, commands: Iterable[Command], container: str | None = None) -> str:
    """The commands of one session. `container` is a checked name, for those that need one."""
    lines = [_FUNCTIONS, f"run_id={run}"]
    for command in commands:
        put = command.shell if container is None else command.shell.replace(CONTAINER, container)
        condition = command.only_if if container is None else command.only_if.replace(CONTAINER, container)
        line = _line(command, _quoted(put))
        lines.append(f"if when {_quoted(condition)}; then {line}; fi" if condition else line)
    return "\n".join(lines) + "\nexit 0\n"


def node_script(version: str, container: str | None = None) -> str:
    """What `sparkdiag commands` prints. `container` is a checked name: only that one is looked into."""
    lines = [
        "#!/bin/sh",
        f"# sparkdiag {version}: all that is looked at on a node. Read-only, without root, nothing is installed.",
        "# On the node:       sh commands.sh > node.txt",
        "# Then, anywhere:    sparkdiag node.txt",
        "# shellcheck disable=SC2016 # the commands are run by a shell of their own, with their own time limit",
        _FUNCTIONS,
        'run_id="$(date +%s)$$"',
        "available=$(sed -n 's/^MemAvailable: *\\([0-9]*\\) kB$/\\1/p' /proc/meminfo 2>/dev/null)",
        f'if [ "${{available:-{ENOUGH_KIB}}}" -ge {ENOUGH_KIB} ]; then heavy=yes; else heavy=; fi',
        'if [ -z "$heavy" ]; then echo "# memory is short: what starts programs or reads long logs is left out"; fi',
        "",
        *(_plain(command) for command in node_commands() if command.group != LISTING),
        "",
        *_container_loop(container),
        "",
        *(_plain(command) for command in node_commands() if command.group == LISTING),
    ]
    return "\n".join(lines) + "\n"


def _plain(command: Command) -> str:
    return _conditional(command, _quoted(command.only_if), _quoted(command.shell))


def _conditional(command: Command, condition: str, text: str) -> str:
    tests = ['[ -n "$heavy" ]'] if command.cost == "heavy" else []
    tests += [f"when {condition}"] if command.only_if else []
    line = _line(command, text)
    return f"if {' && '.join(tests)}; then {line}; fi" if tests else line


def _container_loop(container: str | None) -> list[str]:
    listed = (
        "{ docker ps --format '{{.Names}}'; docker ps -a --format '{{.Names}}'; } "
        f"| awk '!seen[$0]++' | head -n {MAX_CONTAINERS}"
    )
    names = container if container is not None else f"$(limited 8 {_quoted(listed)} 2>/dev/null </dev/null)"
    return [
        "put() { # text with the container's name in it",
        f"""  printf '%s' "$1" | sed "s/{CONTAINER}/$container/g\"""",
        "}",
        f"names={names}",
        "for container in $names; do",
        "  case $container in [!A-Za-z0-9]* | *[!A-Za-z0-9_.-]*) continue ;; esac",
        *(
            "  " + _conditional(command, f'"$(put {_quoted(command.only_if)})"', f'"$(put {_quoted(command.shell)})"')
            for command in container_commands()
        ),
        "done",
    ]
