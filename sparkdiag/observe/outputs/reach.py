"""Whether a host and its ports can be reached: ping, ssh, nc, telnet, and curl's own errors."""

from __future__ import annotations

import re

from ...facts import Fact
from ...facts.http import Reachability
from ...facts.piece import Piece
from .lines import lines_with, looked, place, program, stages

__all__ = ["observe_failed_request", "observe_reach", "of_curl", "route_of"]


def observe_reach(piece: Piece) -> list[Fact]:
    """What one piece of output says about reaching a host."""
    found = _ping(piece) + _ssh(piece) + _ports(piece) + _curl(piece)
    probes = dict.fromkeys(str(fact.get("probe")) for fact in found)
    return [*found, *(looked(piece, "reach", *probes) if found else [])]


def _fact(
    piece: Piece, at: int, line: str, probe: str, result: str, detail: str | None = None, port: int | None = None
) -> Reachability:
    return Reachability(
        probe=probe, result=result, detail=detail or line.strip()[:200], port=port, **place(piece, at, line)
    )


_STATISTICS = re.compile(
    r"(?P<sent>\d+) packets? transmitted, (?P<received>\d+)(?: packets)? received,(?: \+\d+ errors,)?(?: \+\d+ "
    r"duplicates,)? (?P<loss>[\d.]+)% packet loss"
)
_ECHO = re.compile(r"\d+ bytes from \S+.*icmp_seq=\d+ ttl=\d+ time=|Reply from [\d.]+: bytes=")
_NO_ECHO = re.compile(
    r"From \S+ icmp_seq=\d+ (?P<why>(?:Destination|Time to live)[\w ]*)|Request timeout for icmp_seq|"
    r"Request timed out\."
)


def _ping(piece: Piece) -> list[Reachability]:
    """One fact a run of ping: by its statistics, else by its echoes."""
    out: list[Reachability] = []
    echo: tuple[int, str] | None = None
    silent: tuple[int, str] | None = None
    unreachable = False
    for at, line in lines_with(piece.text, "packet", "icmp_seq", "Reply from", "Request timed", "ping: "):
        match = _STATISTICS.search(line)
        if match is not None:
            result = "ok" if int(match["received"]) else "unreachable" if unreachable else "timeout"
            out.append(_fact(piece, at, line, "ping", result))
            echo, silent, unreachable = None, None, False
        elif _ECHO.search(line):
            echo = echo or (at, line)
        elif missed := _NO_ECHO.search(line):
            silent = silent or (at, line)
            unreachable = unreachable or bool(missed["why"])
        elif re.search(r"ping: (?:connect|sendmsg): Network is unreachable", line):
            out.append(_fact(piece, at, line, "ping", "unreachable"))
        elif re.search(
            r"ping: \S+: (?:Name or service not known|Temporary failure in name resolution|No address)", line
        ):
            out.append(_fact(piece, at, line, "ping", "dns"))
    if echo is not None:
        out.append(_fact(piece, *echo, "ping", "ok"))
    elif silent is not None:
        out.append(_fact(piece, *silent, "ping", "unreachable" if unreachable else "timeout"))
    return out


_SSH: tuple[tuple[re.Pattern[str], tuple[tuple[str, str], ...]], ...] = tuple(
    (re.compile(pattern), facts)
    for pattern, facts in (
        (r"(?:Connection|Operation) timed out during banner exchange|Timeout (?:during|before|"
         r"waiting for) (?:the )?(?:SSH )?banner|"
         r"Error reading SSH protocol banner|timed out (?:while )?waiting for (?:the )?(?:SSH )?banner|"
         r"banner exchange.{0,40}(?:timeout|timed out)",
         (("tcp-ssh", "ok"), ("ssh-banner", "timeout"))),
        (r"kex_exchange_identification: (?:read: )?Connection reset|banner exchange: .{0,60}Connection reset",
        (("tcp-ssh", "ok"), ("ssh-banner", "reset"))),
        (r"kex_exchange_identification: .{0,60}(?:closed|Broken pipe)", (("tcp-ssh", "ok"), ("ssh-banner", "closed"))),
        (r"ssh: connect to host \S+ port \d+: (?:Connection|Operation) timed out", (("tcp-ssh", "timeout"),)),
        (r"ssh: connect to host \S+ port \d+: Connection refused", (("tcp-ssh", "refused"),)),
        (r"ssh: connect to host \S+ port \d+: (?:No route to host|Network is unreachable|Host is down)", (("tcp-ssh",
        "unreachable"),)),
        (r"ssh: Could not resolve hostname", (("tcp-ssh", "dns"),)),
        (r"Permission denied \([\w,-]+\)|Host key verification failed|Too many authentication failures",
        (("ssh-banner", "ok"), ("ssh-login", "denied"))),
        (r"debug1: Remote protocol version", (("tcp-ssh", "ok"), ("ssh-banner", "ok"))),
        (r"Last login: \w+ \w+ +\d+", (("ssh-banner", "ok"), ("ssh-login", "ok"))),
    )
)  # fmt: skip
_SSH_WORDS = (
    "banner", "kex_exchange", "ssh: ", "Permission denied (", "Host key verification", "Too many authentication",
    "debug1: ", "Last login: ",
)  # fmt: skip
_ESTABLISHED = re.compile(r"debug1: Connection established\.")


