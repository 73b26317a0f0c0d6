"""Elementwise functions of two or three tensors, comparisons, and selection by a condition."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from xdsl.dialects.builtin import f64, i1, i32

from stepwell.dialects import graph
from stepwell.dialects.graph.binary import BinaryOp
from stepwell.dialects.graph.relations import is_bool, is_float
from stepwell.dialects.torch import TABLE
from stepwell.lowering.to_graph import Value, atan2, is_minus_zero
from stepwell.lowering.torch_to_graph.movement import cast_to
from stepwell.lowering.torch_to_graph.promotion import computed, number, operand, promoted, rounded_once
from stepwell.lowering.torch_to_graph.support import Call, add_conversion, converts

_ARITHMETIC: Mapping[str, Callable[[Value, Value], Value]] = {
    "fmax": lambda a, b: _unless_nan(a, b, a.maximum(b)),
    "fmin": lambda a, b: _unless_nan(a, b, a.minimum(b)),
    "maximum": Value.maximum,
    "minimum": Value.minimum,
    "mul": Value.__mul__,
    "multiply": Value.__mul__,
}
"""Functions of two operands in the result's element type."""
_COMPARISONS: Mapping[str, Callable[[Value, Value], Value]] = {
    "eq": Value.equals,
    "ge": Value.__ge__,
    "greater": Value.__gt__,
    "greater_equal": Value.__ge__,
    "gt": Value.__gt__,
    "le": Value.__le__,
    "less": Value.__lt__,
    "less_equal": Value.__le__,
    "lt": Value.__lt__,
    "ne": lambda a, b: a.equals(b).negated(),
    "not_equal": lambda a, b: a.equals(b).negated(),
}
_LOGIC: Mapping[str, type[BinaryOp]] = {
    "bitwise_and": graph.AndOp,
    "bitwise_left_shift": graph.ShiftLeftOp,
    "bitwise_or": graph.OrOp,
    "bitwise_right_shift": graph.ShiftRightOp,
    "bitwise_xor": graph.XorOp,
    "logical_and": graph.AndOp,
    "logical_or": graph.OrOp,
    "logical_xor": graph.XorOp,
    "__and__": graph.AndOp,
    "__lshift__": graph.ShiftLeftOp,
    "__or__": graph.OrOp,
    "__rshift__": graph.ShiftRightOp,
    "__xor__": graph.XorOp,
}


def _unless_nan(a: Value, b: Value, both: Value) -> Value:
    """The other operand where one is NaN."""
    if not is_float(a.element):
        return both
    at = a.formula
    return at.where(a.apply(graph.IsNanOp), b, at.where(b.apply(graph.IsNanOp), a, both))


def _pair(call: Call) -> tuple[Value, Value]:
    """Both operands in the result's element type."""
    return operand(call, "self", call.element), operand(call, "other", call.element)


def _arithmetic(function: Callable[[Value, Value], Value], call: Call) -> Value:
    return function(*_pair(call))


def _comparison(function: Callable[[Value, Value], Value], call: Call) -> Value:
    """Both operands compared in the type to which torch promotes them; truth values as numbers."""
    element = promoted(call, "self", "other")
    a, b = operand(call, "self", element), operand(call, "other", element)
    if is_bool(element):
        a, b = a.cast(i32), b.cast(i32)
    return function(a, b)


def _logic(op_type: type[BinaryOp], call: Call) -> Value:
    if "logical" in call.op.SIGNATURE.name:
        a, b = (_truth(call, name) for name in ("self", "other"))
    else:
        a, b = _pair(call)
    return call.at.op(op_type(a.ssa, b.ssa))


def _truth(call: Call, name: str) -> Value:
    x = call.tensor(name)
    return x if is_bool(x.element) else x.equals(0).negated()


def _enter(names: Mapping[str, object], convert: Callable[..., Value]) -> None:
    """Enter a function for the overloads of a table on two tensors, and on a tensor and a number."""
    for name, how in names.items():
        for overload in ("default", "Tensor", "Scalar", "Tensor_Scalar", "Scalar_Tensor"):
            if f"aten.{name}.{overload}" in TABLE:
                add_conversion(f"{name}.{overload}", partial(convert, how))


_enter(_ARITHMETIC, _arithmetic)
add_conversion("max.other", partial(_arithmetic, Value.maximum))
add_conversion("min.other", partial(_arithmetic, Value.minimum))
_enter(_COMPARISONS, _comparison)
_enter(_LOGIC, _logic)


