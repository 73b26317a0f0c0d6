"""The check of requests to a local server: a token, and the names of the machine that may be used."""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from http import HTTPStatus
from secrets import token_hex

HOST = "127.0.0.1"
TOKEN_HEADER = "X-Stepwell-Token"
TOKEN_BYTES = 32
_NAMES = (HOST, "localhost")


class Guard:
    """
    What a request to a server has to show: the server's secret token, and that it was meant for this server.

    `Host` is compared because a web page can let its own domain point to 127.0.0.1 (DNS rebinding), `Origin`
    because it can send requests from elsewhere. Source: OWASP, "DNS Rebinding" and "Cross-Site Request
    Forgery Prevention".
    """

    def __init__(self, port: int):
        """Args: `port` is that of the server, on the loopback interface."""
        self.token = token_hex(TOKEN_BYTES)
        self._hosts = [f"{name}:{port}" for name in _NAMES]

    def refusal(self, headers: Mapping[str, str], *, needs_token: bool = True) -> HTTPStatus | None:
        """
        The status of a request that is refused, None for one that is served.

        Args: `headers` are found without regard to case; `needs_token` is False for what holds no secret.
        """
        if headers.get("Host", "").lower() not in self._hosts:
            return HTTPStatus.MISDIRECTED_REQUEST
        origin = headers.get("Origin")
        if origin is not None and origin.lower().removeprefix("http://") not in self._hosts:
            return HTTPStatus.MISDIRECTED_REQUEST
        given = headers.get(TOKEN_HEADER, "").encode()
        if needs_token and not hmac.compare_digest(given, self.token.encode()):
            return HTTPStatus.FORBIDDEN
        return None
