"""The state of a tracker: devices, requests that wait for one, and leases."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from difflib import get_close_matches
from hmac import compare_digest
from itertools import count
from secrets import token_hex
from threading import Lock
from time import time
from typing import NamedTuple

from stepwell.runtime.errors import StepwellError
from stepwell.runtime.frames import Head
from stepwell.runtime.rpc.identity import TOKEN_BYTES, Address

MAX_DEVICES = 128
MAX_REQUESTS = 128

Notify = Callable[[Head | None], None]
"""Sends a message to a device or a client; None ends its call."""


@dataclass(eq=False)
class Registered:
    """A device. Its client holds the lease."""

    key: str
    address: Address
    fingerprint: str
    notify: Notify
    since: float = 0
    lease: Lease | None = None


class Lease(NamedTuple):
    """The right to use a device alone."""

    number: int
    device: Registered
    token: str
    """The device accepts it while the lease lasts."""
    since: float

    def to_json(self) -> dict[str, object]:
        """Address, fingerprint and token of the device, for the client."""
        address, device = self.device.address, self.device
        at = {"host": address.host, "port": address.port, "fingerprint": device.fingerprint}
        return {"lease": self.number, "token": self.token, **at}


@dataclass(eq=False)
class Request:
    """A client's request for a device of a key."""

    key: str
    priority: int
    who: str
    notify: Notify
    number: int = 0
    lease: Lease | None = field(default=None)


class Leases:
    """Devices by key, and who has them; requests are served by priority, then arrival."""

    def __init__(self, clock: Callable[[], float] = time):
        self._clock = clock
        self._lock = Lock()
        self._devices: list[Registered] = []
        self._requests: list[Request] = []
        self._numbers = count(1)

    def register(self, device: Registered) -> None:
        """Add a device. Raises: StepwellError `too-many`."""
        with self._lock:
            if len(self._devices) >= MAX_DEVICES:
                raise StepwellError("too-many", None, f"a tracker has at most {MAX_DEVICES} devices")
            device.since = self._clock()
            self._devices.append(device)
            self._serve()

    def remove(self, device: Registered) -> None:
        """Forget a device that is gone, and end the call of its client."""
        with self._lock:
            self._devices.remove(device)
            for request in self._requests:
                if request.lease is not None and request.lease.device is device:
                    request.notify(None)

    def request(self, request: Request) -> None:
        """
        Put a request into the queue; its client is notified of its lease once the device is ready.

        Raises: StepwellError `unknown-key`, `too-many`.
        """
        with self._lock:
            keys = sorted({device.key for device in self._devices})
            if request.key not in keys:
                near = get_close_matches(request.key, keys, 3) or keys[:10]
                note = f"known are: {', '.join(near)}" if near else "no device is registered"
                raise StepwellError("unknown-key", None, f"no device has the key {request.key!r}", note=note)
            if len(self._requests) >= MAX_REQUESTS:
                raise StepwellError("too-many", None, f"a tracker has at most {MAX_REQUESTS} requests")
            request.number = next(self._numbers)
            self._requests.append(request)
            self._serve()

    def leave(self, request: Request) -> None:
        """End a request with its lease: the next one in the queue is served."""
        with self._lock:
            self._requests.remove(request)
            if (lease := request.lease) is None:
                return
            if lease.device in self._devices:
                lease.device.lease = None
                lease.device.notify({"op": "end", "token": lease.token})
            self._serve()

    def _serve(self) -> None:
        """Give free devices to those who wait."""
        waiting = [request for request in self._requests if request.lease is None]
        for request in sorted(waiting, key=lambda request: (-request.priority, request.number)):
            free = (device for device in self._devices if device.lease is None and device.key == request.key)
            if (device := next(free, None)) is None:
                continue
            lease = Lease(next(self._numbers), device, token_hex(TOKEN_BYTES), self._clock())
            request.lease = device.lease = lease
            device.notify({"op": "lease", "token": lease.token})

    def ready(self, token: str) -> None:
        """A device accepts the token of its lease: the client may come. Nothing where the lease has ended."""
        with self._lock:
            for request in self._requests:
                if request.lease is not None and compare_digest(request.lease.token, token):
                    request.notify(request.lease.to_json())

    def busy(self, key: str) -> StepwellError:
        """The error of a request that has waited long enough."""
        shown = [
            f"{row['address']}: {row['who']} for {row['seconds']:.0f} s"
            for row in self.rows()
            if row["key"] == key and row["who"]
        ]
        return StepwellError("device-busy", None, f"all devices of {key!r} are in use", note=shown)

    def held_by(self, number: int) -> Registered | None:
        """The device of a lease that lasts."""
        with self._lock:
            held = (device for device in self._devices if device.lease and device.lease.number == number)
            return next(held, None)

    def rows(self) -> list[dict[str, object]]:
        """The table of devices: key, address, state, holder, seconds in the state, waiting requests."""
        with self._lock:
            now = self._clock()
            holders = {id(r.lease): r.who for r in self._requests if r.lease is not None}
            waiting = [r.key for r in self._requests if r.lease is None]
            return [
                {
                    "key": device.key,
                    "address": str(device.address),
                    "state": "free" if device.lease is None else "in use",
                    "who": "" if device.lease is None else holders.get(id(device.lease), ""),
                    "seconds": now - (device.since if device.lease is None else device.lease.since),
                    "waiting": waiting.count(device.key),
                }
                for device in sorted(self._devices, key=lambda d: (d.key, str(d.address), d.since))
            ]
