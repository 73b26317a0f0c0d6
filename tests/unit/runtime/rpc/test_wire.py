"""Messages over sockets: in pieces, cut off, late, both ways at once, passed on."""

from __future__ import annotations

import select
import socket
from collections.abc import Callable
from queue import Empty
from threading import Thread

import pytest

from stepwell.runtime.frames import BadFrame, Frame
from stepwell.runtime.rpc import mailbox
from stepwell.runtime.rpc.listening import Call
from stepwell.runtime.rpc.mailbox import Mailbox
from stepwell.runtime.rpc.relayed import relay
from stepwell.runtime.rpc.wire import Wire

HEAD = {"op": "run"}


def pair() -> tuple[Wire, Wire]:
    one, other = socket.socketpair()
    return Wire(one), Wire(other)


def started(function: Callable[[], object]) -> Thread:
    thread = Thread(target=function, daemon=True)
    thread.start()
    return thread


def sent_raw(wire: Wire, data: bytes) -> None:
    assert wire.send_now(data) == len(data)


@pytest.mark.parametrize("size", [0, 1, 1 << 16, (1 << 16) + 1, 3_000_001])
def test_bodies_of_all_sizes(size: int) -> None:
    here, there = pair()
    body = bytes(range(256)) * (size // 256) + bytes(size % 256)
    sender = started(lambda: [here.send(HEAD, body) for _ in range(3)])
    for _ in range(3):
        assert there.receive(size, 20) == Frame(dict(HEAD), body)
    sender.join(20)
    assert not there.has_more


def test_without_poll(monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows has none."""
    monkeypatch.delattr(select, "poll")
    here, there = pair()
    sender = started(lambda: here.send(HEAD, bytes(1 << 20)))
    assert there.receive(1 << 20, 20) == Frame(dict(HEAD), bytes(1 << 20))
    sender.join(20)
    with pytest.raises(TimeoutError):
        there.receive(0, 0.01)
    here.end()
    assert there.receive(0, 20) is None


def test_a_message_in_pieces_and_two_at_once() -> None:
    here, there = pair()
    message = b'{"a": 1, "bytes": 3}\nx\ny'

    def send() -> None:
        for i in range(len(message)):
            sent_raw(here, message[i : i + 1])
        sent_raw(here, message + message)

    sender = started(send)
    for _ in range(3):
        assert there.receive(3, 20) == Frame({"a": 1}, b"x\ny")
    sender.join(20)


def test_an_end_and_what_is_late() -> None:
    here, there = pair()
    with pytest.raises(TimeoutError):
        there.receive(0, 0.01)
    assert not there.is_gone()
    sent_raw(here, b'{"bytes": 3}\nab')
    with pytest.raises(TimeoutError):  # of the whole message, not of its first byte
        there.receive(3, 0.01)
    here.end()
    assert there.is_gone() and there.receive(3) is None
    with pytest.raises(OSError):
        for _ in range(2):
            there.send(HEAD)


def test_an_end_wakes_who_waits() -> None:
    here, there = pair()
    found: list[object] = []
    waiting = started(lambda: found.append(there.receive(0)))
    there.end()
    waiting.join(20)
    assert found == [None]
    assert here.receive(0) is None


@pytest.mark.parametrize("data", [b"noise", b"\n", b'{"bytes": 4}\n', b'{"bytes": -1}\n', b"{}\n", b"[1]\n"])
def test_what_is_no_message(data: bytes) -> None:
    here, there = pair()
    sent_raw(here, data)
    with pytest.raises(BadFrame):
        there.receive(3, 20)


def test_a_reason_arrives_though_nobody_read_what_was_sent() -> None:
    here, there = pair()
    sender = started(lambda: _sent_until_the_end(here))
    there.send({"end": "enough"})
    there.end_gently()
    assert here.receive(0, 20) == Frame({"end": "enough"}, b"")
    sender.join(20)


def _sent_until_the_end(wire: Wire) -> None:
    with pytest.raises(OSError):
        while True:
            wire.send({}, bytes(1 << 20))


def test_much_is_passed_on_both_ways_at_once() -> None:
    """Each side sends all before it reads, as no session does: neither may wait for the other."""
    (client, one), (other, device) = pair(), pair()
    passing = started(lambda: relay(one, other))
    bodies = bytes(5_000_000), bytes([1]) * 4_000_000
    senders = [
        started(lambda w=w, b=b: w.send(HEAD, b)) for w, b in zip((client, device), bodies, strict=True)
    ]
    received = [wire.receive(1 << 23, 60) for wire in (device, client)]
    assert [each.body if each else None for each in received] == list(bodies)
    client.end()
    assert device.receive(0, 20) is None
    for thread in (*senders, passing):
        thread.join(20)
        assert not thread.is_alive()


def test_bytes_that_were_read_before_are_passed_on() -> None:
    (client, one), (other, device) = pair(), pair()
    client.send({"call": "x"})
    client.send(HEAD, b"abc")
    assert one.receive(0, 20) == Frame({"call": "x"}, b"")
    started(lambda: relay(one, other))
    assert device.receive(3, 20) == Frame(dict(HEAD), b"abc")
    client.end()


def test_messages_for_a_client_that_shows_signs_of_life(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mailbox, "SILENT_SECONDS", 0.3)
    client, wire = pair()
    with Mailbox(Call(wire, "here", "token")) as messages:
        messages.put({"a": 1})
        assert messages.get() == {"a": 1}
        with pytest.raises(Empty):
            messages.get(0.01)
        started(lambda: messages.put({"a": 2}))
        assert messages.get(20) == {"a": 2}
        client.send({})
        client.send({})
        with pytest.raises(Empty):
            messages.get(0.1)
        assert messages.get(20) is None  # it was silent for too long
    with Mailbox(Call(wire, "here", "token")) as messages:
        client.end()
        assert messages.get(20) is None


def received(wire: Wire, size: int) -> Frame:
    frame = wire.receive(size, 20)
    assert frame is not None
    return frame


def test_a_message_is_passed_on_as_it_came() -> None:
    (here, there), (nearer, farther) = pair(), pair()
    line = b'{"op":  "run", "note": "\\u00e9 [", "bytes": 3}'
    sent_raw(here, line + b"\nabc")
    message = received(there, 3)
    assert message == Frame({"op": "run", "note": "é ["}, b"abc") and message.line == line
    nearer.send(*message, message.line)
    again = received(farther, 3)
    assert again == message and again.line == line
    nearer.send(*message)
    other = received(farther, 3)
    assert other == message and other.line != line


@pytest.mark.parametrize("line", [b'{"bytes": 0} ', b'{"bytes": 0}\t'])
def test_spaces_after_an_object(line: bytes) -> None:
    here, there = pair()
    sent_raw(here, line + b"\n")
    assert there.receive(0, 20) == Frame({}, b"")


@pytest.mark.parametrize("line", [b'{"bytes": 0}{', b'{"bytes": 0} 1', b'{"bytes": 0'])
def test_what_comes_after_an_object_makes_it_none(line: bytes) -> None:
    here, there = pair()
    sent_raw(here, line + b"\n")
    with pytest.raises(BadFrame, match="expected an object of JSON"):
        there.receive(0, 20)
