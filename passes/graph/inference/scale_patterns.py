"""Patterns of `fold-scale-axis`: a multiplication per channel is merged into the weights of a contraction."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias, cast

import numpy as np
import numpy.typing as npt
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern
from xdsl.rewriter import InsertPoint

from stepwell.dialects import graph
from stepwell.dialects.constants import Constant, array_of, derived_attr
from stepwell.dialects.graph.structure import constant_of
from stepwell.dialects.locations import adopt_location, fused_location
from stepwell.dialects.types import WeightAttr, dims_of, dtype_of, tensor_of, tensor_type
from stepwell.passes.graph.constant_operands import along_axis
from stepwell.runtime.files.weights import WeightStore
from stepwell.runtime.interface import float_info
from stepwell.runtime.layout import parse_layout
from stepwell.runtime.meaning import Array

Numbers: TypeAlias = npt.NDArray[np.floating]
Contraction: TypeAlias = graph.ConvOp | graph.MatmulOp
Folded: TypeAlias = "tuple[Operation, int, Constant]"
"""An op, the index of its constant operand that the scale is merged into, and the constant's new value."""

SMALLEST_DIVISOR, LARGEST_DIVISOR = 2.0**-64, 2.0**64
"""A scale outside of these bounds divides no constant: the quotient could overflow or lose all digits."""


@dataclass
class FoldOutputScale(RewritePattern):
    """
    Multiply the constant weights and biases of a contraction instead of its output; for a sum, on both sides.

    ```mlir
    %w = graph.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
    %s = graph.constant dense<[2.0, 3.0]> : tensor<2xf32>
    %0 = graph.matmul %x, %w : (tensor<5x2xf32>, tensor<2x2xf32>) -> tensor<5x2xf32>
    %y = graph.multiply %0, %s : (tensor<5x2xf32>, tensor<2xf32>) -> tensor<5x2xf32>
    // ->
    %v = graph.constant dense<[[2.0, 6.0], [6.0, 12.0]]> : tensor<2x2xf32>
    %y = graph.matmul %x, %v : (tensor<5x2xf32>, tensor<2x2xf32>) -> tensor<5x2xf32>
    ```
    """

    weights: WeightStore

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.MultiplyOp, rewriter: PatternRewriter) -> None:
        for value, factor in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
            scale = _float_constant(factor, self.weights)
            if scale is None or value.type != op.result.type:
                continue
            folded = self._folded_constants(value, scale)
            if folded is not None:
                put_constants(folded, rewriter)
                for scaled in _scaled_ops(value, [user for user, _, _ in folded]):
                    scaled.location = fused_location([scaled, op])
                rewriter.replace(op, [], [value])
                return

    def _folded_constants(self, root: SSAValue, scale: Numbers) -> list[Folded] | None:
        """The scaled constants on all paths up from a value to contractions; None if a path does not fit."""
        found: list[Folded] = []
        stack = [root]
        while stack:
            value = stack.pop()
            op = value.owner
            if not value.has_one_use() or value.type != root.type:
                return None
            if isinstance(op, graph.ReluOp) and bool((scale > 0).all()):
                stack.append(op.input)
                continue
            if not isinstance(op, graph.BiasAddOp | graph.AddOp | graph.ConvOp | graph.MatmulOp):
                return None
            index = _constant_operand(op)
            if index is None:
                if not isinstance(op, graph.AddOp):
                    return None
                stack += op.operands
                continue
            folded = self._multiplied(op, index, scale)
            if folded is None:
                return None
            found.append(folded)
            if not isinstance(op, Contraction):
                stack.append(op.operands[1 - index])
        return found

    def _multiplied(self, op: Operation, index: int, scale: Numbers) -> Folded | None:
        """The constant operand of an op times the scale of its result; None if their shapes do not fit."""
        factor = _output_factor(op, scale)
        return None if factor is None else _combined(op, index, np.multiply, factor, self.weights)


