"""Loops of structured ops that become two loops of the op, on operands whose dimensions are split."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr, AffineMap

from stepwell.dialects.ir_builder import IRBuilder
from stepwell.dialects.tensor_ir.reshapes import consecutive_groups
from stepwell.dialects.tensor_ir.structured import Structured, single_dim, tensor_element, tensor_shape
from stepwell.dialects.tensor_ir.tiles import dim_size


@dataclass(frozen=True)
class LoopSplit:
    """A loop `dim` that becomes `outer`, of an extent, and `inner`, of another; both are loops of the op."""

    dim: int
    outer: int
    inner: int
    extents: tuple[int, int]

    def expr(self) -> AffineExpr:
        """The loop as an expression of its parts."""
        return AffineDimExpr(self.outer) * self.extents[1] + AffineDimExpr(self.inner)

    def is_operand_split(self, map: AffineMap) -> bool:
        """Whether a dimension of an operand is indexed by the loop alone."""
        return any(single_dim(index) == self.dim for index in map.results)

    def map(self, map: AffineMap, rank: int) -> AffineMap:
        """The map of an operand over the parts, on dimensions that are split."""
        dims: list[AffineExpr] = [AffineDimExpr(d) for d in range(map.num_dims)]
        dims[self.dim] = self.expr()
        results: list[AffineExpr] = []
        for index in map.results:
            if single_dim(index) == self.dim:
                results += [AffineDimExpr(self.outer), AffineDimExpr(self.inner)]
            else:
                results.append(index.replace_dims_and_symbols(dims, []))
        return AffineMap(rank, 0, tuple(results))

    def operand(self, emit: IRBuilder, value: SSAValue, map: AffineMap) -> SSAValue:
        """An operand with the dimensions split that the loop alone indexes."""
        cut = [single_dim(index) == self.dim for index in map.results]
        return split_dims(emit, value, [self.extents if each else () for each in cut])


def split_dims(emit: IRBuilder, value: SSAValue, parts: Sequence[Sequence[int]]) -> SSAValue:
    """A tensor with dimensions split into parts; a dimension without parts stays."""
    shape = tensor_shape(value)
    if not any(parts):
        return value
    sizes = [size for n, each in zip(shape, parts, strict=True) for size in (each or (n,))]
    dynamic = [
        emit.materialize(dim_size(emit, value, axis)) for axis, n in enumerate(shape) if n == DYNAMIC_INDEX
    ]
    groups = consecutive_groups(len(each) or 1 for each in parts)
    type = TensorType(tensor_element(value), sizes)
    return emit.value(tensor.ExpandShapeOp(value, dynamic, groups, sizes, type))


def split_of(view: Structured, dim: int, extents: tuple[int, int]) -> LoopSplit | None:
    """A split of a loop whose inner part is the last loop; None where no operand has the loop's extent."""
    split = LoopSplit(dim, dim, view.rank, extents)
    return split if any(split.is_operand_split(map) for map in view.maps) else None
