"""Copies of tensors: of what some ops read, and of what an op has computed."""

from __future__ import annotations

from collections.abc import Collection

from xdsl.dialects import tensor
from xdsl.dialects.builtin import StringAttr, TensorType
from xdsl.dialects.linalg import ops as linalg
from xdsl.dialects.linalg.attrs import IteratorTypeAttr
from xdsl.ir import Block, BlockArgument, Operation, OpResult, Region, SSAValue, Use
from xdsl.ir.affine import AffineMap

from stepwell.dialects.ir_builder import IRBuilder
from stepwell.dialects.sched import NAME
from stepwell.dialects.tensor_ir.structured import generic, tensor_element, tensor_shape
from stepwell.dialects.tensor_ir.tiles import dim_size

_VIEWS = (tensor.ExtractSliceOp, tensor.CollapseShapeOp, tensor.ExpandShapeOp)


def copied(emit: IRBuilder, value: SSAValue, name: str) -> linalg.GenericOp:
    """A copy of a tensor, as an op of a name."""
    sizes = [dim_size(emit, value, axis) for axis in range(len(tensor_shape(value)))]
    return copy_into(emit, value, emit.empty(tensor_element(value), sizes), name)


def copy_into(emit: IRBuilder, value: SSAValue, into: SSAValue, name: str) -> linalg.GenericOp:
    """A copy of a tensor in place of another one, as an op of a name."""
    rank, element = len(tensor_shape(value)), tensor_element(value)
    block = Block(arg_types=[element, element])
    block.add_op(linalg.YieldOp(block.args[0]))
    maps = [AffineMap.identity(rank)] * 2
    made = emit.insert(generic([value], [into], Region(block), maps, [IteratorTypeAttr.parallel()] * rank))
    made.attributes[NAME] = StringAttr(name)
    return made


def uses_of(value: SSAValue, readers: Collection[Operation]) -> list[Use]:
    """The uses of a tensor by some ops, or by views that these ops alone read."""
    uses: list[Use] = list(value.uses)
    return [use for use in uses if _is_of(use.operation, readers)]


def _is_of(op: Operation, readers: Collection[Operation]) -> bool:
    if op in readers:
        return True
    return isinstance(op, _VIEWS) and all(_is_of(use.operation, readers) for use in op.results[0].uses)


def is_called(value: SSAValue, name: str) -> bool:
    """Whether a tensor has a name: its own; or, of an input of the kernel, `%` and its number from 0 on."""
    return value.name_hint == name or (isinstance(value, BlockArgument) and name == f"%{value.index}")


def tensor_named(name: str, readers: Collection[Operation]) -> SSAValue | None:
    """The tensor of a name that ops read, also by views of it."""
    waiting = [operand for op in readers for operand in op.operands]
    seen: set[SSAValue] = set()
    while waiting:
        value = waiting.pop(0)
        if is_called(value, name) and isinstance(value.type, TensorType):
            return value
        if value not in seen and isinstance(value, OpResult) and isinstance(value.op, _VIEWS):
            waiting.append(value.op.operands[0])
        seen.add(value)
    return None
