"""Connections to servers: a known certificate, a token, and messages in turns."""
# pyright: reportMissingModuleSource=false

from __future__ import annotations

import socket
import ssl
from collections.abc import Callable, Mapping
from hashlib import sha256
from itertools import chain
from queue import Queue, SimpleQueue
from threading import Lock
from typing import Any, NamedTuple

from stepwell.runtime.errors import StepwellError
from stepwell.runtime.frames import BadFrame, Frame
from stepwell.runtime.packages import needed
from stepwell.runtime.rpc.identity import SERVER_NAME, Address, checked_fingerprint, known_server
from stepwell.runtime.rpc.messages import MAX_MESSAGE_BYTES, packed, parts_of, received

MAX_ANSWER_BYTES = 1 << 32
_KEEPALIVE_MS = 10_000


class Secrets(NamedTuple):
    """What a client knows of a server."""

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
    """A connection to a server, for calls of its methods."""

    def __init__(self, address: Address, secrets: Secrets, timeout: float):
        """
        Args: `timeout` in seconds is for the connection.
        Raises: StepwellError `no-server`, `bad-certificate`, `missing-package`.
        """
        with needed("a session on a server", install="'stepwell[rpc]'"):
            import grpc
        self.codes: Any = grpc.StatusCode
        self.place = str(address)
        self._error: Any = grpc.RpcError
        self._metadata = (("authorization", f"Bearer {secrets.token}"),)
        options = [
            ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
            ("grpc.keepalive_time_ms", _KEEPALIVE_MS),
            ("grpc.http2.ping_timeout_ms", _KEEPALIVE_MS),
            ("grpc.http2.max_pings_without_data", 0),
            ("grpc.ssl_target_name_override", SERVER_NAME),
            ("grpc.enable_http_proxy", 0),
        ]
        if secrets.fingerprint is None:
            self._channel: Any = grpc.insecure_channel(self.place, options)
        else:
            root = grpc.ssl_channel_credentials(_certificate(address, secrets.fingerprint, timeout))
            self._channel = grpc.secure_channel(self.place, root, options)
        try:
            grpc.channel_ready_future(self._channel).result(timeout)
        except grpc.FutureTimeoutError:
            self._channel.close()
            message = f"no server answers at {self.place} within {timeout:g} s"
            raise StepwellError("no-server", None, message) from None

    def call(self, service: str, method: str) -> Stream:
        """A call of a method."""
        return Stream(self, self._error, self._channel.stream_stream(f"/{service}/{method}"), self._metadata)

    def raw(
        self, service: str, method: str, first: Mapping[str, object]
    ) -> Callable[[Queue[bytes | None]], Any]:
        """A function that begins a call, with a message and then the bytes of a queue."""

        def begin(parts: Queue[bytes | None]) -> Any:
            called = self._channel.stream_stream(f"/{service}/{method}")
            return called(chain([packed(first, b"")], iter(parts.get, None)), metadata=self._metadata)

        return begin

    def close(self) -> None:
        """End the connection with its calls."""
        self._channel.close()


class Stream:
    """A call of a server's method: messages both ways."""

    def __init__(self, channel: Channel, error: Any, method: Any, metadata: object):
        self._channel, self._error = channel, error
        self._parts: SimpleQueue[bytes | None] = SimpleQueue()
        self._lock = Lock()
        self._call: Any = method(iter(self._parts.get, None), metadata=metadata)

    def ask(self, head: Mapping[str, object], body: bytes = b"") -> Frame:
        """The answer to a request. Raises: StepwellError of a call that has ended."""
        with self._lock:
            self.send(head, body)
            return self.receive()

    def send(self, head: Mapping[str, object], body: bytes = b"") -> None:
        """Send a message."""
        for part in parts_of(Frame(dict(head), body)):
            self._parts.put(part)

    def receive(self) -> Frame:
        """The next message. Raises: StepwellError of a call that has ended."""
        place = self._channel.place
        try:
            answer = received(self._call, MAX_ANSWER_BYTES)
        except BadFrame as error:
            raise StepwellError("bad-message", None, f"{place}: {error}") from None
        except self._error as error:
            raise self._failure(error) from None
        if answer is None:
            raise StepwellError("session-died", None, f"{place} ended the session")
        return answer

    def _failure(self, error: Any) -> StepwellError:
        codes, message = self._channel.codes, f"{self._channel.place}: {error.details()}"
        match error.code():
            case codes.UNAUTHENTICATED:
                return StepwellError("bad-token", None, message)
            case codes.RESOURCE_EXHAUSTED:
                return StepwellError("too-many", None, message)
            case codes.INVALID_ARGUMENT:
                return StepwellError("bad-message", None, message)
            case codes.UNIMPLEMENTED:
                message = f"{self._channel.place} is a server of another kind: {error.details()}"
                return StepwellError("no-server", None, message)
            case _:
                return StepwellError("session-died", None, message)

    def close(self) -> None:
        """End the call."""
        self._parts.put(None)
        self._call.cancel()


def _certificate(address: Address, fingerprint: str, timeout: float) -> bytes:
    """The server's certificate, which must be the known one. Raises: StepwellError."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE  # compared below
    context.set_alpn_protocols(["h2"])
    try:
        with (
            socket.create_connection(address, timeout=timeout) as plain,
            context.wrap_socket(plain, server_hostname=SERVER_NAME) as secure,
        ):
            found = secure.getpeercert(binary_form=True) or b""
    except ssl.SSLError as error:
        message = f"{address} does not speak TLS: {error.reason}"
        raise StepwellError("bad-certificate", None, message) from None
    except OSError as error:
        raise StepwellError("no-server", None, f"no server answers at {address}: {error}") from None
    if sha256(found).hexdigest() != fingerprint:
        message = f"the certificate of {address} has the fingerprint {sha256(found).hexdigest()}"
        raise StepwellError("bad-certificate", None, message, note=f"known is {fingerprint}")
    return ssl.DER_cert_to_PEM_cert(found).encode()
