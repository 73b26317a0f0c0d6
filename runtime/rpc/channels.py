"""Connections to servers: a known certificate, a token, and messages in turns."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Mapping
from hashlib import sha256
from threading import Event, Lock, Thread
from typing import Any, NamedTuple, cast

from stepwell.runtime.errors import StepwellError
from stepwell.runtime.frames import BadFrame, Frame
from stepwell.runtime.json_values import as_mapping
from stepwell.runtime.rpc.identity import SERVER_NAME, Address, checked_fingerprint, known_server
from stepwell.runtime.rpc.wire import STUCK_SECONDS, Wire, new_context

MAX_ANSWER_BYTES = 1 << 32
BEAT_SECONDS = 3.0
"""The interval at which a long call reports that its process runs; without a report the call ends."""
SILENT_SECONDS = 15.0
"""After this time without a report during a request, a server counts as stopped."""
ALIVE = "alive"
"""The head of messages by which a server shows that it is at work on a request."""


class Secrets(NamedTuple):
    """The secrets of a server that a client has: its token, and the fingerprint of its certificate."""

    token: str
    fingerprint: str | None
    """None: without TLS."""


def known_secrets(address: Address, token: str | None, fingerprint: str | None) -> Secrets:
    """The given secrets of a server, or those known. Raises: StepwellError `bad-token`, `bad-certificate`."""
    known = known_server(address)
    token, fingerprint = token or known.token, fingerprint or known.fingerprint
    if token is None:
        raise StepwellError("bad-token", None, f"no token is known for {address}")
    if fingerprint is None:
        raise StepwellError("bad-certificate", None, f"no fingerprint is known for {address}")
    return Secrets(token, checked_fingerprint(fingerprint))


class Channel:
    """A way to a server, for calls of its methods: each has a connection of its own."""

    def __init__(self, address: Address, secrets: Secrets, timeout: float):
        """Args: `timeout` in seconds is for each connection."""
        self._address, self._secrets, self._timeout = address, secrets, timeout
        self._streams: list[Stream] = []
        self._lock = Lock()
        self._is_closed = False

    def call(self, service: str, method: str, *, beats: bool = False) -> Stream:
        """
        A call of a method. Args: `beats`: whether it shows regularly that this process runs.

        Raises: StepwellError `no-server`, `bad-certificate`.
        """
        if self._is_closed:
            raise StepwellError("session-died", None, f"the connection to {self._address} was closed here")
        wire = _connected(self._address, self._secrets.fingerprint, self._timeout)
        stream = Stream(wire, self._address)
        self._forget_ended()
        with self._lock:
            self._streams.append(stream)
        stream.send({"call": f"{service}/{method}", "token": self._secrets.token})
        if self._is_closed:  # meanwhile, by another thread
            stream.close()
        if beats:
            Thread(target=stream.beat, daemon=True).start()
        return stream

    def ask(self, service: str, method: str, head: Mapping[str, object], seconds: float) -> Frame:
        """The one answer of a method. Raises: StepwellError."""
        stream = self.call(service, method)
        try:
            return stream.ask(head, seconds=seconds)
        finally:
            stream.close()
            self._forget_ended()

    def _forget_ended(self) -> None:
        """Close the sockets of calls that have ended."""
        with self._lock:
            self._streams = [stream for stream in self._streams if not stream.has_ended]

    def close(self) -> None:
        """End all calls."""
        self._is_closed = True
        for stream in self._streams:
            stream.close()
        self._forget_ended()


class Stream:
    """A call of a server's method: messages both ways."""

    def __init__(self, wire: Wire, place: Address):
        self.wire, self._place = wire, place
        self._lock = Lock()
        self._closed = Event()
        self._is_answered = False

    @property
    def has_ended(self) -> bool:
        """Whether it was closed here."""
        return self._closed.is_set()

    def ask(self, head: Mapping[str, object], body: bytes = b"", seconds: float | None = None) -> Frame:
        """
        The answer to a request. Args: `seconds` is the longest time to wait for the server.

        Raises: StepwellError of a call that has ended, `no-server`.
        """
        with self._lock:
            self.send(head, body)
            return self.receive(seconds)

    def ask_session(self, head: Mapping[str, object], body: bytes = b"") -> Frame:
        """
        The answer to a request to a session, maybe after long: meanwhile the server shows signs of life.

        Raises: StepwellError of a call that has ended, `session-died` where the server shows nothing.
        """
        with self._lock:
            self.send(head, body)
            while ALIVE in (answer := self.receive(silent=SILENT_SECONDS)).head:
                pass
            return answer

    def send(self, head: Mapping[str, object], body: bytes = b"") -> None:
        """Send a message. Raises: StepwellError of a call that has ended."""
        try:
            self.wire.send(head, body)
        except TimeoutError:
            raise self._silent(STUCK_SECONDS) from None
        except OSError:
            self.receive(SILENT_SECONDS)  # the reason, which the server has sent
            raise self._ended() from None

    def receive(self, seconds: float | None = None, silent: float | None = None) -> Frame:
        """
        The next message. Args: `seconds` is the longest time to wait for it, `silent` for a byte of it.

        Raises: StepwellError of a call that has ended, `no-server`, `session-died` after silence.
        """
        try:
            answer = self.wire.receive(MAX_ANSWER_BYTES, seconds, silent)
        except BadFrame as error:
            raise StepwellError("bad-message", None, f"{self._place}: {error}") from None
        except TimeoutError:
            if silent is not None:
                raise self._silent(silent) from None
            message = f"no server answers at {self._place} within {seconds:g} s"
            raise StepwellError("no-server", None, message) from None
        if answer is None:
            raise self._ended()
        if (reason := answer.head.get("end")) is not None:
            fields = cast("Mapping[str, Any]", as_mapping(reason))
            raise StepwellError(fields["code"], None, f"{self._place}: {fields['message']}")
        self._is_answered = True
        return answer

    def _silent(self, seconds: float) -> StepwellError:
        """The error of a server that shows nothing; the call has ended then."""
        self.close()
        message = f"{self._place} has shown for {seconds:g} s neither an answer nor that it runs"
        help = "see whether its process is stopped, and the machine asleep; a new connection may work"
        return StepwellError("session-died", None, message, help=help)

    def _ended(self) -> StepwellError:
        """The error of a connection that ended without a reason."""
        if self._is_answered:
            return StepwellError("session-died", None, f"{self._place} ended the session")
        return StepwellError("no-server", None, f"no server of sessions answers at {self._place}")

    def beat(self) -> None:
        """Show that this process runs, until the call ends."""
        while not self._closed.wait(BEAT_SECONDS):
            try:
                self.wire.send({})
            except OSError:
                return

    def close(self) -> None:
        """End the call."""
        self._closed.set()
        self.wire.end()


def _connected(address: Address, fingerprint: str | None, timeout: float) -> Wire:
    """A connection, with TLS to a server of the fingerprint. Raises: StepwellError."""
    try:
        connection = socket.create_connection(address, timeout=timeout)
    except OSError as error:
        raise StepwellError("no-server", None, f"no server answers at {address}: {error}") from None
    if fingerprint is None:
        return Wire(connection)
    context = new_context(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE  # compared below
    try:
        secure = context.wrap_socket(connection, server_hostname=SERVER_NAME)
    except ssl.SSLError as error:
        connection.close()
        message = f"{address} does not speak TLS: {error.reason}"
        raise StepwellError("bad-certificate", None, message) from None
    except OSError as error:
        connection.close()
        raise StepwellError("no-server", None, f"no server answers at {address}: {error}") from None
    found = sha256(secure.getpeercert(binary_form=True) or b"").hexdigest()
    if found != fingerprint:
        secure.close()
        message = f"the certificate of {address} has the fingerprint {found}"
        raise StepwellError("bad-certificate", None, message, note=f"known is {fingerprint}")
    return Wire(secure)
