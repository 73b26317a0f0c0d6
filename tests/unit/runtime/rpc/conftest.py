"""Servers of sessions and trackers on loopback, with settings of their own."""

from __future__ import annotations

from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest

from stepwell.runtime.rpc.channels import Secrets
from stepwell.runtime.rpc.identity import Address, fingerprint_of, own_certificate, own_token
from stepwell.runtime.rpc.listening import Listener
from stepwell.runtime.rpc.registration import Registration, Tracked
from stepwell.runtime.rpc.server import RpcServer, ServerOptions
from stepwell.runtime.rpc.tracker import TrackerServer

ANY = Address("127.0.0.1", 0)


@pytest.fixture(scope="session")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("settings")


@pytest.fixture
def closing(settings: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[list[Callable[[], None]]]:
    """What is called at the end of a test, the last one first."""
    monkeypatch.setenv("STEPWELL_CONFIG", str(settings))
    functions: list[Callable[[], None]] = []
    yield functions
    for function in reversed(functions):
        function()


@pytest.fixture
def serve(closing: list[Callable[[], None]]) -> Callable[..., RpcServer]:
    def start(*, tls: bool = True, address: Address = ANY, **options: Any) -> RpcServer:
        secrets = own_certificate() if tls else None
        server = RpcServer(ServerOptions(address, own_token()[0], secrets, **options))
        closing.append(server.close)
        return server

    return start


@pytest.fixture
def track(closing: list[Callable[[], None]]) -> Callable[..., TrackerServer]:
    def start(address: Address = ANY, **options: Any) -> TrackerServer:
        tracker = TrackerServer(Listener(address, own_token()[0], own_certificate()), **options)
        closing.append(tracker.close)
        return tracker

    return start


@pytest.fixture
def register(closing: list[Callable[[], None]]) -> Callable[..., Registration]:
    def start(server: RpcServer, tracker: Address, key: str = "board") -> Registration:
        fingerprint = fingerprint_of(own_certificate()[1])
        tracked = Tracked(tracker, Secrets(own_token()[0], fingerprint), key, fingerprint, lambda line: None)
        registration = Registration(server, tracked)
        closing.append(registration.close)
        return registration

    return start
