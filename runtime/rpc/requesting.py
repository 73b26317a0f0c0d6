"""Clients of a tracker: a device by its key, and the table of devices."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from contextlib import suppress

from stepwell.runtime.errors import StepwellError
from stepwell.runtime.json_values import as_int, as_list, as_mapping, as_text
from stepwell.runtime.rpc.channels import Channel, Secrets
from stepwell.runtime.rpc.identity import Address
from stepwell.runtime.rpc.messages import expect_success
from stepwell.runtime.rpc.relayed import LocalEnd, relay
from stepwell.runtime.rpc.tracker import SERVICE
from stepwell.runtime.rpc.wire import Wire

_ANSWER_SECONDS = 10.0
"""For the tracker's answer, after the time for a device."""


class Device:
    """A device that a tracker has lent to this client, until `close`."""

    def __init__(self, tracker: Address, secrets: Secrets, key: str, priority: int, timeout: float):
        """
        Args: `timeout` in seconds is for the device, and for the connection to the tracker.
        Raises: StepwellError `unknown-key`, `device-busy`, and as connecting does.
        """
        self._channel = Channel(tracker, secrets, timeout)
        self._end: LocalEnd | None = None
        try:
            request = {"key": key, "priority": priority, "timeout_ms": round(1e3 * timeout), "who": _who()}
            # The device is lent as long as this lives.
            self._call = self._channel.call(SERVICE, "request", beats=True)
            answer = expect_success(self._call.ask(request, seconds=timeout + _ANSWER_SECONDS)).head
        except BaseException:
            self._channel.close()
            raise
        self.secrets = Secrets(as_text(answer["token"]), as_text(answer["fingerprint"]))
        """Of the device, while it is lent."""
        self.address = Address(as_text(answer["host"]), as_int(answer["port"]))
        if answer["relays"]:
            self._lease = {"lease": as_int(answer["lease"]), "token": self.secrets.token}
            self._end = LocalEnd(self._pass_on)
            self.address = self._end.address

    def _pass_on(self, connection: socket.socket) -> None:
        """Reach the device through the proxy, for a connection to it."""
        wire = Wire(connection)
        with suppress(StepwellError):  # the connection ends
            call = self._channel.call(SERVICE, "connect")
            try:
                call.send(self._lease)
                relay(wire, call.wire)
            finally:
                call.close()
        wire.end()

    def close(self) -> None:
        """Give the device back."""
        if self._end is not None:
            self._end.close()
            self._end = None  # which refers to this device
        self._channel.close()


def devices_of(tracker: Address, secrets: Secrets, timeout: float) -> list[Mapping[str, object]]:
    """The devices of a tracker: key, address, state, who has them since when. Raises: StepwellError."""
    channel = Channel(tracker, secrets, timeout)
    try:
        answer = expect_success(channel.ask(SERVICE, "devices", {}, timeout))
    finally:
        channel.close()
    return [as_mapping(row) for row in as_list(answer.head["devices"])]


def _who() -> str:
    """The user and the machine of this client."""
    user = os.environ.get("USER") or os.environ.get("USERNAME") or "somebody"
    with suppress(OSError):
        return f"{user}@{socket.gethostname()}"
    return user
