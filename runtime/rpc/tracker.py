"""The tracker: devices register, and clients ask for one by its key. A proxy passes on connections too."""

from __future__ import annotations

import hmac
from collections.abc import Iterator
from functools import partial
from queue import Empty, SimpleQueue
from secrets import token_hex
from threading import Lock
from typing import Any, NamedTuple

from stepwell.runtime.errors import StepwellError
from stepwell.runtime.frames import BadFrame, Frame, Head
from stepwell.runtime.json_values import as_text
from stepwell.runtime.rpc.identity import Address, checked_fingerprint, checked_key
from stepwell.runtime.rpc.leases import MAX_DEVICES, MAX_REQUESTS, Leases, Registered, Request
from stepwell.runtime.rpc.listening import Listener, Listening
from stepwell.runtime.rpc.messages import failure, number, parts_of, received

SERVICE = "stepwell.tracker"
LEASE_SECONDS = 600.0
MAX_PRIORITY = 1000
MAX_TIMEOUT_MS = 24 * 3600 * 1000
_MAX_RELAYED = 64
_SPARE_STREAMS = 8
_ACCEPT_SECONDS = 10.0

_Messages = SimpleQueue["Head | None"]


class _Half(NamedTuple):
    """A side of a relayed connection: its call, and the bytes that come from there."""

    parts: Iterator[bytes]
    context: Any


class _Pair(NamedTuple):
    """A client's side of a relayed connection, and the device's when it comes."""

    client: _Half
    device: SimpleQueue[_Half]


class TrackerServer:
    """A listening tracker; with `relays` it is a proxy, through which devices are reached."""

    def __init__(self, listener: Listener, *, lease_seconds: float = LEASE_SECONDS, relays: bool = False):
        """Raises: StepwellError `insecure-address`, `cannot-serve`, `missing-package`."""
        self._leases = Leases()
        self._lease_seconds, self._relays = lease_seconds, relays
        self._pairs: dict[str, _Pair] = {}
        self._lock = Lock()
        methods = {"register": self._register, "ready": self._ready}
        methods |= {"request": self._request, "devices": self._devices}
        if relays:
            methods |= {"connect": self._connect, "accept": self._accept}
        streams = MAX_DEVICES + MAX_REQUESTS + 2 * _MAX_RELAYED * relays + _SPARE_STREAMS
        self._listening = Listening(listener, SERVICE, methods, streams)
        self.address = self._listening.address

    def close(self) -> None:
        """Stop listening: all leases end."""
        self._listening.close()

    def _register(self, requests: Iterator[bytes], context: Any) -> Iterator[bytes]:
        """The leases of a device, while its call lasts."""
        messages: _Messages = SimpleQueue()
        device = _device(_first(requests), context, messages)
        try:
            self._leases.register(device)
        except StepwellError as error:
            yield from parts_of(failure(error))
            return
        try:
            context.add_callback(partial(messages.put, None))
            yield _message({"address": str(device.address), "relays": self._relays})
            while (message := messages.get()) is not None:
                yield _message(message)
        finally:
            self._leases.remove(device)

    def _request(self, requests: Iterator[bytes], context: Any) -> Iterator[bytes]:
        """The lease of a client: until the call ends, at most for the time of a lease."""
        messages: _Messages = SimpleQueue()
        head, lease = _first(requests), None
        timeout = number(head, "timeout_ms", 0, MAX_TIMEOUT_MS) / 1e3
        request = _asked(head, context, messages)
        try:
            self._leases.request(request)
        except StepwellError as error:
            yield from parts_of(failure(error))
            return
        try:
            context.add_callback(partial(messages.put, None))
            lease = messages.get(timeout=timeout)
            if lease is not None:
                yield _message({**lease, "relays": self._relays})
                messages.get(timeout=self._lease_seconds)
        except Empty:
            if lease is None:
                yield from parts_of(failure(self._leases.busy(request.key)))
        finally:
            self._leases.leave(request)

    def _ready(self, requests: Iterator[bytes], context: Any) -> Iterator[bytes]:
        """The answer to a device that expects its client."""
        token = str(_first(requests).get("token"))
        if not token.isascii():
            raise BadFrame("a token is ASCII")
        self._leases.ready(token)
        yield _message({})

    def _devices(self, requests: Iterator[bytes], context: Any) -> Iterator[bytes]:
        """The table of devices."""
        _first(requests)
        yield _message({"devices": self._leases.rows()})

    def _connect(self, requests: Iterator[bytes], context: Any) -> Iterator[bytes]:
        """The bytes of a device for a client that has its lease."""
        head = _first(requests)
        device = self._leases.held_by(number(head, "lease", 0, 1 << 53))
        token = "" if device is None or device.lease is None else device.lease.token
        if device is None or not hmac.compare_digest(token.encode(), str(head.get("token")).encode()):
            raise BadFrame("there is no such lease")
        name, pair = token_hex(16), _Pair(_Half(requests, context), SimpleQueue())
        with self._lock:
            if len(self._pairs) >= _MAX_RELAYED:
                raise BadFrame(f"a proxy waits for at most {_MAX_RELAYED} connections")
            self._pairs[name] = pair
        try:
            device.notify({"op": "connect", "id": name})
            other = pair.device.get(timeout=_ACCEPT_SECONDS)
        except Empty:
            raise BadFrame("the device does not answer") from None
        finally:
            with self._lock:
                self._pairs.pop(name, None)
        context.add_callback(other.context.cancel)
        yield from other.parts

    def _accept(self, requests: Iterator[bytes], context: Any) -> Iterator[bytes]:
        """The bytes of a client for its device."""
        name = str(_first(requests).get("id"))
        with self._lock:
            pair = self._pairs.pop(name, None)
        if pair is None:
            raise BadFrame("there is no such connection")
        context.add_callback(pair.client.context.cancel)
        pair.device.put(_Half(requests, context))
        yield from pair.client.parts


