"""The server of sessions: TLS and a token, bounds, and a process for each session."""
# pyright: reportMissingModuleSource=false

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Event, Lock, Thread
from time import monotonic
from typing import Any, NamedTuple, cast

from stepwell.runtime.errors import StepwellError
from stepwell.runtime.frames import BadFrame, Frame
from stepwell.runtime.packages import needed
from stepwell.runtime.rpc.attempts import Attempts
from stepwell.runtime.rpc.identity import Address
from stepwell.runtime.rpc.messages import CHUNK_BYTES, MAX_MESSAGE_BYTES, head_of, packed
from stepwell.runtime.rpc.session import Limits, Session
from stepwell.runtime.server.protection import expect_protected

SERVICE, METHOD = "stepwell.rpc", "session"
MAX_SESSIONS = 8
IDLE_SECONDS = 60.0
_KEEPALIVE_MS = 5000
_TICK_SECONDS = 0.5


class ServerOptions(NamedTuple):
    """The address of a server, its secrets, and its bounds."""

    address: Address
    token: str
    key_and_certificate: tuple[bytes, bytes] | None
    """None: without TLS, on the loopback interface only."""
    limits: Limits = Limits()
    sessions: int = MAX_SESSIONS
    idle_seconds: float = IDLE_SECONDS
    log: Callable[[str], None] = lambda line: print(line, file=sys.stderr, flush=True)


class _Open(NamedTuple):
    """A session with its call."""

    session: Session
    context: Any
    began: float
    last: list[float]
    """The time of the last message; infinite while a request is answered."""


class RpcServer:
    """A listening server; `close` ends it with its sessions."""

    def __init__(self, options: ServerOptions):
        """Raises: StepwellError `insecure-address`, `cannot-serve`, `missing-package`."""
        with needed("a server of sessions", install="'stepwell[rpc]'"):
            import grpc
        self._grpc, self._options = grpc, options
        self._attempts = Attempts(options.token)
        self._lock = Lock()
        self._open: list[_Open] = []
        self._ended = Event()
        expect_secure(options.address.host, options.key_and_certificate is not None)
        self._server = grpc.server(
            ThreadPoolExecutor(options.sessions + 4),
            options=[
                ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
                ("grpc.keepalive_time_ms", _KEEPALIVE_MS),
                ("grpc.keepalive_timeout_ms", _KEEPALIVE_MS),
                ("grpc.so_reuseport", 0),
                ("grpc.max_concurrent_streams", options.sessions + 4),
            ],
        )
        handlers: Any = {METHOD: cast(Any, grpc).stream_stream_rpc_method_handler(self._session)}
        self._server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, handlers),))
        self.address = options.address._replace(port=self._listen())
        self._server.start()
        Thread(target=self._watch, daemon=True).start()

    def _listen(self) -> int:
        place, secrets = str(self._options.address), self._options.key_and_certificate
        try:
            if secrets is None:
                return self._server.add_insecure_port(place)
            return self._server.add_secure_port(place, self._grpc.ssl_server_credentials([secrets]))
        except RuntimeError as error:
            raise StepwellError("cannot-serve", None, f"cannot listen on {place}: {error}") from None

    def close(self) -> None:
        """End all sessions and stop listening."""
        self._ended.set()
        reason = StepwellError("session-died", None, "the server ended")
        for opened in list(self._open):
            opened.session.stop(reason)
        self._server.stop(1).wait()

    def _session(self, requests: Iterator[bytes], context: Any) -> Iterator[bytes]:
        """The answers to the requests of a session."""
        opened = self._opened(context)
        context.add_callback(
            lambda: opened.session.stop(StepwellError("session-died", None, "the client is gone"))
        )
        try:
            yield from _parts(Frame({"protocol": 1}, b""))
            while (request := self._received(requests)) is not None:
                opened.last[0] = float("inf")
                yield from _parts(opened.session.answer(*request))
                opened.last[0] = monotonic()
        except BadFrame as error:
            self._options.log(f"{context.peer()}: {error}")
            context.abort(self._grpc.StatusCode.INVALID_ARGUMENT, str(error))
        finally:
            with self._lock:
                self._open.remove(opened)
            opened.session.close()

    def _opened(self, context: Any) -> _Open:
        """A new session; the call is aborted where it is refused."""
        codes = self._grpc.StatusCode
        given = dict(context.invocation_metadata()).get("authorization", "")
        token = given.removeprefix("Bearer ") if isinstance(given, str) else ""
        if refusal := self._attempts.refusal(context.peer().rpartition(":")[0], token):
            self._options.log(f"{context.peer()}: refused: {refusal}")
            context.abort(codes.UNAUTHENTICATED, refusal)
        with self._lock:
            if len(self._open) >= self._options.sessions:
                context.abort(codes.RESOURCE_EXHAUSTED, f"all {self._options.sessions} sessions are in use")
            opened = _Open(Session(self._options.limits), context, monotonic(), [monotonic()])
            self._open.append(opened)
        return opened

    def _received(self, requests: Iterator[bytes]) -> Frame | None:
        """The next message; None at the end. Raises: BadFrame."""
        first = next(requests, None)
        if first is None:
            return None
        head, size, rest = head_of(first, self._options.limits.max_bytes)
        if len(rest) == size:
            return Frame(head, rest)
        body = bytearray(rest)
        while len(body) < size:
            if (part := next(requests, None)) is None:
                return None
            if not part or len(body) + len(part) > size:
                raise BadFrame(f"a message of {size} bytes has parts of other sizes")
            body += part
        return Frame(head, bytes(body))

    def _watch(self) -> None:
        """End sessions that are idle, or over their time."""
        most = self._options.limits.session_seconds or float("inf")
        while not self._ended.wait(_TICK_SECONDS):
            now = monotonic()
            for opened in list(self._open):
                is_idle = now - opened.last[0] > self._options.idle_seconds
                if is_idle or (now - opened.began > most and opened.last[0] != float("inf")):
                    opened.context.cancel()


def _parts(frame: Frame) -> Iterator[bytes]:
    yield packed(frame.head, frame.body)
    for at in range(CHUNK_BYTES, len(frame.body), CHUNK_BYTES):
        yield frame.body[at : at + CHUNK_BYTES]


def expect_secure(host: str, has_tls: bool) -> None:
    """Require TLS where other machines can connect. Raises: StepwellError `insecure-address`."""
    expect_protected(host, has_token=True, has_tls=has_tls, tls_help="leave `--insecure` out")
