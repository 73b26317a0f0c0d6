"""Chains of `graph` ops written as formulas: values with operators, numbers as constants."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias, cast

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import i64
from xdsl.ir import Attribute, Operation, SSAValue, TypeAttribute
from xdsl.pattern_rewriter import PatternRewriter

from stepwell.dialects import graph
from stepwell.dialects.graph.binary import BinaryOp
from stepwell.dialects.graph.elementwise import UnaryOp
from stepwell.dialects.graph.mixed import DimLike
from stepwell.dialects.graph.relations import broadcast, is_bool
from stepwell.dialects.types import dims_of, dtype_of, tensor_of
from stepwell.runtime.dims import Dim
from stepwell.runtime.files.weights import WeightStore

Operand: TypeAlias = "Value | float"


class Constants(Protocol):
    """A pattern that makes constants, with their store."""

    weights: WeightStore

    def constant(self, array: npt.NDArray[np.generic], rewriter: PatternRewriter) -> SSAValue:
        """An array as a constant of the graph."""
        ...

    def scalar(self, number: float, element: Attribute, rewriter: PatternRewriter) -> SSAValue:
        """A number as a constant of rank 0."""
        ...


@dataclass(frozen=True)
class Formula:
    """The insertion point of a formula's ops, and the pattern that creates its constants."""

    lowering: Constants
    rewriter: PatternRewriter

    def value(self, value: SSAValue) -> Value:
        """A value as part of a formula."""
        return Value(self, value)

    def number(self, number: float, element: Attribute) -> Value:
        """A number as a constant of rank 0."""
        return self.constant(np.array(number).astype(dtype_of(element)))

    def array(self, numbers: Sequence[float], element: Attribute) -> Value:
        """Numbers as a constant of rank 1."""
        return self.constant(np.array(numbers).astype(dtype_of(element)))

    def constant(self, array: npt.NDArray[np.generic]) -> Value:
        """An array as a constant."""
        return self.value(self.lowering.constant(array, self.rewriter))

    def iota(self, size: DimLike, element: Attribute) -> Value:
        """The numbers 0, 1, … of rank 1."""
        return self.op(graph.IotaOp([size], 0, element))

    def full(self, number: float, dims: Sequence[Dim], element: Attribute) -> Value:
        """A tensor with the same number everywhere."""
        return self.op(graph.FullOp(self.number(number, element).ssa, dims))

    def concat(self, parts: Sequence[Value], axis: int) -> Value:
        """Values joined along an axis."""
        return self.op(graph.ConcatOp([part.ssa for part in parts], axis))

    def where(self, condition: Value, on_true: Operand, on_false: Operand) -> Value:
        """An elementwise selection; at least one of the alternatives is a value."""
        like = on_true if isinstance(on_true, Value) else cast(Value, on_false)
        pair = (like.same(on_true), like.same(on_false))
        return self.op(graph.WhereOp(condition.ssa, pair[0].ssa, pair[1].ssa))

    def extent(self, dim: Dim, element: Attribute) -> Value:
        """The size of a dimension as a number of rank 0."""
        if dim.is_static:
            return self.number(dim.value, element)
        size = self.op(graph.SqueezeOp(self.op(graph.ExtentsOp([dim])).ssa, [0]))
        return size if element == i64 else size.cast(element)

    def op(self, op: Operation) -> Value:
        """Insert an op; returns its first result."""
        return self.value(self.rewriter.insert(op).results[0])


