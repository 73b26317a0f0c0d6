"""Types and constants of an ML program, as types of the IR and as arrays."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from math import prod
from typing import Any

import ml_dtypes
import numpy as np
from xdsl.dialects.builtin import UnrankedTensorType
from xdsl.ir import Attribute

from stepwell.dialects.types import element_of, tensor_type
from stepwell.frontend.coreml.package import Package
from stepwell.frontend.coreml.schema import ELEMENTS, STRING
from stepwell.frontend.packed import packed_elements
from stepwell.frontend.protobuf import Message
from stepwell.runtime.dims import UNKNOWN, Dim
from stepwell.runtime.interface import Array, dtype_from_name

_SENTINEL, _HEADER = 0xDEADBEEF, struct.Struct("<IIQQ")
"""The record before a blob: a mark, a type, the number of bytes, their place in the file."""
_PACKED = ("int4", "uint4", "uint2")


def type_of(type: Message, package: Package, name: str) -> Attribute:
    """
    The type of a value; a list is a tensor of its elements, stacked along a new axis.

    Raises: StepwellError `invalid-model` for one that is neither.
    """
    if "listType" in type:
        return _list_type(type.message("listType"), package, name)
    element = element_of(dtype_from_name(_element(type, package, name)))
    sizes = sizes_of(type, package, name)
    if sizes is None:
        return UnrankedTensorType(element)
    return tensor_type(element, [*map(_dim, sizes)])


def _list_type(type: Message, package: Package, name: str) -> Attribute:
    """The type of a list: its length is the first size. Raises: StepwellError `invalid-model`."""
    element, sizes = (
        element_type(type.message("type"), package, name),
        sizes_of(type.message("type"), package, name),
    )
    if sizes is None:
        return UnrankedTensorType(element)
    return tensor_type(element, [_dim(size) for size in (_size(type.message("length")), *sizes)])


def element_type(type: Message, package: Package, name: str) -> Attribute:
    """The element type of a value."""
    return element_of(dtype_from_name(_element(type, package, name)))


def _dim(size: int | None) -> Dim:
    return Dim.of(UNKNOWN if size is None else size)


def _size(dimension: Message) -> int | None:
    """The size that is recorded; None for an open one."""
    return dimension.message("constant").integer("size") if "constant" in dimension else None


def _element(type: Message, package: Package, name: str) -> str:
    tensor = type.message("tensorType")
    found = ELEMENTS.get(tensor.integer("dataType"))
    if "tensorType" not in type or found is None:
        kind = "a state" if "stateType" in type else f"of type {tensor.integer('dataType')}"
        raise package.invalid(f"{name!r} must be a tensor of numbers, and is {kind}")
    return found


def sizes_of(type: Message, package: Package, name: str) -> list[int | None] | None:
    """The sizes of a tensor, None for open ones; None for an open rank."""
    tensor = type.message("tensorType")
    sizes: list[int | None] = []
    for each in tensor.messages("dimensions"):
        if each.message("unknown").integer("variadic"):
            return None
        sizes.append(_size(each))
    if tensor.integer("rank") != len(sizes) or any(size is not None and size < 0 for size in sizes):
        raise package.invalid(f"{name!r} has rank {tensor.integer('rank')} and sizes {sizes}")
    return sizes


def constant_of(value: Message, package: Package, name: str) -> Array | str | Sequence[str]:
    """
    The array of a constant, or its text.

    Raises: StepwellError `invalid-model` for other kinds of values, and for another number of elements.
    """
    type = value.message("type")
    immediate = value.message("immediateValue").message("tensor")
    if type.message("tensorType").integer("dataType") == STRING:
        texts = immediate.message("strings").texts("values")
        return texts[0] if not type.message("tensorType").integer("rank") and texts else texts
    element, sizes = _element(type, package, name), sizes_of(type, package, name)
    if sizes is None or None in sizes:
        raise package.invalid(f"the constant {name!r} has no shape")
    shape = [size for size in sizes if size is not None]
    if "blobFileValue" in value:
        return _blob(value.message("blobFileValue"), element, shape, package, name)
    if "bytes" in immediate:
        return _from_bytes(immediate.message("bytes").payload("values"), element, shape, package, name)
    for field in ("floats", "ints", "bools", "longInts", "doubles"):
        if field in immediate:
            numbers = immediate.message(field).array("values")
            return _shaped(numbers, element, shape, package, name)
    if prod(shape) == 0:
        return np.zeros(shape, dtype_from_name(element))
    raise package.invalid(f"the constant {name!r} must be a tensor")


def _shaped(numbers: Array, element: str, shape: Sequence[int], package: Package, name: str) -> Array:
    """Numbers in their type and shape."""
    if numbers.size != prod(shape):
        raise package.invalid(f"{name!r} has {numbers.size} numbers for the shape {list(shape)}")
    dtype = dtype_from_name(element)
    info: Any = ml_dtypes.iinfo(dtype) if dtype.kind in "iu" else None
    if info and numbers.size and not info.min <= int(numbers.min()) <= int(numbers.max()) <= info.max:
        raise package.invalid(f"{name!r} has numbers outside of {element}")
    return numbers.reshape(shape).astype(dtype, copy=False)


def _from_bytes(data: memoryview, element: str, shape: Sequence[int], package: Package, name: str) -> Array:
    """The elements that bytes stand for."""
    if element in _PACKED:
        return packed_elements(data, element, shape, name, package.invalid)
    dtype = dtype_from_name(element)
    if len(data) != prod(shape) * dtype.itemsize:
        raise package.invalid(f"{name!r} has {len(data)} bytes for the shape {list(shape)} of {element}")
    return np.frombuffer(data, dtype).reshape(shape)


def _blob(value: Message, element: str, shape: Sequence[int], package: Package, name: str) -> Array:
    """The elements of a blob in a weight file, a view of the mapped file."""
    data, at = package.blob(value.text("fileName")), value.integer("offset")
    if not 0 <= at <= len(data) - _HEADER.size:
        raise package.invalid(f"{name!r}: byte {at} is outside of the {len(data)} bytes of the weight file")
    mark, _, size, begin = _HEADER.unpack_from(data, at)
    if mark != _SENTINEL:
        raise package.invalid(f"{name!r}: no blob begins at byte {at}")
    if begin + size > len(data):
        raise package.invalid(
            f"{name!r}: bytes {begin} to {begin + size} are outside of the {len(data)} bytes of the file"
        )
    return _from_bytes(data[begin : begin + size], element, shape, package, name)
