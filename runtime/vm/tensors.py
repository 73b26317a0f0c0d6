"""Checks of arrays against the declared types of packed functions: element types, ranks, sizes by symbol."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, cast

import numpy as np

from stepwell.runtime.dims import UNKNOWN, Dim
from stepwell.runtime.interface import Array, dtype_from_name
from stepwell.runtime.vm.objects import Fault, Value, kind_of
from stepwell.runtime.vm.program import TENSOR, Packed, Type


class TensorType(NamedTuple):
    """The declared type of an argument or result."""

    dtype: np.dtype[np.generic] | None
    """None where the declared type is that of no tensor."""
    shape: tuple[int, ...] | None
    """The sizes where all of them are numbers."""
    type: Type


def tensor_type(type: Type) -> TensorType:
    """The type to check arrays against. Raises: StepwellError `missing-package`."""
    if type.kind != TENSOR:
        return TensorType(None, None, type)
    is_fixed = all(dim.isdecimal() for dim in type.dims)
    shape = tuple(map(int, type.dims)) if is_fixed else None
    return TensorType(dtype_from_name(type.name), shape, type)


class TensorCheck:
    """The check of a packed function's arguments and results."""

    def __init__(self, packed: Packed):
        self._name = packed.name
        self.inputs = [tensor_type(type) for type in packed.inputs]
        self.outputs = [tensor_type(type) for type in packed.outputs]
        self.is_fixed = all(type.shape is not None for type in (*self.inputs, *self.outputs))
        """Whether all sizes are numbers."""

    def arguments(self, values: Sequence[Value]) -> None:
        """Check arguments. Raises: Fault `bad-bytecode`."""
        for value, (dtype, shape, type) in zip(values, self.inputs, strict=True):
            if (
                value.__class__ is not np.ndarray
                or (value.dtype is not dtype and value.dtype != dtype)
                or (value.shape != shape and (shape is not None or len(value.shape) != len(type.dims)))
            ):
                self._refuse("gets", value, type)
        if not self.is_fixed:
            self._bind("gets", self.inputs, values, {})

    def results(self, arguments: Sequence[Value], results: object) -> list[Array]:
        """The results of a call as arrays. Raises: Fault `bad-bytecode` for others than declared."""
        given: Sequence[object] = cast("Sequence[object]", results)
        if not isinstance(results, list | tuple):
            given = [results]
        if len(given) != len(self.outputs):
            message = f"@{self._name} must return {len(self.outputs)} arrays, found {len(given)}"
            raise Fault("bad-bytecode", message)
        arrays = [cast(Array, each if each.__class__ is np.ndarray else np.asarray(each)) for each in given]
        for array, (dtype, shape, declared) in zip(arrays, self.outputs, strict=True):
            if (array.dtype is not dtype and array.dtype != dtype) or (
                array.shape != shape and (shape is not None or array.ndim != len(declared.dims))
            ):
                self._refuse("returns", array, declared)
        if not self.is_fixed:
            sizes = self._bind("gets", self.inputs, arguments, {})
            self._bind("returns", self.outputs, arrays, sizes)
        return arrays

    def _refuse(self, verb: str, value: Value, type: Type) -> None:
        raise Fault("bad-bytecode", f"@{self._name} {verb} {kind_of(value)} where {type} is declared")

    def _bind(
        self, verb: str, types: Sequence[TensorType], values: Sequence[Value], sizes: dict[str, int]
    ) -> dict[str, int]:
        """The sizes by symbol, with those given before. Raises: Fault `bad-bytecode`."""
        for value, (_, _, type) in zip(values, types, strict=True):
            for dim, size in zip(type.dims, value.shape, strict=True):
                if dim.isidentifier() and sizes.setdefault(dim, size) != size:
                    self._refuse(f"{verb} (of {dim} = {sizes[dim]})", value, type)
        for value, (_, _, type) in zip(values, types, strict=True):
            for dim, size in zip(type.dims, value.shape, strict=True):
                if dim != UNKNOWN and not dim.isidentifier() and not fits(dim, size, sizes):
                    self._refuse(verb, value, type)
        return sizes


def fits(dim: str, size: int, sizes: dict[str, int]) -> bool:
    """Whether a size is that of an expression; an expression of symbols without a size fits any."""
    if dim.isdecimal():
        return int(dim) == size
    expression = Dim.of(dim)
    if expression.is_unknown or expression.symbols() - sizes.keys():
        return True
    try:
        return expression.evaluate(sizes) == size
    except ZeroDivisionError:
        return False
