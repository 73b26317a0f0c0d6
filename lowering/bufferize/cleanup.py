"""Takes the tensors out of a function whose ops work on buffers already."""

from __future__ import annotations

from xdsl.dialects import memref, scf
from xdsl.ir import Block, Operation, Region
from xdsl.rewriter import InsertPoint, Rewriter

from stepwell.dialects.sched import PARALLEL
from stepwell.lowering.bufferize.accesses import is_tensor
from stepwell.runtime.errors import StepwellError

_VIEWS = (memref.SubviewOp, memref.CastOp, memref.ExpandShapeOp, memref.CollapseShapeOp)


def drop_tensors(body: Block) -> None:
    """
    Erase what is left of the ops on tensors; loops and branches keep what else they carry.

    Raises: StepwellError `unsupported-op` for an op on tensors that nothing has turned into one on buffers.
    """
    terminator = body.last_op
    assert terminator is not None
    terminator.operands = [value for value in terminator.operands if not is_tensor(value)]
    for op in reversed(list(body.ops)):
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
    if any(is_tensor(result) for result in op.results):
        if any(result.uses for result in op.results):
            raise StepwellError("unsupported-op", op, f"{op.name} on tensors has no form on buffers")
        Rewriter.erase_op(op)
    elif any(is_tensor(operand) for operand in op.operands):
        raise StepwellError("unsupported-op", op, f"{op.name} on tensors has no form on buffers")
    elif isinstance(op, _VIEWS) and not op.results[0].uses:
        Rewriter.erase_op(op)  # of a value that was computed in its place


def _drop_from_for(op: scf.ForOp) -> None:
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
        new = scf.ForOp(op.lb, op.ub, op.step, inits, body)
        new.attributes = dict(op.attributes)
    _replace(op, new)


def _parallel(op: scf.ForOp, body: Region) -> scf.ParallelOp:
    terminator = body.block.last_op
    assert terminator is not None
    reduce = scf.ReduceOp()
    reduce.location = terminator.location
    Rewriter.replace_op(terminator, reduce)
    attributes = {name: value for name, value in op.attributes.items() if name != PARALLEL}
    new = scf.ParallelOp([op.lb], [op.ub], [op.step], body)
    new.attributes = attributes
    return new


def _drop_from_if(op: scf.IfOp) -> None:
    for region in op.regions:
        for block in region.blocks:
            drop_tensors(block)
    if any(is_tensor(result) for result in op.output):
        types = [result.type for result in op.output if not is_tensor(result)]
        regions = [op.detach_region(region) for region in list(op.regions)]
        _replace(op, scf.IfOp(op.cond, types, regions[0], regions[1], dict(op.attributes)))


def _replace(op: Operation, new: Operation) -> None:
    """Put a loop or branch in the place of one that also gave tensors, which nobody uses any more."""
    new.location = op.location
    Rewriter.insert_op(new, InsertPoint.before(op))
    kept = [result for result in op.results if not is_tensor(result)]
    for old, result in zip(kept, new.results, strict=True):
        result.name_hint = old.name_hint
        old.replace_all_uses_with(result)
    Rewriter.erase_op(op)
