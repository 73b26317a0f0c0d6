"""Tokens of requests: compared in constant time, and refused for a while after wrong ones."""

from __future__ import annotations

import hmac
from collections import deque
from collections.abc import Callable
from threading import Lock
from time import monotonic

WRONG_PER_MINUTE = 5
_MINUTE = 60.0
_MAX_ADDRESSES = 1024


class Attempts:
    """A server's tokens, and the wrong ones of each address in the last minute."""

    def __init__(self, token: str, clock: Callable[[], float] = monotonic):
        self._tokens, self._clock = [token.encode()], clock
        self._wrong: dict[str, deque[float]] = {}
        self._lock = Lock()

    def allow(self, token: str) -> None:
        """Accept one more token."""
        with self._lock:
            self._tokens.append(token.encode())

    def revoke(self, token: str) -> None:
        """Accept a token of `allow` no more; nothing where it was revoked before."""
        with self._lock:
            self._tokens[1:] = [other for other in self._tokens[1:] if other != token.encode()]

    def refusal(self, address: str, token: str) -> str | None:
        """Why a request is refused; None for one that is served."""
        with self._lock:
            now = self._clock()
            wrong = self._wrong.get(address, deque())
            while wrong and now - wrong[0] >= _MINUTE:
                wrong.popleft()
            if len(wrong) >= WRONG_PER_MINUTE:
                return f"{WRONG_PER_MINUTE} wrong tokens came from this address: try again in a minute"
            if any([hmac.compare_digest(token.encode(), right) for right in self._tokens]):
                return None
            wrong.append(now)
            if address not in self._wrong and len(self._wrong) >= _MAX_ADDRESSES:
                del self._wrong[next(iter(self._wrong))]
            self._wrong[address] = wrong
            return "the token is not the server's"
