"""Elementwise functions, comparisons, and conversions of element types."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from xdsl.dialects.builtin import bf16, f16, f32, f64
from xdsl.ir import Attribute

from stepwell.dialects import graph
from stepwell.dialects.graph.binary import BinaryOp
from stepwell.dialects.graph.elementwise import UnaryOp
from stepwell.dialects.graph.relations import is_bool, is_float
from stepwell.dialects.types import dtype_of, element_of
from stepwell.lowering.stablehlo_to_graph.support import CONVERSIONS, Call, converts
from stepwell.lowering.to_graph import Value, atan2

UNARY: Mapping[str, type[UnaryOp]] = {
    "abs": graph.AbsOp,
    "ceil": graph.CeilOp,
    "cosine": graph.CosOp,
    "erf": graph.ErfOp,
    "exponential": graph.ExpOp,
    "exponential_minus_one": graph.Expm1Op,
    "floor": graph.FloorOp,
    "log": graph.LogOp,
    "log_plus_one": graph.Log1pOp,
    "logistic": graph.SigmoidOp,
    "negate": graph.NegOp,
    "not": graph.NotOp,
    "round_nearest_even": graph.RoundOp,
    "rsqrt": graph.RsqrtOp,
    "sign": graph.SignOp,
    "sine": graph.SinOp,
    "sqrt": graph.SqrtOp,
    "tan": graph.TanOp,
    "tanh": graph.TanhOp,
}
"""Functions that are one op."""
BINARY: Mapping[str, type[BinaryOp]] = {
    "add": graph.AddOp,
    "and": graph.AndOp,
    "divide": graph.DivideOp,
    "maximum": graph.MaximumOp,
    "minimum": graph.MinimumOp,
    "multiply": graph.MultiplyOp,
    "or": graph.OrOp,
    "power": graph.PowerOp,
    "shift_left": graph.ShiftLeftOp,
    "subtract": graph.SubtractOp,
    "xor": graph.XorOp,
}
"""Functions of two operands of one shape."""
_LOGIC: Mapping[str, type[BinaryOp]] = {
    "add": graph.OrOp,
    "maximum": graph.OrOp,
    "minimum": graph.AndOp,
    "multiply": graph.AndOp,
}
"""What arithmetic is on truth values."""
_COMPARISONS: Mapping[str, Callable[[Value, Value], Value]] = {
    "EQ": Value.equals,
    "GE": Value.__ge__,
    "GT": Value.__gt__,
    "LE": Value.__le__,
    "LT": Value.__lt__,
    "NE": lambda x, y: x.equals(y).negated(),
}


def _unary(op_type: type[UnaryOp], call: Call) -> Value:
    return call.tensor().apply(op_type)


def _binary(op_type: type[BinaryOp], call: Call) -> Value:
    x, y = call.tensor(), call.tensor("y")
    if is_bool(x.element):
        op_type = _LOGIC.get(call.op.SIGNATURE.name, op_type)
    return call.at.op(op_type(x.ssa, y.ssa))


for _name, _unary_type in UNARY.items():
    CONVERSIONS.add(_name, partial(_unary, _unary_type))
for _name, _binary_type in BINARY.items():
    CONVERSIONS.add(_name, partial(_binary, _binary_type))


@converts("remainder")
def remainder(call: Call) -> Value:
    """The remainder of a division that truncates."""
    return call.at.op(graph.RemainderOp(call.tensor().ssa, call.tensor("y").ssa, "trunc"))


@converts("shift_right_arithmetic", "shift_right_logical")
def shift_right(call: Call) -> Value:
    """A shift that brings in copies of the sign, or zeros; by too many bits all come in."""
    x, y = call.tensor(), call.tensor("y")
    bits = 8 * dtype_of(x.element).itemsize
    is_logical = call.op.SIGNATURE.name.endswith("logical")
    unsigned = element_of(f"u{bits // 8}")
    wanted = unsigned if is_logical else element_of(f"i{bits // 8}")
    if x.element != wanted:
        x, y = (call.at.op(graph.BitcastOp(each.ssa, wanted)) for each in (x, y))
    if not is_logical:
        y = call.at.where((y < 0) | (y >= bits), y * 0 + (bits - 1), y)
    result = call.at.op(graph.ShiftRightOp(x.ssa, y.ssa))
    return result if result.element == call.element else call.at.op(graph.BitcastOp(result.ssa, call.element))


@converts("cbrt")
def cbrt(call: Call) -> Value:
    """The cube root, with the number's sign."""
    x = call.tensor()
    root = call.at.op(graph.PowerOp(abs(x).ssa, x.same(1 / 3).ssa))
    return root * x.apply(graph.SignOp)


