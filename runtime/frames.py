"""Messages between processes: a JSON line, then as many bytes as the line states, both bounded."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import IO, NamedTuple, TypeAlias

from stepwell.runtime.json_values import as_mapping

Head: TypeAlias = dict[str, object]

MAX_HEAD_BYTES = 1 << 24
"""The longest JSON line, of more than a compilation's facts and errors ever need."""
MAX_BODY_BYTES = 1 << 32

_SIZE = "bytes"
_DECODER = json.JSONDecoder()


class Frame(NamedTuple):
    """A message: an object of JSON, and bytes."""

    head: Head
    body: bytes
    line = b""  # no field: messages with equal heads and bodies are equal


class Received(Frame):
    """A received message with the line of its head, for passing it on unchanged."""

    @staticmethod
    def of(head: Head, body: bytes, line: bytes) -> Received:
        """The message of a head, which is also a line, and a body."""
        frame = Received(head, body)
        frame.line = line
        return frame


class BadFrame(ValueError):
    """Bytes that are no message, or one over the limits."""


def line_of(head: Mapping[str, object], body: bytes) -> bytes:
    """The JSON line with which a message begins, without the end of the line."""
    return json.dumps({**head, _SIZE: len(body)}).encode()


def object_of(text: str) -> Mapping[str, object]:
    """The object of a text in JSON. Raises: ValueError, TypeError, RecursionError."""
    if text.startswith("{"):  # `json.loads` looks for spaces first: twice the time for a short text
        value, end = _DECODER.raw_decode(text)
        if end == len(text):
            return value
    return as_mapping(json.loads(text))


def write_frame(stream: IO[bytes], head: Mapping[str, object], body: bytes = b"", line: bytes = b"") -> None:
    """
    Send a message.

    Args: `line` is the line of a message that is forwarded.
    Raises: OSError, such as BrokenPipeError from a reader that has ended.
    """
    stream.write((line or line_of(head, body)) + b"\n" + body)
    stream.flush()


def read_frame(stream: IO[bytes], max_body: int = MAX_BODY_BYTES) -> Frame | None:
    """
    A received message; None at the end of the stream, or where that cuts the message off.

    Args: `max_body` is the largest body in bytes that is accepted; no memory is asked for before.
    Raises: BadFrame.
    """
    line = stream.readline(MAX_HEAD_BYTES + 1)
    if len(line) > MAX_HEAD_BYTES:
        raise BadFrame(f"a message begins with more than {MAX_HEAD_BYTES} bytes in one line")
    if not line.endswith(b"\n"):
        return None
    try:
        text = line[:-1]
        head = dict(object_of(text.decode()))
    except (ValueError, TypeError, RecursionError) as error:
        raise BadFrame(f"a message begins with a line of JSON, found {line[:40]!r}") from error
    size = head.pop(_SIZE, None)
    if type(size) is not int or not 0 <= size <= max_body:
        raise BadFrame(f"a message has from 0 to {max_body} bytes, found {size!r}")
    body = stream.read(size)
    return Received.of(head, body, text) if len(body) == size else None
