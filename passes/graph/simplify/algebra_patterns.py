"""Patterns of `simplify-expr` on arithmetic: casts of casts, products with 0, roots, known shapes, top-k."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

import numpy as np
from xdsl.dialects.builtin import bf16, f16, f32, f64
from xdsl.ir import Attribute, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from stepwell.dialects import graph
from stepwell.dialects.graph.structure import constant_of
from stepwell.dialects.types import dims_of, dtype_of, tensor_of
from stepwell.passes.analysis.symbolic_values import symbolic_dims
from stepwell.passes.graph.constant_operands import scalar_of
from stepwell.runtime.files.weights import WeightStore

_LARGEST_ZEROS_BYTES = 65536
# Bits of the significand and greatest exponent.
_FLOATS: Mapping[Attribute, tuple[int, int]] = {
    f16: (11, 15),
    bf16: (8, 127),
    f32: (24, 127),
    f64: (53, 1023),
}


def algebra_patterns(weights: WeightStore) -> list[RewritePattern]:
    """The patterns on arithmetic, in the order in which they are tried."""
    return [
        ComposeCasts(),
        MultiplyByZero(weights),
        ReciprocalOfRoot(),
        DivideByRoot(),
        UseKnownShape(weights),
        SliceOfTopK(),
    ]


class ComposeCasts(RewritePattern):
    """
    Merge a cast of a widening cast, whose type represents all values of its input, into one. Class: exact.

    ```mlir
    %t = graph.cast %x to f32 saturate true round "nearest" : tensor<4xf16> -> tensor<4xf32>
    %y = graph.cast %t to f64 saturate true round "nearest" : tensor<4xf32> -> tensor<4xf64>
    // ->
    %y = graph.cast %x to f64 saturate true round "nearest" : tensor<4xf16> -> tensor<4xf64>
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.CastOp, rewriter: PatternRewriter) -> None:
        if not isinstance(inner := op.input.owner, graph.CastOp):
            return
        source, between = (tensor_of(value).element_type for value in (inner.input, inner.result))
        if not _represents_all(between, source):
            return
        if inner.input.type == op.result.type:
            rewriter.replace(op, [], [inner.input])
        else:
            saturate = bool(op.saturate.value.data)
            rewriter.replace(op, graph.CastOp(inner.input, op.to, saturate=saturate, round=op.round.data))


def _represents_all(wide: Attribute, narrow: Attribute) -> bool:
    """Whether an element type represents each value of another exactly, so that casts from both agree."""
    to, of = dtype_of(wide), dtype_of(narrow)
    if to == of or of.kind == "b":
        return to.kind != "c"
    if wide in _FLOATS and narrow in _FLOATS:
        return all(a >= b for a, b in zip(_FLOATS[wide], _FLOATS[narrow], strict=True))
    if of.kind not in "iu":
        return False
    if wide in _FLOATS:
        return 8 * of.itemsize <= _FLOATS[wide][0]
    return to.kind in "iu" and np.can_cast(of, to, "safe")


@dataclass
class MultiplyByZero(RewritePattern):
    """
    Replace x * 0 by 0 for integers, and for floats cast from integers, which are finite. Class: exact.

    ```mlir
    %z = graph.constant dense<0> : tensor<i32>
    %y = graph.multiply %x, %z : (tensor<2xi32>, tensor<i32>) -> tensor<2xi32>
    // ->
    %y = graph.constant dense<[0, 0]> : tensor<2xi32>
    ```
    """

    weights: WeightStore

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.MultiplyOp, rewriter: PatternRewriter) -> None:
        dtype = dtype_of(tensor_of(op.result).element_type)
        shape = [dim.value if dim.is_static else -1 for dim in dims_of(op.result.type)]
        if min(shape, default=0) < 0 or prod(shape) * dtype.itemsize > _LARGEST_ZEROS_BYTES:
            return
        for value, other in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
            factor = constant_of(other, self.weights)
            if factor is None or not factor.size or (factor != np.zeros((), dtype)).any():
                continue
            if dtype.kind in "iu" or _is_proven_finite(value):
                rewriter.replace(op, graph.ConstantOp.of(np.zeros(shape, dtype), self.weights))
                return


def _is_proven_finite(value: SSAValue) -> bool:
    """Whether a float tensor cannot contain NaN or infinity: it is cast from integers."""
    op = value.owner
    if not isinstance(op, graph.CastOp) or op.to not in (f32, f64):
        return False
    return dtype_of(tensor_of(op.input).element_type).kind in "iub"


class ReciprocalOfRoot(RewritePattern):
    """
    Replace 1 / sqrt(x) by rsqrt(x), and a / rsqrt(x) by a * sqrt(x); the root has one use. Class: rounding.

    ```mlir
    %one = graph.constant dense<1.0> : tensor<f32>
    %s = graph.sqrt %x : tensor<4xf32> -> tensor<4xf32>
    %y = graph.divide %one, %s : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
    // ->
    %y = graph.rsqrt %x : tensor<4xf32> -> tensor<4xf32>
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.DivideOp, rewriter: PatternRewriter) -> None:
        root = op.rhs.owner
        if not op.rhs.has_one_use():
            return
        if isinstance(root, graph.SqrtOp) and scalar_of(op.lhs) == 1 and op.rhs.type == op.result.type:
            rewriter.replace(op, graph.RsqrtOp(root.input))
        elif isinstance(root, graph.RsqrtOp):
            rewriter.replace(op, graph.MultiplyOp(op.lhs, rewriter.insert(graph.SqrtOp(root.input)).result))