def _ssh(piece: Piece) -> list[Reachability]:
    """ssh's own words. A log of many ssh tries gives one fact for each kind of outcome, the last."""
    out: dict[tuple[str, str], Reachability] = {}
    established: tuple[int, str] | None = None
    for at, line in lines_with(piece.text, *_SSH_WORDS):
        if len(line) > 600:
            continue
        if _ESTABLISHED.search(line):
            established = (at, line)
        for pattern, facts in _SSH:
            if pattern.search(line):
                for probe, result in facts:
                    out[probe, result] = _fact(piece, at, line, probe, result)
                break
    if established is not None and not any(probe in ("ssh-banner", "ssh-login") for probe, _ in out):
        out["tcp-ssh", "ok"] = _fact(piece, *established, "tcp-ssh", "ok")
        if "debug1: Local version string" in piece.text:
            out["ssh-banner", "silent"] = _fact(piece, *established, "ssh-banner", "silent")
    typed = str(piece.meta.get("typed", ""))
    if (
        not out
        and typed.startswith("ssh ")
        and piece.text.strip()
        and not piece.text.startswith(("ssh:", "Connection", "kex_"))
    ):
        out["ssh-banner", "ok"] = _fact(
            piece, 0, piece.text.split("\n", 1)[0], "ssh-banner", "ok", "a command ran over ssh"
        )
    return list(out.values())


_PORTS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"Connection to (?P<host>\S+) (?P<port>\d+) port \[[^\]]*\] succeeded|"
                r"(?P<h2>\S+) \[[\d.]+\] (?P<p2>\d+) \([\w?-]*\) open|"
                r"(?P<h3>\S+) \((?P<a3>[\d.]+):(?P<p3>\d+)\) open"), "ok"),
    (re.compile(r"nc: connect to (?P<host>\S+)(?: \([\d.]+\))? port (?P<port>\d+) \(\w+\) failed: Connection refused|"
                r"(?P<h2>\S+) \[[\d.]+\] (?P<p2>\d+) \([\w?-]*\) : Connection refused"), "refused"),
    (re.compile(r"nc: connect to (?P<host>\S+)(?: \([\d.]+\))? port (?P<port>\d+) \(\w+\) (?:failed: (?:Connection|"
                r"Operation) timed out|timed out)|"
                r"(?P<h2>\S+) \[[\d.]+\] (?P<p2>\d+) \([\w?-]*\) : (?:Connection|Operation) timed out"), "timeout"),
    (re.compile(r"nc: connect to (?P<host>\S+)(?: \([\d.]+\))? port (?P<port>\d+) \(\w+\) failed: (?:No route to host|"
                r"Network is unreachable)"), "unreachable"),
)  # fmt: skip
_BY_COMMAND: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"Ncat: Connected to|Connected to \S+\.\Z|Escape character is"), "ok"),
    (
        re.compile(
            r"Ncat: Connection refused|telnet: Unable to connect to remote host: Connection refused|"
            r"/dev/tcp/\S+: Connection refused"
        ),
        "refused",
    ),
    (re.compile(r"Ncat: TIMEOUT|telnet: Unable to connect to remote host: Connection timed out"), "timeout"),
    (
        re.compile(r"Ncat: (?:No route|Host is unreach)|telnet: Unable to connect to remote host: No route"),
        "unreachable",
    ),
)
_BANNER = re.compile(r"SSH-2\.0-\S")


