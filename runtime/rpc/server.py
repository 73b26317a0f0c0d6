"""The server of sessions: bounds, and a process for each session."""

from __future__ import annotations

from contextlib import nullcontext
from threading import Event, Lock, Thread
from time import monotonic
from typing import NamedTuple

from stepwell.runtime.errors import StepwellError
from stepwell.runtime.rpc.channels import ALIVE, BEAT_SECONDS
from stepwell.runtime.rpc.identity import Address
from stepwell.runtime.rpc.listening import Call, Listener, Listening, Log, log_to_stderr
from stepwell.runtime.rpc.session import Limits, Session

SERVICE, METHOD = "stepwell.rpc", "session"
PROTOCOL = 3
MAX_SESSIONS = 8
IDLE_SECONDS = 60.0
_TICK_SECONDS = 0.5
_TIMINGS = ("time", "compare", "tiles")


class ServerOptions(NamedTuple):
    """The address of a server, its secrets, and its bounds."""

    address: Address
    token: str
    key_and_certificate: tuple[bytes, bytes] | None
    """None: without TLS, on the loopback interface only."""
    limits: Limits = Limits()
    sessions: int = MAX_SESSIONS
    idle_seconds: float = IDLE_SECONDS
    log: Log = log_to_stderr


class _Open(NamedTuple):
    """A session with its call."""

    session: Session
    call: Call
    began: float
    last: list[float]
    """The time of the last message; infinite while a request is answered."""


class RpcServer:
    """A listening server; `close` ends it with its sessions."""

    def __init__(self, options: ServerOptions):
        """Raises: StepwellError `insecure-address`, `cannot-serve`."""
        self._options = options
        self._lock = Lock()
        self._timing = Lock()
        """One measurement at a time: others would disturb it."""
        self._open: list[_Open] = []
        self._ended = Event()
        listener = Listener(options.address, options.token, options.key_and_certificate, options.log)
        self._listening = Listening(listener, SERVICE, {METHOD: self._session}, options.sessions)
        self.address = self._listening.address
        Thread(target=self._watch, daemon=True).start()

    def close(self) -> None:
        """End all sessions and stop listening."""
        self._ended.set()
        reason = StepwellError("session-died", None, "the server ended")
        for opened in list(self._open):
            opened.session.stop(reason)
        self._listening.close()

    def allow(self, token: str) -> None:
        """Open sessions for one more token."""
        self._listening.tokens.allow(token)

    def revoke(self, token: str) -> None:
        """End a token of `allow`, and its sessions."""
        self._listening.tokens.revoke(token)
        for opened in list(self._open):
            if opened.call.token == token:
                opened.session.stop(StepwellError("session-died", None, "the device was taken back"))
                opened.call.wire.end()

    def _session(self, call: Call) -> None:
        """Answer the requests of a session."""
        opened = self._opened(call)
        call.when_gone(lambda: opened.session.stop(StepwellError("session-died", None, "the client is gone")))
        ended = Event()
        Thread(target=_show_life, args=(opened, ended), daemon=True).start()
        try:
            call.wire.send({"protocol": PROTOCOL})
            while (request := call.wire.receive(self._options.limits.max_bytes)) is not None:
                opened.last[0] = float("inf")
                with self._timing if request.head.get("op") in _TIMINGS else nullcontext():
                    answer = opened.session.answer(*request, request.line)
                call.wire.send(*answer, answer.line)
                opened.last[0] = monotonic()
        finally:
            ended.set()
            with self._lock:
                self._open.remove(opened)
            opened.session.close()

    def _opened(self, call: Call) -> _Open:
        """A new session. Raises: StepwellError `too-many`; OSError."""
        with self._lock:
            if len(self._open) >= self._options.sessions:
                message = f"all {self._options.sessions} sessions are in use"
                raise StepwellError("too-many", None, message)
            opened = _Open(Session(self._options.limits), call, monotonic(), [monotonic()])
            self._open.append(opened)
        return opened

    def _watch(self) -> None:
        """End sessions that are idle, or over their time."""
        most = self._options.limits.session_seconds or float("inf")
        while not self._ended.wait(_TICK_SECONDS):
            now = monotonic()
            for opened in list(self._open):
                is_idle = now - opened.last[0] > self._options.idle_seconds
                if is_idle or (now - opened.began > most and opened.last[0] != float("inf")):
                    opened.call.wire.end()


def _show_life(opened: _Open, ended: Event) -> None:
    """Show the client of a session signs of life while a request is answered."""
    while not ended.wait(BEAT_SECONDS):
        if opened.last[0] == float("inf"):
            try:
                opened.call.wire.send({ALIVE: True})
            except OSError:
                return
