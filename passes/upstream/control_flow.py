"""Branches and loops of `@main` at level 2, as `scf` ops that carry tensors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from xdsl.dialects import arith, scf, tensor
from xdsl.dialects.builtin import FunctionType, TensorType, i1, i64
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from stepwell.dialects import graph
from stepwell.dialects.graph.control_flow import yield_of
from stepwell.dialects.graph.symbols import SIGNATURE, positions_of
from stepwell.dialects.ir_builder import INDEX, IRBuilder


def is_replaced(op: graph.ControlFlowOp) -> bool:
    """Whether all values that an op yields are tensors, and none an object of the host."""
    yielded = [value for region in op.regions for value in yield_of(region).operands]
    return all(value.type.name == TensorType.name for value in (*op.values, *yielded))


def sizes_from_tensors(op: graph.LoopOp, block: Block) -> Mapping[str, SSAValue]:
    """
    The sizes that each iteration has anew, by name, read from the tensors that a region takes.

    The region's arguments for these sizes are erased.
    """
    builder = IRBuilder(InsertPoint.at_start(block), op.location)
    names, first = op.carried_names, block.args[:1] if isinstance(op, graph.ForOp) else ()
    carried = block.args[len(first) : len(block.args) - len(names)]
    found = dict(zip(names, _sizes(op, names, "inputs", carried, builder), strict=True))
    for argument, size in zip(block.args[len(block.args) - len(names) :], found.values(), strict=True):
        argument.replace_all_uses_with(size)
        block.erase_arg(argument)
    return found


def replace_control_flow(op: graph.ControlFlowOp) -> Mapping[str, SSAValue]:
    """
    Replace an op whose regions are rewritten already, and take no sizes.

    Returns: the sizes that the op defines, by name, read from its results.
    """
    match op:
        case graph.IfOp():
            made: Operation = _branch(op)
        case graph.ForOp():
            made = _counted(op)
        case graph.WhileOp():
            made = _repeated(op)
        case _:
            raise TypeError(op.name)
    made.location = op.location
    builder = IRBuilder.after(made)
    results = [_cast(builder, new, old.type) for new, old in zip(made.results, op.values, strict=True)]
    sizes = _sizes(op, op.names, "outputs", made.results, builder)
    names = op.names
    Rewriter.replace_op(op, [], [*results, *sizes])
    return dict(zip(names, sizes, strict=True))


def _branch(op: graph.IfOp) -> Operation:
    """A branch as `scf.if`, whose regions yield values of the types of the results."""
    types = [value.type for value in op.values]
    for region in op.regions:
        _yield(yield_of(region), types)
    condition = _element(IRBuilder.before(op), op.condition, i1)
    then_region, else_region = op.detach_region(0), op.detach_region(0)
    return _insert(op, scf.IfOp(condition, types, then_region, else_region))


def _counted(op: graph.ForOp) -> Operation:
    """A loop as `scf.for` from 0, whose number is a tensor in the body."""
    builder, block = IRBuilder.before(op), op.body.block
    count = builder.value(arith.IndexCastOp(_element(builder, op.count, i64), INDEX))
    number, carried = block.args[0], block.args[1:]
    index = block.insert_arg(INDEX, 0)
    inner = IRBuilder(InsertPoint.at_start(block), op.location)
    counted = inner.value(arith.IndexCastOp(index, i64))
    made = tensor.FromElementsOp.create(operands=[counted], result_types=[number.type])
    number.replace_all_uses_with(inner.value(made))
    block.erase_arg(number)
    inits = _initial(op, carried)
    zero, one = builder.extent(0), builder.extent(1)
    return _insert(op, scf.ForOp(zero, count, one, inits, op.detach_region(op.body)))


def _repeated(op: graph.WhileOp) -> Operation:
    """A loop as `scf.while`, whose condition is read from a tensor."""
    arguments, last = op.test.block.args, yield_of(op.test)
    condition = _element(IRBuilder.before(last), last.operands[0], i1)
    Rewriter.replace_op(last, scf.ConditionOp(condition, *arguments), [])
    inits = _initial(op, arguments)
    types = [value.type for value in arguments]
    return _insert(op, scf.WhileOp(inits, types, op.detach_region(0), op.detach_region(0)))


def _initial(op: graph.LoopOp, arguments: Sequence[SSAValue]) -> list[SSAValue]:
    """
    The initial values of a loop; these, and the values that an iteration yields, get the types of its
    arguments.
    """
    types = [argument.type for argument in arguments]
    _yield(yield_of(op.body), types)
    builder = IRBuilder.before(op)
    return [_cast(builder, init, type) for init, type in zip(op.inits, types, strict=True)]


def _yield(last: graph.YieldOp, types: Sequence[Attribute]) -> None:
    """Replace the end of a region by `scf.yield` of values of these types."""
    builder = IRBuilder.before(last)
    values = [_cast(builder, value, type) for value, type in zip(last.operands, types, strict=True)]
    Rewriter.replace_op(last, scf.YieldOp(*values), [])


def _sizes(
    op: graph.ControlFlowOp, names: Sequence[str], which: str, values: Sequence[SSAValue], builder: IRBuilder
) -> list[SSAValue]:
    """
    The sizes of symbols, as dimensions of values.

    Args: `which` says whether the symbols are in the types of carried values (`inputs`) or of `outputs`.
    """
    if not names:
        return []
    signature = cast(FunctionType, op.attributes[SIGNATURE])
    types = signature.inputs.data if which == "inputs" else signature.outputs.data
    return [
        builder.value(
            tensor.DimOp.create(operands=[values[index], builder.extent(axis)], result_types=[INDEX])
        )
        for index, axis in positions_of(names, types)
    ]


def _element(builder: IRBuilder, value: SSAValue, type: Attribute) -> SSAValue:
    """The element of a tensor of rank 0."""
    return builder.value(tensor.ExtractOp(value, [], type))


def _cast(builder: IRBuilder, value: SSAValue, type: Attribute) -> SSAValue:
    """A tensor with a type of other known sizes."""
    if value.type == type:
        return value
    return builder.value(tensor.CastOp.create(operands=[value], result_types=[type]))


def _insert(op: Operation, made: Operation) -> Operation:
    """An op before another one."""
    block = op.parent
    assert isinstance(block, Block)
    block.insert_op_before(made, op)
    return made
