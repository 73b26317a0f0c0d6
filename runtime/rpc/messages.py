"""Messages of sessions: bounded heads, arrays as bytes, and errors as JSON."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from math import prod
from typing import Any, cast

import numpy as np

from stepwell.runtime.errors import StepwellError
from stepwell.runtime.frames import BadFrame, Frame, Head, line_of, object_of
from stepwell.runtime.interface import Array, dtype_from_name
from stepwell.runtime.json_values import as_list, as_mapping, as_shape, as_size, as_text, as_texts

MAX_HEAD_BYTES = 1 << 20
MAX_DEPTH = 32
_COPIED_BYTES = 1 << 16

_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"')
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_SIZE = "bytes"


def packed(head: Mapping[str, object], body: bytes, line: bytes = b"") -> tuple[bytes, ...]:
    """
    A message as bytes, in pieces that are sent one after the other: a large body is not copied.

    Args: `line` is the line of a message that is forwarded.
    """
    line = (line or line_of(head, body)) + b"\n"
    return (line + body,) if len(body) <= _COPIED_BYTES else (line, body)


def head_of(line: bytes, max_body: int) -> tuple[Head, int]:
    """The head of a message and the size of its body. Raises: BadFrame."""
    head = dict(bounded_json(line))
    size = head.pop(_SIZE, None)
    if type(size) is not int or not 0 <= size <= max_body:
        raise BadFrame(f"a message has from 0 to {max_body} bytes, found {size!r:.40}")
    return head, size


def bounded_json(text: bytes, max_bytes: int = MAX_HEAD_BYTES) -> Mapping[str, object]:
    """An object of JSON, of bounded size and depth. Raises: BadFrame."""
    if len(text) > max_bytes:
        raise BadFrame(f"JSON has at most {max_bytes} bytes, found {len(text)}")
    if text.count(b"[") + text.count(b"{") > MAX_DEPTH:  # else it cannot nest deeper
        _expect_shallow(text)
    try:
        return object_of(text.decode())
    except (ValueError, TypeError, RecursionError) as error:
        raise BadFrame(f"expected an object of JSON, found {text[:40]!r}") from error


def _expect_shallow(text: bytes) -> None:
    """Require brackets outside of strings to nest at most `MAX_DEPTH` deep. Raises: BadFrame."""
    depth = 0
    for byte in _STRING.sub(b"", text).translate(None, _NO_BRACKETS):
        depth += 1 if byte in b"[{" else -1
        if depth > MAX_DEPTH:
            raise BadFrame(f"JSON nests at most {MAX_DEPTH} deep")


@cache
def _name_of(dtype: np.dtype[np.generic]) -> str:
    """The name of an element type, which numpy makes up each time: 2 us."""
    return dtype.name


@lru_cache(maxsize=64)
def _dtype_of(name: str) -> np.dtype[np.generic]:
    """The element type of a name, which numpy looks for each time. Raises: ValueError, StepwellError."""
    return dtype_from_name(name)


def packed_arrays(arrays: Sequence[Array]) -> tuple[list[object], bytes]:
    """Element types and shapes of arrays, and their bytes."""
    rows: list[object] = [[_name_of(array.dtype), list(array.shape)] for array in arrays]
    return rows, b"".join(np.ascontiguousarray(array).tobytes() for array in arrays)


def unpacked_arrays(rows: object, body: bytes) -> list[Array]:
    """The arrays that `packed_arrays` wrote. Raises: BadFrame."""
    arrays: list[Array] = []
    at = 0
    try:
        for row in as_list(rows):
            name, shape = as_list(row, 2)
            dtype, sizes = _dtype_of(as_text(name)), as_shape(shape)
            count = prod(sizes)
            size = count * dtype.itemsize
            if dtype.hasobject or size > len(body) - at:
                raise BadFrame(f"an array of {size} bytes is announced, found {len(body) - at}")
            arrays.append(np.frombuffer(body, dtype, count, at).reshape(sizes))
            at += size
    except (ValueError, TypeError) as error:
        raise error if isinstance(error, BadFrame) else BadFrame(str(error)) from error
    if at != len(body):
        raise BadFrame(f"arrays of {at} bytes are announced, found {len(body)}")
    return arrays


def failure(error: Exception) -> Frame:
    """The answer that says why there is none."""
    if not isinstance(error, StepwellError):
        is_message = isinstance(error, BadFrame)
        text = f"{type(error).__name__}: {error}"[:4000]
        error = StepwellError("bad-message" if is_message else "host-failed", None, text)
    fields = {"code": error.code, "message": error.message, "where": error.where, "notes": list(error.notes)}
    return Frame({"error": {**fields, "help": error.help}}, b"")


def expect_success(answer: Frame) -> Frame:
    """The answer, unless it is a failure. Raises: StepwellError."""
    if "error" not in answer.head:
        return answer
    fields = cast("Mapping[str, Any]", as_mapping(answer.head["error"]))
    message, where = as_text(fields["message"]), as_text(fields["where"])
    notes, help = as_texts(fields["notes"]), cast("str | None", fields["help"])
    raise StepwellError(fields["code"], where, message, note=notes, help=help)


def number(head: Mapping[str, object], key: str, least: int, most: int) -> int:
    """A number of a head within bounds. Raises: BadFrame."""
    try:
        value = as_size(head[key])
    except (KeyError, TypeError, ValueError) as error:
        raise BadFrame(f"{key} must be a number from {least} to {most}") from error
    if not least <= value <= most:
        raise BadFrame(f"{key} must be a number from {least} to {most}, found {value}")
    return value
