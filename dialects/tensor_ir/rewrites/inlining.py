"""Elementwise ops computed in the bodies of their readers."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import AffineMapAttr
from xdsl.dialects.linalg.ops import GenericOp, IndexOp
from xdsl.ir import Region, SSAValue
from xdsl.ir.affine import AffineMap
from xdsl.rewriter import Rewriter

from stepwell.dialects.ir_builder import IRBuilder
from stepwell.dialects.locations import adopt_location
from stepwell.dialects.tensor_ir.affine_values import affine_value


def inline_producer(
    op: GenericOp,
    position: int,
    maker: GenericOp,
    inputs: Sequence[SSAValue] | None = None,
    offsets: Sequence[int] = (),
) -> GenericOp:
    """
    A new op in place of `op`, whose body also computes the operand at `position`.

    Args: `maker` is the operand's producer; `inputs` are the producer's inputs (the default), or slices of
    its inputs for a slice of its result from `offsets` on.
    """
    maps, count = [map.data for map in op.indexing_maps], len(maker.inputs)
    at = maps[position]
    theirs = [
        AffineMap(
            at.num_dims,
            0,
            tuple(index.replace_dims_and_symbols(at.results, []) for index in map.data.results),
        )
        for map in maker.indexing_maps.data[:count]
    ]
    # Body, inputs and maps of the reader with those of the inlined op instead of the operand.
    operands, body = list(op.inputs), op.detach_region(op.body)
    _join(body, position, maker.body.clone(), _moved(at, offsets))
    operands[position : position + 1] = maker.inputs if inputs is None else inputs
    maps[position : position + 1] = theirs
    made = GenericOp(
        operands, op.outputs, body, [AffineMapAttr(map) for map in maps], op.iterator_types, op.result_types
    )
    made.attributes = dict(op.attributes)
    adopt_location(made, op.location)
    hints = [result.name_hint for result in op.results]
    Rewriter.replace_op(op, made)
    for result, hint in zip(made.results, hints, strict=True):
        result.name_hint = hint
    return made


def _moved(map: AffineMap, offsets: Sequence[int]) -> AffineMap:
    """A map whose indices are further by offsets."""
    if not any(offsets):
        return map
    moved = (index + offset for index, offset in zip(map.results, offsets, strict=True))
    return AffineMap(map.num_dims, 0, tuple(moved))


def _join(body: Region, position: int, computed: Region, at: AffineMap) -> None:
    """Replace an argument of a body by arguments for the inlined body's inputs, and its ops."""
    block, inner = body.block, computed.block
    old, last = block.args[position], inner.last_op
    assert last is not None
    for offset, arg in enumerate(inner.args[:-1]):
        arg.replace_all_uses_with(block.insert_arg(arg.type, position + 1 + offset))
    old.replace_all_uses_with(last.operands[0])
    inner.erase_op(last)
    first = block.first_op
    assert first is not None
    for op in list(inner.ops):
        op.detach()
        block.insert_op_before(op, first)
        if isinstance(op, IndexOp):
            _count_as(op, at)
    block.erase_arg(old)


def _count_as(op: IndexOp, at: AffineMap) -> None:
    """Replace an index of the inlined op by the index of the read element."""
    emit = IRBuilder.before(op)
    expr = at.results[op.dim.value.data]
    dims = [emit.value(IndexOp(d)) if d in expr.used_dims() else 0 for d in range(at.num_dims)]
    op.result.replace_all_uses_with(emit.materialize(affine_value(emit, expr, dims)))
    op.detach()
    op.erase()
