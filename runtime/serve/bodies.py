"""Bodies of requests: compressed ones are expanded up to a bound, piece by piece."""

from __future__ import annotations

import zlib
from http import HTTPStatus

from stepwell.runtime.serve.refused import Refused, bad_request

_GZIP_OR_ZLIB = {"gzip": 16 + zlib.MAX_WBITS, "x-gzip": 16 + zlib.MAX_WBITS, "deflate": zlib.MAX_WBITS}


class Body:
    """A body under way: `add` each piece as it arrives, then `finish` for the whole."""

    def __init__(self, encoding: str, max_bytes: int):
        """
        Args: `encoding` as of the header; `max_bytes` bounds the body, as it is sent and expanded.
        Raises: Refused for an encoding that is unknown.
        """
        self._pieces: list[bytes] = []
        self._size = self._sent = 0
        self._max_bytes = max_bytes
        self._expander = None
        if (encoding := encoding.strip().lower()) not in ("", "identity"):
            if encoding not in _GZIP_OR_ZLIB:
                text = f"Content-Encoding {encoding[:40]!r} is not one of gzip and deflate"
                raise Refused(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, text)
            self._expander = zlib.decompressobj(_GZIP_OR_ZLIB[encoding])

    def add(self, piece: bytes) -> None:
        """Append a piece. Raises: Refused above the bound, and for damaged data."""
        self._sent += len(piece)
        if self._expander is not None and self._sent <= self._max_bytes:
            try:  # one byte over the bound shows that there is more
                piece = self._expander.decompress(piece, self._max_bytes - self._size + 1)
            except zlib.error as error:
                raise bad_request(f"the compressed body is damaged: {error}") from None
        self._size += len(piece)
        if max(self._size, self._sent) > self._max_bytes:
            raise too_large(self._max_bytes)
        self._pieces.append(piece)

    def finish(self) -> bytes:
        """The whole body. Raises: Refused for a compressed one that lacks its end."""
        if self._expander is not None and not self._expander.eof:
            raise bad_request("the compressed body ends early")
        return self._pieces[0] if len(self._pieces) == 1 else b"".join(self._pieces)


def expect_length(text: str | None, max_bytes: int) -> None:
    """Check a `Content-Length` before the body is read. Raises: Refused."""
    if text is None:
        return
    if not (text.isascii() and text.isdecimal()):
        raise bad_request(f"Content-Length is {text[:40]!r}, no number")
    if len(text) > 19 or int(text) > max_bytes:
        raise too_large(max_bytes)


def too_large(max_bytes: int) -> Refused:
    """The refusal of a body over the bound."""
    text = f"the request has more than {max_bytes} bytes, the bound of this server (--max-request)"
    return Refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, text)
