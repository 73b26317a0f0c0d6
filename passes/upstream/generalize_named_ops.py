"""`generalize-named-ops`: named ops of linalg as `linalg.generic`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import AffineMapAttr, ArrayAttr, DenseIntOrFPElementsAttr, ModuleOp
from xdsl.dialects.linalg import ops as linalg
from xdsl.dialects.linalg.attrs import IteratorTypeAttr
from xdsl.ir import Operation, Region, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr, AffineMap
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from stepwell.dialects.linalg_builder.named import ELEMENTWISE, EQUATIONS, Loops, loops_of
from stepwell.dialects.types import dims_of


class GeneralizeNamedOpsPass(ModulePass):
    """
    Replace elementwise ops, transposes, broadcasts, reductions, products, convolutions and pools by
    `linalg.generic` with their body.

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
            if (loops := _loops(inner)) is not None:
                _generalize(inner, loops)


def _loops(op: Operation) -> Loops | None:
    """The loops of a named op; None for another op."""
    dialect, _, name = op.name.partition(".")
    if dialect != "linalg" or isinstance(op, linalg.GenericOp):
        return None
    given = cast("ArrayAttr[AffineMapAttr] | None", op.properties.get("indexing_maps"))
    if given is not None and given.data:
        return _of_maps([each.data for each in given])
    if name in EQUATIONS:
        return loops_of(EQUATIONS[name], _numbers(op, "strides"), _numbers(op, "dilations"))
    rank = len(dims_of(op.operands[-1].type)) if op.operands and _is_tensor(op.operands[-1]) else 0
    identity = AffineMap.identity(rank)
    if name in ELEMENTWISE:
        maps = [identity if _is_tensor(value) else AffineMap(rank, 0, ()) for value in op.operands]
        return Loops(maps, "p" * rank)
    match op:
        case linalg.TransposeOp():
            return Loops([_transposing([*op.permutation.get_values()]), identity], "p" * rank)
        case linalg.BroadcastOp():
            return Loops([_without(rank, op.dimensions.get_values()), identity], "p" * rank)
        case linalg.ReduceOp():
            axes = op.dimensions.get_values()
            rank += len(axes)
            kinds = "".join("r" if axis in axes else "p" for axis in range(rank))
            return Loops([AffineMap.identity(rank), _without(rank, axes)], kinds)
        case _:
            return None


def _of_maps(maps: Sequence[AffineMap]) -> Loops:
    """The loops of an op with maps of its own: parallel where the map of the result has them."""
    of_result = {each.position for each in maps[-1].results if isinstance(each, AffineDimExpr)}
    return Loops(maps, "".join("p" if loop in of_result else "r" for loop in range(maps[-1].num_dims)))


def _numbers(op: Operation, name: str) -> Sequence[int]:
    """The numbers of a property for each dimension of windows; none where the op does not have it."""
    given = op.properties.get(name)
    return [int(each) for each in given.get_values()] if isinstance(given, DenseIntOrFPElementsAttr) else []


def _transposing(perm: Sequence[int]) -> AffineMap:
    """The map of the operand of a transpose, whose result's dimension i is its dimension `perm[i]`."""
    return AffineMap(len(perm), 0, tuple(AffineExpr.dimension(perm.index(axis)) for axis in range(len(perm))))


def _without(rank: int, axes: Sequence[int]) -> AffineMap:
    """The map of a tensor that lacks some of the dimensions."""
    kept = (AffineExpr.dimension(axis) for axis in range(rank) if axis not in axes)
    return AffineMap(rank, 0, tuple(kept))


def _is_tensor(value: SSAValue) -> bool:
    """Whether an operand is a tensor, which elementwise ops read at their own position."""
    return value.type.name in ("tensor", "memref")


def _generalize(op: Operation, loops: Loops) -> None:
    """Replace an op of one output by a generic with its region."""
    kind = {"p": IteratorTypeAttr.parallel(), "r": IteratorTypeAttr.reduction()}
    region: Region = op.regions[0]
    block = region.block
    region.detach_block(block)
    made = linalg.GenericOp(
        list(op.operands[:-1]),
        [op.operands[-1]],
        Region(block),
        [AffineMapAttr(each) for each in loops.maps],
        [kind[each] for each in loops.kinds],
        list(op.result_types),
    )
    made.location = op.location
    Rewriter.replace_op(op, made)
