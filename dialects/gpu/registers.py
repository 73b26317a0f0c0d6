"""The registers that a thread of a kernel needs at least."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import cast

from xdsl.dialects import scf
from xdsl.dialects.builtin import FixedBitwidthType, VectorType
from xdsl.ir import Attribute, Operation, SSAValue

from stepwell.dialects.gpu.kernel import GPUFuncOp

_REGISTER_BITS = 32
_PREDICATE_BITS = 1
"""Conditions have registers of their own."""


def carried_registers(kernel: GPUFuncOp) -> int:
    """
    The most registers of values that loops carry at one time.

    An assembler can compute an address again, and not what a loop carries: with fewer registers it is stored
    in memory and loaded in each iteration.
    """
    return max((_around(op) for op in kernel.walk() if isinstance(op, scf.ForOp)), default=0)


def _around(loop: scf.ForOp) -> int:
    """
    The registers of a loop's carried values, and of carried values of enclosing loops that are read later.
    """
    values = [*loop.body.block.args[1:], *_carried_past(loop)]
    return sum(map(_registers, {value: value.type for value in values}.values()))


def _carried_past(op: Operation) -> Iterator[SSAValue]:
    """The carried values of enclosing loops that an op or a later one reads."""
    while (around := op.parent_op()) is not None and not isinstance(around, GPUFuncOp):
        if isinstance(around, scf.ForOp):
            for value in around.body.block.args[1:]:
                if any(_is_used_in_or_after(use.operation, op) for use in value.uses):
                    yield value
        op = around


def _is_used_in_or_after(user: Operation, op: Operation) -> bool:
    """Whether a user is in the regions of an op or after it; an initial value of a loop is not read later."""
    if user is op:
        return False
    while user.parent is not op.parent:
        if (parent := user.parent_op()) is None:
            return False
        user = parent
    return user is op or op.is_before_in_block(user)


def _registers(type: Attribute) -> int:
    """The registers of a value; 0 where it may have none."""
    if isinstance(type, VectorType):
        elements = cast("VectorType[Attribute]", type)
        return prod(elements.get_shape()) * _registers(elements.element_type)
    if not isinstance(type, FixedBitwidthType) or type.bitwidth == _PREDICATE_BITS:
        return 0
    return -(-type.bitwidth // _REGISTER_BITS)