@dataclass
class FoldInputScale(RewritePattern):
    """
    Multiply the weights of a contraction instead of its input; constants added in between are divided.

    ```mlir
    %w = graph.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
    %s = graph.constant dense<[2.0, 4.0]> : tensor<2xf32>
    %b = graph.constant dense<[6.0, 8.0]> : tensor<2xf32>
    %0 = graph.multiply %x, %s : (tensor<5x2xf32>, tensor<2xf32>) -> tensor<5x2xf32>
    %1 = graph.add %0, %b : (tensor<5x2xf32>, tensor<2xf32>) -> tensor<5x2xf32>
    %2 = graph.relu %1 : tensor<5x2xf32> -> tensor<5x2xf32>
    %y = graph.matmul %2, %w : (tensor<5x2xf32>, tensor<2x2xf32>) -> tensor<5x2xf32>
    // ->
    %c = graph.constant dense<[3.0, 2.0]> : tensor<2xf32>
    %3 = graph.add %x, %c : (tensor<5x2xf32>, tensor<2xf32>) -> tensor<5x2xf32>
    %4 = graph.relu %3 : tensor<5x2xf32> -> tensor<5x2xf32>
    %v = graph.constant dense<[[2.0, 4.0], [12.0, 16.0]]> : tensor<2x2xf32>
    %y = graph.matmul %4, %v : (tensor<5x2xf32>, tensor<2x2xf32>) -> tensor<5x2xf32>
    ```
    """

    weights: WeightStore

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.ConvOp | graph.MatmulOp, rewriter: PatternRewriter) -> None:
        between = self._way_up(op.operands[0])
        if between is None:
            return
        scaling = between.pop()
        assert isinstance(scaling, graph.MultiplyOp)
        value, scale = self._scaled(scaling)
        if any(isinstance(inner, graph.ReluOp) for inner in between) and not bool((scale > 0).all()):
            return
        factor = _input_factor(op, scale)
        if factor is None:
            return
        folded = [_combined(op, 1, np.multiply, factor, self.weights)]
        folded += [self._divided(inner, scale) for inner in between if not isinstance(inner, graph.ReluOp)]
        if any(one is None for one in folded):
            return
        put_constants([one for one in folded if one is not None], rewriter)
        for inner in (*between, scaling):  # their values are others now, or none
            inner.location = fused_location([inner, op])
        op.location = fused_location([scaling, op])
        rewriter.replace(scaling, [], [value])

    def _way_up(self, value: SSAValue) -> list[Operation] | None:
        """The ops from a value up to a multiplication by a constant, each with one use; None without one."""
        found: list[Operation] = []
        type = value.type
        while value.has_one_use() and value.type == type:
            op = value.owner
            if isinstance(op, graph.MultiplyOp):
                source, scale = self._scaled(op)
                return [*found, op] if scale.size and source.type == type else None
            if not isinstance(op, graph.ReluOp | graph.BiasAddOp | graph.AddOp):
                return None
            index = 1 if isinstance(op, graph.ReluOp) else _constant_operand(op)
            if index is None:
                return None
            found.append(op)
            value = op.operands[1 - index]
        return None

    def _scaled(self, op: graph.MultiplyOp) -> tuple[SSAValue, Numbers]:
        """The operand and the constant factor of a multiplication; an empty array if neither is constant."""
        for value, factor in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
            if (scale := _float_constant(factor, self.weights)) is not None:
                return value, scale
        return op.lhs, np.zeros(0, np.float32)

    def _divided(self, op: Operation, scale: Numbers) -> Folded | None:
        """The constant that an op adds, divided by the scale; None if the quotient could lose digits."""
        size = np.abs(scale.astype(np.float64))
        index = _constant_operand(op)
        divisor = _output_factor(op, scale)
        if index is None or divisor is None or not bool((size >= SMALLEST_DIVISOR).all()):
            return None
        if not bool((size <= LARGEST_DIVISOR).all()):
            return None
        return _combined(op, index, np.divide, divisor, self.weights)


def put_constants(folded: Sequence[Folded], rewriter: PatternRewriter) -> None:
    """Replace constant operands of ops by new constants, inserted before the ops."""
    for user, operand, value in folded:
        constant = graph.ConstantOp(value)
        adopt_location(constant, user.location)
        rewriter.insert(constant, InsertPoint.before(user))
        user.operands[operand] = constant.result
        rewriter.notify_op_modified(user)


def _scaled_ops(root: SSAValue, users: Sequence[Operation]) -> Iterator[Operation]:
    """The ops whose values a scale of `root` changes: those with scaled constants, and those in between."""
    waiting = [root]
    while waiting:
        op = waiting.pop().owner
        assert isinstance(op, Operation)
        yield op
        if isinstance(op, graph.ReluOp) or op not in users:
            waiting += op.operands
        elif not isinstance(op, Contraction):
            waiting += [value for value in op.operands if not isinstance(value.owner, graph.ConstantOp)]


def _float_constant(value: SSAValue, weights: WeightStore) -> Numbers | None:
    array = constant_of(value, weights)
    return None if array is None or array.dtype.kind in "iub" else cast(Numbers, array)


def _constant_operand(op: Operation) -> int | None:
    """The index of a constant operand: either one of an addition, else the bias or weights, which are 1."""
    indices = (1, 0) if isinstance(op, graph.AddOp) else (1,)
    return next((index for index in indices if isinstance(op.operands[index].owner, graph.ConstantOp)), None)


