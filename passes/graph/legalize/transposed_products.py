"""The legalization `turned-products`: products read what they are given transposed as it lies in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from stepwell.dialects import graph
from stepwell.dialects.graph.relations import element_of_value
from stepwell.dialects.types import dims_of, element_bytes
from stepwell.passes.graph.legalize.legalizations import legalization
from stepwell.runtime.dims import Dim
from stepwell.runtime.machine.target import TargetDescription

# Narrower elements are widened as they are read: rows of them are what is read well.
_WIDE_BYTES = 4
_LINE_BYTES = 64


@legalization("turned-products")
@dataclass(frozen=True)
class ReadTurned(RewritePattern):
    """
    A product of a matrix that is transposed for it alone reads the rows of its columns.

    The elements of a column are broadcast one after the other, which a product does as fast from neighbours
    in memory; so the transposed matrix is never written (56 x 256x13x132: 1350 to 480 us). It is, where the
    lines of a column would push each other out of the level-2 cache. A second operand stays as it is: vectors
    of it lie along the columns of the result.

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
        source = _turned(op.a)
        if source is None or op.transpose_a.value.data or not op.a.has_one_use():
            return
        size = element_bytes(element_of_value(op.a))
        if size < _WIDE_BYTES or not _keeps_column(dims_of(source.type), size, self.target):
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


def _turned(value: SSAValue) -> SSAValue | None:
    """What a value has the last two dimensions of exchanged, and nothing else; None for other values."""
    if not isinstance(op := value.owner, graph.TransposeOp):
        return None
    rank = len(dims_of(value.type))
    is_turn = rank >= 2 and list(op.perm.get_values()) == [*range(rank - 2), rank - 1, rank - 2]
    return op.input if is_turn else None


def _keeps_column(dims: Sequence[Dim], size: int, target: TargetDescription) -> bool:
    """
    Whether half of the level-2 cache keeps the lines that a column of a matrix of known sizes lies in.

    A pitch of many twos as factors leads to few places of a cache (2 x 1024x128x1024: 2.2 times slower).
    """
    rows, columns = dims[-2:]
    if not rows.is_static or not columns.is_static:
        return False
    pitch = columns.value * size
    return rows.value * max(_LINE_BYTES, pitch & -pitch) <= target.l2_bytes // 2
