"""The weights of a `.pt2` file as views of the mapped file."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

import numpy as np
from xdsl.ir import Attribute

from stepwell.dialects.types import dtype_of, element_of
from stepwell.frontend.torch.archive import Archive
from stepwell.frontend.torch.fields import Fields
from stepwell.frontend.torch.records import Array
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.interface import MAX_TENSOR_BYTES, dtype_from_name

_DTYPES: Mapping[int, str] = {
    1: "uint8",
    2: "int8",
    3: "int16",
    4: "int32",
    5: "int64",
    6: "float16",
    7: "float32",
    8: "float64",
    10: "complex64",
    11: "complex128",
    12: "bool",
    13: "bfloat16",
    28: "uint16",
    29: "float8_e4m3fn",
    30: "float8_e5m2",
    31: "float8_e4m3fnuz",
    32: "float8_e5m2fnuz",
    33: "float8_e8m0fnu",
    34: "uint32",
    35: "uint64",
}
"""The serializer's numbers of element types."""
_MAX_RANK = 64
_STRIDED = 7
_PICKLED_HELP = "save the program again, with plain tensors as weights: a pickle can run any code"


def element_type(number: int, fields: Fields) -> Attribute:
    """The element type of a number. Raises: StepwellError `unsupported`."""
    if (name := _DTYPES.get(number)) is None:
        raise StepwellError("unsupported", fields.where, f"element type {number} of torch is not supported")
    return element_of(dtype_from_name(name))


def stored_arrays(archive: Archive, folder: str, config: str) -> dict[str, Array]:
    """
    The tensors of a folder by their own names.

    Raises: StepwellError `unsafe-file` for pickled ones, `invalid-model`.
    """
    if f"{folder}{config}" not in archive:
        return {}
    entries = Fields(archive.json(f"{folder}{config}"), archive.name, config).child("config")
    return {name: _array(archive, folder, entries.child(name)) for name in entries}


def _array(archive: Archive, folder: str, entry: Fields) -> Array:
    if entry.boolean("use_pickle"):
        message = f"{entry.path} is stored as a pickle, which is not read"
        raise StepwellError("unsafe-file", archive.name, message, help=_PICKLED_HELP)
    meta = entry.child("tensor_meta")
    dtype = dtype_of(element_type(meta.integer("dtype"), meta))
    shape = [_number(each) for each in meta.children("sizes")]
    strides = [_number(each) for each in meta.children("strides")]
    offset = _number(meta.child("storage_offset"))
    if len(shape) != len(strides) or len(shape) > _MAX_RANK or min([*shape, *strides, offset], default=0) < 0:
        raise entry.invalid("sizes and strides do not fit")
    if prod(shape) * dtype.itemsize > MAX_TENSOR_BYTES or meta.integer("layout") != _STRIDED:
        raise entry.invalid(f"a tensor of shape {shape} in layout {meta.integer('layout')} cannot be read")
    data = archive.bytes(folder + entry.string("path_name"))
    if prod(shape) == 0:
        return np.zeros(shape, dtype)
    last = offset + sum((extent - 1) * stride for extent, stride in zip(shape, strides, strict=True))
    if (last + 1) * dtype.itemsize > len(data):
        raise entry.invalid(f"{shape} elements of {dtype} are not in {len(data)} bytes")
    steps = [stride * dtype.itemsize for stride in strides]
    return np.ndarray(shape, dtype, data, offset * dtype.itemsize, steps)


def _number(fields: Fields) -> int:
    return fields.integer("as_int")
