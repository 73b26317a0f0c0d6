"""Messages of protobuf as bytes again, so that a test may change what a file says."""

from __future__ import annotations

import struct

from stepwell.frontend.protobuf import Field, Message, Schema


def encoded(message: Message, schema: Schema) -> bytes:
    """The bytes of a message that was read; repeated numbers are not packed, as in files of proto2."""
    numbers = {field.name: (number, field) for number, field in schema[message.kind].items()}
    data = b""
    for name, value in message.values.items():
        number, field = numbers[name]
        for item in value if field.is_repeated else [value]:
            data += _field(number, field, item, schema)
    return data


def _field(number: int, field: Field, value: object, schema: Schema) -> bytes:
    if isinstance(value, int) and field.kind in ("int", "bool"):
        return _varint(number << 3) + _varint(value & (1 << 64) - 1)
    if isinstance(value, float) and field.kind in ("float", "double"):
        is_float = field.kind == "float"
        return _varint(number << 3 | (5 if is_float else 1)) + struct.pack("<f" if is_float else "<d", value)
    payload = encoded(value, schema) if isinstance(value, Message) else str(value).encode()
    return _varint(number << 3 | 2) + _varint(len(payload)) + payload


def _varint(value: int) -> bytes:
    data = bytearray()
    while value >= 128:
        data.append(value & 127 | 128)
        value >>= 7
    return bytes([*data, value])
