"""Structured ops computed on split dimensions: a loop becomes loops over its parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate
from math import prod
from typing import TypeAlias, cast

from xdsl.dialects import tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX, AffineMapAttr, TensorType
from xdsl.dialects.linalg.attrs import IteratorType
from xdsl.dialects.linalg.ops import GenericOp, IndexOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr, AffineMap
from xdsl.rewriter import Rewriter

from stepwell.dialects.ir_builder import IRBuilder
from stepwell.dialects.tensor_ir.reshapes import consecutive_groups

Extents: TypeAlias = tuple[int, ...]


def expanded(op: GenericOp) -> Operation | None:
    """
    Rebuild an op of one result on split dimensions, when an operand has them; returns its last op, or None.

    A loop over a dimension that is split becomes loops of its kind over the parts.
    """
    maps = [attr.data for attr in op.indexing_maps]
    split = _split_loops(op, maps)
    if not split or not all(_can_expand(v, m, split) for v, m in zip(op.operands, maps, strict=True)):
        return None
    expander = _Expander(op, split)
    operands = [expander.operand(value, map) for value, map in zip(op.operands, maps, strict=True)]
    count = len(op.inputs)
    body = op.detach_region(op.body)
    made = GenericOp(
        operands[:count],
        operands[count:],
        body,
        [AffineMapAttr(expander.map(map)) for map in maps],
        [kind for loop, kind in enumerate(op.iterator_types) for _ in split.get(loop, (0,))],
        [operands[count].type],
    )
    made.attributes = dict(op.attributes)
    expander.builder.insert(made)
    joined = expander.collapsed(made.res[0], maps[-1], op.res[0].type)
    Rewriter.replace_op(op, [], [joined])
    return cast(Operation, joined.owner)


def is_elementwise(op: GenericOp) -> bool:
    """Whether an op has a single result, parallel loops only, and a body without their indices."""
    return (
        len(op.res) == 1
        and all(kind.data is IteratorType.PARALLEL for kind in op.iterator_types)
        and not any(isinstance(inner, IndexOp) for inner in op.body.walk())
    )


def _split_loops(op: GenericOp, maps: Sequence[AffineMap]) -> dict[int, Extents]:
    """Loops that an operand splits, with the extents of their parts; none when two operands disagree."""
    split: dict[int, Extents] = {}
    for value, map in zip(op.inputs, maps, strict=False):
        if not isinstance(view := value.owner, tensor.CollapseShapeOp):
            continue
        for index, group in zip(map.results, _groups(view), strict=True):
            if len(group) == 1 or not isinstance(index, AffineDimExpr):
                continue
            if DYNAMIC_INDEX in group or split.setdefault(index.position, group) != group:
                return {}
    return split


def _groups(op: tensor.CollapseShapeOp) -> list[Extents]:
    """The extents that each dimension of a collapsed tensor is made of."""
    shape = cast("TensorType[Attribute]", op.src.type).get_shape()
    return [tuple(shape[i.value.data] for i in group) for group in op.reassociation]


def _can_expand(value: SSAValue, map: AffineMap, split: Mapping[int, Extents]) -> bool:
    """Whether each split loop is the only index of a dimension of an operand that has the loop's extent."""
    if (type := _tensor_type(value)) is None:
        return True
    for index, size in zip(map.results, type.get_shape(), strict=True):
        used = index.used_dims() & split.keys()
        if used and not (isinstance(index, AffineDimExpr) and prod(split[index.position]) == size):
            return False
    return True


def _tensor_type(value: SSAValue) -> TensorType[Attribute] | None:
    """The type of a tensor; None for a scalar."""
    type: Attribute = value.type
    return cast("TensorType[Attribute]", type) if isinstance(type, TensorType) else None


class _Expander:
    """Builds operands and maps of an op for some of its loops split into several."""

    def __init__(self, op: GenericOp, split: Mapping[int, Extents]):
        self.builder = IRBuilder.before(op)
        self.split = split
        parts = [len(split.get(loop, (0,))) for loop in range(len(op.iterator_types))]
        self.first = [0, *accumulate(parts)]
        self.rank = self.first[-1]

    def map(self, map: AffineMap) -> AffineMap:
        """The map of an operand over the parts."""
        results: list[AffineExpr] = []
        whole = [AffineExpr.dimension(self.first[loop]) for loop in range(map.num_dims)]
        for index in map.results:
            if isinstance(index, AffineDimExpr):
                results += [
                    AffineExpr.dimension(i)
                    for i in range(self.first[index.position], self.first[index.position + 1])
                ]
            else:
                results.append(index.replace_dims_and_symbols(whole, []))
        return AffineMap(self.rank, 0, tuple(results))

    def operand(self, value: SSAValue, map: AffineMap) -> SSAValue:
        """An operand with its dimensions split like the loops that index them."""
        if (type := _tensor_type(value)) is None:
            return value
        groups = self._groups(type.get_shape(), map)
        if all(len(group) == 1 for group in groups):
            return value
        match value.owner:
            case tensor.CollapseShapeOp() as view if _groups(view) == groups:
                return view.src
            case tensor.EmptyOp() as empty:
                made = tensor.EmptyOp(list(empty.dynamic_sizes), self._type(type, groups))
                return self.builder.value(made)
            case _:
                return self._split(value, type, groups)

    def _split(self, value: SSAValue, type: TensorType[Attribute], groups: Sequence[Extents]) -> SSAValue:
        sizes: list[SSAValue] = []
        for position, group in enumerate(groups):
            if DYNAMIC_INDEX in group:
                sizes.append(self._size(value, position))
        shape = [size for group in groups for size in group]
        made = tensor.ExpandShapeOp(
            value, sizes, consecutive_groups(len(g) for g in groups), shape, self._type(type, groups)
        )
        return self.builder.value(made)

    def _size(self, value: SSAValue, position: int) -> SSAValue:
        return self.builder.value(tensor.DimOp(value, self.builder.materialize(position)))

    def collapsed(self, value: SSAValue, map: AffineMap, type: Attribute) -> SSAValue:
        """The result with the dimensions that the op had before."""
        groups = self._groups(cast("TensorType[Attribute]", type).get_shape(), map)
        made = tensor.CollapseShapeOp.build(
            operands=[value],
            result_types=[type],
            properties={"reassociation": consecutive_groups(len(g) for g in groups)},
        )
        return self.builder.value(made)

    def _groups(self, shape: Sequence[int], map: AffineMap) -> list[Extents]:
        return [
            self.split.get(index.position, (size,)) if isinstance(index, AffineDimExpr) else (size,)
            for index, size in zip(map.results, shape, strict=True)
        ]

    def _type(self, type: TensorType[Attribute], groups: Sequence[Extents]) -> TensorType[Attribute]:
        return TensorType(type.element_type, [size for group in groups for size in group])
