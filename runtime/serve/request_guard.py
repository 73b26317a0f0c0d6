"""The check of requests: token, host, and a content type that no web page sends by itself."""

from __future__ import annotations

import hmac
from collections.abc import Mapping, Sequence

from stepwell.runtime.serve.protocol import Refusal

_TYPES = ("application/json", "application/octet-stream")


class RequestGuard:
    """The token and the names of hosts that requests must have."""

    def __init__(self, token: str | None, hosts: Sequence[str] | None):
        """Args: None for no token, and for any host."""
        self._token = None if token is None else token.encode()
        self._hosts = None if hosts is None else tuple(host.lower() for host in hosts)

    def check(self, method: str, headers: Mapping[str, str]) -> None:
        """Raises: Refusal."""
        if self._hosts is not None:
            name = headers.get("host", "").lower()
            if name.rpartition(":")[0] not in self._hosts and name not in self._hosts:
                raise Refusal(421, "the request names another host")
        if self._token is not None:
            given = headers.get("authorization", "").removeprefix("Bearer ").encode()
            if not hmac.compare_digest(given, self._token):
                raise Refusal(401, "the request has no token, or another one")
        if method == "POST":
            self._check_type(headers)

    def _check_type(self, headers: Mapping[str, str]) -> None:
        """Clients without a type are programs: a page's request has an origin."""
        found = headers.get("content-type", "").partition(";")[0].strip().lower()
        if found not in _TYPES and (found or "origin" in headers):
            raise Refusal(415, f"a body is {' or '.join(_TYPES)}")
