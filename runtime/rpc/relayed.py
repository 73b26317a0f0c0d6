"""Connections through a proxy: bytes of a socket here, as parts of a call there."""

from __future__ import annotations

import socket
from collections.abc import Callable
from contextlib import suppress
from queue import Full, Queue
from threading import Thread
from typing import Any

from stepwell.runtime.rpc.identity import Address

_PART_BYTES = 1 << 16
_MAX_PARTS = 16
"""Parts that wait to be sent: what is faster waits."""
_LOOK_SECONDS = 1.0


def pump(connection: socket.socket, begin: Callable[[Queue[bytes | None]], Any]) -> None:
    """
    Pass bytes both ways until a side ends, and close both.

    Args: `begin` begins the call, with a queue of parts to send, and returns the iterator of its answers.
    """
    parts: Queue[bytes | None] = Queue(_MAX_PARTS)
    call = begin(parts)
    sender = Thread(target=_send, args=(connection, parts, call), daemon=True)
    sender.start()
    with suppress(Exception):  # of a call or a socket that has ended: either way this is the end
        for part in call:
            connection.sendall(part)
    call.cancel()
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
    sender.join()
    connection.close()


def _send(connection: socket.socket, parts: Queue[bytes | None], call: Any) -> None:
    data: bytes | None = b"-"
    while data:
        try:
            data = connection.recv(_PART_BYTES) or None
        except OSError:
            data = None
        while True:
            try:
                parts.put(data, timeout=_LOOK_SECONDS)
                break
            except Full:
                if not call.is_active():
                    return


class LocalEnd:
    """A port of this machine whose connections are passed on."""

    def __init__(self, passed_on: Callable[[socket.socket], None]):
        """Args: `passed_on` serves a connection, in a thread of its own."""
        self._passed_on = passed_on
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = Address(*self._listener.getsockname()[:2])
        Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):  # of the closed listener
            while True:
                connection, _ = self._listener.accept()
                Thread(target=self._passed_on, args=(connection,), daemon=True).start()

    def close(self) -> None:
        """Accept no more connections."""
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
