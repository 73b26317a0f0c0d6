"""The client of a server of sessions."""
# pyright: reportMissingModuleSource=false

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator, Mapping
from hashlib import sha256
from queue import SimpleQueue
from threading import Lock
from typing import Any

from stepwell.runtime.errors import StepwellError
from stepwell.runtime.frames import BadFrame, Frame
from stepwell.runtime.packages import needed
from stepwell.runtime.rpc.connection import Connection
from stepwell.runtime.rpc.identity import (
    SERVER_NAME,
    Address,
    address_of_url,
    checked_fingerprint,
    known_server,
)
from stepwell.runtime.rpc.messages import CHUNK_BYTES, MAX_MESSAGE_BYTES, head_of, packed
from stepwell.runtime.rpc.server import METHOD, SERVICE

MAX_ANSWER_BYTES = 1 << 32
_KEEPALIVE_MS = 10_000


def connected(
    url: str, token: str | None, fingerprint: str | None, timeout: float, *, insecure: bool = False
) -> Connection:
    """
    A session on a server, whose certificate and token are known.

    Raises: StepwellError `no-server`, `bad-token`, `bad-certificate`, `too-many`, `missing-package`.
    """
    with needed("a session on a server", install="'stepwell[rpc]'"):
        import grpc
    address = address_of_url(url)
    known = known_server(address)
    token, fingerprint = token or known.token, fingerprint or known.fingerprint
    if token is None:
        raise StepwellError("bad-token", None, f"no token is known for {address}")
    options = [
        ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
        ("grpc.keepalive_time_ms", _KEEPALIVE_MS),
        ("grpc.ssl_target_name_override", SERVER_NAME),
        ("grpc.enable_http_proxy", 0),
    ]
    if insecure:
        channel = grpc.insecure_channel(str(address), options)
    else:
        if fingerprint is None:
            raise StepwellError("bad-certificate", None, f"no fingerprint is known for {address}")
        certificate = _certificate(address, checked_fingerprint(fingerprint), timeout)
        channel = grpc.secure_channel(str(address), grpc.ssl_channel_credentials(certificate), options)
    stream = _Stream(grpc, channel, token, str(address), timeout)
    return Connection(stream.ask, stream.close)


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


class _Stream:
    """The messages of a session, in turns."""

    def __init__(self, grpc: Any, channel: Any, token: str, place: str, timeout: float):
        self._grpc, self._channel, self._place = grpc, channel, place
        self._parts: SimpleQueue[bytes | None] = SimpleQueue()
        self._lock = Lock()
        try:
            grpc.channel_ready_future(channel).result(timeout)
        except grpc.FutureTimeoutError:
            channel.close()
            message = f"no server answers at {place} within {timeout:g} s"
            raise StepwellError("no-server", None, message) from None
        metadata = (("authorization", f"Bearer {token}"),)
        self._answers: Iterator[bytes] = channel.stream_stream(f"/{SERVICE}/{METHOD}")(
            iter(self._parts.get, None), metadata=metadata
        )
        self._received()

    def ask(self, head: Mapping[str, object], body: bytes) -> Frame:
        """The answer to a request. Raises: StepwellError of a connection that has ended."""
        with self._lock:
            self._parts.put(packed(head, body))
            for at in range(CHUNK_BYTES, len(body), CHUNK_BYTES):
                self._parts.put(body[at : at + CHUNK_BYTES])
            return self._received()

    def _received(self) -> Frame:
        try:
            head, size, rest = head_of(next(self._answers), MAX_ANSWER_BYTES)
            if len(rest) == size:
                return Frame(head, rest)
            body = bytearray(rest)
            while len(body) < size:
                body += next(self._answers)
            return Frame(head, bytes(body))
        except StopIteration:
            raise StepwellError("session-died", None, f"{self._place} ended the session") from None
        except BadFrame as error:
            raise StepwellError("bad-message", None, f"{self._place}: {error}") from None
        except self._grpc.RpcError as error:
            raise self._failure(error) from None

    def _failure(self, error: Any) -> StepwellError:
        codes, message = self._grpc.StatusCode, f"{self._place}: {error.details()}"
        match error.code():
            case codes.UNAUTHENTICATED:
                return StepwellError("bad-token", None, message)
            case codes.RESOURCE_EXHAUSTED:
                return StepwellError("too-many", None, message)
            case codes.INVALID_ARGUMENT:
                return StepwellError("bad-message", None, message)
            case _:
                return StepwellError("session-died", None, message)

    def close(self) -> None:
        """End the session."""
        self._parts.put(None)
        self._channel.close()