@converts("round_nearest_afz")
def round_away(call: Call) -> Value:
    """Rounding to the nearest whole number, of two to the one away from zero."""
    x = call.tensor()
    rest = abs(x - x.apply(graph.TruncOp))
    return x.apply(graph.TruncOp) + call.at.where(rest >= 0.5, x.apply(graph.SignOp), 0.0)


@converts("is_finite")
def is_finite(call: Call) -> Value:
    """Whether a number is neither infinite nor NaN."""
    x = call.tensor()
    return (call.at.op(graph.IsInfOp(x.ssa)) | x.apply(graph.IsNanOp)).negated()


@converts("atan2")
def angle(call: Call) -> Value:
    """The angle of a point, in its quadrant; `x` is the ordinate."""
    return atan2(call.tensor(), call.tensor("y"))


@converts("compare")
def compare(call: Call) -> Value:
    """A comparison; of truth values, false is less than true."""
    x, y = call.tensor(), call.tensor("y")
    direction = str(call.value("comparison_direction"))
    if direction not in _COMPARISONS:
        raise call.unsupported(f"the comparison {direction}")
    if call.value("compare_type") == "TOTALORDER":
        x, y = _ranks(call, x), _ranks(call, y)
    if is_bool(x.element) and direction not in ("EQ", "NE"):
        x, y = x.cast(element_of("i4")), y.cast(element_of("i4"))
    return _COMPARISONS[direction](x, y)


def _ranks(call: Call, x: Value) -> Value:
    """Whole numbers in the total order of floats: the bits, of negative numbers all but the sign inverted."""
    width = dtype_of(x.element).itemsize
    bits = call.at.op(graph.BitcastOp(x.ssa, element_of(f"i{width}")))
    inverted = call.at.op(graph.XorOp(bits.ssa, bits.same((1 << (8 * width - 1)) - 1).ssa))
    return call.at.where(bits < 0, inverted, bits)


@converts("select")
def select(call: Call) -> Value:
    """An elementwise selection by a condition."""
    return call.at.where(call.tensor("condition"), call.tensor("x"), call.tensor("y"))


@converts("clamp")
def clamp(call: Call) -> Value:
    """The operand between two bounds."""
    return call.tensor().clip(call.tensor("low"), call.tensor("high"))


@converts("convert")
def convert(call: Call) -> Value:
    """The numbers in another element type."""
    x = call.tensor()
    return x if x.element == call.element else call.at.op(graph.CastOp(x.ssa, call.element, saturate=False))


@converts("bitcast_convert")
def bitcast(call: Call) -> Value:
    """The bits as another element type of the same width."""
    x = call.tensor()
    if dtype_of(x.element).itemsize != dtype_of(call.element).itemsize:
        raise call.unsupported(f"the bits of {x.element} as {call.element}")
    return x if x.element == call.element else call.at.op(graph.BitcastOp(x.ssa, call.element))


@converts("reduce_precision")
def reduce_precision(call: Call) -> Value:
    """Numbers rounded to the fewer bits of a supported type."""
    x = call.tensor()
    bits = call.integer("exponent_bits"), call.integer("mantissa_bits")
    types: Mapping[tuple[int, int], Attribute] = {(5, 10): f16, (8, 7): bf16, (8, 23): f32, (11, 52): f64}
    if bits not in types or not is_float(x.element):
        raise call.unsupported(f"floats of {bits[0]} bits of exponent and {bits[1]} of mantissa")
    return x.cast(types[bits]).cast(x.element)


@converts("optimization_barrier")
def optimization_barrier(call: Call) -> list[Value | None]:
    """The operands themselves."""
    return list(call.tensors())
