"""A server of sessions as a device of a tracker, which lends it to clients."""

from __future__ import annotations

import socket
from contextlib import suppress
from threading import Event, Thread
from typing import NamedTuple

from stepwell.runtime.errors import StepwellError
from stepwell.runtime.json_values import as_text
from stepwell.runtime.rpc.channels import Channel, Secrets
from stepwell.runtime.rpc.identity import Address
from stepwell.runtime.rpc.listening import Log, log_to_stderr
from stepwell.runtime.rpc.messages import expect_success
from stepwell.runtime.rpc.relayed import relay
from stepwell.runtime.rpc.server import RpcServer
from stepwell.runtime.rpc.tracker import SERVICE
from stepwell.runtime.rpc.wire import Wire

_CONNECT_SECONDS = 10.0
_AGAIN_SECONDS = 2.0
_LEAVE_SECONDS = 1.0
_REFUSED_SECONDS = 20.0
"""Five wrong tokens in a minute would be too many."""


class Tracked(NamedTuple):
    """The tracker of a device, and the device's own key and fingerprint."""

    tracker: Address
    secrets: Secrets
    key: str
    fingerprint: str
    log: Log = log_to_stderr


class Registration:
    """A device that stays registered until `close`, also when its tracker starts again."""

    def __init__(self, server: RpcServer, tracked: Tracked):
        self._server, self._tracked = server, tracked
        self._closed = Event()
        self._channel: Channel | None = None
        self._tokens: set[str] = set()
        self._thread = Thread(target=self._stay, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Leave the tracker."""
        self._closed.set()
        if self._channel is not None:
            self._channel.close()
        self._thread.join(_LEAVE_SECONDS)

    def _stay(self) -> None:
        while not self._closed.is_set():
            pause = _AGAIN_SECONDS
            try:
                self._follow()
            except StepwellError as error:
                if not self._closed.is_set():
                    self._tracked.log(f"tracker {self._tracked.tracker}: {error.message}")
                pause = _AGAIN_SECONDS if error.code in ("no-server", "session-died") else _REFUSED_SECONDS
            self._closed.wait(pause)

    def _follow(self) -> None:
        """Register, and do as the tracker says. Raises: StepwellError at the end of the connection."""
        tracked = self._tracked
        channel = self._channel = Channel(tracked.tracker, tracked.secrets, _CONNECT_SECONDS)
        try:
            stream = channel.call(SERVICE, "register", beats=True)
            address = self._server.address
            host = "" if address.host in ("0.0.0.0", "::") else address.host  # the tracker sees another
            named = {"key": tracked.key, "fingerprint": tracked.fingerprint}
            asked = {**named, "host": host, "port": address.port}
            expect_success(stream.ask(asked, seconds=_CONNECT_SECONDS))
            tracked.log(f"registered as {tracked.key} at {tracked.tracker}")
            while not self._closed.is_set():
                head = stream.receive().head
                match head.get("op"):
                    case "lease":
                        self._tokens.add(token := as_text(head["token"]))
                        self._server.allow(token)
                        channel.ask(SERVICE, "ready", {"token": token}, _CONNECT_SECONDS)
                    case "end":
                        self._revoke(as_text(head["token"]))
                    case _:
                        Thread(target=self._accept, args=(channel, as_text(head["id"])), daemon=True).start()
        finally:
            for token in list(self._tokens):
                self._revoke(token)
            channel.close()

    def _revoke(self, token: str) -> None:
        self._tokens.discard(token)
        self._server.revoke(token)

    def _accept(self, channel: Channel, name: str) -> None:
        """Serve a connection that the proxy passes on."""
        with suppress(OSError, StepwellError):  # either end ends the other
            wire = Wire(socket.create_connection(self._server.address, timeout=_CONNECT_SECONDS))
            call = channel.call(SERVICE, "accept")
            try:
                call.send({"id": name})
                relay(wire, call.wire)
            finally:
                call.close()
