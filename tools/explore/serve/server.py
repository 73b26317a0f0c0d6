"""The server of the playground: the explorer's page, and tries of edited kernels, for this machine alone."""

from __future__ import annotations

import json
import re
import signal
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socket import socket
from threading import BoundedSemaphore
from typing import Any, cast

from stepwell.runtime.errors import StepwellError
from stepwell.runtime.server.guard import HOST, Guard
from stepwell.tools.explore.kernel_steps import Data
from stepwell.tools.explore.serve.tries import Tries

MAX_BODY_BYTES = 1 << 20
MAX_CONNECTIONS = 32
_PLACE = re.compile(r":(?P<line>\d+):(?P<column>\d+)$")
_ID = re.compile(
    r"/api/kernel/(?P<kernel>k\d{1,9})(?P<rest>/try)?|/api/try/(?P<number>\d{1,9})/(?P<act>file|keep)"
)
_CODES = {"no-value": HTTPStatus.NOT_FOUND}


@dataclass(frozen=True)
class Site:
    """The content of a server: the page, the explorer's data by kernel, and the tries."""

    page: bytes
    data: Mapping[str, object]
    tries: Tries

    def kernels(self) -> list[Data]:
        """The kernels, each with the nodes and the median time of its first call in microseconds."""
        names = {node["id"]: node["name"] for node in cast("list[Data]", self.data["nodes"])}
        calls = {call["id"]: call for call in cast("list[Data]", self.data["calls"])}
        found: list[Data] = []
        for kernel in cast("list[Data]", self.data["kernels"]):
            call = calls[cast("list[object]", kernel["calls"])[0]]
            us = cast("Mapping[str, float] | None", call["us"])
            nodes = [names[id] for id in cast("list[object]", call["nodes"])]
            row = {"id": kernel["id"], "symbol": kernel["symbol"], "nodes": nodes}
            found.append(row | {"us": None if us is None else us["median"]})
        return found

    def kernel(self, id: str) -> Mapping[str, object]:
        """The data of a kernel. Raises: StepwellError `no-value`."""
        for kernel in cast("list[Data]", self.data["kernels"]):
            if kernel["id"] == id:
                return kernel
        raise StepwellError("no-value", None, f"the model has no kernel {id!r}")


class Server(ThreadingHTTPServer):
    """A server on the loopback interface, with a bound on its connections."""

    daemon_threads = True

    def __init__(self, site: Site, port: int = 0):
        """Args: `port` 0 is any free one. Raises: StepwellError `cannot-serve`."""
        self.site = site
        self._free = BoundedSemaphore(MAX_CONNECTIONS)
        try:
            super().__init__((HOST, port), _Handler)
        except (OSError, OverflowError) as error:
            reason = getattr(error, "strerror", None) or error
            message = f"no server can be started on port {port}: {reason}"
            raise StepwellError("cannot-serve", None, message) from None
        self.guard = Guard(self.server_port)

    @property
    def url(self) -> str:
        """The address of the page, with the token where no server sees it."""
        return f"http://{HOST}:{self.server_port}/#token={self.guard.token}"

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer a request on a thread; above the bound on connections it is refused."""
        if self._free.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Answer a request."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()

    def handle_error(self, request: socket | tuple[bytes, socket], client_address: Any) -> None:
        """Say nothing of a connection that ended early."""

    def run(self, started: Callable[[], object]) -> None:
        """Call `started`, and serve until Ctrl-C or SIGTERM; all processes have ended then."""
        before = signal.signal(signal.SIGTERM, signal.default_int_handler)
        try:
            started()
            self.serve_forever()
        except KeyboardInterrupt:
            pass
        finally:
            signal.signal(signal.SIGTERM, before)
            self.server_close()
            self.site.tries.close()


class _Refused(Exception):
    """A request that gets a status and no answer."""

    def __init__(self, status: HTTPStatus):
        self.status = status
        super().__init__(status.phrase)


class _Handler(BaseHTTPRequestHandler):
    server: Server  # pyright: ignore[reportIncompatibleVariableOverride]  # as the standard library's docs do
    timeout = 30
    server_version, sys_version = "stepwell", ""

    def do_GET(self) -> None:
        self._served(self._get)

    def do_POST(self) -> None:
        self._served(self._post)

    def _do_nothing(self) -> None:
        self._served(self._nothing)

    do_PUT = do_DELETE = do_PATCH = do_OPTIONS = do_HEAD = _do_nothing

    def _nothing(self) -> object:
        raise _Refused(HTTPStatus.NOT_FOUND)

    def log_message(self, format: str, *args: Any) -> None:
        """Print no requests."""

    def _served(self, answer: Callable[[], object]) -> None:
        """Send an answer: the page, text, or JSON; 422 with the error of an edit."""
        try:
            self._expect_right()
            found = answer()
        except _Refused as refused:
            self._send(refused.status, "text/plain; charset=utf-8", f"{refused}\n".encode())
            return
        except StepwellError as error:
            status = _CODES.get(error.code, HTTPStatus.UNPROCESSABLE_ENTITY)
            self._send(status, "application/json", json.dumps({"error": error_data(error)}).encode())
            return
        if isinstance(found, bytes):
            self._send(HTTPStatus.OK, "text/html; charset=utf-8", found)
        elif isinstance(found, str):
            self._send(HTTPStatus.OK, "text/plain; charset=utf-8", found.encode())
        else:
            self._send(HTTPStatus.OK, "application/json", json.dumps(found, allow_nan=False).encode())

    def _expect_right(self) -> None:
        is_api = self.path.startswith("/api/")
        status = self.server.guard.refusal(cast("Mapping[str, str]", self.headers), needs_token=is_api)
        if status is not None:
            raise _Refused(status)

    def _get(self) -> object:
        site = self.server.site
        if self.path == "/":
            return site.page
        if self.path == "/api/kernels":
            return site.kernels()
        match = _ID.fullmatch(self.path)
        if match is not None and match["kernel"] and not match["rest"]:
            return site.kernel(match["kernel"])
        if match is not None and match["act"] == "file":
            return site.tries.file(int(match["number"]))
        raise _Refused(HTTPStatus.NOT_FOUND)

    def _post(self) -> object:
        match, tries = _ID.fullmatch(self.path), self.server.site.tries
        if match is not None and match["rest"]:
            return tries.run(match["kernel"], self._body())
        if match is not None and match["act"] == "keep":
            return tries.keep(int(match["number"]), self._body())
        raise _Refused(HTTPStatus.NOT_FOUND)

    def _body(self) -> object:
        """The JSON value of the request's body."""
        length = self.headers.get("Content-Length", "")
        if not (length.isascii() and length.isdecimal()):
            raise _Refused(HTTPStatus.LENGTH_REQUIRED)
        if len(length) > 9 or int(length) > MAX_BODY_BYTES:
            raise _Refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
        try:
            return json.loads(self.rfile.read(int(length)))
        except (ValueError, RecursionError):
            raise _Refused(HTTPStatus.BAD_REQUEST) from None

    def _send(self, status: HTTPStatus, type: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", type)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("Content-Security-Policy", "frame-ancestors 'none'")
        self.send_header("Referrer-Policy", "no-referrer")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.end_headers()
        self.wfile.write(body)


def error_data(error: StepwellError) -> Data:
    """An error as JSON values, with the line and column of the edited text where it names them."""
    place = _PLACE.search(error.where or "")
    return {
        "code": error.code,
        "message": error.message,
        "where": error.where,
        "line": None if place is None else int(place["line"]),
        "column": None if place is None else int(place["column"]),
        "help": error.help,
        "notes": list(error.notes),
    }
