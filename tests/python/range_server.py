"""A web server for tests that gives parts of files, and of which each file can misbehave in its own way."""

from __future__ import annotations

import contextlib
import http.server
import os
import re
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Served:
    """A file: its bytes, or the path of a local file with them."""

    content: bytes | str
    tag: Callable[[int], str] | str = '"1"'  # by the number of the request, from 0
    latency: float = 0.0  # seconds before each answer
    misbehave: Callable[[int, Any], bool] | None = None  # given the number and the request's handler: true if it has answered
    ranges: bool = True
    requests: list[str] = field(default_factory=list)  # the ranges that were asked for
    sent: int = 0  # bytes of content
    heads: list[dict[str, str]] = field(default_factory=list)  # of the requests


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: Any) -> None:
        pass

    def do_GET(self) -> None:
        served: Served | None = self.server.files.get(self.path.split("?")[0])  # type: ignore[attr-defined]
        if served is None:
            return self.send_error(404)
        with self.server.lock:  # type: ignore[attr-defined]
            number = len(served.requests)
            served.requests.append(self.headers.get("Range", ""))
            served.heads.append(dict(self.headers))
        time.sleep(served.latency)
        if served.misbehave is not None and served.misbehave(number, self):
            return
        size = len(served.content) if isinstance(served.content, bytes) else os.path.getsize(served.content)
        found = re.fullmatch(r"bytes=(\d*)-(\d*)", self.headers.get("Range", "")) if served.ranges else None
        start, end = 0, size
        if found is not None:
            start = max(0, size - int(found[2])) if not found[1] else int(found[1])
            end = size if not found[1] or not found[2] else min(size, int(found[2]) + 1)
        self.send_response(206 if found is not None else 200)
        tag = served.tag if isinstance(served.tag, str) else served.tag(number)
        if tag:
            self.send_header("ETag", tag)
        self.send_header("Content-Length", str(end - start))
        if found is not None:
            self.send_header("Content-Range", f"bytes {start}-{end - 1}/{size}")
        self.end_headers()
        served.sent += end - start
        if isinstance(served.content, bytes):
            self.wfile.write(served.content[start:end])
        else:
            with open(served.content, "rb") as file:
                file.seek(start)
                while start < end:
                    piece = file.read(min(1 << 20, end - start))
                    self.wfile.write(piece)
                    start += len(piece)


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: Any) -> None:  # a client that hung up
        pass


@contextlib.contextmanager
def serve(files: dict[str, Served]) -> Iterator[str]:
    """Yield the URL under which the files are served by their paths ("/model.pt2")."""
    server: Any = _Server(("127.0.0.1", 0), _Handler)
    server.files, server.lock = files, threading.Lock()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