@converts("add.Tensor", "add.Scalar", "sub.Tensor", "sub.Scalar", "subtract.Tensor", "subtract.Scalar")
@converts("rsub.Tensor", "rsub.Scalar")
def add(call: Call) -> Value:
    """self ± alpha * other; for `rsub` other - alpha * self."""
    a, b = _pair(call)
    title = call.op.SIGNATURE.name
    if "rsub" in title:
        a, b = b, a
    if call.value("alpha") != 1:
        b = b * number(call, "alpha", b.element)
    return a - b if "sub" in title else a + b


@converts("div.Tensor", "div.Scalar", "divide.Tensor", "divide.Scalar", "true_divide.Tensor")
@converts("true_divide.Scalar", "div.Tensor_mode", "div.Scalar_mode", "divide.Tensor_mode")
@converts("divide.Scalar_mode", "floor_divide.default", "floor_divide.Scalar")
def div(call: Call) -> Value:
    """The quotient, or that rounded down (`floor`) or towards zero (`trunc`)."""
    a, b = _pair(call)
    mode = call.value("rounding_mode") if call.has("rounding_mode") else None
    if "floor_divide" in call.op.SIGNATURE.name:
        mode = "floor"
    if mode is None:
        return a / b
    if is_float(a.element):
        return _rounded_quotient(a, b, str(mode))
    quotient = a / b
    if mode == "trunc":
        return quotient
    rest = a - quotient * b
    differs = (rest < 0).cast(i1)
    has_other_sign = call.at.op(graph.XorOp(differs.ssa, (b < 0).ssa))
    has_rest = rest.equals(0).negated()
    return quotient - (has_other_sign & has_rest).cast(a.element)


def _rounded_quotient(a: Value, b: Value, mode: str) -> Value:
    """The quotient of floats, rounded; to floor from the exact remainder, as torch computes it."""
    if mode == "trunc":
        return (a / b).apply(graph.TruncOp)
    at = a.formula
    rest = at.op(graph.RemainderOp(a.ssa, b.ssa, "trunc"))
    quotient = (a - rest) / b
    has_other_sign = at.op(graph.XorOp((rest < 0.0).ssa, (b < 0.0).ssa))
    has_rest = rest.equals(0.0).negated()
    lowered = at.where(has_other_sign & has_rest, quotient - 1.0, quotient)
    floor = lowered.apply(graph.FloorOp)
    exact = at.where(lowered - floor > 0.5, floor + 1.0, floor)
    exact = at.where(lowered.equals(0.0), (a / b) * 0.0, exact)
    return at.where(b.equals(0.0), a / b, exact)


@converts("remainder.Tensor", "remainder.Scalar", "remainder.Scalar_Tensor", "fmod.Tensor", "fmod.Scalar")
def remainder(call: Call) -> Value:
    """The remainder of a division with the divisor's sign, for `fmod` the dividend's."""
    a, b = _pair(call)
    rounding = "trunc" if "fmod" in call.op.SIGNATURE.name else "floor"
    return call.at.op(graph.RemainderOp(a.ssa, b.ssa, rounding))


@converts("pow.Tensor_Tensor", "pow.Tensor_Scalar", "pow.Scalar")
def power(call: Call) -> Value:
    """The power; small whole exponents are products, one half is a root."""
    base, exponent = operand(call, "self", call.element), call.value("exponent")
    if is_float(base.element) and isinstance(exponent, int | float) and not isinstance(exponent, bool):
        if exponent == 2:
            return base * base
        if exponent == 3:
            return base * base * base
        if exponent == 1:
            return base
        if exponent == 0.5:
            return base.apply(graph.SqrtOp)
        if exponent == -1:
            return 1.0 / base
        if exponent == -0.5:
            return base.apply(graph.RsqrtOp)
    return call.at.op(graph.PowerOp(base.ssa, operand(call, "exponent", call.element).ssa))


@converts("atan2.default", "arctan2.default")
def angle(call: Call) -> Value:
    """The angle of the point (other, self)."""
    return atan2(*_pair(call))