def _ports(piece: Piece) -> list[Reachability]:
    """nc, ncat and telnet. Port 22 that accepts, is listened to, and sends no banner is the sign of a stuck host."""
    out: list[Reachability] = []
    asked = _asked_port(piece)
    banner = False
    for at, line in lines_with(
        piece.text, "onnect", ") open", " : Operation", "Ncat: ", "/dev/tcp/", "SSH-2.0-", "Escape char"
    ):
        result, port = None, asked
        for pattern, told in _PORTS:
            match = pattern.search(line)
            if match is not None:
                groups = match.groupdict()
                figure = next((groups[key] for key in ("port", "p2", "p3") if groups.get(key)), None)
                result, port = told, int(figure) if figure else asked
                break
        else:
            result = next((told for pattern, told in _BY_COMMAND if pattern.search(line.strip())), None)
        if result is not None:
            out.append(_fact(piece, at, line, "tcp-ssh" if port == 22 else "tcp-api", result, port=port))
        if _BANNER.match(line.strip()) and program(piece) in ("nc", "ncat", "netcat", "telnet", "timeout", "echo"):
            banner = True
            out.append(_fact(piece, at, line, "ssh-banner", "ok"))
    accepted = any(fact.probe == "tcp-ssh" and fact.result == "ok" for fact in out)
    listened = program(piece) in ("nc", "ncat", "netcat", "timeout") and not re.search(r" -\w*z", piece.command or "")
    if accepted and listened and not banner:
        out.append(_fact(piece, 0, piece.text.split("\n", 1)[0], "ssh-banner", "silent"))
    return out


def _asked_port(piece: Piece) -> int | None:
    words = next(iter(stages(piece)), ())
    last = words[-1] if words else ""
    return int(last) if last.isdigit() and int(last) < 65536 else None


_CURL = re.compile(r"curl: \((?P<code>\d+)\) (?P<words>[^\n]*)")


def _curl(piece: Piece) -> list[Reachability]:
    """curl's errors in text that is no exchange of its own: scripts, logs."""
    out = []
    for at, line in lines_with(piece.text, "curl: ("):
        match = _CURL.search(line)
        known = of_curl(int(match["code"]), match["words"], None) if match is not None else None
        if match is not None and known is not None:
            out.append(_fact(piece, at, line, *known))
    return out


def of_curl(code: int, words: str, route: str | None) -> tuple[str, str] | None:
    """(probe, result) of curl's exit code and words; None for a code that says nothing of the host."""
    low = words.lower()
    if code in (1, 8):
        return route or "http", "reset"
    if code == 6:
        return "tcp-api", "dns"
    if code == 7:
        if "no route" in low or "unreachable" in low or "host is down" in low:
            return "tcp-api", "unreachable"
        if "timed out" in low or "timeout" in low:
            return "tcp-api", "timeout"
        return "tcp-api", "refused"
    if code == 28:
        connecting = (
            "connection timed out" in low
            or "connection timeout" in low
            or "failed to connect" in low
            or "resolving" in low
        )
        return (
            ("tcp-api", "timeout")
            if connecting
            else (route or "http", "silent" if " 0 bytes" in low or "0 out of 0" in low else "timeout")
        )
    if code == 52:
        return route or "http", "closed"
    if code in (55, 56):
        return route or "http", "reset"
    return ("tcp-api", "tls") if code in (35, 60) else None


_ROUTES = {"/health": "health", "/v1/models": "models", "/metrics": "metrics"}


def route_of(piece: Piece) -> str:
    """The probe that a request's route stands for."""
    return _ROUTES.get(str(piece.meta.get("path", "")).split("?")[0], "http")


def observe_failed_request(piece: Piece) -> list[Fact]:
    """A request that got no answer: curl's error, or a status of 000 with no word of the reason."""
    meta, route = piece.meta, route_of(piece)
    code = meta.get("curl_error")
    text = piece.text.strip().split("\n")[0] or (piece.command or "")
    known = None
    if isinstance(code, int):
        words = str(meta.get("curl_words") or "")
        known = of_curl(code, words, route)
        text = f"curl: ({code}) {words}".strip()
    elif meta.get("no_answer") is True:
        limit = meta.get("time_limit")
        known = (route, "failed")
        text = f"{text}: no answer" + (f" within {limit:g} s" if isinstance(limit, (int, float)) else "")
    if known is None:
        return []
    fact = _fact(piece, 0, text, *known)
    return [fact, *looked(piece, "reach", known[0])]
