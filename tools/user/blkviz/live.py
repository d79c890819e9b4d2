# SPDX-License-Identifier: GPL-2.0
"""`blkviz --live`: serves a page on the loopback that grows while the trace runs.

blktrace writes to a pipe. When a page requests newer data, all data received so far is
parsed again, at most once a second. Above LIMIT bytes the oldest data is dropped, except
the names of processes and the wall clock, which blktrace writes only once.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import IO, Any
from urllib.parse import parse_qs, urlparse

from tools.base.cli import ToolError

from . import blktrace_format as fmt
from . import capture, html, model, parse
from .errors import NoTraceError
from .parse import Source
from .trace_files import Notes

LIMIT = 64 << 20
PAUSE_S = 1.0


class Recording:
    """The data received through the pipe so far."""

    def __init__(self, stream: IO[bytes], title: str) -> None:
        self.title = title
        self.stream = stream
        self.data = bytearray()
        self.forgotten = 0
        self.notes = Notes()
        self.ended = False
        self.lock = threading.Lock()
        self.made: tuple[int, dict[str, Any]] | None = None
        self.made_at = 0.0
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        while chunk := os.read(self.stream.fileno(), 1 << 16):
            with self.lock:
                self.data += chunk
                if len(self.data) > LIMIT:
                    self._forget()
        self.ended = True

    def _forget(self) -> None:
        """Drop the oldest quarter, up to the beginning of a record."""
        keep = fmt.ANY_MAGIC.search(self.data, LIMIT // 4)
        cut = keep.start() if keep else len(self.data)
        old = parse.parse([Source(self.title, bytes(self.data[:cut]))]).events
        # a new object: another thread may be using the old one
        self.notes = Notes(names=self.notes.names | model.names(old), clock=self.notes.clock or model.clock(old))
        self.forgotten += cut
        del self.data[:cut]

    @property
    def version(self) -> int:
        return self.forgotten + len(self.data)

    def payload(self) -> dict[str, Any] | None:
        """The current data of the page; None while there are no events."""
        with self.lock:
            version, data, forgotten, notes = self.version, bytes(self.data), self.forgotten, self.notes
        if self.made and (self.made[0] == version or time.monotonic() - self.made_at < PAUSE_S):
            return self.made[1]
        # leave out an incomplete record at the end
        whole = data[:parse.scan(data, final=False).consumed] if not self.ended else data
        if not parse.is_trace(whole):
            return None
        try:
            found = model.build(parse.parse([Source(self.title, whole)]), notes)
        except NoTraceError:
            return None
        if forgotten:
            found.problems.append(f"the oldest {forgotten} bytes were dropped: the page shows the last "
                                  f"{len(data)} bytes")
        made = html.payload(found, self.title, live=True, version=version)
        self.made, self.made_at = (version, made), time.monotonic()
        return made


WAITING = """<!DOCTYPE html><html lang="en"><meta charset="utf-8"><meta http-equiv="refresh" content="1">
<title>blkviz</title><p>No events recorded yet.</p></html>"""


def handler(source: Recording) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:  # noqa: N802
            asked = urlparse(self.path)
            data = source.payload()
            if asked.path == "/":
                self.answer("text/html; charset=utf-8", html.render(data) if data else WAITING)
            elif asked.path == "/data":
                after = parse_qs(asked.query).get("after", ["0"])[0]
                if data is None or str(data["head"]["version"]) == after:
                    self.send_response(204)
                    self.end_headers()
                else:
                    self.answer("application/json", json.dumps(data))
            else:
                self.send_error(404)

        def answer(self, kind: str, text: str) -> None:
            body = text.encode()
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Cache-Control", "no-store")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: object) -> None:
            pass

    return Handler


def serve(device: str, port: int) -> int:
    """Serve until interrupted, then switch the messages off again."""
    with ExitStack() as stack:
        if device == "-":
            stream: IO[bytes] = sys.stdin.buffer
        else:
            stream = _tracer(device, stack)
        try:
            server = ThreadingHTTPServer(("127.0.0.1", port), handler(Recording(stream, device)))
        except OSError as error:
            raise ToolError(f"port {port}: {error.strerror}: choose another one with --port") from None
        server.daemon_threads = True
        stack.callback(server.server_close)
        print(f"http://127.0.0.1:{server.server_port}/ (stop with Ctrl-C)", flush=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            return 0
    return 0


def _tracer(device: str, stack: ExitStack) -> IO[bytes]:
    if not shutil.which("blktrace"):
        raise ToolError("blktrace is not installed (Debian: apt install blktrace)")
    path, name = capture.device_of(device)
    stack.enter_context(capture.vfs_messages(name, None))
    tracer = subprocess.Popen(["blktrace", "-d", str(path), "-o", "-"], stdout=subprocess.PIPE, start_new_session=True)

    def end() -> None:
        # the pipe stays open: blktrace writes its last data, which the reader still takes
        tracer.send_signal(signal.SIGINT)
        tracer.wait()

    stack.callback(end)
    assert tracer.stdout
    return tracer.stdout
