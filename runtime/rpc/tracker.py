"""The tracker: devices register, and clients ask for one by its key. A proxy passes on connections too."""

from __future__ import annotations

import hmac
from contextlib import suppress
from queue import Empty, SimpleQueue
from secrets import token_hex
from threading import Event, Lock
from typing import NamedTuple

from stepwell.runtime.errors import StepwellError
from stepwell.runtime.frames import BadFrame, Head
from stepwell.runtime.json_values import as_text
from stepwell.runtime.rpc.identity import Address, checked_fingerprint, checked_key
from stepwell.runtime.rpc.leases import MAX_DEVICES, MAX_REQUESTS, Leases, Registered, Request
from stepwell.runtime.rpc.listening import Call, Listener, Listening
from stepwell.runtime.rpc.mailbox import Mailbox
from stepwell.runtime.rpc.messages import failure, number
from stepwell.runtime.rpc.relayed import relay

SERVICE = "stepwell.tracker"
LEASE_SECONDS = 600.0
MAX_PRIORITY = 1000
MAX_TIMEOUT_MS = 24 * 3600 * 1000
_MAX_RELAYED = 64
_SPARE_CALLS = 8
_ACCEPT_SECONDS = _FIRST_SECONDS = 10.0


class _Pair(NamedTuple):
    """A client's side of a relayed connection, the device's when it comes, and the end of both."""

    client: Call
    device: SimpleQueue[Call]
    end: Event


class TrackerServer:
    """A listening tracker; with `relays`, a proxy through which clients reach devices."""

    def __init__(self, listener: Listener, *, lease_seconds: float = LEASE_SECONDS, relays: bool = False):
        """Raises: StepwellError `insecure-address`, `cannot-serve`."""
        self._leases = Leases()
        self._lease_seconds, self._relays = lease_seconds, relays
        self._pairs: dict[str, _Pair] = {}
        self._lock = Lock()
        methods = {"register": self._register, "ready": self._ready}
        methods |= {"request": self._request, "devices": self._devices}
        if relays:
            methods |= {"connect": self._connect, "accept": self._accept}
        calls = MAX_DEVICES + MAX_REQUESTS + 2 * _MAX_RELAYED * relays + _SPARE_CALLS
        self._listening = Listening(listener, SERVICE, methods, calls)
        self.address = self._listening.address

    def close(self) -> None:
        """Stop listening: all leases end."""
        self._listening.close()

    def _register(self, call: Call) -> None:
        """The leases of a device, while its call lasts."""
        with Mailbox(call) as messages:
            device = _device(_first(call), call, messages)
            try:
                self._leases.register(device)
            except StepwellError as error:
                call.wire.send(*failure(error))
                return
            try:
                call.wire.send({"address": str(device.address), "relays": self._relays})
                while (message := messages.get()) is not None:
                    call.wire.send(message)
            finally:
                self._leases.remove(device)

    def _request(self, call: Call) -> None:
        """The lease of a client: until the call ends, at most for the time of a lease."""
        head = _first(call)
        timeout = number(head, "timeout_ms", 0, MAX_TIMEOUT_MS) / 1e3
        with Mailbox(call) as messages:
            request = _request_of(head, call, messages)
            try:
                self._leases.request(request)
            except StepwellError as error:
                call.wire.send(*failure(error))
                return
            try:
                self._lend(call, messages, request, timeout)
            finally:
                self._leases.leave(request)

    def _lend(self, call: Call, messages: Mailbox, request: Request, timeout: float) -> None:
        """Send the client a lease and wait for the end, or refuse it after `timeout` seconds."""
        try:
            lease = messages.get(timeout)
        except Empty:
            call.wire.send(*failure(self._leases.busy(request.key)))
            return
        if lease is not None:
            call.wire.send({**lease, "relays": self._relays})
            with suppress(Empty):
                messages.get(self._lease_seconds)

    def _ready(self, call: Call) -> None:
        """The answer to a device that expects its client."""
        token = str(_first(call).get("token"))
        if not token.isascii():
            raise BadFrame("a token is ASCII")
        self._leases.ready(token)
        call.wire.send({})

    def _devices(self, call: Call) -> None:
        """The table of devices."""
        _first(call)
        call.wire.send({"devices": self._leases.rows()})

    def _connect(self, call: Call) -> None:
        """The bytes of a device for a client that has its lease, and back."""
        head = _first(call)
        device = self._leases.held_by(number(head, "lease", 0, 1 << 53))
        token = "" if device is None or device.lease is None else device.lease.token
        given = str(head.get("token")).encode(errors="replace")
        if device is None or not hmac.compare_digest(token.encode(), given):
            raise BadFrame("there is no such lease")
        name, pair = token_hex(16), _Pair(call, SimpleQueue(), Event())
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
        try:
            relay(call.wire, other.wire)
        finally:
            pair.end.set()

    def _accept(self, call: Call) -> None:
        """The device's side of a connection, while the thread of the client's side passes bytes on."""
        name = str(_first(call).get("id"))
        with self._lock:
            pair = self._pairs.pop(name, None)
        if pair is None:
            raise BadFrame("there is no such connection")
        pair.device.put(call)
        pair.end.wait()


def _first(call: Call) -> Head:
    """The message with which a method begins. Raises: BadFrame."""
    try:
        message = call.wire.receive(0, _FIRST_SECONDS)
    except TimeoutError:
        message = None
    if message is None:
        raise BadFrame("a call begins with a message")
    return message.head


def _device(head: Head, call: Call, messages: Mailbox) -> Registered:
    """The device that a message describes. Raises: BadFrame."""
    try:
        key, fingerprint = checked_key(head.get("key")), checked_fingerprint(as_text(head["fingerprint"]))
        host = as_text(head["host"])[:255] or call.host
    except (KeyError, TypeError, ValueError, StepwellError) as error:
        raise BadFrame(f"a device has a key, a fingerprint and an address: {error}") from error
    return Registered(key, Address(host, number(head, "port", 1, 65535)), fingerprint, messages.put)


def _request_of(head: Head, call: Call, messages: Mailbox) -> Request:
    """The request that a message describes. Raises: BadFrame."""
    priority = head.get("priority")
    if type(priority) is not int or not -MAX_PRIORITY <= priority <= MAX_PRIORITY:
        raise BadFrame(f"priority must be a number from {-MAX_PRIORITY} to {MAX_PRIORITY}")
    try:
        key, who = checked_key(head.get("key")), as_text(head["who"])
    except (KeyError, TypeError, ValueError, StepwellError) as error:
        raise BadFrame(f"a request has a key and says who asks: {error}") from error
    shown = "".join(letter for letter in who[:80] if letter.isprintable())
    return Request(key, priority, f"{shown} ({call.host})", messages.put)
