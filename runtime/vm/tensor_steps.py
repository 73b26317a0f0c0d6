"""Instructions on tensors and their memory as Python functions on the registers of a frame."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from typing import cast

import numpy as np

from stepwell.runtime.interface import MAX_TENSOR_BYTES, Array, dtype_from_name
from stepwell.runtime.memory import aligned_empty
from stepwell.runtime.vm.objects import Fault, Registers, Step, Storage, Value, kind_of, wrong_kind
from stepwell.runtime.vm.program import Type

_MAX_ALIGNMENT = 64
_INT64 = np.dtype(np.int64)


def array_in(value: Value) -> Array:
    """A tensor. Raises: Fault for another kind of value."""
    if value.__class__ is not np.ndarray:
        raise wrong_kind("a tensor", value)
    return cast(Array, value)


def _size(value: Value) -> int:
    """A size that is a machine integer or an integer scalar. Raises: Fault."""
    if value.__class__ is np.ndarray and value.dtype == _INT64 and not value.shape:
        value = int(value)
    if value.__class__ is not int:
        raise wrong_kind("a size", value)
    if not 0 <= value <= MAX_TENSOR_BYTES:
        raise Fault("bad-size", f"{value} is no size of memory or of a dimension")
    return cast(int, value)


def _shape(value: Value) -> tuple[int, ...]:
    """The sizes in a tensor of i64. Raises: Fault."""
    array = array_in(value)
    if array.dtype != _INT64 or array.ndim != 1 or array.size > 64:
        raise wrong_kind("a tensor of sizes", value)
    sizes = tuple(map(int, array))
    if min(sizes, default=0) < 0 or prod(sizes) > MAX_TENSOR_BYTES:
        raise Fault("bad-size", f"a tensor cannot have the sizes {list(sizes)}")
    return sizes


def _alloc_storage(tables: object, to: int, size: int, alignment: int) -> Step:
    def step(r: Registers) -> None:
        if alignment > _MAX_ALIGNMENT:
            raise Fault("bad-bytecode", f"storage is aligned to {_MAX_ALIGNMENT} bytes, not to {alignment}")
        bytes_ = _size(r[size])
        try:
            r[to] = Storage(aligned_empty(bytes_))
        except (MemoryError, ValueError):
            raise Fault("out-of-memory", f"{bytes_} bytes cannot be allocated") from None

    return step


def _placed(storage: Value, offset: int, shape: tuple[int, ...], dtype: np.dtype[np.generic]) -> Array:
    """A tensor in storage. Raises: Fault where it does not fit."""
    if storage.__class__ is not Storage:
        raise wrong_kind("storage", storage)
    end = offset + prod(shape) * dtype.itemsize
    if end > storage.memory.nbytes or offset % dtype.itemsize:
        found = f"{storage.memory.nbytes} bytes"
        raise Fault("bad-bytecode", f"bytes {offset} to {end} are no {dtype.name} tensor in {found}")
    return cast(Array, storage.memory[offset:end].view(dtype).reshape(shape))


def _alloc_tensor(tables: object, to: int, storage: int, offset: int, type: Type) -> Step:
    dtype, shape = dtype_from_name(type.name), tuple(map(int, type.dims))

    def step(r: Registers) -> None:
        r[to] = _placed(r[storage], offset, shape, dtype)

    return step


def _alloc_tensor_reg(tables: object, to: int, storage: int, offset: int, shape: int, element: str) -> Step:
    dtype = dtype_from_name(element)

    def step(r: Registers) -> None:
        r[to] = _placed(r[storage], offset, _shape(r[shape]), dtype)

    return step


def _shape_of(tables: object, to: int, value: int) -> Step:
    def step(r: Registers) -> None:
        r[to] = np.array(array_in(r[value]).shape, _INT64)

    return step


def _reshape_tensor(tables: object, to: int, value: int, shape: int) -> Step:
    def step(r: Registers) -> None:
        array, sizes = array_in(r[value]), _shape(r[shape])
        if prod(sizes) != array.size:
            raise Fault("shape-mismatch", f"{kind_of(array)} cannot have the sizes {list(sizes)}")
        r[to] = array.reshape(sizes)

    return step


def _device_copy(tables: object, to: int, value: int, device: int) -> Step:
    def step(r: Registers) -> None:
        if device:
            raise Fault("unsupported", f"there is no device {device}: 0 is the host")
        r[to] = array_in(r[value])

    return step


TENSOR_STEPS: Mapping[str, Callable[..., Step]] = {
    "alloc_storage": _alloc_storage,
    "alloc_tensor": _alloc_tensor,
    "alloc_tensor_reg": _alloc_tensor_reg,
    "shape_of": _shape_of,
    "reshape_tensor": _reshape_tensor,
    "device_copy": _device_copy,
}
"""The functions that make the step of an instruction from the tables and its operands."""
