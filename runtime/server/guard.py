"""The check of requests to a local server: a token, and the names of the machine that may be used."""

from __future__ import annotations

import hmac
import re
from collections.abc import Collection, Mapping
from http import HTTPStatus
from secrets import token_hex

HOST = "127.0.0.1"
TOKEN_HEADER = "X-Stepwell-Token"
TOKEN_BYTES = 32
LOOPBACK = (HOST, "localhost")


class Guard:
    """
    The check of requests: they have the server's secret token, and were meant for this server.

    `Host` is compared because a web page can let its own domain point to 127.0.0.1 (DNS rebinding), `Origin`
    because it can send requests from elsewhere. Source: OWASP, "DNS Rebinding" and "Cross-Site Request
    Forgery Prevention".
    """

    def __init__(
        self, port: int | None, *, token: str | None = None, names: Collection[str] | None = LOOPBACK
    ):
        """
        Args: `port` of the server, None for any; `token` is made up by default; `names`
        of the machine that requests may use, None for any.
        """
        self.token = token_hex(TOKEN_BYTES) if token is None else token
        self._port = port
        self._names = None if names is None else {name.lower() for name in names}

    def refusal(self, headers: Mapping[str, str], *, needs_token: bool = True) -> HTTPStatus | None:
        """
        The status of a request that is refused, None for one that is served.

        Args: `headers` are found without regard to case; `needs_token` is False without secrets.
        """
        origin = headers.get("Origin")
        if not self._is_ours(headers.get("Host", "")):
            return HTTPStatus.MISDIRECTED_REQUEST
        if origin is not None and not self._is_ours(re.sub("^https?://", "", origin.lower())):
            return HTTPStatus.MISDIRECTED_REQUEST
        if needs_token and not self.is_token(headers.get(TOKEN_HEADER, "")):
            return HTTPStatus.FORBIDDEN
        return None

    def is_token(self, text: str) -> bool:
        """Whether the text is the token; compared in constant time."""
        return hmac.compare_digest(text.encode(), self.token.encode())

    def _is_ours(self, host: str) -> bool:
        name, colon, port = host.lower().rpartition(":") if not host.endswith("]") else (host.lower(), "", "")
        if not colon:
            name, port = name or port, ""
        return self._names is None or (name in self._names and self._port in (None, _number(port)))


def _number(port: str) -> int:
    return int(port) if port.isascii() and port.isdecimal() and len(port) <= len("65535") else -1