def _combined(
    op: Operation, index: int, combine: np.ufunc, scale: Numbers, weights: WeightStore
) -> Folded | None:
    """A constant operand multiplied or divided by a scale, in its type; None when numbers overflow."""
    value = op.operands[index]
    if not isinstance(constant := value.owner, graph.ConstantOp):
        return None
    type, source = tensor_of(value), cast(Constant, constant.value)
    if isinstance(op, graph.AddOp):  # 3 + … times a scale per channel: a number per channel is added
        type = tensor_type(type.element_type, np.broadcast_shapes(type.get_shape(), scale.shape))
    largest = _largest_product(source, dtype_of(type.element_type), combine, scale, weights)
    made = derived_attr(
        combine.__name__,
        partial(_in_type_of_first, combine),
        [source, scale],
        type,
        value.name_hint or "scaled",
        weights,
        largest=largest,
    )
    if largest is None and not bool(np.isfinite(array_of(made, weights).astype(np.float64)).all()):
        return None
    return op, index, made


def _in_type_of_first(combine: np.ufunc, constant: Array, scale: Numbers) -> Array:
    return np.asarray(combine(constant, scale)).astype(constant.dtype, copy=False)


def _largest_product(
    source: Constant, dtype: np.dtype[np.generic], combine: np.ufunc, scale: Numbers, weights: WeightStore
) -> float | None:
    """A bound of a large weight times a scale, if no such product overflows; None if that is not certain."""
    if not isinstance(source, WeightAttr) or combine is not np.multiply or not scale.size:
        return None
    bound = weights.largest(source.hash.data) * float(np.abs(scale.astype(np.float64)).max())
    return 2 * bound if 2 * bound < float(float_info(dtype).max) else None


def _output_factor(op: Operation, scale: Numbers) -> Numbers | None:
    """The factor of an op's constant operand that scales the result by `scale`; None if there is none."""
    rank = len(dims_of(op.results[0].type))
    match op:
        case graph.AddOp():
            return scale
        case graph.BiasAddOp():
            vector = along_axis(scale, op.axis.value.data, rank)
            blocked = len(dims_of(op.b.type)) > 1
        case graph.MatmulOp():
            blocked = op.packing.value.data or len(dims_of(op.b.type)) != 2 or rank != len(dims_of(op.a.type))
            vector = along_axis(scale, rank - 1, rank)
            if vector is not None and op.transpose_b.value.data:
                vector = vector.reshape(-1, 1)
        case graph.ConvOp():
            layout = parse_layout(op.kernel_layout.data)
            blocked = op.out_layout is not None or layout.rank != len(layout.letters)
            vector = along_axis(scale, parse_layout(op.data_layout.data).axis("C"), rank)
            shape = [-1 if letter == "O" else 1 for letter in layout.letters]
            vector = None if vector is None else vector.reshape(shape)
        case _:
            return None
    return None if blocked else cast("Numbers | None", vector)


def _input_factor(op: Contraction, scale: Numbers) -> Numbers | None:
    """The factor of a contraction's weights that replaces a scale of the first operand; None if none does."""
    dims = dims_of(op.operands[0].type)
    rank = len(dims)
    if isinstance(op, graph.MatmulOp):
        if op.packing.value.data or len(dims_of(op.b.type)) != 2 or rank < 2:
            return None
        vector = along_axis(scale, rank - (2 if op.transpose_a.value.data else 1), rank)
        if vector is None:
            return None
        return cast(Numbers, vector if op.transpose_b.value.data else vector.reshape(-1, 1))
    kernel, data = parse_layout(op.kernel_layout.data), parse_layout(op.data_layout.data)
    if kernel.rank != len(kernel.letters) or data.rank != len(data.letters):
        return None
    vector = along_axis(scale, data.axis("C"), rank)
    filters = kernel.logical(dims_of(op.w.type))
    if vector is None or not filters["I"].is_static or not filters["O"].is_static:
        return None
    groups, depth, width = op.groups.value.data, filters["I"].value, filters["O"].value
    # Filter o reads the channels of its group: row o of a matrix [O, I].
    by_group = np.broadcast_to(vector, (groups * depth,)).reshape(groups, depth)
    # One row is for all filters of one group: a row for each would be as large as weights of 1x1.
    matrix = by_group if groups == 1 else np.repeat(by_group, width // groups, axis=0)
    order = matrix if kernel.axis("O") < kernel.axis("I") else matrix.T
    shape = [{"O": len(matrix), "I": depth}.get(letter, 1) for letter in kernel.letters]
    return cast(Numbers, order.reshape(shape))
