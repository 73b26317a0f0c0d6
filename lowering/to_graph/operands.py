"""Calls whose operands hold axes, sizes and numbers, known when the model is compiled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, SSAValue

from stepwell.dialects import graph
from stepwell.dialects.constants import array_of
from stepwell.dialects.types import dims_of
from stepwell.lowering.to_graph.calls import ForeignCall
from stepwell.lowering.to_graph.expressions import Value
from stepwell.lowering.to_graph.run_time_sizes import bound_sizes
from stepwell.passes.analysis.symbolic_values import symbolic_dims
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.interface import Array


@dataclass(frozen=True)
class OperandCall(ForeignCall):
    """A call of an operator that takes axes and sizes as tensors, which must be known at compile time."""

    def given(self, name: str) -> SSAValue:
        """An operand of the op. Raises: StepwellError `invalid-model` for a missing one."""
        value = self.op.tensor(name)
        if value is None:
            raise self.invalid(f"`{name}` is missing")
        return value

    def tensor(self, name: str = "x") -> Value:
        """An operand. Raises: StepwellError `invalid-model` for a missing one."""
        return self.at.value(self.given(name))

    def invalid(self, message: str) -> StepwellError:
        """The error for arguments that the framework itself refuses."""
        return StepwellError("invalid-model", self.op, f"{self.op.SIGNATURE.name}: {message}")

    def checked_axis(self, axis: int, rank: int) -> int:
        """An axis counted from the front. Raises: StepwellError `invalid-model`."""
        if not -rank <= axis < rank:
            raise self.invalid(f"axis {axis} is not one of {rank} dimensions")
        return axis % rank

    def checked_axes(self, axes: Sequence[int], rank: int) -> list[int]:
        """Axes counted from the front, sorted, each once."""
        return sorted({self.checked_axis(axis, rank) for axis in axes})

    def operand_array(self, name: str) -> Array:
        """The elements of an operand. Raises: StepwellError `unsupported` unless it is constant."""
        value = self.given(name)
        if not isinstance(value.owner, graph.ConstantOp):
            raise self.unsupported(f"`{name}` must be constant")
        return array_of(value.owner.value, self.at.lowering.weights)

    def operand_sizes(self, name: str) -> tuple[Dim, ...]:
        """An operand of sizes. Raises: StepwellError `unsupported` for one that depends on data."""
        return self.sizes_of(self.given(name), name)

    def sizes_of(self, value: SSAValue, name: str) -> tuple[Dim, ...]:
        """The sizes that a value holds. Raises: StepwellError `unsupported` for one that depends on data."""
        dims = symbolic_dims(value, self.at.lowering.weights)
        if dims is None or any(dim.is_unknown for dim in dims):
            raise self.unsupported(f"`{name}` depends on data, not on the shapes of the inputs alone")
        return dims

    def positions(self, name: str) -> tuple[Dim, ...]:
        """An operand of positions or sizes, which may be data. Raises: StepwellError `unsupported`."""
        value = self.given(name)
        found = symbolic_dims(value, self.at.lowering.weights)
        if found is None or any(dim.is_unknown for dim in found):
            found = bound_sizes(value, self.op, self.at.lowering.weights)
        return self.operand_sizes(name) if found is None else found

    def operand_integers(self, name: str) -> list[int]:
        """The whole numbers of an operand. Raises: StepwellError `unsupported` unless they are constant."""
        dims = self.operand_sizes(name)
        if not all(dim.is_static for dim in dims):
            raise self.unsupported(f"`{name}` must be constant, found {', '.join(map(str, dims))}")
        return [dim.value for dim in dims]

    def counted(self, start: Value, limit: Value, step: Value) -> Value:
        """Numbers from a start on, in equal steps, below a limit, all of rank 0; the limit may be a size."""
        weights = self.at.lowering.weights
        begin, end, by = (symbolic_dims(part.ssa, weights) for part in (start, limit, step))
        if begin == (Dim.of(0),) and by == (Dim.of(1),) and end and not end[0].is_unknown:
            return self.at.iota(end[0].maximum(0), start.element)
        return self.at.op(graph.RangeOp(start.ssa, limit.ssa, step.ssa))

    def reshaped_to(self, x: Value, sizes: Sequence[Dim]) -> Value:
        """A value in another shape, in which one size may be -1."""
        wanted = [Dim.of(size) for size in sizes]
        if Dim.of(-1) in wanted:
            total = size_of(x.dims)
            known = size_of([dim for dim in wanted if dim != -1])
            if known == 0:
                raise self.unsupported(f"-1 among {', '.join(map(str, sizes))} is not known")
            wanted[wanted.index(Dim.of(-1))] = total // known
        return x.reshape(wanted)

    @property
    def recorded(self) -> tuple[Dim, ...] | None:
        """The dimensions of the first result, if the model records all of them."""
        type = self.op.results[0].type
        dims = dims_of(cast(Attribute, type)) if isinstance(type, TensorType) else None
        return None if dims is None or any(dim.is_unknown for dim in dims) else dims

    @property
    def element(self) -> Attribute:
        """The element type of the first result, whose rank may not be known."""
        return cast("TensorType[Attribute]", self.op.results[0].type).element_type


def size_of(dims: Sequence[Dim]) -> Dim:
    """The number of elements."""
    total = Dim.of(1)
    for dim in dims:
        total = total * dim
    return total
