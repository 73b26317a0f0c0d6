"""Element types of the Open Inference Protocol, and arrays as the bytes of its binary extension."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

import numpy as np

from stepwell.runtime.errors import StepwellError
from stepwell.runtime.interface import Array, TensorSpec
from stepwell.runtime.serve.refused import bad_request

_NAMES = {
    "bool": "BOOL",
    "uint8": "UINT8",
    "uint16": "UINT16",
    "uint32": "UINT32",
    "uint64": "UINT64",
    "int8": "INT8",
    "int16": "INT16",
    "int32": "INT32",
    "int64": "INT64",
    "float16": "FP16",
    "float32": "FP32",
    "float64": "FP64",
    "bfloat16": "BF16",
    "object": "BYTES",
}
_LENGTH_BYTES = 4


def datatype_of(spec: TensorSpec) -> str:
    """The protocol's name of the elements of a tensor. Raises: StepwellError `unsupported-interface`."""
    name = "" if spec.type else _NAMES.get(spec.dtype.name, "")
    if not name:
        raise StepwellError(
            "unsupported-interface",
            None,
            f"{spec.name!r} is {spec}, which the Open Inference Protocol has no type for",
            help="let the model take and return tensors of numbers or strings",
        )
    return name


def array_of_bytes(spec: TensorSpec, shape: tuple[int, ...], data: memoryview) -> Array:
    """
    The array whose elements are the bytes of a message; it shares their memory where it can.

    Raises: Refused when there are more or fewer bytes than the shape has.
    """
    if spec.is_object:
        return strings(spec.name, shape, list(_texts(spec.name, data)))
    if (size := prod(shape) * spec.dtype.itemsize) != len(data):
        text = f"input {spec.name!r}: {list(shape)} of {spec.dtype.name} are {size} bytes, found {len(data)}"
        raise bad_request(text)
    if not data:
        return np.empty(shape, spec.dtype)
    if spec.dtype == np.dtype(bool):  # a byte other than 0 and 1 is no bool for compiled code
        return (np.frombuffer(data, np.uint8) != 0).reshape(shape)
    array = np.frombuffer(data, spec.dtype)
    return (array if array.flags.aligned else array.copy()).reshape(shape)


def bytes_of_array(array: Array) -> bytes:
    """The elements of an array as the binary extension has them; strings with their lengths."""
    if array.dtype != np.dtype(object):
        return array.tobytes()
    parts = [as_bytes(value) for value in array.ravel().tolist()]
    return b"".join(len(part).to_bytes(_LENGTH_BYTES, "little") + part for part in parts)


def as_bytes(value: object) -> bytes:
    """An element of a tensor of strings as bytes."""
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "replace")


def strings(name: str, shape: tuple[int, ...], values: list[str]) -> Array:
    """A tensor of strings. Raises: Refused for another number of them than the shape has."""
    if len(values) != prod(shape):
        raise bad_request(f"input {name!r}: {list(shape)} are {prod(shape)} elements, found {len(values)}")
    array = np.empty(len(values), np.dtype(object))
    array[:] = values
    return array.reshape(shape)


def _texts(name: str, data: memoryview) -> Iterator[str]:
    """The strings of a binary tensor: each begins with its length."""
    begin = 0
    while begin < len(data):
        first = begin + _LENGTH_BYTES
        end = first + int.from_bytes(data[begin:first], "little")
        if first > len(data) or end > len(data):
            raise bad_request(f"input {name!r}: a string of its data ends beyond it, at byte {end}")
        try:
            yield str(data[first:end], "utf-8")
        except UnicodeDecodeError as error:
            raise bad_request(f"input {name!r}: a string of its data is no UTF-8: {error.reason}") from None
        begin = end
