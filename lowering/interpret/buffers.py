"""`memref`: arrays that are written in place; views share their elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.dialects import memref
from xdsl.traits import SymbolTable

from stepwell.dialects.sched_program import WEIGHT
from stepwell.dialects.types import WeightAttr
from stepwell.lowering.bufferize import groups_of, memref_of
from stepwell.lowering.interpret.elements import numpy_dtype
from stepwell.lowering.interpret.engine import (
    Compiler,
    Frame,
    Step,
    Unary,
    Value,
    implement_all,
    implements,
    implements_in_frame,
)
from stepwell.lowering.interpret.grids import Array
from stepwell.lowering.interpret.scalars import constant_value
from stepwell.lowering.interpret.tensors import checked, collapsed_shape, extent_of, fill_in, same, window
from stepwell.runtime.addresses import address_of
from stepwell.runtime.errors import StepwellError


@implements("memref.store")
def prepare_store(op: memref.StoreOp) -> Step:
    """A write of one element."""

    def store(value: Value, array: Array, *indices: int) -> None:
        array[checked(indices, array.shape)] = value

    return store


def _copy(source: Array, target: Array) -> None:
    target[...] = source


def _view_shape(array: Array, shape: Sequence[int]) -> Array:
    """The same elements in another shape. Raises: ValueError when that needs a copy."""
    return np.reshape(array, shape, copy=False)


@implements("memref.view")
def prepare_view(op: memref.ViewOp) -> Step:
    """Bytes of a buffer, from a shift on, as elements of a type."""
    type = memref_of(op.result)
    dtype = numpy_dtype(type)

    def view(bytes: Array, shift: int, *sizes: int) -> Array:
        shape = fill_in(type.get_shape(), sizes)
        end = shift + int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
        return bytes[checked_range(shift, end, bytes.size)].view(dtype).reshape(shape)

    return view


def checked_range(begin: int, end: int, size: int) -> slice:
    """A range of bytes as a slice. Raises: IndexError when it exceeds the buffer."""
    if begin < 0 or end > size:
        raise IndexError(f"bytes {begin}..{end} leave a buffer of {size} bytes")
    return slice(begin, end)


@implements("memref.reinterpret_cast")
def prepare_reinterpret_cast(op: memref.ReinterpretCastOp) -> Step:
    """The elements of a dense buffer with other strides; its bytes as other elements if the types differ."""
    dtype = numpy_dtype(memref_of(op.results[0]).element_type)

    def cast(array: Array, *dynamic: int) -> Array:
        (offset,), sizes, strides = window(op, dynamic)
        flat = _view_shape(array, [-1]).view(dtype)
        last = offset + sum((n - 1) * step for n, step in zip(sizes, strides, strict=True))
        if all(sizes):
            checked([offset, last], [flat.size, flat.size])
        return np.lib.stride_tricks.as_strided(flat[offset:], sizes, [s * flat.itemsize for s in strides])

    return cast


@implements("memref.expand_shape")
def prepare_expand_shape(op: memref.ExpandShapeOp) -> Step:
    """A buffer with dimensions split into groups, as a view."""
    shape = op.static_output_shape.get_values()

    def expand(array: Array, *sizes: int) -> Array:
        return _view_shape(array, fill_in(shape, sizes))

    return expand


@implements("memref.collapse_shape")
def prepare_collapse_shape(op: memref.CollapseShapeOp) -> Unary:
    """A buffer with groups of dimensions merged, as a view."""
    groups = groups_of(op.reassociation)
    return lambda array: _view_shape(array, collapsed_shape(array, groups))


@implements_in_frame("memref.get_global")
def prepare_get_global(op: memref.GetGlobalOp, compiler: Compiler) -> Step:
    """A global buffer of the module: a weight."""
    name, machine = op.name_.string_value(), compiler.machine
    buffer = SymbolTable.lookup_symbol(machine.module, name)
    if not isinstance(buffer, memref.GlobalOp):
        raise StepwellError("invalid-ir", op, f"no memref.global is named @{name}")
    weight = buffer.attributes.get(WEIGHT)
    if isinstance(weight, WeightAttr):
        contents = machine.weights.get(weight.hash.data)
    else:
        contents = constant_value(buffer.initial_value)

    def get_global(frame: Frame) -> Any:
        return contents

    return get_global


def _ignore(array: Array) -> tuple[()]:
    return ()


implement_all(
    {
        "memref.cast": same,
        "memref.assume_alignment": same,
        "memref.copy": _copy,
        "memref.dealloc": _ignore,
        "memref.dim": extent_of,
        "memref.extract_aligned_pointer_as_index": address_of,
    }
)
