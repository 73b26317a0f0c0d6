"""Vectors of 9, 17, 25, … lanes of bf16, on which LLVM fails (`has_odd_lanes`): their lanes, and branches."""

from __future__ import annotations

from xdsl.dialects import llvm
from xdsl.dialects.builtin import bf16, f32
from xdsl.ir import Operation, SSAValue

from stepwell.dialects._xdsl import set_type
from stepwell.dialects.llvm import instructions
from stepwell.lowering.loops_to_llvm.code import Code
from stepwell.lowering.loops_to_llvm.half import narrowed, widened
from stepwell.lowering.loops_to_llvm.state import I16, has_odd_lanes, memory_type


def extracted(code: Code, vector: SSAValue, position: SSAValue) -> SSAValue:
    """
    A lane, as bf16.

    At a position known at run time only it is taken from the vector in f32: LLVM makes an extraction of bf16
    again of one of integers.
    """
    if not isinstance(position.owner, llvm.ConstantOp):
        lane = code.make(instructions.ExtractElementOp, [widened(code, vector), position], f32)
        return narrowed(code, lane, bf16)
    bits = code.make(llvm.BitcastOp, [vector], memory_type(vector.type))
    return code.make(llvm.BitcastOp, [code.make(instructions.ExtractElementOp, [bits, position], I16)], bf16)


def inserted(code: Code, lane: SSAValue, vector: SSAValue, position: SSAValue) -> SSAValue:
    """A vector with a lane replaced."""
    stored = memory_type(vector.type)
    bits = code.make(llvm.BitcastOp, [vector], stored)
    lane = code.make(llvm.BitcastOp, [lane], I16)
    return code.make(
        llvm.BitcastOp, [code.make(llvm.InsertElementOp, [bits, lane, position], stored)], vector.type
    )


def carry_bits(function: llvm.FuncOp) -> None:
    """Pass such vectors between blocks as i16, with casts before branches and after the blocks' arguments."""
    blocks = [block for block in list(function.body.blocks)[1:] if any(map(_has_odd_lanes, block.args))]
    for block in blocks:
        first = block.first_op
        for argument in block.args:
            if _has_odd_lanes(argument) and first is not None:
                cast = llvm.BitcastOp.create(operands=[argument], result_types=[argument.type])
                argument.replace_all_uses_with(cast.results[0])
                cast.operands[0] = argument
                set_type(argument, memory_type(argument.type))
                block.insert_op_before(cast, first)
    for block in function.body.blocks if blocks else ():
        last = block.last_op
        for index, operand in enumerate(last.operands if last is not None and last.successors else ()):
            if _has_odd_lanes(operand):
                assert last is not None
                last.operands[index] = _bits_before(last, operand)


def _has_odd_lanes(value: SSAValue) -> bool:
    return has_odd_lanes(value.type)


def _bits_before(op: Operation, value: SSAValue) -> SSAValue:
    """A vector as i16, by a cast before an op."""
    cast = llvm.BitcastOp.create(operands=[value], result_types=[memory_type(value.type)])
    assert op.parent is not None
    op.parent.insert_op_before(cast, op)
    return cast.results[0]
