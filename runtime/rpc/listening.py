"""Listening servers: TLS, tokens, a thread for each call of a method."""

from __future__ import annotations

import socket
import ssl
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event, Lock, Thread, current_thread
from time import sleep
from typing import NamedTuple, TypeAlias

from stepwell.runtime.errors import StepwellError
from stepwell.runtime.frames import BadFrame
from stepwell.runtime.rpc.attempts import Attempts
from stepwell.runtime.rpc.identity import Address
from stepwell.runtime.rpc.wire import Wire, new_context
from stepwell.runtime.server.protection import expect_protected

_FIRST_SECONDS = 10.0
"""For the handshake, and for the message with the token."""
_SPARE_CONNECTIONS = 16
"""Connections without a call yet, or whose call is refused."""
_LOOK_SECONDS = 0.5
_AGAIN_SECONDS = 0.1
_CLOSE_SECONDS = 1.0

Log: TypeAlias = Callable[[str], None]


def log_to_stderr(line: str) -> None:
    """Print a line of the log."""
    print(line, file=sys.stderr, flush=True)


class Call:
    """A client's call of a method: messages both ways, the token, and the client's host."""

    def __init__(self, wire: Wire, host: str, token: str):
        self.wire, self.host, self.token = wire, host, token
        self._when_gone: Callable[[], None] | None = None

    def when_gone(self, function: Callable[[], None]) -> None:
        """Call a function once when the client is gone, also while nothing is received from it."""
        self._when_gone = function

    def forget(self) -> None:
        """Call no function: the call ends here."""
        self._when_gone = None

    def look(self) -> None:
        """Call the function of `when_gone` if the client is gone now."""
        if self._when_gone is not None and self.wire.is_gone():
            function, self._when_gone = self._when_gone, None
            function()


Method: TypeAlias = Callable[[Call], None]
"""Answers a call; an error that it raises is sent as the reason for the end."""


class Listener(NamedTuple):
    """The address of a server, and its secrets."""

    address: Address
    token: str
    key_and_certificate: tuple[bytes, bytes] | None
    """None: without TLS, on the loopback interface only."""
    log: Log = log_to_stderr


class Listening:
    """A listening server: every call of a method needs a token."""

    def __init__(self, listener: Listener, service: str, methods: Mapping[str, Method], calls: int):
        """
        Args: `methods` by name; `calls` is the number of calls at once.
        Raises: StepwellError `insecure-address`, `cannot-serve`.
        """
        self._methods = {f"{service}/{name}": method for name, method in methods.items()}
        self._log, self._most = listener.log, calls + _SPARE_CONNECTIONS
        self.tokens = Attempts(listener.token)
        secrets = listener.key_and_certificate
        expect_secure(listener.address.host, secrets is not None)
        self._context = None if secrets is None else _context(*secrets)
        self._lock, self._ended = Lock(), Event()
        self._threads: dict[Thread, Wire | None] = {}
        self._calls: list[Call] = []
        self._socket = _bound(listener.address)
        self.address = listener.address._replace(port=self._socket.getsockname()[1])
        for work in (self._accept, self._watch):
            Thread(target=work, daemon=True).start()

    def _accept(self) -> None:
        """Serve each connection in a thread, while there are not too many."""
        while not self._ended.is_set():
            try:
                connection, peer = self._socket.accept()
            except OSError:  # the listener was closed, or there are no descriptors left
                sleep(_AGAIN_SECONDS)
                continue
            with self._lock:
                if len(self._threads) >= self._most or self._ended.is_set():
                    connection.close()
                    continue
                thread = Thread(target=self._serve, args=(connection, peer[:2]), daemon=True)
                self._threads[thread] = None
            thread.start()

    def _serve(self, connection: socket.socket, peer: tuple[str, int]) -> None:
        thread = current_thread()
        try:
            wire = self._secured(connection)
            with self._lock:
                self._threads[thread] = wire
            self._answer(wire, Address(*peer))
        except OSError:  # TLS or the connection failed
            connection.close()
        finally:
            with self._lock:
                del self._threads[thread]

    def _secured(self, connection: socket.socket) -> Wire:
        """The connection, with TLS where the server has it. Raises: OSError."""
        connection.settimeout(_FIRST_SECONDS)
        if self._context is None:
            return Wire(connection)
        return Wire(self._context.wrap_socket(connection, server_side=True))

    def _answer(self, wire: Wire, peer: Address) -> None:
        """Answer the call of a connection; a failure ends it, with the reason. Raises: OSError."""
        try:
            call, method = self._admitted(wire, peer)
            with self._lock:
                self._calls.append(call)
            try:
                method(call)
            finally:
                with self._lock:
                    self._calls.remove(call)
                call.forget()
            reason = None
        except BadFrame as error:
            self._log(f"{peer}: {error}")
            reason = StepwellError("bad-message", None, str(error))
        except StepwellError as error:
            reason = error
        except TimeoutError:
            reason = StepwellError(
                "bad-message", None, "a call must begin with a message, and none arrived in time"
            )
        if reason is not None and not self._ended.is_set():
            wire.send({"end": {"code": reason.code, "message": reason.message}})
            wire.end_gently()
        wire.end()

    def _admitted(self, wire: Wire, peer: Address) -> tuple[Call, Method]:
        """The call with which a connection begins. Raises: BadFrame, TimeoutError, StepwellError."""
        first = wire.receive(0, _FIRST_SECONDS)
        if first is None:
            raise BadFrame("a call must begin with a message, and none arrived in time")
        name, token = first.head.get("call"), first.head.get("token")
        if not isinstance(name, str) or not (isinstance(token, str) and token.isascii()):
            raise BadFrame("a call must begin with its method and a token")
        if refusal := self.tokens.refusal(peer.host, token):
            self._log(f"{peer}: refused: {refusal}")
            raise StepwellError("bad-token", None, refusal)
        if (method := self._methods.get(name)) is None:
            raise StepwellError("no-server", None, f"a server of another kind, without {name[:100]}")
        return Call(wire, peer.host, token), method

    def _watch(self) -> None:
        """Look after clients that are gone."""
        while not self._ended.wait(_LOOK_SECONDS):
            with self._lock:
                calls = list(self._calls)
            for call in calls:
                call.look()

    def close(self) -> None:
        """Stop listening, and end all calls."""
        self._ended.set()
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        with self._lock:
            threads = dict(self._threads)
        for wire in threads.values():
            if wire is not None:
                wire.end()
        for thread in threads:
            thread.join(_CLOSE_SECONDS)


def _context(key: bytes, certificate: bytes) -> ssl.SSLContext:
    """TLS with a key and a certificate, which Python reads from a file only."""
    context = new_context(ssl.PROTOCOL_TLS_SERVER)
    context.num_tickets = 0  # for connecting again sooner, which sessions do not
    with TemporaryDirectory() as folder:
        path = Path(folder, "secrets.pem")
        path.touch(0o600)
        path.write_bytes(key + b"\n" + certificate)
        context.load_cert_chain(path)
    return context


def _bound(address: Address) -> socket.socket:
    """A socket that listens at an address. Raises: StepwellError `cannot-serve`."""
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    try:
        return socket.create_server(address, family=family, backlog=socket.SOMAXCONN)
    except (OSError, OverflowError) as error:
        raise StepwellError("cannot-serve", None, f"cannot listen on {address}: {error}") from None


def expect_secure(host: str, has_tls: bool) -> None:
    """Require TLS where other machines can connect. Raises: StepwellError `insecure-address`."""
    expect_protected(host, has_token=True, has_tls=has_tls, tls_help="leave `--insecure` out")
