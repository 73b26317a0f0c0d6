"""The client of a server of sessions."""

from __future__ import annotations

from stepwell.runtime.errors import StepwellError
from stepwell.runtime.rpc.channels import Channel, Secrets, known_secrets
from stepwell.runtime.rpc.connection import Connection
from stepwell.runtime.rpc.identity import Address, place_of_url
from stepwell.runtime.rpc.requesting import Device
from stepwell.runtime.rpc.server import METHOD, PROTOCOL, SERVICE


def connected(
    url: str, token: str | None = None, fingerprint: str | None = None, timeout: float = 60, priority: int = 0
) -> Connection:
    """
    A session on a server, whose certificate and token are known, or on a device of a tracker.

    Raises: StepwellError `no-server`, `bad-token`, `bad-certificate`, `too-many`, `unknown-key`,
    `device-busy`.
    """
    place = place_of_url(url)
    secrets = known_secrets(place.address, token, fingerprint)
    if place.key is None:
        return opened(place.address, secrets, timeout)
    device = Device(place.address, secrets, place.key, priority, timeout)
    try:
        session = opened(device.address, device.secrets, timeout)
    except BaseException:
        device.close()
        raise
    session.close_after(device.close)
    return session


def opened(address: Address, secrets: Secrets, timeout: float) -> Connection:
    """A session on a server. Raises: StepwellError."""
    channel = Channel(address, secrets, timeout)
    try:
        stream = channel.call(SERVICE, METHOD)
        _expect_protocol(address, stream.receive(timeout).head.get("protocol"))
    except BaseException:
        channel.close()
        raise

    def close() -> None:
        stream.close()
        channel.close()

    return Connection(stream.ask_session, close)


def _expect_protocol(address: Address, found: object) -> None:
    """Require a server of this version of messages. Raises: StepwellError `bad-message`."""
    if found != PROTOCOL:
        message = f"{address} speaks version {found!r:.20} of the protocol, this client version {PROTOCOL}"
        raise StepwellError("bad-message", None, message, help="install the same Stepwell on both machines")
