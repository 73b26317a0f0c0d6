"""Models on another machine, or in another process here: `rpc.connect(URL)`, `rpc.local()`."""

from __future__ import annotations

from stepwell.runtime.rpc.connection import Connection, Timing
from stepwell.runtime.rpc.remote_model import RemoteModel

__all__ = ["Connection", "RemoteModel", "Timing", "connect", "local"]


def local(*, session_seconds: float | None = None, memory_bytes: int | None = None) -> Connection:
    """
    A session in a process of its own on this machine.

    Args: `session_seconds` is the longest time of a run, `memory_bytes` limits its address space.
    """
    from stepwell.runtime.rpc.session import Limits, Session

    session = Session(Limits(session_seconds=session_seconds, memory_bytes=memory_bytes))
    return Connection(session.answer, session.close)


def connect(
    url: str,
    *,
    token: str | None = None,
    fingerprint: str | None = None,
    timeout: float = 60,
    priority: int = 0,
) -> Connection:
    """
    A session on a server of `stepwell rpc serve`, or on a device that a tracker lends until it is closed.

    Args: `url` is `rpc://HOST:PORT`, or `rpc://HOST:PORT?key=KEY` for a device of the tracker there; `token`
    and `fingerprint` of its certificate are found for servers of this user on this machine, and those of
    `stepwell rpc trust`; `timeout` in seconds is for the connection and for a free device, which requests of
    higher `priority` get first.
    Raises: StepwellError `no-server`, `bad-token`, `bad-certificate`, `too-many`, `unknown-key`,
    `device-busy`.
    """
    from stepwell.runtime.rpc.client import connected

    return connected(url, token, fingerprint, timeout, priority)