@converts("where.self", "where.ScalarSelf", "where.ScalarOther", "where.Scalar")
def where(call: Call) -> Value:
    """An element of either value, by a condition."""
    condition = call.tensor("condition")
    condition = condition if is_bool(condition.element) else condition.equals(0).negated()
    return call.at.where(condition, operand(call, "self", call.element), operand(call, "other", call.element))


@converts("masked_fill.Scalar", "masked_fill.Tensor")
def masked_fill(call: Call) -> Value:
    """Another value where a mask is true."""
    x = call.tensor()
    return call.at.where(call.tensor("mask"), operand(call, "value", call.element), x)


@converts("lerp.Scalar", "lerp.Tensor")
@rounded_once
def lerp(call: Call) -> Value:
    """self + weight * (end - self), computed from the nearer end."""
    a, b = call.tensor(), call.tensor("end")
    weight = operand(call, "weight", call.element)
    apart = b - a
    return call.at.where(abs(weight) < 0.5, a + weight * apart, b - apart * (1.0 - weight))


@converts("addcmul.default", "addcdiv.default")
def addcmul(call: Call) -> Value:
    """self + value * tensor1 * tensor2, or with the quotient."""
    element = computed(call.element)
    x, a, b = (call.tensor(name).cast(element) for name in ("self", "tensor1", "tensor2"))
    if call.value("value") != 1:
        a = a * number(call, "value", element)
    return (x + (a / b if "addcdiv" in call.op.SIGNATURE.name else a * b)).cast(call.element)


@converts("hypot.default")
@rounded_once
def hypot(call: Call) -> Value:
    """The length of the hypotenuse, without overflow."""
    a, b = (abs(each) for each in _pair(call))
    high, low = a.maximum(b), a.minimum(b)
    ratio = low / high
    length = high * (ratio * ratio + 1.0).apply(graph.SqrtOp)
    return call.at.where(high.equals(0.0) | call.at.op(graph.IsInfOp(high.ssa)), high, length)


@converts("xlogy.Tensor", "xlogy.Scalar_Self", "xlogy.Scalar_Other")
@rounded_once
def xlogy(call: Call) -> Value:
    """x * log(y), and 0 for x = 0 unless y is NaN."""
    x, y = _pair(call)
    product = x * y.apply(graph.LogOp)
    result = call.at.where(x.equals(0.0), x * 0.0, product)
    return call.at.where(y.apply(graph.IsNanOp), y, result)


@converts("copysign.Tensor", "copysign.Scalar")
def copysign(call: Call) -> Value:
    """The magnitude of self with the sign of other."""
    a, b = _pair(call)
    size = abs(a)
    return call.at.where((b < 0.0) | is_minus_zero(b), -size, size)


@converts("logaddexp.default")
@rounded_once
def logaddexp(call: Call) -> Value:
    """log(exp(a) + exp(b)), computed from the difference."""
    a, b = _pair(call)
    high, low = a.maximum(b), a.minimum(b)
    apart = call.at.where(high.equals(low), 0.0, low - high)
    return high + apart.apply(graph.ExpOp).apply(graph.Log1pOp)


@converts("heaviside.default")
def heaviside(call: Call) -> Value:
    """0 for negative numbers, 1 for positive ones, else another value."""
    x, values = call.tensor(), call.tensor("values")
    if is_bool(x.element):
        return x | values
    one = call.at.number(1, x.element)
    return call.at.where(x.equals(0), values, call.at.where(x < 0, 0, one))


@converts("isclose.default")
def isclose(call: Call) -> Value:
    """Whether two numbers differ by little."""
    if call.flag("equal_nan"):
        raise call.unsupported("`equal_nan`")
    element = promoted(call, "self", "other")
    a, b = call.tensor().cast(element), call.tensor("other").cast(element)
    if not is_float(element):
        a, b = a.cast(f64), b.cast(f64)
    allowed = abs(b) * call.number("rtol") + call.number("atol")
    finite = call.at.op(graph.IsInfOp((a - b).ssa)).negated()
    return a.equals(b) | (finite & (abs(a - b) <= allowed))


@converts("fill.Scalar", "fill.Tensor", "copy.default")
def fill(call: Call) -> Value:
    """Another value everywhere."""
    name = "src" if call.has("src") else "source" if call.has("source") else "value"
    given = operand(call, name, call.element) if call.op.SIGNATURE.by_name[name].is_tensor else None
    value = number(call, name, call.element) if given is None else cast_to(given, call.element)
    return value.broadcast_to(call.dims)
