"""Connections through a proxy: bytes passed on both ways."""

from __future__ import annotations

import socket
from collections.abc import Callable
from contextlib import suppress
from selectors import EVENT_READ, EVENT_WRITE, DefaultSelector
from threading import Thread

from stepwell.runtime.rpc.identity import Address
from stepwell.runtime.rpc.wire import Wire


def relay(one: Wire, other: Wire) -> None:
    """Pass bytes both ways until a side ends, and end both."""
    with suppress(OSError):
        _pass_on({one: other, other: one}, {one: other.take_rest(), other: one.take_rest()})
    for wire in (one, other):
        wire.end()


def _pass_on(opposite: dict[Wire, Wire], unsent: dict[Wire, bytes]) -> None:
    """
    Pass bytes on until a side ends: a side is read when its opposite has taken what came before.

    Args: `unsent` has the bytes that each side has not taken yet. Raises: OSError.
    """
    while True:
        with DefaultSelector() as selector:
            for wire, target in opposite.items():
                if events := EVENT_READ * (not unsent[target]) | EVENT_WRITE * bool(unsent[wire]):
                    selector.register(wire, events)
            ready = {key.fileobj for key, _ in selector.select()}
        for wire, target in opposite.items():
            if wire not in ready:
                continue
            if unsent[wire]:
                unsent[wire] = unsent[wire][wire.send_now(unsent[wire]) :]
            if not unsent[target] and (data := wire.read_now()) is not None:
                if not data:
                    return
                unsent[target] = data


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
