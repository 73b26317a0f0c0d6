"""Files of adapters (`.onnx_adapter`): a FlatBuffer of parameters, read with every size checked."""

from __future__ import annotations

import os
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from stepwell.onnxruntime.elements import dtype_of, element_number
from stepwell.onnxruntime.errors import BindingError
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.unreadable import read_bounded
from stepwell.runtime.files.whole_files import write_bytes
from stepwell.runtime.interface import MAX_TENSOR_BYTES, Array

if TYPE_CHECKING:
    from stepwell.frontend.flatbuffer.reader import FlatBuffer, Table

FORMAT_VERSION = 1
_IDENTIFIER = b"TORT"
_MAX_BYTES = (1 << 31) - 1  # the format has signed offsets of 32 bits
_MAX_RANK = 64
_STRING = 8
_ELEMENTS = {*range(1, 21)} - {_STRING}
"""The numbers of the format's element types, which are ONNX's."""
_SCHEMA = """
table Adapter: i32 format_version=0, i32 adapter_version=0, i32 model_version=0, [Parameter] parameters
table Parameter: str name, [i64] dims, i32 data_type=0, [u8] raw_data
"""
_SLOTS = 8
"""The position of the slots, which all tables share: each has four fields of 4 bytes."""


@dataclass(frozen=True)
class AdapterFile:
    """The contents of a file."""

    parameters: Mapping[str, Array]
    adapter_version: int = 0
    model_version: int = 0


def read_adapter(path: str | os.PathLike[str]) -> AdapterFile:
    """
    The contents of a file; the arrays are writable, and share one copy of the file in memory.

    Raises: BindingError `no-file`, `too-large`, `invalid-weights`.
    """
    from stepwell.frontend.flatbuffer.reader import FlatBuffer
    from stepwell.frontend.flatbuffer.schema import Schema

    source = Path(path)
    try:
        data = bytearray(read_bounded(source, "adapter", _MAX_BYTES))
        return _contents(FlatBuffer(memoryview(data), source.name, Schema(_SCHEMA)))
    except StepwellError as error:
        raise _translated(error) from None


def write_adapter(path: str | os.PathLike[str], contents: AdapterFile) -> None:
    """Write a file. Raises: BindingError `too-large`, `type-mismatch`, `cannot-write`."""
    try:
        write_bytes(path, _bytes(contents))
    except StepwellError as error:
        raise _translated(error) from None


def _translated(error: StepwellError) -> BindingError:
    """An error of reading or writing as ONNX Runtime's RuntimeError."""
    is_damaged = error.code == "invalid-model"
    help = "the file is cut off or damaged: export it again" if is_damaged else None
    code = "invalid-weights" if is_damaged else error.code
    return BindingError(code, error.where, error.message, help=error.help or help)


def _contents(buffer: FlatBuffer) -> AdapterFile:
    """The contents of the bytes of a file. Raises: StepwellError `invalid-model`."""
    if bytes(buffer.data[4:8]) != _IDENTIFIER:
        raise buffer.invalid("the file is no adapter: bytes 4 to 7 are not TORT")
    root = buffer.root("Adapter")
    if (version := root.integer("format_version")) != FORMAT_VERSION:
        message = f"the file has version {version} of the format, expected {FORMAT_VERSION}"
        raise buffer.invalid(message, help="export it again, with the present version of ONNX Runtime")
    parameters: dict[str, Array] = {}
    left = len(buffer.data)
    for table in root.tables("parameters"):
        if (name := table.text("name")) in parameters:
            raise buffer.invalid(f"there are two parameters {name!r}")
        parameters[name] = array = _array(table, name)
        if (left := left - array.nbytes) < 0:
            raise buffer.invalid("the parameters have more bytes than the file")
    return AdapterFile(parameters, root.integer("adapter_version"), root.integer("model_version"))


def _array(table: Table, name: str) -> Array:
    """The elements of a parameter, aligned."""
    number, shape = table.integer("data_type"), table.integers("dims")
    if number not in _ELEMENTS:
        raise table.buffer.invalid(f"parameter {name!r} has the unknown element type {number}")
    dtype, data = dtype_of(number), table.array("raw_data")
    stored = 0 if data is None else data.size
    # The product without zeros: numpy cannot make an array of 0 x 2^62 x 2^62 elements either.
    is_bounded = (
        len(shape) <= _MAX_RANK
        and min(shape, default=0) >= 0
        and prod(max(size, 1) for size in shape) * dtype.itemsize <= MAX_TENSOR_BYTES
    )
    if not is_bounded or prod(shape) * dtype.itemsize != stored:
        message = f"parameter {name!r} of {dtype} has the shape {shape[:8]}, and {stored} bytes"
        raise table.buffer.invalid(message)
    if data is None:
        return np.zeros(shape, dtype)
    # Another byte than 0 or 1 is no truth value for compiled code.
    array = data != 0 if dtype == np.bool_ else data.view(dtype)
    return np.require(array.reshape(shape), requirements="A")


def _bytes(contents: AdapterFile) -> bytes:
    """The bytes of a file. Raises: BindingError `too-large`, `type-mismatch`."""
    parts = contents.parameters.items()
    nbytes = sum(array.nbytes + 8 * array.ndim + len(name.encode()) + 100 for name, array in parts)
    if nbytes > _MAX_BYTES - 100:
        raise BindingError("too-large", None, f"an adapter has at most {_MAX_BYTES} bytes, found {nbytes}")
    data = bytearray(8) + struct.pack("<6H", 12, 20, 4, 8, 12, 16)
    data[4:8] = _IDENTIFIER
    root = _append_table(data, FORMAT_VERSION, contents.adapter_version, contents.model_version, 0)
    _point(data, 0, root)
    vector = _append_vector(data, b"", len(contents.parameters))
    _point(data, root + 16, vector)
    first = len(data)
    data += bytes(4 * len(contents.parameters))
    for index, (name, array) in enumerate(contents.parameters.items()):
        _point(data, first + 4 * index, _append_parameter(data, name, array))
    return bytes(data)


def _append_parameter(data: bytearray, name: str, array: Array) -> int:
    """Write a parameter; returns the position of its table. Raises: BindingError `type-mismatch`."""
    try:
        number = element_number(array.dtype)
    except KeyError:
        number = 0
    if number not in _ELEMENTS:
        raise BindingError("type-mismatch", None, f"an adapter cannot have {name!r} of {array.dtype}")
    table = _append_table(data, 0, 0, number, 0)
    text = name.encode()
    _point(data, table + 4, _append_vector(data, text + b"\0", len(text)))
    _point(data, table + 8, _append_vector(data, struct.pack(f"<{array.ndim}q", *array.shape), array.ndim))
    elements = np.asarray(array, dtype_of(number)).tobytes()
    _point(data, table + 16, _append_vector(data, elements, len(elements)))
    return table


def _append_table(data: bytearray, *fields: int) -> int:
    """Write a table of four numbers; returns its position."""
    data += bytes(-len(data) % 4)
    position = len(data)
    data += struct.pack("<5i", position - _SLOTS, *fields)
    return position


def _append_vector(data: bytearray, items: bytes, length: int) -> int:
    """Write a vector whose first item is at a multiple of 8; returns its position."""
    data += bytes((4 - len(data)) % 8)
    position = len(data)
    data += struct.pack("<I", length) + items
    return position


def _point(data: bytearray, position: int, target: int) -> None:
    """Write the offset from one position to another."""
    struct.pack_into("<I", data, position, target - position)
