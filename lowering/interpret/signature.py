"""
The signature of an interpreted function: arguments that the caller passes, and those computed from them.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from xdsl.dialects import func
from xdsl.dialects.builtin import (
    DictionaryAttr,
    FunctionType,
    IndexType,
    MemRefType,
    TensorType,
    TupleType,
    VectorType,
)
from xdsl.ir import Attribute

from stepwell.dialects.graph.host import is_opaque
from stepwell.dialects.sched_kernel import is_on_buffers, kernel_of, symbols_of
from stepwell.dialects.sched_program import program_of
from stepwell.dialects.types import DimsAttr, Tensor, dims_of
from stepwell.lowering.interpret.elements import numpy_dtype, undefined
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.meaning import Array


@dataclass(frozen=True)
class Signature:
    """The arguments of a function by role; the last ones are the values of its symbols."""

    function: func.FuncOp
    types: tuple[Attribute, ...]
    dims: tuple[tuple[Dim, ...], ...]
    """The dimensions of each argument except the symbols."""
    names: tuple[str, ...]
    """The names of the symbols that are arguments."""
    inputs: int
    outputs: int

    @staticmethod
    def of(function: func.FuncOp) -> Signature:
        """The signature by a function's type and attributes."""
        types = function.function_type.inputs.data
        names = symbols_of(function) if types and not _is_shaped(types[-1]) else ()
        shaped = types[: len(types) - len(names)]
        attributes = (
            function.arg_attrs.data if function.arg_attrs is not None else [DictionaryAttr({})] * len(types)
        )
        dims = tuple(_dims(type, each) for type, each in zip(shaped, attributes, strict=False))
        if (kernel := kernel_of(function)) is not None:
            outputs = kernel.outputs.data if is_on_buffers(function) else 0
            return Signature(function, types, dims, names, kernel.inputs.data, outputs)
        if (program := program_of(function)) is not None and program.has_memory:
            return Signature(function, types, dims, names, program.inputs.data, program.outputs.data)
        return Signature(function, types, dims, names, len(shaped), 0)

    def symbols(self, inputs: Sequence[Array]) -> dict[str, int]:
        """
        The sizes of symbolic dimensions: solved from the shapes of inputs, or passed after them.

        Raises: StepwellError `bad-inputs` for inputs that do not fit.
        """
        if len(inputs) not in (self.inputs, self.inputs + len(self.names)):
            raise self._error(f"takes {self.inputs} inputs, got {len(inputs)}")
        found = dict(zip(self.names, (int(size) for size in inputs[self.inputs :]), strict=False))
        for position, (array, dims) in enumerate(zip(inputs[: self.inputs], self.dims, strict=False)):
            if _is_object(self.types[position]):
                continue
            if np.ndim(array) != len(dims):
                raise self._error(f"input {position} has {len(dims)} dimensions, got {np.ndim(array)}")
            for size, dim in zip(np.shape(array), dims, strict=True):
                if len(names := dim.symbols() - found.keys()) == 1:
                    _solve(dim, next(iter(names)), size, found)
        self._check(inputs, found)
        if missing := [name for name in self.names if name not in found]:
            raise self._error(f"needs the sizes of {', '.join(missing)} after its inputs")
        return found

    def _check(self, inputs: Sequence[Array], symbols: Mapping[str, int]) -> None:
        """Check the shapes and element types of inputs."""
        for position, (array, dims) in enumerate(zip(inputs[: self.inputs], self.dims, strict=False)):
            if _is_object(self.types[position]):
                continue
            for size, dim in zip(np.shape(array), dims, strict=True):
                if not dim.is_unknown and dim.symbols() <= symbols.keys() and dim.evaluate(symbols) != size:
                    raise self._error(
                        f"input {position} has an extent of {size} where {dim} is {dim.evaluate(symbols)}"
                    )
            dtype = numpy_dtype(self.types[position])
            if np.asarray(array).dtype != dtype:
                raise self._error(f"input {position} has elements of {dtype}, got {np.asarray(array).dtype}")

    def _error(self, message: str) -> StepwellError:
        return StepwellError("bad-inputs", self.function, f"@{self.function.sym_name.data} {message}")

    def expect_sizes(self, known: Container[str] | None = None) -> None:
        """
        Require the sizes of output buffers to follow from symbols: by default, those of a call's inputs.

        Raises: StepwellError `unsupported`.
        """
        if known is None:
            of_inputs = (dim.symbols() for dims in self.dims[: self.inputs] for dim in dims)
            known = {*self.names}.union(*of_inputs)
        for number, dims in enumerate(self.dims[self.inputs :][: self.outputs]):
            if any(symbol not in known for dim in dims for symbol in dim.symbols()):
                raise StepwellError(
                    "unsupported",
                    self.function,
                    f"the interpreter cannot make result {number}, whose size is data",
                    help="run it on level 2, or compiled",
                )

    def arguments(self, inputs: Sequence[Array], symbols: Mapping[str, int]) -> list[object]:
        """All arguments of the call: inputs (buffers are copied), then new outputs, scratch and symbols."""
        self.expect_sizes(symbols)
        arguments: list[object] = []
        for position, (type, dims) in enumerate(zip(self.types, self.dims, strict=False)):
            if position < self.inputs:
                arguments.append(_value(inputs[position], type))
            elif position < self.inputs + self.outputs:
                shape = [dim.evaluate(symbols) for dim in dims]
                arguments.append(undefined(shape, cast("MemRefType[Attribute]", type).element_type))
            else:
                arguments.append(np.full(self._scratch_bytes(symbols), 0xA5 - 256, np.int8))
        return [*arguments, *(symbols[name] for name in self.names)]

    def _scratch_bytes(self, symbols: Mapping[str, int]) -> int:
        """The bytes of the scratch or arena argument."""
        if (kernel := kernel_of(self.function)) is not None:
            return kernel.scratch_bytes.evaluate(symbols)
        if (program := program_of(self.function)) is not None and program.has_memory:
            return program.arena_bytes.evaluate(symbols)
        raise self._error("takes more buffers than its attributes explain")

    def results(self, arguments: Sequence[object], returned: Sequence[object]) -> list[Array]:
        """The results for the caller: the returned values, or the written buffers."""
        if returned or not any(isinstance(type, MemRefType) for type in self.types):
            return [
                cast(Array, value) if _is_object(type) else np.asarray(value)
                for value, type in zip(returned, self.function.function_type.outputs, strict=True)
            ]
        written = arguments[self.inputs :][: self.outputs] if self.outputs else arguments[: len(self.dims)]
        return [cast(Array, value) for value in written]


