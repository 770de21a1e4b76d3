"""A real local HTTP server that can cut connections, ignore ranges and count requests."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Site:
    """What the server offers, how it misbehaves, and which requests it got.

    Attributes:
        files: the content by path.
        headers: further headers of the answer, by path.
        requests: the method, the path and the header ``Range`` of each request.
        cut_after: the number of bytes after which each of the next answers is cut.
        ranges: whether the server answers requests for ranges.
        status: the statuses of the next answers; 0 for a normal answer.
        url: the address of the server.
        lock: held while lists are changed, since each request has a thread.
    """

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.headers: dict[str, dict[str, str]] = {}
        self.requests: list[tuple[str, str, str | None]] = []
        self.cut_after: list[int] = []
        self.ranges = True
        self.status: list[int] = []
        self.url = ""
        self.lock = threading.Lock()


@contextmanager
def serve() -> Iterator[Site]:
    """Yield a site without files, which is served on this machine while the block runs."""
    site = Site()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *args: object) -> None:
            pass

        def do_HEAD(self) -> None:
            self._answer(body=False)

        def do_GET(self) -> None:
            self._answer(body=True)

        def _answer(self, *, body: bool) -> None:
            path = self.path.split("?")[0]
            requested_range = self.headers.get("Range")
            with site.lock:
                site.requests.append((self.command, path, requested_range))
                status = site.status.pop(0) if site.status else 0
                cut = site.cut_after.pop(0) if body and site.cut_after else None
            content = site.files.get(path)
            if status or content is None:
                self._head(status or 404, {"Content-Length": "0"})
                return
            extra = dict(site.headers.get(path, {}))
            start, code = 0, 200
            if requested_range and site.ranges:
                start, code = int(requested_range.removeprefix("bytes=").split("-")[0]), 206
                if start >= len(content):
                    self._head(416, {"Content-Length": "0"})
                    return
                extra["Content-Range"] = f"bytes {start}-{len(content) - 1}/{len(content)}"
            part = content[start:]
            extra.setdefault("ETag", f'"{hashlib.sha1(content).hexdigest()}"')
            self._head(code, {"Content-Length": str(len(part)), **extra})
            if body:
                self.wfile.write(part if cut is None else part[:cut])
                self.wfile.flush()
                if cut is not None:
                    self.close_connection = True
                    self.connection.close()

        def _head(self, code: int, headers: dict[str, str]) -> None:
            self.send_response(code)
            for key, value in headers.items():
                self.send_header(key, value)
            self.end_headers()

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    site.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield site
    finally:
        server.shutdown()
        server.server_close()
