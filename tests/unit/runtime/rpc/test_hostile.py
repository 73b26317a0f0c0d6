"""Bytes that are no messages, on every port; and devices that die while they are sent to."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from threading import Thread

import pytest

from stepwell import rpc
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.frames import Frame
from stepwell.runtime.json_values import as_mapping
from stepwell.runtime.rpc.channels import Channel, Secrets
from stepwell.runtime.rpc.client import opened
from stepwell.runtime.rpc.identity import Address, fingerprint_of, own_certificate, own_token
from stepwell.runtime.rpc.server import RpcServer
from stepwell.runtime.rpc.tracker import TrackerServer

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
    "oversized": b'{"bytes": 0}\n' + bytes(5 << 20),
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


def sent(address: Address, method: str, data: bytes, *, tls: bool = True) -> list[Frame]:
    """The answers to bytes after a call's first message; then the call ends."""
    fingerprint = fingerprint_of(own_certificate()[1]) if tls else None
    channel = Channel(address, Secrets(own_token()[0], fingerprint), 20)
    service, name = method.split("/")
    wire = channel.call(service, name).wire
    rest = memoryview(data)
    answers: list[Frame] = []
    with suppress(OSError):  # an error: the server has ended the call
        while rest:
            rest = rest[wire.send_now(rest) :]
        wire.end_sending()
    while (answer := wire.receive(1 << 20, seconds=20)) is not None:
        answers.append(answer)
    channel.close()
    return answers


def reason(answers: list[Frame]) -> str:
    """The code of the error with which a call ended."""
    return str(as_mapping(answers[-1].head["end"])["code"])


@pytest.fixture
def addresses(serve: Serve, track: Track) -> dict[str, Address]:
    return {"rpc": serve(log=lambda line: None).address, "tracker": track(relays=True).address}


def test_broken_messages_end_their_call_only(addresses: dict[str, Address]) -> None:
    for method in METHODS:
        for name, message in MESSAGES.items():
            answers = sent(addresses["rpc" if "rpc" in method else "tracker"], method, message)
            if name in ("no line end", "truncated") and method.endswith("session"):
                assert len(answers) == 1  # the call ended before the message did
                continue
            if name == "oversized" and method.endswith(("ready", "devices")):
                assert len(answers) == 1  # to the message before, with which such a call ends
                continue
            assert reason(answers) == "bad-message", (method, name)
    rpc.connect(f"rpc://{addresses['rpc']}").close()


def test_wrong_values_end_their_call_only(addresses: dict[str, Address]) -> None:
    for method in ("register", "request", "connect", "accept"):
        for wrong in WRONG:
            message = json.dumps({**wrong, "bytes": 0}).encode() + b"\n"
            answers = sent(addresses["tracker"], f"stepwell.tracker/{method}", message)
            assert reason(answers) == "bad-message", (method, wrong)
    assert len(sent(addresses["tracker"], "stepwell.tracker/devices", b'{"bytes": 0}\n')) == 1


@pytest.mark.parametrize(
    "first",
    [
        b'{"bytes": 0}\n',
        b'{"call": "stepwell.rpc/session", "bytes": 0}\n',
        b'{"call": "stepwell.rpc/session", "token": "\\ud800", "bytes": 0}\n',
        b'{"call": ["stepwell.rpc/session"], "token": "a", "bytes": 0}\n',
        b'{"call": "stepwell.rpc/session", "token": "a", "bytes": 9}\nabcdefghi',
        b"GET / HTTP/1.1\r\n\r\n",
        b"\n",
    ],
)
def test_a_call_begins_with_its_method_and_a_token(serve: Serve, first: bytes) -> None:
    lines: list[str] = []
    server = serve(tls=False, log=lines.append)
    with socket.create_connection(server.address, timeout=20) as connection:
        connection.sendall(first)
        assert b'"code": "bad-message"' in connection.makefile("rb").read()
    assert len(lines) == 1
    opened(server.address, Secrets(own_token()[0], None), 20).close()


def test_a_silent_connection_does_not_keep_others_out(serve: Serve) -> None:
    server = serve(sessions=1)
    with socket.create_connection(server.address), socket.create_connection(server.address):
        session = rpc.connect(f"rpc://{server.address}")
        assert int(str(session.target()["cores"])) >= 1
        session.close()


@pytest.mark.parametrize("kind", ["rpc", "tracker"])
def test_noise_ends_its_connection_only(addresses: dict[str, Address], kind: str) -> None:
    before = resident()
    for first in (b"", b"\x16\x03\x01", b"GET / HTTP/1.1\r\n\r\n", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"):
        with socket.create_connection(addresses[kind], timeout=5) as noise, suppress(OSError):
            noise.sendall(first)  # an error: the server has closed it
            for _ in range(25):
                noise.sendall(os.urandom(1 << 20))
    assert resident() - before < 100 << 20
    method = "stepwell.rpc/session" if kind == "rpc" else "stepwell.tracker/devices"
    assert len(sent(addresses[kind], method, b'{"bytes": 0}\n')) >= 1


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
    head = b'{"op": "upload", "name": "a", "bytes": 100}\n'
    assert len(sent(server.address, "stepwell.rpc/session", head + b"half", tls=False)) == 1
