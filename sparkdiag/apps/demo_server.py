"""A recorded server on a loopback port: it answers what was recorded, and says which recording it took."""

from __future__ import annotations

import contextlib
import json
import os
import threading
from collections.abc import Mapping
from dataclasses import dataclass, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from .nearest import asked_of, nearest, same_question
from .recordings import RecordedServer, Recording, load_server
from .stand_ins import detokenized, stand_in
from .streams import join, split, usage_of, with_usage

__all__ = ["RECORDING_HEADER", "DemoServer"]

RECORDING_HEADER = "x-demo-recording"
"""Names the recording behind an answer; `none` with a 404 means that the question was not recorded."""

MAX_REQUEST = 8 * 2**20
"""Bytes of a request body that are read."""

_OPEN_ROUTES = ("/health", "/ping", "/metrics", "/version", "/tokenize", "/detokenize")
"""Routes that ask for no key: the engines guard /v1."""


@dataclass(frozen=True, slots=True)
class _Answer:
    status: int
    headers: Mapping[str, str]
    body: str
    recording: str


_NOT_RECORDED = _Answer(404, {"content-type": "application/json"}, '{"detail":"Not Found"}', "none")


class DemoServer:
    """Serves one folder of recordings on 127.0.0.1 from a thread of its own. Use it with `with`."""

    def __init__(self, folder: str | os.PathLike[str], port: int = 0) -> None:
        """Port 0 takes a free one. Raises what load_server raises."""
        self.recorded: RecordedServer = load_server(folder)
        self.used: list[tuple[str, str, str]] = []
        """Method, path and recording of every answer given."""
        self._metrics_asked = 0
        self._lock = threading.Lock()
        handler = type("Handler", (_Handler,), {"demo": self})
        self._http = _Server(("127.0.0.1", port), handler)
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    @property
    def api_key(self) -> str | None:
        return self.recorded.api_key

    def __enter__(self) -> DemoServer:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()

    def answer(self, method: str, path: str, body: str, authorization: str | None = None) -> _Answer:
        """What the recorded server would have said."""
        found = self._find(method, path, body, authorization)
        with self._lock:
            self.used.append((method, path, found.recording))
        return found

    def _find(self, method: str, path: str, body: str, authorization: str | None) -> _Answer:
        if self.api_key is not None and not path.startswith(_OPEN_ROUTES) and authorization != f"Bearer {self.api_key}":
            return self._refusal()
        if method == "GET" and path.split("?", 1)[0] == "/metrics":
            return self._metrics()
        try:
            request = json.loads(body) if body else None
        except (ValueError, RecursionError):
            request = body
        found = nearest(self.recorded, method, path, request)
        if found is not None:
            return self._in_form(found, request)
        if method == "GET":
            found = stand_in(self.recorded, path)
        elif path == "/detokenize" and isinstance(request, dict):
            found = detokenized(self.recorded, request.get("tokens"))
        return _NOT_RECORDED if found is None else _as_recorded(found)

    def _refusal(self) -> _Answer:
        for recording in self.recorded.recordings:
            if recording.status == 401:
                return _as_recorded(recording)
        return _Answer(401, {"content-type": "application/json"}, '{"error":"Unauthorized"}', "stand-in: a key is set")

    def _metrics(self) -> _Answer:
        """The first scrape, then the one after the questions."""
        taken = [r for r in self.recorded.recordings if r.path == "/metrics"]
        if not taken:
            return _NOT_RECORDED
        taken.sort(key=lambda recording: recording.name.endswith("-after"))
        with self._lock:
            index = min(self._metrics_asked, len(taken) - 1)
            self._metrics_asked += 1
        return _as_recorded(taken[index])

    def _in_form(self, recording: Recording, request: Any) -> _Answer:
        """Streamed or whole, with usage or without, as it was asked."""
        asked = asked_of(request)
        answer = _as_recorded(recording)
        choices = recording.reply.get("choices") if isinstance(recording.reply, dict) else None
        if recording.streamed and not asked.stream:
            reply = join(recording.text)
            if reply is None:
                return answer
            return replace(answer, headers=_typed(answer, "application/json"), body=json.dumps(reply))
        if asked.stream and choices:
            kind = "text/event-stream; charset=utf-8"
            return replace(answer, headers=_typed(answer, kind), body=split(recording.reply, usage=asked.usage))
        if recording.streamed and asked.usage and usage_of(recording.text) is None:
            return self._with_usage(answer, recording)
        if recording.streamed and not asked.usage:
            return replace(answer, body=with_usage(recording.text, None))
        return answer

    def _with_usage(self, answer: _Answer, recording: Recording) -> _Answer:
        """A stream that was recorded without its usage has that of the same question asked whole."""
        twin = same_question(self.recorded, recording)
        usage = twin.reply.get("usage") if twin is not None and isinstance(twin.reply, dict) else None
        if twin is None or not isinstance(usage, dict):
            return answer
        name = f"{recording.name}, usage of {twin.name}"
        return replace(answer, body=with_usage(recording.text, usage), recording=name)


def _as_recorded(recording: Recording) -> _Answer:
    return _Answer(recording.status, recording.headers, recording.text, recording.name)


def _typed(answer: _Answer, kind: str) -> dict[str, str]:
    return {**answer.headers, "content-type": kind}


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False  # a client that keeps its connection open must not hold up the end
    request_queue_size = 64


class _Handler(BaseHTTPRequestHandler):
    demo: DemoServer
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    timeout = 30

    def handle(self) -> None:
        with contextlib.suppress(ConnectionError):  # the client went away; that is its right
            super().handle()

    def do_GET(self) -> None:
        self._send(self.demo.answer("GET", self.path, "", self.headers.get("authorization")))

    def do_POST(self) -> None:
        length = self.headers.get("content-length", "")
        if not length.isdecimal() or int(length) > MAX_REQUEST:
            self.close_connection = True
            return self._send(_Answer(400, {}, "", "none"))
        body = self.rfile.read(int(length)).decode("utf-8", "replace")
        return self._send(self.demo.answer("POST", self.path, body, self.headers.get("authorization")))

    def _send(self, answer: _Answer) -> None:
        self.send_response_only(answer.status)
        for name, value in {**answer.headers, RECORDING_HEADER: answer.recording}.items():
            self.send_header(name, value)
        data = answer.body.encode()
        if not answer.headers.get("content-type", "").startswith("text/event-stream"):
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)
            return
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for event in data.split(b"\n\n"):
            if event:
                self.wfile.write(b"%x\r\n%s\n\n\r\n" % (len(event) + 2, event))
        self.wfile.write(b"0\r\n\r\n")

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: what was answered is in `used`."""
