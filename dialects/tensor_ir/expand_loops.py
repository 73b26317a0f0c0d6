"""Structured ops computed on split dimensions: a loop becomes loops over its parts."""

from __future__ import annotations

from typing import TypeAlias, cast

from xdsl.dialects.builtin import AffineMapAttr
from xdsl.dialects.linalg.attrs import IteratorType
from xdsl.dialects.linalg.ops import GenericOp, IndexOp
from xdsl.ir import Operation
from xdsl.rewriter import Rewriter

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
    builder = _Expander(op, split)
    operands = [builder.operand(value, map) for value, map in zip(op.operands, maps, strict=True)]
    count = len(op.inputs)
    body = op.detach_region(op.body)
    made = GenericOp(
        operands[:count],
        operands[count:],
        body,
        [AffineMapAttr(builder.map(map)) for map in maps],
        [kind for loop, kind in enumerate(op.iterator_types) for _ in split.get(loop, (0,))],
        [operands[count].type],
    )
    made.attributes = dict(op.attributes)
    builder.insert(made)
    joined = builder.collapsed(made.res[0], maps[-1], op.res[0].type)
    Rewriter.replace_op(op, [], [joined])
    return cast(Operation, joined.owner)


def is_elementwise(op: GenericOp) -> bool:
    """Whether an op has a single result, parallel loops only, and a body without their indices."""
    return (
        len(op.res) == 1
        and all(kind.data is IteratorType.PARALLEL for kind in op.iterator_types)
        and not any(isinstance(inner, IndexOp) for inner in op.body.walk())
    )
