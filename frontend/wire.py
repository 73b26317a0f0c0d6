"""
Separates the large weights from a serialized model before parsing; they stay in the mapped file.

A protobuf parser copies every `raw_data`. Here the wire format is walked first (a few thousand fields,
milliseconds); each large `raw_data` becomes a `segment`, its byte range in the file.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from stepwell.frontend.messages import TensorProto, message_class

MIN_BYTES = 4096
"""Smaller payloads are left as they are: parsing them is cheaper."""
MAX_DEPTH = 64
"""Subgraphs nested deeper are left to the parser, which has its own bound."""

_BYTES = 2  # wire type of strings, bytes and messages

# The paths to tensors: for each message, its fields that are a tensor or contain one.
_PATHS: Mapping[str, tuple[str, ...]] = {
    "ModelProto": ("graph", "functions"),
    "GraphProto": ("node", "initializer", "sparse_initializer"),
    "FunctionProto": ("node", "attribute_proto"),
    "NodeProto": ("attribute",),
    "AttributeProto": ("t", "g", "tensors", "graphs", "sparse_tensor", "sparse_tensors"),
    "SparseTensorProto": ("values", "indices"),
    "TensorProto": (),
}


@cache
def _children(message: str) -> Mapping[int, str]:
    """The message types of the fields to descend into, by field number."""
    fields = message_class(message).DESCRIPTOR.fields_by_name
    found = ((fields[name].number, fields[name].message_type) for name in _PATHS[message])
    return {number: type.name for number, type in found if type is not None}


_RAW_DATA = TensorProto.DESCRIPTOR.fields_by_name["raw_data"].number
_SEGMENT = TensorProto.DESCRIPTOR.fields_by_name["segment"].number


def without_weights(model: memoryview) -> tuple[bytes, frozenset[tuple[int, int]]]:
    """
    A serialized model without its large `raw_data`, and the byte ranges (begin, end) that were left out.

    Raises: ValueError when the bytes are no protobuf message.
    """
    ranges: set[tuple[int, int]] = set()
    try:
        return _strip(model, 0, len(model), "ModelProto", ranges, 0), frozenset(ranges)
    except IndexError:
        raise ValueError("the file ends within a field") from None


def _strip(
    data: memoryview, begin: int, end: int, message: str, ranges: set[tuple[int, int]], depth: int
) -> bytes:
    """A message with large `raw_data` replaced by segments; adds their byte ranges to `ranges`."""
    children = _children(message)
    pieces: list[bytes | memoryview] = []
    copied = at = begin
    while at < end:
        start = at
        tag, at = read_varint(data, at)
        if tag & 7 != _BYTES:
            at = _skip(data, at, tag & 7)
            continue
        length, at = read_varint(data, at)
        body, at = at, at + length
        if at > end:
            raise ValueError("a field ends after its message")
        if length < MIN_BYTES:
            continue
        if message == "TensorProto" and tag >> 3 == _RAW_DATA:
            ranges.add((body, at))
            replaced = _field(_SEGMENT, b"\x08" + _encode(body) + b"\x10" + _encode(at))
        elif (child := children.get(tag >> 3)) is not None and depth < MAX_DEPTH:
            replaced = _field(tag >> 3, _strip(data, body, at, child, ranges, depth + 1))
        else:
            continue
        pieces += [data[copied:start], replaced]
        copied = at
    if at != end:
        raise ValueError("a field ends after its message")
    pieces.append(data[copied:end])
    return b"".join(pieces)


def _field(number: int, payload: bytes) -> bytes:
    """A field of bytes in wire format."""
    return _encode(number << 3 | _BYTES) + _encode(len(payload)) + payload


def _skip(data: memoryview, at: int, wire_type: int) -> int:
    """The position after a field of a wire type without length."""
    match wire_type:
        case 0:
            return read_varint(data, at)[1]
        case 1:
            return at + 8
        case 5:
            return at + 4
        case _:
            raise ValueError(f"wire type {wire_type} does not exist")


def read_varint(data: memoryview, at: int) -> tuple[int, int]:
    """The variable-length number at a position, and the position after it. Raises: IndexError, ValueError."""
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
        if shift > 63:
            raise ValueError("a number is longer than 64 bits")


def _encode(value: int) -> bytes:
    """A number in variable-length encoding."""
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)