class DivideByRoot(RewritePattern):
    """
    Replace a / sqrt(x) by a * rsqrt(x), where the root is broadcast and has one use. Class: rounding.

    ```mlir
    %s = graph.sqrt %x : tensor<2x1xf32> -> tensor<2x1xf32>
    %y = graph.divide %a, %s : (tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
    // ->
    %r = graph.rsqrt %x : tensor<2x1xf32> -> tensor<2x1xf32>
    %y = graph.multiply %a, %r : (tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.DivideOp, rewriter: PatternRewriter) -> None:
        root = op.rhs.owner
        if not isinstance(root, graph.SqrtOp) or not op.rhs.has_one_use() or op.rhs.type == op.result.type:
            return
        if op.lhs.type == op.result.type:
            inverse = rewriter.insert(graph.RsqrtOp(root.input)).result
            rewriter.replace(op, graph.MultiplyOp(op.lhs, inverse))


@dataclass
class UseKnownShape(RewritePattern):
    """
    Replace a shape operand computed from the shapes of inputs by an attribute. Class: exact.

    ```mlir
    %s = graph.shape_of %x start 0 end 2 : tensor<?x4xf32, #graph.dims<["N", 4]>> -> tensor<2xi64>
    %y = graph.full %v shape_value %s : tensor<2xi64> : tensor<f32> -> tensor<?x4xf32, #graph.dims<["N", 4]>>
    // ->
    %y = graph.full %v shape <["N", 4]> : tensor<f32> -> tensor<?x4xf32, #graph.dims<["N", 4]>>
    ```
    """

    weights: WeightStore

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.FullOp | graph.BroadcastToOp, rewriter: PatternRewriter) -> None:
        if op.shape_value is None:
            return
        dims = symbolic_dims(op.shape_value, self.weights)
        if dims is not None and not any(dim.is_unknown for dim in dims):
            made = type(op)(op.operands[0], dims)
            if made.result.type == op.result.type:
                rewriter.replace(op, made)


class SliceOfTopK(RewritePattern):
    """
    Reduce the k of a `top_k` whose results are only read by slices of their first elements. Class: exact.

    ```mlir
    %v, %i = graph.top_k %x k <[5]> axis 0 largest true : tensor<9xf32> -> (tensor<5xf32>, tensor<5xi64>)
    %y = graph.slice %v starts <[0]> limits <[2]> steps [1] : tensor<5xf32> -> tensor<2xf32>
    // ->
    %y, %j = graph.top_k %x k <[2]> axis 0 largest true : tensor<9xf32> -> (tensor<2xf32>, tensor<2xi64>)
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.TopKOp, rewriter: PatternRewriter) -> None:
        axis = op.axis.value.data
        slices = [use.operation for result in op.results for use in result.uses]
        kept = {dims_of(cut.results[0].type)[axis] for cut in slices if isinstance(cut, graph.SliceOp)}
        if len(kept) != 1 or not all(
            isinstance(cut, graph.SliceOp) and _starts_at_zero(cut) for cut in slices
        ):
            return
        (k,) = kept
        known = {symbol for dim in dims_of(op.input.type) for symbol in dim.symbols()}
        if k.is_unknown or not k.symbols() <= known:
            return  # a size that is known after the `top_k` only
        shapes = {dims_of(cut.results[0].type) for cut in slices}
        smaller = graph.TopKOp(op.input, k, axis, bool(op.largest.value.data))
        if k == op.k.get()[0] or shapes != {dims_of(smaller.chosen.type)}:
            return
        rewriter.insert(smaller)
        for old, new in zip(op.results, smaller.results, strict=True):
            for cut in [use.operation for use in old.uses]:
                rewriter.replace(cut, [], [new])
        rewriter.erase(op)


def _starts_at_zero(op: graph.SliceOp) -> bool:
    """Whether a slice starts at 0 along each dimension, with step 1."""
    return (
        op.starts is not None
        and all(start == 0 for start in op.starts.get())
        and all(step == 1 for step in op.steps.get_values())
    )
