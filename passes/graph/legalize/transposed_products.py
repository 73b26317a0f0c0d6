"""The legalization set `transposed-products`: products read a transposed operand in place, without a copy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from stepwell.dialects import graph
from stepwell.dialects.costs.machine import spread_bytes, stays_in_l2
from stepwell.dialects.graph.relations import element_of_value
from stepwell.dialects.types import dims_of, element_bytes
from stepwell.passes.graph.legalize.legalizations import legalization
from stepwell.runtime.dims import Dim
from stepwell.runtime.machine.target import TargetDescription

# Narrower elements are widened as they are read, which is fast along rows only.
_WIDE_BYTES = 4


@legalization("transposed-products")
@dataclass(frozen=True)
class ReadTransposed(RewritePattern):
    """
    Merge a transpose of a product's first operand, its only user, into the product as `transpose_a`.

    A product broadcasts the elements along K one after the other, which is as fast if they are a row apart in
    memory; so the transposed matrix is never written (56 x 256x13x132: 1350 to 480 us). The transpose stays
    where the cache lines of a column would evict each other from the level-2 cache. A second operand stays
    transposed by a copy: its vectors are along the columns of the result.

    ```mlir
    %t = graph.transpose %a perm [0, 2, 1] : tensor<2x4x8xf32> -> tensor<2x8x4xf32>
    %y = graph.matmul %t, %b : (tensor<2x8x4xf32>, tensor<2x4x3xf32>) -> tensor<2x8x3xf32>
    // ->
    %y = graph.matmul %a, %b transpose_a true : (tensor<2x4x8xf32>, tensor<2x4x3xf32>) -> tensor<2x8x3xf32>
    ```
    """

    target: TargetDescription

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.MatmulOp, rewriter: PatternRewriter) -> None:
        source = _transpose_input(op.a)
        if source is None or op.transpose_a.value.data or not op.a.has_one_use():
            return
        size = element_bytes(element_of_value(op.a))
        if size < _WIDE_BYTES or not _column_fits(dims_of(source.type), size, self.target):
            return
        product = graph.MatmulOp(
            source,
            op.b,
            transpose_a=True,
            transpose_b=bool(op.transpose_b.value.data),
            packing=op.panel,
            out_type=op.out_type,
        )
        rewriter.replace(op, product)


def _transpose_input(value: SSAValue) -> SSAValue | None:
    """The input of a transpose that exchanges the last two dimensions only; None for other values."""
    if not isinstance(op := value.owner, graph.TransposeOp):
        return None
    rank = len(dims_of(value.type))
    is_swap = rank >= 2 and list(op.perm.get_values()) == [*range(rank - 2), rank - 1, rank - 2]
    return op.input if is_swap else None


def _column_fits(dims: Sequence[Dim], size: int, target: TargetDescription) -> bool:
    """Whether the cache lines of one column of a static matrix fit in half of the level-2 cache."""
    rows, columns = dims[-2:]
    if not rows.is_static or not columns.is_static:
        return False
    return stays_in_l2(spread_bytes(rows.value, columns.value * size), target)