def _value(given: Array, type: Attribute) -> object:
    """An input as an argument: a dense copy if it is a buffer, a plain int if it is an index."""
    if _is_object(type):
        return given
    if isinstance(type, IndexType):
        return int(given)
    return np.array(given, order="C") if isinstance(type, MemRefType) else np.asarray(given)[()]


def _solve(dim: Dim, name: str, size: int, found: dict[str, int]) -> None:
    """Solve for the one unknown symbol of an extent, if it occurs linearly."""
    start, step = (dim.substitute({name: Dim.of(n)}).evaluate(found) for n in (0, 1))
    if step != start and (size - start) % (step - start) == 0:
        value = (size - start) // (step - start)
        if dim.substitute({name: Dim.of(value)}).evaluate(found) == size:
            found[name] = value


def _is_object(type: Attribute) -> bool:
    """Whether values of a type are Python objects: lists, maps, tensors of strings, data, functions."""
    if isinstance(type, TupleType | FunctionType) or type.name in ("adt.data", "ref.cell"):
        return True
    return is_opaque(type) and (isinstance(type, TensorType) or type.name.startswith("onnx."))


def _is_shaped(type: Attribute) -> bool:
    return isinstance(type, MemRefType | TensorType)


def _dims(type: Attribute, attributes: DictionaryAttr) -> tuple[Dim, ...]:
    """The dimensions of an argument, from `graph.dims` or from its type."""
    if isinstance(declared := attributes.data.get("graph.dims"), DimsAttr):
        return declared.get()
    if isinstance(type, MemRefType | VectorType):
        shape = cast("MemRefType[Attribute]", type).get_shape()
        return tuple(Dim.of(n) if n >= 0 else Dim.symbol("?") for n in shape)
    return dims_of(cast(Tensor, type)) if isinstance(type, TensorType) else ()
