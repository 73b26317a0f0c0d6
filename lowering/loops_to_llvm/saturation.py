"""Vectors of floats as signed integers, saturating."""

from __future__ import annotations

from xdsl.dialects import llvm
from xdsl.dialects.arith import CMPF_COMPARISON_OPERATIONS
from xdsl.dialects.builtin import IntegerAttr, i1, i64
from xdsl.ir import Attribute, SSAValue

from stepwell.dialects.llvm import instructions
from stepwell.lowering.loops_to_llvm.code import Code
from stepwell.lowering.loops_to_llvm.half import lane_bits, like, splat

_PREDICATES = {name: IntegerAttr(index, i64) for index, name in enumerate(CMPF_COMPARISON_OPERATIONS)}
_NO_FAST_MATH = llvm.FastMathAttr(None)


def saturated(code: Code, x: SSAValue, type: Attribute) -> SSAValue:
    """
    A vector of f32 or f64 as integers, towards zero: the nearest bound where one does not fit, 0 for NaN.

    LLVM takes `llvm.fptosi.sat` of a vector apart into scalars. What does not fit is poison at first, frozen
    to whatever the machine makes of it, and replaced.
    """
    beyond = 1 << lane_bits(type) - 1
    result = code.make(instructions.FreezeOp, [code.make(instructions.FPToSIOp, [x], type)], type)
    over = _compare(code, "oge", x, splat(code, float(beyond), x.type))
    result = _choose(code, over, splat(code, beyond - 1, type), result)
    under = _compare(code, "olt", x, splat(code, -float(beyond), x.type))
    result = _choose(code, under, splat(code, -beyond, type), result)
    return _choose(code, _compare(code, "ord", x, x), result, splat(code, 0, type))


def _compare(code: Code, predicate: str, a: SSAValue, b: SSAValue) -> SSAValue:
    properties: dict[str, Attribute] = {"predicate": _PREDICATES[predicate], "fastmathFlags": _NO_FAST_MATH}
    return code.make(instructions.FCmpOp, [a, b], like(a.type, i1), properties)


def _choose(code: Code, condition: SSAValue, a: SSAValue, b: SSAValue) -> SSAValue:
    properties: dict[str, Attribute] = {"fastmathFlags": _NO_FAST_MATH}
    return code.make(instructions.SelectOp, [condition, a, b], a.type, properties)