def _first(requests: Iterator[bytes]) -> Head:
    """The message with which a call begins. Raises: BadFrame."""
    message = received(requests, 0)
    if message is None:
        raise BadFrame("a call begins with a message")
    return message.head


def _message(head: Head) -> bytes:
    return next(parts_of(Frame(head, b"")))


def _device(head: Head, context: Any, messages: _Messages) -> Registered:
    """The device that a message describes. Raises: BadFrame."""
    try:
        key, fingerprint = checked_key(head.get("key")), checked_fingerprint(as_text(head["fingerprint"]))
        host = as_text(head["host"])[:255] or peer_host(context.peer())
    except (KeyError, TypeError, ValueError, StepwellError) as error:
        raise BadFrame(f"a device has a key, a fingerprint and an address: {error}") from error
    return Registered(key, Address(host, number(head, "port", 1, 65535)), fingerprint, messages.put)


def _asked(head: Head, context: Any, messages: _Messages) -> Request:
    """The request that a message describes. Raises: BadFrame."""
    priority = head.get("priority")
    if type(priority) is not int or not -MAX_PRIORITY <= priority <= MAX_PRIORITY:
        raise BadFrame(f"priority must be a number from {-MAX_PRIORITY} to {MAX_PRIORITY}")
    try:
        key, who = checked_key(head.get("key")), as_text(head["who"])
    except (KeyError, TypeError, ValueError, StepwellError) as error:
        raise BadFrame(f"a request has a key and says who asks: {error}") from error
    shown = "".join(letter for letter in who[:80] if letter.isprintable())
    return Request(key, priority, f"{shown} ({peer_host(context.peer())})", messages.put)


def peer_host(peer: str) -> str:
    """The host of a peer as gRPC writes it, `ipv4:1.2.3.4:56` or `ipv6:%5B::1%5D:56`."""
    host = peer.partition(":")[2].rpartition(":")[0]
    return host.removeprefix("%5B").removesuffix("%5D").strip("[]")
