"""Messages of other threads for the client of a call, whose signs of life are read meanwhile."""

from __future__ import annotations

import socket
from collections import deque
from contextlib import suppress
from queue import Empty
from selectors import EVENT_READ, DefaultSelector
from time import monotonic
from typing import Self

from stepwell.runtime.frames import Head
from stepwell.runtime.rpc.channels import BEAT_SECONDS
from stepwell.runtime.rpc.listening import Call

SILENT_SECONDS = 3 * BEAT_SECONDS
"""A client that was not heard for so long is gone, also where its machine still answers."""


class Mailbox:
    """
    The messages that a call's client is to get. The call's thread waits for them, and reads signs of life.
    """

    def __init__(self, call: Call):
        self._call = call
        self._messages: deque[Head | None] = deque()
        self._wakes, self._woken = socket.socketpair()
        self._wakes.setblocking(False)
        self._selector = DefaultSelector()
        for waited_for in (self._woken, call.wire):
            self._selector.register(waited_for, EVENT_READ)
        self._heard = monotonic()

    def put(self, message: Head | None) -> None:
        """Add a message, from any thread; None is the end of the call."""
        self._messages.append(message)
        with suppress(OSError):  # full: the thread will wake up
            self._wakes.send(b"-")

    def get(self, seconds: float = float("inf")) -> Head | None:
        """
        The next message; None at the end, or where the client is gone.

        Raises: Empty after `seconds` without a message; BadFrame.
        """
        end = monotonic() + seconds
        while not self._messages:
            left = min(end, self._heard + SILENT_SECONDS) - monotonic()
            ready = [key.fileobj for key, _ in self._selector.select(max(0.0, left))]
            if self._woken in ready:
                self._woken.recv(1 << 10)
            elif ready or self._call.wire.has_more:
                if not self._is_alive():
                    return None
            elif monotonic() >= end:
                raise Empty
            elif monotonic() - self._heard >= SILENT_SECONDS:
                return None
        return self._messages.popleft()

    def _is_alive(self) -> bool:
        """Whether the client has sent a sign of life; the connection may have ended."""
        with suppress(TimeoutError):
            if self._call.wire.receive(0, seconds=SILENT_SECONDS) is not None:
                self._heard = monotonic()
                return True
        return False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        """Close what wakes the thread; messages that come later are lost."""
        self._selector.close()
        self._wakes.close()
        self._woken.close()
