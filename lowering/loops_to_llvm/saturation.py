"""Saturating conversion of float vectors to signed integers."""

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
    A vector of f32 or f64 as integers, truncated: the nearest bound where a number does not fit, 0 for NaN.

    LLVM splits `llvm.fptosi.sat` of a vector into scalars. Here a number that does not fit is poison at
    first, frozen to an arbitrary result of the machine, and then replaced.
    """
    beyond = 1 << lane_bits(type) - 1
    result = code.make(instructions.FreezeOp, [code.make(instructions.FPToSIOp, [x], type)], type)
    # Replace what is too large, too small, or NaN.
    over = _compare(code, "oge", x, splat(code, float(beyond), x.type))
    result = _choose(code, over, splat(code, beyond - 1, type), result)
    under = _compare(code, "olt", x, splat(code, -float(beyond), x.type))
    result = _choose(code, under, splat(code, -beyond, type), result)
    return _choose(code, _compare(code, "ord", x, x), result, splat(code, 0, type))


def _compare(code: Code, predicate: str, a: SSAValue, b: SSAValue) -> SSAValue:
    """A comparison of float vectors by a predicate such as `olt`."""
    properties: dict[str, Attribute] = {"predicate": _PREDICATES[predicate], "fastmathFlags": _NO_FAST_MATH}
    return code.make(instructions.FCmpOp, [a, b], like(a.type, i1), properties)


def _choose(code: Code, condition: SSAValue, a: SSAValue, b: SSAValue) -> SSAValue:
    """A select between vectors."""
    properties: dict[str, Attribute] = {"fastmathFlags": _NO_FAST_MATH}
    return code.make(instructions.SelectOp, [condition, a, b], a.type, properties)
