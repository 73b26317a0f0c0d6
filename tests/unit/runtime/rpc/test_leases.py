"""Devices of a tracker and those who wait for them, with a clock that the tests set."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepwell.runtime.errors import StepwellError
from stepwell.runtime.rpc.identity import Address
from stepwell.runtime.rpc.leases import MAX_DEVICES, MAX_REQUESTS, Leases, Registered, Request
from tests.support.samples import examples


class Clients:
    """A tracker's state with the messages of each device and client."""

    def __init__(self) -> None:
        self.now = 100.0
        self.leases = Leases(lambda: self.now)
        self.messages: dict[str, list[Any]] = {}

    def device(self, name: str, key: str = "a") -> Registered:
        sent = self.messages[name] = []
        device = Registered(key, Address(name, 1), "f", sent.append)
        self.leases.register(device)
        return device

    def request(self, name: str, key: str = "a", priority: int = 0) -> Request:
        sent = self.messages[name] = []
        request = Request(key, priority, name, sent.append)
        self.leases.request(request)
        return request


def test_requests_are_served_by_priority_then_arrival() -> None:
    all_ = Clients()
    device = all_.device("d")
    first = all_.request("first")
    others = [all_.request("late"), all_.request("urgent", priority=2), all_.request("later")]
    served = [first]
    while others:
        all_.leases.leave(served[-1])
        served.append(next(request for request in others if request.lease is not None))
        others.remove(served[-1])
        assert all_.messages[served[-1].who] == []  # until the device says that it is ready
        all_.leases.ready(all_.messages["d"][-1]["token"])
    assert [request.who for request in served] == ["first", "urgent", "late", "later"]
    assert [message["op"] for message in all_.messages["d"]] == ["lease", *["end", "lease"] * 3]
    (lease,) = all_.messages["late"]
    assert lease["host"] == "d" and lease["token"] == all_.messages["d"][4]["token"]
    assert device.lease is served[-1].lease


def test_each_lease_has_a_token_of_its_own_and_ends_with_it() -> None:
    all_ = Clients()
    all_.device("d")
    for name in ("x", "y"):
        all_.leases.leave(all_.request(name))
    tokens = [message["token"] for message in all_.messages["d"]]
    assert tokens[0] == tokens[1] != tokens[2] == tokens[3] and len(tokens[0]) == 64


def test_a_device_that_is_gone_ends_its_lease_and_another_serves() -> None:
    all_ = Clients()
    device = all_.device("d")
    lost, waiting = all_.request("lost"), all_.request("waiting")
    all_.leases.remove(device)
    assert all_.messages["lost"] == [None] and waiting.lease is None
    assert all_.leases.held_by(lost.lease.number if lost.lease else 0) is None
    all_.leases.leave(lost)
    assert waiting.lease is None
    all_.device("e")
    assert waiting.lease is not None and waiting.lease.device.address.host == "e"


def test_a_key_that_no_device_has() -> None:
    all_ = Clients()
    with pytest.raises(StepwellError, match="no device is registered"):
        all_.request("x")
    all_.device("d", "rpi4")
    with pytest.raises(StepwellError, match=r"unknown-key.*'rpi5'(.|\n)*known are: rpi4"):
        all_.request("x", "rpi5")


def test_the_table_says_who_has_a_device() -> None:
    all_ = Clients()
    all_.device("d")
    all_.now += 5
    assert all_.leases.rows()[0] | {"address": ""} == {
        "key": "a",
        "address": "",
        "state": "free",
        "who": "",
        "seconds": 5,
        "waiting": 0,
    }
    all_.request("me")
    all_.request("you")
    all_.now += 7
    row = all_.leases.rows()[0]
    assert (row["state"], row["who"], row["seconds"], row["waiting"]) == ("in use", "me", 7, 1)
    assert "d:1: me for 7 s" in all_.leases.busy("a").render()


def test_numbers_are_bounded() -> None:
    all_ = Clients()
    for i in range(MAX_DEVICES):
        all_.device(f"d{i}", "b")
    with pytest.raises(StepwellError, match="too-many"):
        all_.device("one more")
    for i in range(MAX_REQUESTS):
        all_.request(f"r{i}", "b")
    with pytest.raises(StepwellError, match="too-many"):
        all_.request("one more", "b")


STEPS = st.tuples(
    st.sampled_from(["device", "gone", "request", "leave"]), st.sampled_from("ab"), st.integers(0, 5)
)


@examples(60)
@given(st.lists(STEPS, max_size=30))
def test_no_device_is_lent_twice_and_none_stands_idle(steps: list[tuple[str, str, int]]) -> None:
    all_ = Clients()
    devices: list[Registered] = []
    requests: list[Request] = []
    for number, (step, key, which) in enumerate(steps):
        if step == "device":
            devices.append(all_.device(f"d{number}", key))
        elif step == "gone" and which < len(devices):
            all_.leases.remove(devices.pop(which))
        elif step == "request":
            with suppress(StepwellError):
                requests.append(all_.request(f"r{number}", key, which))
        elif step == "leave" and which < len(requests):
            all_.leases.leave(requests.pop(which))
        held = [request.lease.device for request in requests if request.lease is not None]
        assert len(held) == len({id(device) for device in held})
        free = {device.key for device in devices if device.lease is None}
        assert not free & {request.key for request in requests if request.lease is None}
