"""Messages both ways over a socket, which TLS may protect."""

from __future__ import annotations

import select
import socket
import ssl
from collections.abc import Callable, Mapping
from contextlib import suppress
from threading import Lock
from time import monotonic

from stepwell.runtime.frames import BadFrame, Frame, Received
from stepwell.runtime.rpc.messages import MAX_HEAD_BYTES, head_of, packed

_READ_BYTES = 1 << 17
_LINGER_SECONDS = 2.0
_MAX_LINGERING_BYTES = 64 << 20
_SILENT_SECONDS = 10
"""A machine that does not answer for so long is gone."""
STUCK_SECONDS = 15.0
"""A machine whose process does not take a byte for so long has stopped it."""
# Of the system, which asks the machine at the other end, also while nothing is sent. Not each system has all.
_KEEPALIVE = {
    "TCP_NODELAY": 1,
    "TCP_KEEPIDLE": 5,
    "TCP_KEEPINTVL": 2,
    "TCP_KEEPCNT": 2,
    "TCP_USER_TIMEOUT": 1000 * _SILENT_SECONDS,
}
_NOT_NOW = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)
_GONE = sum(getattr(select, name, 0) for name in ("POLLRDHUP", "POLLHUP", "POLLERR"))


def new_context(protocol: int) -> ssl.SSLContext:
    """TLS for one side, `ssl.PROTOCOL_TLS_SERVER` or `ssl.PROTOCOL_TLS_CLIENT`."""
    context = ssl.SSLContext(protocol)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    # An end without TLS's own is one like others: messages say how long they are.
    context.options |= getattr(ssl, "OP_IGNORE_UNEXPECTED_EOF", 0)
    return context


def _waiting(connection: socket.socket, *, to_send: bool = False) -> Callable[[float | None], object]:
    """A function that waits, at most for milliseconds, until a socket has bytes, or takes some."""
    if hasattr(select, "poll"):
        poll = select.poll()
        poll.register(connection, select.POLLOUT if to_send else select.POLLIN)
        return poll.poll
    sockets = [connection]
    own, other = ([], sockets) if to_send else (sockets, [])

    def wait(milliseconds: float | None) -> object:  # Windows
        seconds = None if milliseconds is None else milliseconds / 1e3
        return any(select.select(own, other, sockets, seconds))

    return wait


class Wire:
    """
    An end of a connection. A thread may send while another one receives.

    `end` may be called by any thread; the socket is closed when nothing refers to the wire.
    """

    def __init__(self, connection: socket.socket):
        """Args: `connection` is connected; with TLS, its handshake is done."""
        self._socket = connection
        self._buffer = bytearray()
        self._lock = Lock()  # an object of TLS is for one thread at a time
        self._sending = Lock()
        self._wait_for_bytes, self._wait_for_room = (
            _waiting(connection, to_send=to_send) for to_send in (False, True)
        )
        connection.setblocking(False)
        with suppress(OSError):  # of a connection that has ended
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            for name, value in _KEEPALIVE.items():
                if (option := getattr(socket, name, None)) is not None:
                    connection.setsockopt(socket.IPPROTO_TCP, option, value)

    def __del__(self) -> None:
        self._socket.close()

    def fileno(self) -> int:
        """The descriptor, to wait for."""
        return self._socket.fileno()

    @property
    def has_more(self) -> bool:
        """Whether bytes were read that no message had yet: waiting for the socket would miss them."""
        return bool(self._buffer)

    def send(self, head: Mapping[str, object], body: bytes = b"", line: bytes = b"") -> None:
        """
        Send a message.

        Args: `line` is the line of a message that is forwarded.
        Raises: OSError at the end of the connection; TimeoutError where the other end takes nothing.
        """
        with self._sending:
            for data in packed(head, body, line):
                rest = memoryview(data)
                while rest:
                    if (sent := self.send_now(rest)) == 0 and not self._wait_for_room(1e3 * STUCK_SECONDS):
                        raise TimeoutError
                    rest = rest[sent:]

    def send_now(self, data: bytes | memoryview) -> int:
        """The number of bytes that the socket had room for and has sent. Raises: OSError."""
        with self._lock:
            try:
                return self._socket.send(data)
            except _NOT_NOW:
                return 0

    def receive(
        self, max_body: int, seconds: float | None = None, silent: float | None = None
    ) -> Frame | None:
        """
        The next message; None at the end of the connection.

        Args: `max_body` in bytes; all of the message must come within `seconds`, and a byte each `silent` s.
        Raises: BadFrame, TimeoutError.
        """
        end = None if seconds is None else monotonic() + seconds
        begin = 0
        while (at := self._buffer.find(b"\n", begin)) < 0:
            begin = len(self._buffer)
            if begin > MAX_HEAD_BYTES or (begin and self._buffer[0] != ord("{")):
                raise BadFrame(f"a message begins with an object of at most {MAX_HEAD_BYTES} bytes of JSON")
            if not self._fill(end, silent):
                return None
        line = bytes(memoryview(self._buffer)[:at])
        head, size = head_of(line, max_body)
        while len(self._buffer) <= at + size:
            if not self._fill(end, silent):
                return None
        body = bytes(memoryview(self._buffer)[at + 1 : at + 1 + size])
        del self._buffer[: at + 1 + size]
        return Received.of(head, body, line)

    def _fill(self, end: float | None, silent: float | None = None) -> bool:
        """
        Wait for bytes, and read them; False where the connection has ended.

        Args: they must come before `end`, and within `silent` seconds. Raises: TimeoutError.
        """
        if silent is not None:
            end = min(end or float("inf"), monotonic() + silent)
        data = None
        while data is None:  # reading first would raise an exception for each message
            left = None if end is None else max(0.0, 1e3 * (end - monotonic()))
            if not self._wait_for_bytes(left):
                raise TimeoutError
            data = self.read_now()
        self._buffer += data
        return bool(data)

    def read_now(self) -> bytes | None:
        """The bytes that have come; None for none yet, no byte where the connection has ended."""
        with self._lock:
            try:
                return self._socket.recv(_READ_BYTES)
            except _NOT_NOW:
                return None
            except OSError:
                return b""

    def take_rest(self) -> bytes:
        """The bytes that were read and belong to no message."""
        rest = bytes(self._buffer)
        self._buffer.clear()
        return rest

    def is_gone(self) -> bool:
        """Whether the other end has ended the connection, or its machine does not answer."""
        if not hasattr(select, "poll"):
            return False  # the end is found when it is read
        events = select.poll()
        events.register(self._socket, _GONE)
        return bool(events.poll(0))

    def end(self) -> None:
        """End the connection: whoever waits for a message gets None."""
        self._shut(socket.SHUT_RDWR)

    def end_sending(self) -> None:
        """Send no more."""
        self._shut(socket.SHUT_WR)

    def _shut(self, how: int) -> None:
        with suppress(OSError):
            # Not the method of TLS's sockets, after which they would pass on bytes as they are.
            socket.socket.shutdown(self._socket, how)

    def end_gently(self) -> None:
        """
        End the connection when the other end has read all: it is closed after that, or a short while.

        With bytes unread the system would throw away the message that was sent last, a reason for the end.
        """
        self.end_sending()
        self._buffer.clear()
        end, count = monotonic() + _LINGER_SECONDS, 0
        with suppress(TimeoutError):
            while self._fill(end) and count < _MAX_LINGERING_BYTES and monotonic() < end:
                count += len(self._buffer)
                self._buffer.clear()
        self.end()
