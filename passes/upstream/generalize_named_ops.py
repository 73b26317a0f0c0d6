"""`generalize-named-ops`: named ops of linalg as `linalg.generic`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import AffineMapAttr, ArrayAttr, ModuleOp
from xdsl.dialects.linalg import ops as linalg
from xdsl.dialects.linalg.attrs import IteratorTypeAttr
from xdsl.ir import Operation, Region, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from stepwell.dialects.types import dims_of

ELEMENTWISE = (
    *(linalg.AddOp, linalg.SubOp, linalg.MulOp, linalg.MaxOp, linalg.MinOp, linalg.ExpOp, linalg.LogOp),
    *(linalg.SqrtOp, linalg.SelectOp, linalg.CopyOp),
)


class GeneralizeNamedOpsPass(ModulePass):
    """
    Replace elementwise named ops, transposes and matrix products by `linalg.generic` with their body.

    ```mlir
    %y = linalg.add ins(%a, %b : tensor<4xf32>, tensor<4xf32>) outs(%o : tensor<4xf32>) -> tensor<4xf32>
    // ->
    %y = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, …], iterator_types = ["parallel"]}
        ins(%a, %b : tensor<4xf32>, tensor<4xf32>) outs(%o : tensor<4xf32>) {
    ^bb0(%p: f32, %q: f32, %r: f32):
      %s = arith.addf %p, %q : f32
      linalg.yield %s : f32
    } -> tensor<4xf32>
    ```
    Fills stay, and so do other named ops, whose compilation says which are not supported.
    """

    name = "generalize-named-ops"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Replace each op, with the region that it has."""
        for inner in list(op.walk()):
            match inner:
                case linalg.MatmulOp():
                    _generalize(inner, _maps_of_matmul(inner), "ppr")
                case linalg.TransposeOp():
                    perm = [*inner.permutation.get_values()]
                    _generalize(inner, [_transposing(perm), AffineMap.identity(len(perm))], "p" * len(perm))
                case _ if isinstance(inner, ELEMENTWISE):
                    rank = len(dims_of(inner.operands[-1].type))
                    maps = [
                        AffineMap.identity(rank) if _is_tensor(value) else AffineMap(rank, 0, ())
                        for value in inner.operands
                    ]
                    _generalize(inner, maps, "p" * rank)
                case _:
                    pass


def _transposing(perm: Sequence[int]) -> AffineMap:
    """The map of the operand of a transpose, whose result's dimension i is its dimension `perm[i]`."""
    return AffineMap(len(perm), 0, tuple(AffineExpr.dimension(perm.index(axis)) for axis in range(len(perm))))


def _is_tensor(value: SSAValue) -> bool:
    """Whether an operand is a tensor, which elementwise ops read at their own position."""
    return value.type.name in ("tensor", "memref")


def _maps_of_matmul(op: linalg.MatmulOp) -> list[AffineMap]:
    """The maps of a product: its own ones, with transposed operands, or the usual ones."""
    given = cast("ArrayAttr[AffineMapAttr] | None", op.properties.get("indexing_maps"))
    if given is not None and given.data:
        return [each.data for each in given]
    rows = AffineMap.from_callable(lambda i, j, k: (i, k))
    columns = AffineMap.from_callable(lambda i, j, k: (k, j))
    return [rows, columns, AffineMap.from_callable(lambda i, j, k: (i, j))]


def _generalize(op: Operation, maps: Sequence[AffineMap], kinds: str) -> None:
    """Replace an op of one output by a generic with its region; `kinds` has p or r for each loop."""
    kind = {"p": IteratorTypeAttr.parallel(), "r": IteratorTypeAttr.reduction()}
    region: Region = op.regions[0]
    block = region.block
    region.detach_block(block)
    made = linalg.GenericOp(
        list(op.operands[:-1]),
        [op.operands[-1]],
        Region(block),
        [AffineMapAttr(each) for each in maps],
        [kind[each] for each in kinds],
        list(op.result_types),
    )
    made.location = op.location
    Rewriter.replace_op(op, made)