@dataclass(frozen=True)
class Value:
    """
    A value with operators: each inserts the op of that name; numbers become constants of the value's type.
    """

    formula: Formula
    ssa: SSAValue

    @property
    def element(self) -> Attribute:
        """The element type."""
        return tensor_of(self.ssa).element_type

    @property
    def dims(self) -> tuple[Dim, ...]:
        """The dimensions."""
        return dims_of(self.ssa.type)

    @property
    def rank(self) -> int:
        """The number of dimensions."""
        return len(self.dims)

    def same(self, other: Operand) -> Value:
        """A number as a constant of this element type; another value as it is."""
        return other if isinstance(other, Value) else self.formula.number(other, self.element)

    def __add__(self, other: Operand) -> Value:
        return self._op(self._either(graph.AddOp, graph.OrOp), self, other)

    def __radd__(self, other: float) -> Value:
        return self._op(graph.AddOp, other, self)

    def __sub__(self, other: Operand) -> Value:
        return self._op(graph.SubtractOp, self, other)

    def __rsub__(self, other: float) -> Value:
        return self._op(graph.SubtractOp, other, self)

    def __mul__(self, other: Operand) -> Value:
        return self._op(self._either(graph.MultiplyOp, graph.AndOp), self, other)

    def __rmul__(self, other: float) -> Value:
        return self._op(graph.MultiplyOp, other, self)

    def __truediv__(self, other: Operand) -> Value:
        return self._op(graph.DivideOp, self, other)

    def __rtruediv__(self, other: float) -> Value:
        return self._op(graph.DivideOp, other, self)

    def __mod__(self, other: Operand) -> Value:
        return self._op(graph.RemainderOp, self, other)

    def __lt__(self, other: Operand) -> Value:
        return self._op(graph.LessOp, self, other)

    def __le__(self, other: Operand) -> Value:
        return self._op(graph.LessEqualOp, self, other)

    def __gt__(self, other: Operand) -> Value:
        return self._op(graph.LessOp, other, self)

    def __ge__(self, other: Operand) -> Value:
        return self._op(graph.LessEqualOp, other, self)

    def __and__(self, other: Value) -> Value:
        return self._op(graph.AndOp, self, other)

    def __or__(self, other: Value) -> Value:
        return self._op(graph.OrOp, self, other)

    def __neg__(self) -> Value:
        return self.formula.op(graph.NegOp(self.ssa))

    def __abs__(self) -> Value:
        return self.formula.op(graph.AbsOp(self.ssa))

    def equals(self, other: Operand) -> Value:
        """Elementwise equality."""
        return self._op(graph.EqualOp, self, other)

    def negated(self) -> Value:
        """The complement of truth values."""
        return self.formula.op(graph.NotOp(self.ssa))

    def maximum(self, other: Operand) -> Value:
        """The greater of two; of truth values, whether one is true."""
        return self._op(self._either(graph.MaximumOp, graph.OrOp), self, other)

    def minimum(self, other: Operand) -> Value:
        """The lesser of two; of truth values, whether both are true."""
        return self._op(self._either(graph.MinimumOp, graph.AndOp), self, other)

    def clip(self, low: Operand, high: Operand) -> Value:
        """The value clamped between two bounds, which may be tensors."""
        return self.maximum(low).minimum(high)

    def apply(self, op_type: type[UnaryOp]) -> Value:
        """A function of one argument, as an op of a class."""
        return self.formula.op(op_type(self.ssa))

    def cast(self, element: Attribute) -> Value:
        """The value in another element type; itself if it has that type."""
        if element == self.element:
            return self
        return self.formula.op(graph.CastOp(self.ssa, cast(TypeAttribute, element)))

    def reshape(self, dims: Sequence[DimLike]) -> Value:
        """The value in another shape; itself if it has that shape."""
        wanted = [Dim.of(dim) for dim in dims]
        return self if list(self.dims) == wanted else self.formula.op(graph.ReshapeOp(self.ssa, wanted))

    def unsqueeze(self, *axes: int) -> Value:
        """The value with dimensions of size 1 at some axes of the result."""
        return self.formula.op(graph.ExpandDimsOp(self.ssa, sorted(axes))) if axes else self

    def squeeze(self, *axes: int) -> Value:
        """The value without some axes, of size 1."""
        return self.formula.op(graph.SqueezeOp(self.ssa, sorted(axes))) if axes else self

    def transpose(self, perm: Sequence[int]) -> Value:
        """The dimensions in another order."""
        return self if list(perm) == sorted(perm) else self.formula.op(graph.TransposeOp(self.ssa, perm))

    def broadcast_to(self, dims: Sequence[Dim]) -> Value:
        """The value broadcast to a larger shape."""
        wanted = broadcast([self.dims, dims])
        return self if self.dims == tuple(wanted) else self.formula.op(graph.BroadcastToOp(self.ssa, wanted))

    def slice(self, axis: int, start: DimLike, limit: DimLike) -> Value:
        """The part of the value between two positions along an axis."""
        starts = [Dim.of(0)] * self.rank
        limits = list(self.dims)
        starts[axis], limits[axis] = Dim.of(start), Dim.of(limit)
        return self.formula.op(graph.SliceOp(self.ssa, starts, limits, [1] * self.rank))

    def at(self, axis: int, index: int) -> Value:
        """The part of the value at a position along an axis, without that axis."""
        return self.slice(axis, index, index + 1).squeeze(axis % self.rank)

    def reduce(self, kind: str, axes: Sequence[int], *, keep_dims: bool = False) -> Value:
        """A reduction along axes; the value itself if there are none."""
        if not axes:
            return self
        return self.formula.op(graph.ReduceOp(self.ssa, kind, axes, keep_dims=keep_dims))

    def gather(self, indices: Value, axis: int, *, batch_dims: int = 0) -> Value:
        """The slices at indices, all of which are in bounds."""
        return self.formula.op(
            graph.GatherOp(self.ssa, indices.ssa, axis, batch_dims=batch_dims, bounds="clip")
        )

    def matrix_transpose(self, is_transposed: bool = True) -> Value:
        """The matrices of the last two axes transposed, if asked for; a vector as it is."""
        if not is_transposed or self.rank < 2:
            return self
        return self.transpose([*range(self.rank - 2), self.rank - 1, self.rank - 2])

    def matmul(self, other: Value) -> Value:
        """The matrix product."""
        return self.formula.op(graph.MatmulOp(self.ssa, other.ssa))

    def _either(self, of_numbers: type[BinaryOp], of_truth_values: type[BinaryOp]) -> type[BinaryOp]:
        """The class for this value's elements; a sum of truth values is true if one is."""
        return of_truth_values if is_bool(self.element) else of_numbers

    def _op(self, op_type: type[BinaryOp], a: Operand, b: Operand) -> Value:
        return self.formula.op(op_type(self.same(a).ssa, self.same(b).ssa))
