"""Values of registers: a numpy array with an element for each lane, or one number where all lanes agree."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Value: TypeAlias = Any
"""An array of lanes, or a numpy number."""
Mask: TypeAlias = npt.NDArray[np.bool_] | None
"""The lanes that are active; None for all."""
DType: TypeAlias = np.dtype[Any]

TYPES: Mapping[str, DType] = {
    "pred": np.dtype(np.bool_),
    **{f"b{bits}": np.dtype(f"u{bits // 8}") for bits in (8, 16, 32, 64)},
    **{f"u{bits}": np.dtype(f"u{bits // 8}") for bits in (8, 16, 32, 64)},
    **{f"s{bits}": np.dtype(f"i{bits // 8}") for bits in (8, 16, 32, 64)},
    **{f"f{bits}": np.dtype(f"f{bits // 8}") for bits in (16, 32, 64)},
}
"""The type of numpy for each type of PTX; bits are unsigned numbers."""
BITS = {size: np.dtype(f"u{size}") for size in (1, 2, 4, 8)}
"""Unsigned numbers by bytes."""


where: Callable[[Value, Value, Value], Value] = np.where
"""The choice of each lane between two values."""


def as_type(value: Value, dtype: DType) -> Value:
    """The bits of a register as a type, the lowest ones of a wider register."""
    if value.dtype == dtype:
        return value
    if value.dtype.itemsize == dtype.itemsize:
        return value.view(dtype)
    bits = value.view(BITS[value.dtype.itemsize]) if value.dtype.kind == "f" else value
    return bits.astype(BITS[dtype.itemsize]).view(dtype)


def fitted(value: Value, bits: int) -> Value:
    """A result in a register of some bits: signed numbers keep their sign, others get zeros."""
    size = bits // 8
    if not bits or value.dtype.itemsize == size:
        return value
    if value.dtype.kind == "f":
        value = value.view(BITS[value.dtype.itemsize])
    return value.astype(np.dtype(f"{value.dtype.kind}{size}"))


def merged(mask: Mask, new: Value, old: Value) -> Value:
    """A result of the active lanes, and what the register had in the others."""
    if mask is None:
        return new
    if old is None:
        old = new.dtype.type(0)
    return where(mask, new, as_type(old, new.dtype))


def number(text: str, dtype: DType) -> Value:
    """An immediate operand. Raises: ValueError for none."""
    if text.startswith(("0f", "0F", "0d", "0D")):
        size = 4 if text[1] in "fF" else 8
        bits = np.array(int(text[2:], 16), BITS[size])
        return as_type(bits[()], dtype)
    value = int(text.removesuffix("U"), 0)  # LLVM marks selectors of bytes as unsigned
    if dtype.kind == "b":
        return np.bool_(value)
    size = dtype.itemsize
    return np.array(value & ((1 << 8 * size) - 1), BITS[size])[()].view(dtype)


def per_lane(value: Value, lanes: int) -> Value:
    """A value as an array of lanes."""
    return value if value.ndim else np.full(lanes, value)


Get: TypeAlias = Callable[[Any], Value]
"""A function from a frame to an operand."""
