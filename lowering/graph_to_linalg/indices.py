"""Arithmetic on indices, inside the bodies of structured ops."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr, i1
from xdsl.ir import SSAValue


def index(number: int) -> SSAValue:
    """A constant index."""
    return arith.ConstantOp(IntegerAttr.from_index_int_value(number)).result


def plus(a: SSAValue, b: SSAValue) -> SSAValue:
    """a + b."""
    return arith.AddiOp(a, b).result


def minus(a: SSAValue, b: SSAValue) -> SSAValue:
    """a - b."""
    return arith.SubiOp(a, b).result


def times(a: SSAValue, factor: int | SSAValue) -> SSAValue:
    """a · factor."""
    if isinstance(factor, int):
        return a if factor == 1 else arith.MuliOp(a, index(factor)).result
    return arith.MuliOp(a, factor).result


def ceil_divided(a: SSAValue, divisor: int) -> SSAValue:
    """⌈a / divisor⌉."""
    return a if divisor == 1 else arith.CeilDivSIOp(a, index(divisor)).result


def clamped(a: SSAValue, low: int, high: int) -> SSAValue:
    """a, or the bound that it exceeds."""
    return arith.MinSIOp(arith.MaxSIOp(a, index(low)).result, index(high)).result


def all_of(conditions: Sequence[SSAValue]) -> SSAValue:
    """Whether all conditions hold."""
    result = arith.ConstantOp(IntegerAttr(1, i1)).result
    for condition in conditions:
        result = arith.AndIOp(result, condition).result
    return result


def within(a: SSAValue, size: SSAValue) -> SSAValue:
    """0 <= a < size, by one unsigned comparison."""
    return arith.CmpiOp(a, size, "ult").result
