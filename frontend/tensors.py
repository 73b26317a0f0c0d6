"""Tensors of a model file as arrays, checked against their shape before anything is allocated; and back."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from xdsl.ir import Attribute

from stepwell.dialects.constants import array_of as array_of_attr
from stepwell.dialects.constants import constant_attr
from stepwell.dialects.onnx.types import SparseAttr, StringsAttr
from stepwell.dialects.types import dtype_of, element_of, tensor_type
from stepwell.frontend.info import legible
from stepwell.frontend.messages import SparseTensorProto, TensorProto
from stepwell.frontend.source import Source
from stepwell.frontend.value_types import DATA_TYPES, ELEMENTS, MAX_DIM
from stepwell.runtime.files.weights import WeightStore

Array: TypeAlias = npt.NDArray[np.generic]

_BITS: Mapping[int, int] = {
    TensorProto.UINT4: 4,
    TensorProto.INT4: 4,
    TensorProto.FLOAT4E2M1: 4,
    TensorProto.UINT2: 2,
    TensorProto.INT2: 2,
    TensorProto.FLOAT6E2M3: 6,
    TensorProto.FLOAT6E3M2: 6,
}
"""Bits per element of types that are packed in files; numpy uses a byte for each element."""

# The field with the elements of a tensor without raw data, and the numpy type of its entries; `int32_data`
# for other element types.
_FIELDS: Mapping[int, tuple[str, str]] = {
    TensorProto.FLOAT: ("float_data", "<f4"),
    TensorProto.COMPLEX64: ("float_data", "<f4"),
    TensorProto.DOUBLE: ("double_data", "<f8"),
    TensorProto.COMPLEX128: ("double_data", "<f8"),
    TensorProto.INT64: ("int64_data", "<i8"),
    TensorProto.UINT64: ("uint64_data", "<u8"),
    TensorProto.UINT32: ("uint64_data", "<u8"),
}


def shape_of(tensor: TensorProto, source: Source, where: str) -> tuple[int, ...]:
    """The dimensions of a tensor. Raises: StepwellError `invalid-model` for a negative or impossible one."""
    shape = tuple(tensor.dims)
    if any(not 0 <= extent <= MAX_DIM for extent in shape) or prod(shape) > MAX_DIM:
        raise source.invalid(f"a tensor cannot have the shape {list(shape)}", where)
    return shape


def array_of(tensor: TensorProto, source: Source, where: str) -> Array:
    """
    A tensor's elements (not of strings) as an array; a view of the file if numpy has the same representation.

    Raises: StepwellError `invalid-model` or `external-data`.
    """
    shape = shape_of(tensor, source, where)
    if (element := ELEMENTS.get(tensor.data_type)) is None or tensor.data_type == TensorProto.STRING:
        raise source.invalid(f"element type {tensor.data_type} of a tensor does not exist", where)
    dtype, elems = dtype_of(element), prod(shape)
    bits = _BITS.get(tensor.data_type)
    stored_bytes = elems * dtype.itemsize if bits is None else -(-elems * bits // 8)
    stored = _stored(tensor, source, where, stored_bytes, elems)
    if len(stored) != stored_bytes:
        raise source.invalid(
            f"a tensor {list(shape)} of {element} takes {stored_bytes} bytes, found {len(stored)}", where
        )
    raw = np.frombuffer(stored, np.uint8)
    if bits is not None:
        return _unpack(raw, bits, elems).view(dtype).reshape(shape)
    if dtype == np.bool_:
        return (raw != 0).reshape(shape)
    return np.frombuffer(stored, dtype).reshape(shape)


def _stored(
    tensor: TensorProto, source: Source, where: str, stored_bytes: int, elems: int
) -> bytes | memoryview:
    """The bytes of a tensor in the format of `raw_data`, from any of the fields that can have them."""
    if tensor.data_location == TensorProto.EXTERNAL:
        entries = {legible(entry.key): legible(entry.value) for entry in tensor.external_data}
        return source.files.read(where, entries, stored_bytes)
    if tensor.HasField("segment"):
        bounds = (tensor.segment.begin, tensor.segment.end)
        if bounds not in source.segments:
            raise source.invalid("tensors in segments are not supported", where)
        return source.data[bounds[0] : bounds[1]]
    if tensor.HasField("raw_data"):
        return tensor.raw_data
    name, entry_type = _FIELDS.get(tensor.data_type, ("int32_data", "<i4"))
    entries = getattr(tensor, name)
    expected = 2 * elems if tensor.data_type in (TensorProto.COMPLEX64, TensorProto.COMPLEX128) else elems
    if tensor.data_type in _BITS and _BITS[tensor.data_type] != 6:  # packed; 6 bits have an entry each
        expected = stored_bytes
    if len(entries) != expected:
        raise source.invalid(
            f"a tensor of shape {list(tensor.dims)} needs {expected} entries of {name}, found {len(entries)}",
            where,
        )
    values = np.array(entries, entry_type)
    if tensor.data_type in _BITS:
        return _repack(values.astype(np.uint8), _BITS[tensor.data_type])
    width = np.dtype(dtype_of(ELEMENTS[tensor.data_type])).itemsize
    if name == "int32_data" and width < 4:  # narrower elements, and the bits of narrow floats
        values = values.astype(f"<u{width}")
    elif tensor.data_type == TensorProto.UINT32:
        values = values.astype("<u4")
    return values.tobytes()


def _unpack(data: npt.NDArray[np.uint8], bits: int, elems: int) -> npt.NDArray[np.uint8]:
    """The elements of a packed stream as a byte each; the first is in the lowest bits."""
    if 8 % bits:
        grid = np.unpackbits(data, bitorder="little")[: elems * bits].reshape(elems, bits)
        return np.packbits(grid, axis=1, bitorder="little").reshape(elems)
    each = 8 // bits
    unpacked = np.empty(data.size * each, np.uint8)
    for position in range(each):
        unpacked[position::each] = data >> (bits * position) & ((1 << bits) - 1)
    return unpacked[:elems]


def _repack(entries: npt.NDArray[np.uint8], bits: int) -> bytes:
    """Entries of `int32_data` as raw data: bytes already packed, except for 6 bits."""
    return _pack(entries, 6) if bits == 6 else entries.tobytes()


def _pack(elements: npt.NDArray[np.uint8], bits: int) -> bytes:
    """Elements of a byte each as a packed stream."""
    grid = np.unpackbits(elements.reshape(-1, 1), axis=1, bitorder="little")[:, :bits]
    return np.packbits(grid.reshape(-1), bitorder="little").tobytes()


def tensor_attr(tensor: TensorProto, source: Source, where: str, weights: WeightStore) -> Attribute:
    """A constant tensor as an attribute: inline, a weight, or strings."""
    if tensor.data_type == TensorProto.STRING:
        return strings_attr(tensor, source, where)
    return constant_attr(array_of(tensor, source, where), legible(tensor.name), weights)


def strings_attr(tensor: TensorProto, source: Source, where: str) -> StringsAttr:
    """
    A tensor of strings. Raises: StepwellError `invalid-model` when their number does not match the shape.
    """
    shape = shape_of(tensor, source, where)
    if len(tensor.string_data) != prod(shape):
        raise source.invalid(f"shape {list(shape)} does not fit {len(tensor.string_data)} strings", where)
    return StringsAttr(tensor.string_data, tensor_type(ELEMENTS[TensorProto.STRING], shape))


def sparse_attr(tensor: SparseTensorProto, source: Source, where: str, weights: WeightStore) -> SparseAttr:
    """A constant sparse tensor; its positions are checked when it is expanded."""
    shape = shape_of(TensorProto(dims=tensor.dims), source, where)
    values = array_of(tensor.values, source, where)
    return SparseAttr(
        constant_attr(values, legible(tensor.values.name), weights),
        constant_attr(array_of(tensor.indices, source, where), legible(tensor.indices.name), weights),
        tensor_type(element_of(values.dtype), shape),
    )


def export_tensor(value: Attribute, name: str, weights: WeightStore) -> TensorProto:
    """A constant attribute as a tensor of ONNX, with raw data."""
    tensor = TensorProto(name=name)
    if isinstance(value, StringsAttr):
        tensor.data_type = TensorProto.STRING
        tensor.dims.extend(value.type.get_shape())
        tensor.string_data.extend(value.values())
        return tensor
    array = array_of_attr(value, weights)
    tensor.data_type = DATA_TYPES[element_of(array.dtype)]
    tensor.dims.extend(array.shape)
    bits = _BITS.get(tensor.data_type)
    tensor.raw_data = array.tobytes() if bits is None else _pack(array.view(np.uint8), bits)
    return tensor


def export_sparse(value: SparseAttr, name: str, weights: WeightStore) -> SparseTensorProto:
    """A constant sparse tensor of the IR as ONNX's."""
    tensor = SparseTensorProto(dims=value.type.get_shape())
    tensor.values.CopyFrom(export_tensor(value.values, name, weights))
    tensor.indices.CopyFrom(export_tensor(value.indices, "", weights))
    return tensor
