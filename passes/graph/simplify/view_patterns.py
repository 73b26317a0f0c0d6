"""A pattern of `simplify-expr` on views: elementwise ops move before them, to fuse with a product there."""

from __future__ import annotations

from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from stepwell.dialects import graph
from stepwell.dialects.graph.base import GraphOp, Kind
from stepwell.dialects.graph.binary import BinaryOp
from stepwell.dialects.graph.elementwise import UnaryOp
from stepwell.dialects.types import dims_of
from stepwell.runtime.dims import Dim, same_dims

_VIEWS = (graph.ReshapeOp, graph.ExpandDimsOp, graph.SqueezeOp)
_PRODUCERS = (Kind.CONTRACTION, Kind.ELEMENTWISE, Kind.BROADCAST)


class ElementwiseBeforeView(RewritePattern):
    """
    Move an elementwise op before the view of a product (contraction, elementwise op) that it reads.

    Its other operands are reshaped to the product's shape where they have the full shape of the view; they
    stay as they are where they broadcast along last dimensions that the view preserves. If several operands
    are views of products, the contraction is chosen.

    ```mlir
    %p = graph.matmul %a, %b : (tensor<6x4xf32>, tensor<4x5xf32>) -> tensor<6x5xf32>
    %v = graph.reshape %p shape <[2, 3, 5]> : tensor<6x5xf32> -> tensor<2x3x5xf32>
    %y = graph.add %v, %c : (tensor<2x3x5xf32>, tensor<2x3x5xf32>) -> tensor<2x3x5xf32>
    // ->
    %q = graph.matmul %a, %b : (tensor<6x4xf32>, tensor<4x5xf32>) -> tensor<6x5xf32>
    %d = graph.reshape %c shape <[6, 5]> : tensor<2x3x5xf32> -> tensor<6x5xf32>
    %s = graph.add %q, %d : (tensor<6x5xf32>, tensor<6x5xf32>) -> tensor<6x5xf32>
    %y = graph.reshape %s shape <[2, 3, 5]> : tensor<6x5xf32> -> tensor<2x3x5xf32>
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: UnaryOp | BinaryOp, rewriter: PatternRewriter) -> None:
        viewed = next((value for value in op.operands if _is_view_of_product(value)), None)
        shape = dims_of(op.results[0].type)
        if viewed is None or not same_dims(dims_of(viewed.type), shape):
            return
        product = viewed.owner.operands[0] if isinstance(viewed.owner, _VIEWS) else viewed
        source = dims_of(product.type)
        others = [value for value in op.operands if value is not viewed]
        if any(_weight(value) >= _weight(viewed) and not _is_view_from(value, source) for value in others):
            return  # the op would next be moved before the other operand's view, and so on without end
        if not all(
            same_dims(dims_of(value.type), shape) or _fits_both(value, shape, source) for value in others
        ):
            return
        operands: list[SSAValue] = []
        for value in op.operands:
            if value is viewed:
                operands.append(product)
            elif same_dims(dims_of(value.type), shape):
                operands.append(rewriter.insert(graph.ReshapeOp(value, source)).result)
            else:
                operands.append(value)
        result = rewriter.insert(op.on(operands)).results[0]
        rewriter.replace(op, graph.ReshapeOp(result, shape))
        if isinstance(viewed.owner, _VIEWS) and viewed.first_use is None:
            rewriter.erase(viewed.owner)  # `_weight` counts a product with a second user as 0


def _is_view_of_product(value: SSAValue) -> bool:
    view = value.owner
    if not isinstance(view, _VIEWS) or not value.has_one_use() or not view.input.has_one_use():
        return False
    producer = view.input.owner
    return isinstance(producer, GraphOp) and producer.KIND in _PRODUCERS


def _weight(value: SSAValue) -> int:
    """The gain of fusion with an operand's producer, views skipped: 2 for a contraction, else 1 or 0."""
    value = value.owner.input if isinstance(value.owner, _VIEWS) else value
    producer = value.owner
    if not value.has_one_use() or not isinstance(producer, GraphOp) or producer.KIND not in _PRODUCERS:
        return 0
    return 2 if producer.KIND == Kind.CONTRACTION else 1


def _is_view_from(value: SSAValue, dims: tuple[Dim, ...]) -> bool:
    """Whether a value is a view of a tensor of shape `dims`, so that reshaping it to `dims` cancels."""
    return isinstance(value.owner, _VIEWS) and same_dims(dims_of(value.owner.input.type), dims)


def _fits_both(value: SSAValue, shape: tuple[Dim, ...], source: tuple[Dim, ...]) -> bool:
    """Whether a value broadcasts to both shapes alike: its own dimensions are last, and equal, in both."""
    dims = dims_of(value.type)
    while dims and dims[0] == 1:
        dims = dims[1:]
    rank = len(dims)
    if rank > min(len(shape), len(source)) or len(dims_of(value.type)) > len(source):
        return False
    return rank == 0 or same_dims(shape[-rank:], source[-rank:])
