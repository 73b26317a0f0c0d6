"""Removes the tensors from a function whose ops already work on buffers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects import memref, scf, vector
from xdsl.dialects.builtin import DenseArrayBase, i32
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue, SSAValues
from xdsl.rewriter import Rewriter
from xdsl.traits import is_side_effect_free

from stepwell.dialects.ir_builder import IRBuilder
from stepwell.dialects.sched import PARALLEL
from stepwell.lowering.bufferize.accesses import is_tensor, makes_tensors

_VIEWS = (memref.SubviewOp, memref.CastOp, memref.ExpandShapeOp, memref.CollapseShapeOp)


def drop_tensors(body: Block) -> None:
    """Erase the remaining ops on tensors; loops and branches continue to carry their other values."""
    terminator = body.last_op
    assert terminator is not None
    terminator.operands = [value for value in terminator.operands if not is_tensor(value)]
    for op in reversed(list(body.ops)):
        if not op.regions:
            _drop(op)
            continue
        match op:
            case scf.ForOp():
                _drop_from_for(op)
            case scf.IfOp():
                _drop_from_if(op)
            case scf.WhileOp() | scf.ParallelOp():
                for region in op.regions:
                    drop_tensors(region.block)
            case _:
                _drop(op)


def _drop(op: Operation) -> None:
    """Erase an op with tensor results, or a view of a buffer without uses; a write only loses its result."""
    if not makes_tensors(op):
        # A view has no uses when its value was computed directly in the buffer.
        if isinstance(op, _VIEWS) and op.results[0].first_use is None:
            Rewriter.erase_op(op)
    elif isinstance(op, vector.TransferWriteOp) and not is_tensor(op.source):
        op.results[0].erase()  # fails where an op still uses it
        op.results = SSAValues(())
    else:
        Rewriter.erase_op(op)


def _drop_from_for(op: scf.ForOp) -> None:
    """Rebuild an `scf.for` without its tensors; as an `scf.parallel` when it is marked parallel."""
    block = op.body.block
    drop_tensors(block)
    for arg in block.args:
        if is_tensor(arg):
            block.erase_arg(arg)
    inits = [value for value in op.iter_args if not is_tensor(value)]
    body = op.detach_region(op.body)
    new: Operation
    if PARALLEL in op.attributes and not inits:
        new = _parallel(op, body)
    else:
        new = scf.ForOp.create(
            operands=[op.lb, op.ub, op.step, *inits],
            result_types=[value.type for value in inits],
            attributes=op.attributes,
            regions=[body],
        )
    _replace(op, new)


def _parallel(op: scf.ForOp, body: Region) -> scf.ParallelOp:
    """
    A loop with independent iterations as `scf.parallel`; merged with an inner one that is all of its body.
    """
    terminator = body.block.last_op
    assert terminator is not None
    attributes = {name: value for name, value in op.attributes.items() if name != PARALLEL}
    # A loop by itself: the body ends in `scf.reduce`
    inner = _only_loop(body.block)
    if inner is None:
        reduce = scf.ReduceOp.create()
        reduce.location = terminator.location
        Rewriter.replace_op(terminator, reduce)
        return _parallel_loop([op.lb], [op.ub], [op.step], body, attributes)
    # Merged with the inner loop: one more index, the other ops of the body first
    merged = inner.detach_region(inner.body)
    index = merged.block.insert_arg(body.block.args[0].type, 0)
    index.name_hint = body.block.args[0].name_hint
    body.block.args[0].replace_all_uses_with(index)
    first = merged.block.first_op
    assert first is not None
    before = IRBuilder.before(first)
    for other in list(body.block.ops):
        if other is not inner and other is not terminator:
            other.detach()
            before.insert(other)
    bounds = [op.lb, *inner.lowerBound], [op.ub, *inner.upperBound], [op.step, *inner.step]
    new = _parallel_loop(*bounds, merged, inner.attributes | attributes)
    Rewriter.erase_op(inner)  # else its bounds would have a use that is in no text
    return new


def _parallel_loop(
    lower: Sequence[SSAValue],
    upper: Sequence[SSAValue],
    step: Sequence[SSAValue],
    body: Region,
    attributes: Mapping[str, Attribute],
) -> scf.ParallelOp:
    """An `scf.parallel`; its constructor takes three times as long."""
    return scf.ParallelOp.create(
        operands=[*lower, *upper, *step],
        properties={"operandSegmentSizes": DenseArrayBase.from_list(i32, [*[len(lower)] * 3, 0])},
        attributes=attributes,
        regions=[body],
    )


def _only_loop(block: Block) -> scf.ParallelOp | None:
    """The single parallel loop of a block whose other ops are pure and not needed by the loop's bounds."""
    loops = [op for op in block.ops if isinstance(op, scf.ParallelOp)]
    others = [op for op in block.ops if op not in loops and op is not block.last_op]
    if len(loops) != 1 or not all(is_side_effect_free(op) and not op.regions for op in others):
        return None
    bounds = loops[0].operands
    is_inside = any(value.owner is block or value.owner in others for value in bounds)
    return None if is_inside else loops[0]


def _drop_from_if(op: scf.IfOp) -> None:
    """Rebuild an `scf.if` without its tensor results."""
    for region in op.regions:
        for block in region.blocks:
            drop_tensors(block)
    if any(is_tensor(result) for result in op.output):
        types = [result.type for result in op.output if not is_tensor(result)]
        regions = [op.detach_region(region) for region in list(op.regions)]
        _replace(op, scf.IfOp(op.cond, types, regions[0], regions[1], dict(op.attributes)))


def _replace(op: Operation, new: Operation) -> None:
    """Replace a loop or branch by a version without its tensor results, which have no uses any more."""
    IRBuilder.before(op).insert(new)
    kept = [result for result in op.results if not is_tensor(result)]
    for old, result in zip(kept, new.results, strict=True):
        result.name_hint = old.name_hint
        old.replace_all_uses_with(result)
    Rewriter.erase_op(op)
