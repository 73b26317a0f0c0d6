"""A builder of graph ops for the rules of derivatives."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass, replace
from math import prod
from typing import Any, Protocol, cast

import numpy as np
import numpy.typing as npt
from xdsl.builder import Builder
from xdsl.dialects.builtin import TensorType, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from stepwell.dialects import graph
from stepwell.dialects.types import DimLike, Tensor, dims_of, dtype_of, tensor_of
from stepwell.passes.analysis.tangents import Tangents
from stepwell.passes.graph.gradients.options import Options
from stepwell.passes.graph.norm_parts import Parts
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError


class Scope(Protocol):
    """Facts that all gradients of a module share: tangents, arithmetic of data, functions with tapes."""

    tangents: Tangents
    options: Options

    def zeros(self, value: SSAValue, b: GradientBuilder) -> SSAValue:
        """The zero cotangent of a value of a tuple or data type; `tuple<>` where it has no cotangent."""
        ...

    def sum(self, first: SSAValue, second: SSAValue, b: GradientBuilder) -> SSAValue:
        """The sum of two cotangents of a value of a tuple or data type."""
        ...

    def pair(self, op: graph.CallOp, active: Sequence[int]) -> Pair:
        """The functions forward and backward of the callee, by arguments of a call."""
        ...

    def tape_name(self) -> str:
        """A name for the data type of another tape."""
        ...


@dataclass(frozen=True)
class Pair:
    """Two functions: one returns the results and the tape, one takes the tape and cotangents."""

    forward: str
    backward: str
    tape: Attribute


@dataclass
class GradientBuilder(Parts):
    """Arithmetic of cotangents at one place of a block."""

    active: Set[SSAValue] = frozenset()
    """The values that cotangents are needed of."""
    shared: Scope | None = None
    splits: bool = False
    """Whether the new ops move to another function, so that tapes must contain all values that they read."""

    @property
    def scope(self) -> Scope:
        """The facts that gradients of the module share."""
        assert self.shared is not None
        return self.shared

    def within(self, active: Set[SSAValue]) -> GradientBuilder:
        """A builder at the same place, for other active values."""
        return replace(self, active=active)

    def before(self, op: Operation) -> GradientBuilder:
        """A builder before an op, which may be in another block."""
        return replace(self, rewriter=Builder(InsertPoint.before(op)))

    def tangent(self, value: SSAValue) -> Attribute:
        """The type of the cotangent of a value; `tuple<>` where it has none."""
        return self.scope.tangents.inside(value.type)

    def tuple_of(self, fields: Sequence[SSAValue]) -> SSAValue:
        """`graph.tuple`."""
        return self.insert(graph.TupleOp(fields))

    def sized(self, value: SSAValue, like: SSAValue) -> SSAValue:
        """A value with the sizes in the type of another one, where these are known."""
        if value.type == like.type or like.type.name != TensorType.name:
            return value
        if any(dim.is_unknown for dim in self.dims(like)):
            return value
        return self.reshape(value, self.dims(like))

    def get(self, value: SSAValue, field: int) -> SSAValue:
        """`graph.get`."""
        return self.insert(graph.GetOp(value, field))

    def call(self, name: str, arguments: Sequence[SSAValue], types: Sequence[Attribute]) -> list[SSAValue]:
        """The results of a call of a function of the module."""
        return list(self.rewriter.insert(graph.CallOp(name, arguments, types)).results)

    def sum_of(self, first: SSAValue, second: SSAValue) -> SSAValue:
        """The sum of two cotangents: of tensors, tuples or data."""
        if isinstance(first.type, TensorType):
            return self.add(first, second)
        return self.scope.sum(first, second, self)

    def insert(self, op: Operation) -> SSAValue:
        """The only result of a new op."""
        return self.rewriter.insert(op).results[0]

    def dims(self, value: SSAValue) -> Sequence[Dim]:
        """The dimensions of a tensor."""
        return dims_of(value.type)

    def scaled(self, value: SSAValue, factor: float) -> SSAValue:
        """A tensor times a number."""
        return self.multiply(value, self.scalar(factor, value))

    def plus(self, value: SSAValue, number: float) -> SSAValue:
        """A tensor plus a number."""
        return self.add(value, self.scalar(number, value))

    def square(self, value: SSAValue) -> SSAValue:
        """A tensor times itself."""
        return self.multiply(value, value)

    def exp(self, value: SSAValue) -> SSAValue:
        """`graph.exp`."""
        return self.insert(graph.ExpOp(value))

    def where(self, condition: SSAValue, on_true: SSAValue, on_false: SSAValue) -> SSAValue:
        """`graph.where`."""
        return self.insert(graph.WhereOp(condition, on_true, on_false))

    def only_where(self, condition: SSAValue, value: SSAValue) -> SSAValue:
        """A tensor where a condition holds, 0 elsewhere."""
        return self.where(condition, value, self.scalar(0.0, value))

    def less(self, a: SSAValue, b: SSAValue) -> SSAValue:
        """`graph.less`."""
        return self.insert(graph.LessOp(a, b))

    def full(self, number: float, like: SSAValue) -> SSAValue:
        """A tensor of the type of another one, with one number everywhere."""
        if any(dim.is_unknown for dim in self.dims(like)):
            never = self.insert(graph.ConstantOp.of(np.array(False), self.weights))
            return self.where(never, like, self.scalar(number, like))
        return self.insert(graph.FullOp(self.scalar(number, like), self.dims(like)))

    def number(self, number: int) -> SSAValue:
        """A scalar of i64."""
        return self.insert(graph.ConstantOp.of(np.array(number, np.int64), self.weights))

    def zeros(self, like: SSAValue) -> SSAValue:
        """The zero cotangent of a value: of a tensor, one of zeros of its type."""
        return self.full(0.0, like) if isinstance(like.type, TensorType) else self.scope.zeros(like, self)

    def equal(self, a: SSAValue, b: SSAValue) -> SSAValue:
        """`graph.equal`."""
        return self.insert(graph.EqualOp(a, b))

    def iota(self, shape: Sequence[DimLike], axis: int = 0) -> SSAValue:
        """`graph.iota` of i64."""
        return self.insert(graph.IotaOp(shape, axis, i64))

    def array(self, numbers: npt.NDArray[Any], like: SSAValue) -> SSAValue:
        """Numbers as a constant in the element type of another tensor."""
        array = numbers.astype(dtype_of(tensor_of(like).element_type))
        return self.insert(graph.ConstantOp.of(array, self.weights))

    def flat(self, value: SSAValue) -> SSAValue:
        """All elements in one dimension."""
        if any(dim.is_unknown for dim in self.dims(value)):
            sizes = self.insert(graph.ShapeOfOp(value))
            count = graph.ReduceOp(sizes, "prod", [0], keep_dims=True)
            return self.insert(graph.ReshapeOp(value, self.insert(count)))
        return self.reshape(value, [prod(self.dims(value), start=Dim.of(1))])

    def positions(self, like: SSAValue) -> SSAValue:
        """A tensor of the shape of another one whose elements are their own row-major index, in i64."""
        count = prod(self.dims(like), start=Dim.of(1))
        return self.reshape(self.iota([count]), self.dims(like))

    def added_at(self, like: SSAValue, places: SSAValue, value: SSAValue) -> SSAValue:
        """Zeros of the type of `like` to which elements are added at their row-major indices."""
        zeros, flat = self.flat(self.zeros(like)), self.flat(value)
        added = self.insert(graph.ScatterElementsOp(zeros, self.flat(places), flat, 0, "add"))
        return self.reshape(added, self.dims(like))

    def filled(self, number: float, type: Attribute) -> SSAValue:
        """A tensor of a type with one number everywhere."""
        array = np.array(number).astype(dtype_of(cast(Tensor, type).element_type))
        scalar = self.insert(graph.ConstantOp.of(array, self.weights))
        return self.insert(graph.FullOp(scalar, dims_of(type)))

    def broadcast(self, value: SSAValue, like: SSAValue) -> SSAValue:
        """A tensor repeated up to the shape of another one."""
        return self.insert(graph.BroadcastToOp(value, self.dims(like)))

    def transpose(self, value: SSAValue, perm: Sequence[int]) -> SSAValue:
        """`graph.transpose`; the tensor itself where no axis moves."""
        if list(perm) == list(range(len(perm))):
            return value
        return self.insert(graph.TransposeOp(value, perm))

    def sum(self, value: SSAValue, axes: Sequence[int], *, keep_dims: bool = False) -> SSAValue:
        """The sum along axes; the tensor itself without any."""
        if not axes:
            return value
        return self.insert(graph.ReduceOp(value, "sum", axes, keep_dims=keep_dims))

    def expand(self, value: SSAValue, axes: Sequence[int]) -> SSAValue:
        """A tensor with axes of size 1 put in; itself without any."""
        return self.insert(graph.ExpandDimsOp(value, axes)) if axes else value

    def squeeze(self, value: SSAValue, axes: Sequence[int]) -> SSAValue:
        """A tensor without some axes of size 1."""
        return self.insert(graph.SqueezeOp(value, axes)) if axes else value

    def matmul(self, a: SSAValue, b: SSAValue, ta: bool = False, tb: bool = False) -> SSAValue:
        """`graph.matmul`, of transposed operands."""
        return self.insert(graph.MatmulOp(a, b, transpose_a=ta, transpose_b=tb))

    def slice(self, value: SSAValue, starts: Sequence[DimLike], limits: Sequence[DimLike]) -> SSAValue:
        """Elements between places, one pair of these a dimension."""
        return self.insert(graph.SliceOp(value, starts, limits, [1] * len(starts)))

    def count(self, dims: Sequence[Dim], like: SSAValue) -> SSAValue:
        """The product of dimensions, as a scalar of the element type of another tensor."""
        if all(dim.is_static for dim in dims):
            number = 1
            for dim in dims:
                number *= dim.value
            return self.scalar(float(number), like)
        sizes = self.insert(graph.ExtentsOp(dims))
        assert tensor_of(sizes).element_type == i64
        return self.cast(self.insert(graph.ReduceOp(sizes, "prod", [0])), tensor_of(like).element_type)

    def sum_to(self, value: SSAValue, like: SSAValue) -> SSAValue:
        """
        The transpose of broadcasting: sums along the axes in which `like` was repeated.

        Raises: StepwellError `unsupported` where a size of `like` may be 1, or not.
        """
        have, want = self.dims(value), self.dims(like)
        extra = len(have) - len(want)
        value = self.sum(value, range(extra))
        kept: list[int] = []
        for axis, (a, b) in enumerate(zip(have[extra:], want, strict=True)):
            if b == 1 and a != 1:
                kept.append(axis)
            elif not a.proves_equal(b):
                message = f"a gradient needs to know whether the size {b} is 1 or {a}"
                help = "fix the size: --input-shape, or write the program with one name for both"
                raise StepwellError("unsupported", like.owner, message, help=help)
        return self.sum(value, kept, keep_dims=True)

    def sum_pairs(self, given: Sequence[tuple[SSAValue | None, SSAValue]]) -> list[SSAValue | None]:
        """Cotangents of operands that broadcast, each summed to the shape of its operand."""
        return [None if value is None else self.sum_to(value, like) for value, like in given]

    def static(self, dims: Sequence[Dim], what: str, op: Operation) -> list[int]:
        """Dimensions as numbers. Raises: StepwellError `unsupported` for open ones."""
        if not all(dim.is_static for dim in dims):
            message = (
                f"the derivative of {op.name} needs {what} as numbers, found {', '.join(map(str, dims))}"
            )
            raise StepwellError("unsupported", op, message, help="fix the sizes: --input-shape")
        return [dim.value for dim in dims]
