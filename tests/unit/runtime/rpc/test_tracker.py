"""Devices lent by a tracker, directly and through a proxy."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from threading import Thread

import numpy as np
import pytest

import stepwell
from stepwell import rpc
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.rpc.channels import Channel, Secrets, known_secrets
from stepwell.runtime.rpc.client import opened
from stepwell.runtime.rpc.identity import Address, Place, fingerprint_of, own_certificate, place_of_url
from stepwell.runtime.rpc.registration import Registration
from stepwell.runtime.rpc.requesting import devices_of
from stepwell.runtime.rpc.server import RpcServer
from stepwell.runtime.rpc.tracker import TrackerServer
from tests.unit.runtime.rpc.test_local import SOFTMAX, X

pytest.importorskip("cryptography", reason="cryptography is not installed")

Serve = Callable[..., RpcServer]
Track = Callable[..., TrackerServer]
Register = Callable[..., Registration]
KILLED = """
import sys, time
from stepwell import rpc
session = rpc.connect(sys.argv[1])
print("has it", flush=True)
time.sleep(100)
"""


def url(address: Address, key: str = "board") -> str:
    return f"rpc://{address}?key={key}"


def rows(tracker: Address) -> list[dict[str, object]]:
    return [dict(row) for row in devices_of(tracker, known_secrets(tracker, None, None), 10)]


def wait_for(condition: Callable[[], object], seconds: float = 20) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.mark.parametrize("relays", [False, True])
def test_a_device_is_lent_by_its_key(serve: Serve, track: Track, register: Register, relays: bool) -> None:
    tracker, device = track(relays=relays).address, serve()
    register(device, tracker)
    wait_for(lambda: rows(tracker))
    model = stepwell.compile(stepwell.parse(SOFTMAX))
    with rpc.connect(url(tracker)) as session:
        there = session.load(model, threads=1)
        np.testing.assert_array_equal(there(X), model(X))
        large = np.random.default_rng(1).standard_normal((100_000, 17), np.float32)
        np.testing.assert_array_equal(there(large), model(large))
        (row,) = rows(tracker)
        assert row["state"] == "in use" and "127.0.0.1" in str(row["who"])
        with pytest.raises(StepwellError, match=r"device-busy(.|\n)*127\.0\.0\.1\) for \d+ s"):
            rpc.connect(url(tracker), timeout=0.3)
    wait_for(lambda: rows(tracker)[0]["state"] == "free")
    rpc.connect(url(tracker)).close()
    with pytest.raises(StepwellError, match=r"unknown-key.*'bord'(.|\n)*known are: board"):
        rpc.connect(url(tracker, "bord"))


def test_who_waits_gets_a_device_that_is_given_back(serve: Serve, track: Track, register: Register) -> None:
    tracker = track().address
    register(serve(), tracker)
    wait_for(lambda: rows(tracker))
    first, order = rpc.connect(url(tracker)), list[str]()

    def ask(name: str, priority: int) -> None:
        with rpc.connect(url(tracker), priority=priority):
            order.append(name)

    threads = [Thread(target=ask, args=asked) for asked in (("low", 0), ("high", 5))]
    for number, thread in enumerate(threads, 1):
        thread.start()
        wait_for(lambda number=number: rows(tracker)[0]["waiting"] == number)
    first.close()
    for thread in threads:
        thread.join(20)
    assert order == ["high", "low"]


def test_the_token_of_a_lease_ends_with_it(serve: Serve, track: Track, register: Register) -> None:
    tracker, device = track(lease_seconds=1.0).address, serve()
    register(device, tracker)
    wait_for(lambda: rows(tracker))
    channel = Channel(tracker, known_secrets(tracker, None, None), 10)
    asked = {"key": "board", "priority": 0, "timeout_ms": 1000, "who": "me"}
    call = channel.call("stepwell.tracker", "request")
    lease = call.ask(asked).head
    secrets = Secrets(str(lease["token"]), fingerprint_of(own_certificate()[1]))
    session = opened(device.address, secrets, 10)
    wait_for(lambda: rows(tracker)[0]["state"] == "free")
    with pytest.raises(StepwellError, match="session-died"):
        session.log()
    with pytest.raises(StepwellError, match="bad-token"):
        opened(device.address, secrets, 10)
    channel.close()


def test_devices_register_again_at_a_tracker_that_starts_again(
    serve: Serve, track: Track, register: Register
) -> None:
    tracker = track()
    register(serve(), tracker.address)
    wait_for(lambda: rows(tracker.address))
    session = rpc.connect(url(tracker.address))
    tracker.close()
    again = track(tracker.address).address
    wait_for(lambda: rows(again))
    with pytest.raises(StepwellError, match="session-died"):  # nobody knows of the lease
        session.log()
    rpc.connect(url(again)).close()


def test_a_device_that_leaves_ends_its_session(serve: Serve, track: Track, register: Register) -> None:
    tracker = track().address
    registration = register(serve(), tracker)
    wait_for(lambda: rows(tracker))
    session = rpc.connect(url(tracker))
    registration.close()
    wait_for(lambda: not rows(tracker))
    with pytest.raises(StepwellError, match="session-died"):
        session.log()
    with pytest.raises(StepwellError, match="unknown-key"):
        rpc.connect(url(tracker))


@pytest.mark.slow
@pytest.mark.parametrize("relays", [False, True])
def test_leases_leave_no_connections_open(
    serve: Serve, track: Track, register: Register, relays: bool
) -> None:
    tracker = track(relays=relays).address
    register(serve(), tracker)
    wait_for(lambda: rows(tracker))

    def descriptors() -> int:
        return len(os.listdir("/proc/self/fd"))

    rpc.connect(url(tracker)).close()
    wait_for(lambda: rows(tracker)[0]["state"] == "free")
    before = descriptors()
    for _ in range(8):
        rpc.connect(url(tracker)).close()
    wait_for(lambda: descriptors() <= before + 3)  # some are closed by the next call


@pytest.mark.slow
@pytest.mark.parametrize("kill", [signal.SIGKILL, signal.SIGSTOP])
def test_a_client_that_vanishes_frees_its_device(
    serve: Serve, track: Track, register: Register, kill: signal.Signals
) -> None:
    """A stopped one vanishes too: its machine still answers for it, but it does not."""
    tracker = track().address
    register(serve(), tracker)
    wait_for(lambda: rows(tracker))
    command = [sys.executable, "-c", KILLED, url(tracker)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as client:
        try:
            assert client.stdout is not None and client.stdout.readline() == "has it\n"
            os.kill(client.pid, kill)
            begin = time.monotonic()
            rpc.connect(url(tracker), timeout=30).close()
            assert time.monotonic() - begin < 15
        finally:
            client.kill()


def test_a_server_is_no_tracker_and_a_tracker_no_proxy(serve: Serve, track: Track) -> None:
    with pytest.raises(StepwellError, match="server of another kind"):
        rpc.connect(url(serve().address))
    with pytest.raises(StepwellError, match="server of another kind"):
        rpc.connect(f"rpc://{track().address}")


def test_a_port_has_one_server(serve: Serve, track: Track) -> None:
    server = serve()
    for start in (serve, track):
        with pytest.raises(StepwellError, match=r"error\[cannot-serve\]"):
            start(address=server.address)
    rpc.connect(f"rpc://{server.address}").close()


def test_places() -> None:
    assert place_of_url("rpc://a:1?key=rpi4") == Place(Address("a", 1), "rpi4")
    assert place_of_url("rpc://a:1") == Place(Address("a", 1), None)
    for wrong in (
        "rpc://a:1?key=",
        "rpc://a:1?rpi4",
        "rpc://a:1?key=.x",
        f"rpc://a:1?key={'a' * 81}",
        "rpc://a:1#x",
    ):
        with pytest.raises(StepwellError, match="bad-option"):
            place_of_url(wrong)
