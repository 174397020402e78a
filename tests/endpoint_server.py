"""Servers on loopback for the tests of collect: a small engine of canned answers, and ports that misbehave."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answer = tuple[int, dict[str, str], bytes | Iterator[bytes]]
"""Status, headers, and a body: whole, or in pieces as long as the client reads."""
Route = Callable[["Asked"], Answer]


class Asked:
    """One request as the server got it."""

    def __init__(self, method: str, path: str, headers: dict[str, str], body: Any) -> None:
        self.method, self.path, self.headers, self.body = method, path, headers, body


class Engine:
    """Answers by `METHOD /path`; everything else is a 404. `asked` holds every request."""

    def __init__(self, routes: dict[str, Route]) -> None:
        self.routes = routes
        self.asked: list[Asked] = []
        engine = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            timeout = 20

            def do_GET(self) -> None:
                engine._answer(self)

            def do_POST(self) -> None:
                engine._answer(self)

            def log_message(self, format: str, *args: Any) -> None:
                """Tests look at `asked`."""

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            block_on_close = False
            request_queue_size = 64  # probes come side by side

        self._http = Server(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True)

    @property
    def port(self) -> int:
        return int(self._http.server_address[1])

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def paths(self) -> list[str]:
        return [f"{asked.method} {asked.path}" for asked in self.asked]

    def __enter__(self) -> Engine:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()

    def _answer(self, handler: BaseHTTPRequestHandler) -> None:
        length = int(handler.headers.get("content-length") or 0)
        raw = handler.rfile.read(length)
        headers = {name.lower(): value for name, value in handler.headers.items()}
        asked = Asked(handler.command, handler.path, headers, json.loads(raw) if raw else None)
        self.asked.append(asked)
        route = self.routes.get(f"{handler.command} {handler.path}")
        status, more, body = (404, {}, b'{"detail":"Not Found"}') if route is None else route(asked)
        with contextlib.suppress(ConnectionError):  # a client that has had enough goes away
            handler.send_response(status)
            for name, value in more.items():
                handler.send_header(name, value)
            if isinstance(body, bytes):
                handler.send_header("content-length", str(len(body)))
                handler.end_headers()
                handler.wfile.write(body)
            else:
                handler.send_header("connection", "close")
                handler.close_connection = True
                handler.end_headers()
                for piece in body:
                    handler.wfile.write(piece)


def as_json(data: Any, status: int = 200, **headers: str) -> Route:
    return lambda asked: (status, {"content-type": "application/json", **headers}, json.dumps(data).encode())


def as_text(text: str, status: int = 200, media: str = "text/plain") -> Route:
    return lambda asked: (status, {"content-type": media}, text.encode())


def as_stream(*events: Any) -> Route:
    """Server-sent events, ended with [DONE]."""

    def pieces() -> Iterator[bytes]:
        for event in events:
            yield b"data: " + json.dumps(event).encode() + b"\n\n"
        yield b"data: [DONE]\n\n"

    return lambda asked: (200, {"content-type": "text/event-stream"}, pieces())


def chat_events(text: str, tokens: int = 9) -> list[dict[str, Any]]:
    usage = {"prompt_tokens": 5, "completion_tokens": tokens, "total_tokens": 5 + tokens}
    return [
        {"choices": [{"index": 0, "delta": {"role": "assistant", "content": text}}]},
        {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
        {"choices": [], "usage": usage},
    ]


def metrics(running: int, tokens: int) -> str:
    return (
        f'vllm:num_requests_running{{engine="0"}} {running}.0\nvllm:generation_tokens_total{{engine="0"}} {tokens}.0\n'
    )


def vllm(**changes: Route) -> dict[str, Route]:
    """A healthy vLLM. Keys of `changes` are its routes, with `_` for a slash or a blank: `get_v1_models`."""
    counted = iter(range(100, 10_000, 7))
    routes: dict[str, Route] = {
        "GET /health": as_text(""),
        "GET /v1/models": as_json({"object": "list", "data": [{"id": "served", "owned_by": "vllm"}]}),
        "GET /version": as_json({"version": "0.33.0"}),
        "GET /metrics": lambda asked: as_text(metrics(0, next(counted)))(asked),
        "POST /tokenize": as_json({"count": 3, "max_model_len": 2048, "tokens": [1, 2, 3]}),
        "POST /detokenize": as_json({"prompt": "<|user|>\nhi<|assistant|>\n"}),
        "POST /v1/chat/completions": as_stream(*chat_events("4.")),
        "POST /v1/completions": as_stream({"choices": [{"index": 0, "text": "4."}]}),
    }
    by_key = {name.lower().replace(" /", "_").replace("/", "_"): name for name in routes}
    for key, route in changes.items():
        routes[by_key[key]] = route
    return routes


@contextlib.contextmanager
def listening(serve: Callable[[socket.socket], None]) -> Iterator[int]:
    """A raw port: `serve` gets every accepted connection, in a thread of its own."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(64)
        open_ones: list[socket.socket] = []

        def accept() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                open_ones.append(connection)
                threading.Thread(target=quietly, args=(connection,), daemon=True).start()

        def quietly(connection: socket.socket) -> None:
            with contextlib.suppress(OSError):
                serve(connection)

        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        try:
            yield listener.getsockname()[1]
        finally:
            with contextlib.suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            listener.close()
            thread.join()
            for connection in open_ones:
                connection.close()


def silent(connection: socket.socket) -> None:
    """Accepts, reads, and never answers."""
    while connection.recv(65536):
        pass


def reset(connection: socket.socket) -> None:
    """Closes so that the client sees a reset."""
    connection.recv(65536)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")
    connection.close()


def saying(data: bytes, *, then: Callable[[socket.socket], None] | None = None) -> Callable[[socket.socket], None]:
    """Reads the request, says `data`, and closes, or goes on with `then`."""

    def serve(connection: socket.socket) -> None:
        connection.recv(65536)
        connection.sendall(data)
        if then is not None:
            then(connection)
        else:
            connection.close()

    return serve
