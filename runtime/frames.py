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


class Frame(NamedTuple):
    """A message: an object of JSON, and bytes."""

    head: Head
    body: bytes


class BadFrame(ValueError):
    """Bytes that are no message, or one over the limits."""


def write_frame(stream: IO[bytes], head: Mapping[str, object], body: bytes = b"") -> None:
    """Send a message. Raises: OSError, such as BrokenPipeError from a reader that has ended."""
    stream.write(json.dumps({**head, _SIZE: len(body)}).encode() + b"\n" + body)
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
        head = dict(as_mapping(json.loads(line)))
    except (ValueError, TypeError, RecursionError) as error:
        raise BadFrame(f"a message begins with a line of JSON, found {line[:40]!r}") from error
    size = head.pop(_SIZE, None)
    if type(size) is not int or not 0 <= size <= max_body:
        raise BadFrame(f"a message has from 0 to {max_body} bytes, found {size!r}")
    body = stream.read(size)
    return Frame(head, body) if len(body) == size else None
