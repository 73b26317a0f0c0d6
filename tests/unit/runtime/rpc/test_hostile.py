"""Bytes that are no messages, on every port; and devices that die while they are sent to."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from stepwell import rpc
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.rpc.channels import Channel, Secrets, known_secrets
from stepwell.runtime.rpc.client import opened
from stepwell.runtime.rpc.identity import Address, own_token
from stepwell.runtime.rpc.server import RpcServer
from stepwell.runtime.rpc.tracker import TrackerServer

pytest.importorskip("grpc", reason="grpcio is not installed")
pytest.importorskip("cryptography", reason="cryptography is not installed")

METHODS = [
    "stepwell.rpc/session",
    "stepwell.tracker/register",
    "stepwell.tracker/request",
    "stepwell.tracker/ready",
    "stepwell.tracker/devices",
    "stepwell.tracker/connect",
    "stepwell.tracker/accept",
]
MESSAGES = {
    "noise": os.urandom(1000).replace(b"\n", b""),
    "no line end": b"{",
    "no size": b"{}\n",
    "truncated": b'{"bytes": 10}\nabc',
    "more than announced": b'{"bytes": 1}\nabc',
    "huge": b'{"bytes": 1099511627776}\n',
    "negative": b'{"bytes": -1}\n',
    "nested": b'{"bytes": 0, "a": ' + b"[" * 10_000 + b"]" * 10_000 + b"}\n",
    "a long head": b'{"bytes": 0, "a": "' + b"x" * (1 << 21) + b'"}\n',
    "oversized": b'{"bytes": 0}\n' + bytes(65 << 20),
}
WRONG = [
    {},
    {"key": 3, "priority": "x", "timeout_ms": -1, "who": None},
    {"key": "../x", "priority": 0, "timeout_ms": 0, "who": "x"},
    {"key": "a", "priority": 10**9, "timeout_ms": 0, "who": "x"},
    {"key": "a", "fingerprint": "x", "host": "a", "port": 1},
    {"key": "a", "fingerprint": "0" * 64, "host": "a", "port": 0},
    {"lease": 1, "token": "0" * 64},
    {"lease": 1, "token": "ä"},
    {"id": ["a"]},
]

Serve = Callable[..., RpcServer]
Track = Callable[..., TrackerServer]


def resident() -> int:
    """The memory of this process in bytes."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def sent(channel: Channel, method: str, parts: list[bytes]) -> list[bytes]:
    """The answers to parts, after which the call ends."""
    raw: Any = channel._channel  # pyright: ignore[reportPrivateUsage]
    metadata = (("authorization", f"Bearer {own_token()[0]}"),)
    return list(raw.stream_stream(f"/{method}")(iter(parts), metadata=metadata, timeout=20))


@pytest.fixture
def addresses(serve: Serve, track: Track) -> dict[str, Address]:
    return {"rpc": serve(log=lambda line: None).address, "tracker": track(relays=True).address}


def test_broken_messages_end_their_call_only(addresses: dict[str, Address]) -> None:
    import grpc

    for method in METHODS:
        address = addresses["rpc" if "rpc" in method else "tracker"]
        channel = Channel(address, known_secrets(address, None, None), 20)
        for name, message in MESSAGES.items():
            if name == "truncated" and method.endswith("session"):
                assert len(sent(channel, method, [message])) == 1  # the call ended before the message did
                continue
            with pytest.raises(grpc.RpcError) as caught:
                sent(channel, method, [message])
            error: Any = caught.value
            expected = {grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.RESOURCE_EXHAUSTED}
            assert error.code() in expected, (method, name, error)
        channel.close()
    rpc.connect(f"rpc://{addresses['rpc']}").close()


def test_wrong_values_end_their_call_only(addresses: dict[str, Address]) -> None:
    import grpc

    address = addresses["tracker"]
    channel = Channel(address, known_secrets(address, None, None), 20)
    for method in ("register", "request", "connect", "accept"):
        for wrong in WRONG:
            message = json.dumps({**wrong, "bytes": 0}).encode() + b"\n"
            with pytest.raises(grpc.RpcError) as caught:
                sent(channel, f"stepwell.tracker/{method}", [message])
            error: Any = caught.value
            assert error.code() == grpc.StatusCode.INVALID_ARGUMENT, (method, wrong, error)
    assert len(sent(channel, "stepwell.tracker/devices", [b'{"bytes": 0}\n'])) == 1
    channel.close()


@pytest.mark.parametrize("kind", ["rpc", "tracker"])
def test_noise_ends_its_connection_only(addresses: dict[str, Address], kind: str) -> None:
    before = resident()
    for first in (b"", b"\x16\x03\x01", b"GET / HTTP/1.1\r\n\r\n", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"):
        with socket.create_connection(addresses[kind], timeout=5) as noise, suppress(OSError):
            noise.sendall(first)  # an error: the server has closed it
            for _ in range(25):
                noise.sendall(os.urandom(1 << 20))
    assert resident() - before < 100 << 20
    address = addresses[kind]
    Channel(address, known_secrets(address, None, None), 20).close()


class Cut:
    """A port that passes bytes on to a server, so many, then cuts the connection as a dead machine does."""

    def __init__(self, server: Address, most: int):
        self._server, self._most = server, most
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = Address(*self._listener.getsockname()[:2])
        Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        with suppress(OSError):
            here, _ = self._listener.accept()
            with here, socket.create_connection(self._server) as there:
                Thread(target=self._back, args=(there, here), daemon=True).start()
                for data in self._bytes(here):
                    there.sendall(data)
                here.shutdown(socket.SHUT_RDWR)
                there.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _bytes(self, here: socket.socket) -> Iterator[bytes]:
        while self._most > 0 and (data := here.recv(1 << 16)):
            self._most -= len(data)
            yield data

    def _back(self, there: socket.socket, here: socket.socket) -> None:
        with suppress(OSError):
            while data := there.recv(1 << 16):
                here.sendall(data)


def test_a_device_that_dies_during_an_upload_is_an_error(serve: Serve, tmp_path: Path) -> None:
    server = serve(tls=False)
    (tmp_path / "large").write_bytes(bytes(20 << 20))
    session = opened(Cut(server.address, 3 << 20).address, Secrets(own_token()[0], None), 20)
    with pytest.raises(StepwellError, match=r"error\[session-died\]"):
        session.upload(tmp_path / "large")
    for again in (session.log, lambda: session.upload(tmp_path / "large")):
        with pytest.raises(StepwellError, match=r"error\[session-died\]"):
            again()
    rest = opened(server.address, Secrets(own_token()[0], None), 20)
    with pytest.raises(StepwellError, match="no-file"):
        rest.download("large")
    rest.close()


def test_what_was_not_sent_whole_is_not_stored(serve: Serve) -> None:
    server = serve(tls=False)
    channel = Channel(server.address, Secrets(own_token()[0], None), 20)
    head = b'{"op": "upload", "name": "a", "bytes": 100}\n'
    assert len(sent(channel, "stepwell.rpc/session", [head + b"half"])) == 1
    channel.close()
