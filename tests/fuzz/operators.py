"""Random nodes of ONNX's operators: each function adds one node to a graph, or raises `Refused`."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from onnx import helper

from tests.fuzz.builder import FLOATS, GraphBuilder, Refused, Value

Adder = Callable[[GraphBuilder], None]

# Smooth functions, which take values that were rounded before.
_SMOOTH = (
    "Relu Sigmoid Tanh Erf Softplus Softsign Elu Selu LeakyRelu HardSigmoid HardSwish Gelu Mish Celu Sin Cos"
    " Atan Asinh Neg Abs Exp Identity Swish Sinh Cosh Dropout"
).split()
_JUMPING = "Floor Ceil Round Sign IsNaN IsInf Shrink ThresholdedRelu".split()
_DOMAINS = {
    "Log": (0.1, 50),
    "Sqrt": (0, 50),
    "Reciprocal": (0.1, 50),
    "Acos": (-0.95, 0.95),
    "Asin": (-0.95, 0.95),
    "Atanh": (-0.95, 0.95),
    "Acosh": (1.1, 50),
    "Tan": (-1.4, 1.4),
}
"""Where a function is defined, and not too steep."""
_ARITHMETIC = "Add Sub Mul Max Min".split()
_COMPARISONS = "Equal Less Greater LessOrEqual GreaterOrEqual".split()
_LOGIC = "And Or Xor".split()
_BITS = "BitwiseAnd BitwiseOr BitwiseXor".split()
_REDUCTIONS = (
    "ReduceSum ReduceMean ReduceMax ReduceMin ReduceL1 ReduceL2 ReduceSumSquare ReduceLogSumExp ReduceProd"
    " ReduceLogSum".split()
)
_TYPES = ("float32", "float64", "float16", "int32", "int64", "int8", "uint8", "bool")


def is_float(value: Value) -> bool:
    """Floats of any width."""
    return value.dtype in FLOATS


def is_integer(value: Value) -> bool:
    """Integers, bool left out."""
    return value.array.dtype.kind in "iu"


def ranked(value: Value) -> bool:
    """At least one dimension, none of them empty."""
    return value.array.ndim > 0 and value.array.size > 0


def partner(g: GraphBuilder, value: Value) -> Value:
    """A value of the same type that broadcasts with another one, or a constant."""
    same = [v for v in g.values if v.dtype == value.dtype and _broadcast(v, value)]
    if same and g.chance(0.7):
        return g.choice(same)
    shape = value.shape[g.integer(0, len(value.shape)) :]
    return g.constant(g.draw(value.dtype, [1 if g.chance(0.2) else n for n in shape]))


def _broadcast(a: Value, b: Value) -> bool:
    try:
        np.broadcast_shapes(a.shape, b.shape)
    except ValueError:
        return False
    return True


def pair(g: GraphBuilder, value: Value) -> list[Value]:
    """A value and its partner, in any order."""
    both = [value, partner(g, value)]
    return both if g.chance(0.5) else both[::-1]


def smooth(g: GraphBuilder) -> None:
    """A function of each element."""
    op = g.choice(_SMOOTH)
    # The reference computes erf in f32; the 1/6 of HardSwish is an attribute, so f32 as well.
    precision = "float32" if op in ("Erf", "Gelu", "HardSwish") else "float64"
    g.node(op, [g.pick(is_float)], exact=op in ("Relu", "Neg", "Abs", "Identity"), precision=precision)


def jumping(g: GraphBuilder) -> None:
    """A function of each element that rounding before it could turn over."""
    op = g.choice(_JUMPING)
    g.node(op, [g.pick(lambda v: is_float(v) and v.exact)], exact=True)


def partial(g: GraphBuilder) -> None:
    """A function that is not defined everywhere; most times a Clip brings the values there."""
    op = g.choice(list(_DOMAINS))
    low, high = _DOMAINS[op]

    def fits(v: Value) -> bool:
        least = low if v.exact else low + 1e-3  # what was rounded may be below 0 where the reference has 0
        return is_float(v) and bool(((v.array >= least) & (v.array <= high)).all())

    if g.chance(0.7):
        value = g.pick(is_float)
        g.node("Clip", [value, *(g.constant(np.array(n, value.dtype)) for n in (low, high))], exact=True)
        g.node(op, [g.values[-1]])
    else:
        g.node(op, [g.pick(fits)])


def several(g: GraphBuilder) -> None:
    """Sums and means of two or three values."""
    value = g.pick(is_float)
    values = [*pair(g, value), *([partner(g, value)] if g.chance(0.5) else [])]
    g.node(g.choice(["Sum", "Mean", "Max", "Min"]), values)


def slope(g: GraphBuilder) -> None:
    """PRelu, its slope a number or one for each element of the last dimensions."""
    value = g.pick(lambda v: v.dtype in ("float32", "float64"))
    shape = value.shape[g.integer(0, len(value.shape)) :]
    g.node("PRelu", [value, g.constant(g.draw(value.dtype, shape))])


def shift(g: GraphBuilder) -> None:
    """Unsigned bits to the left or the right."""
    value = g.pick(lambda v: v.dtype == "uint8")
    places = g.constant(g.rng.integers(0, 4, value.shape).astype("uint8"))
    g.node("BitShift", [value, places], exact=True, direction=g.choice(["LEFT", "RIGHT"]))


def arithmetic(g: GraphBuilder) -> None:
    """Two values of any type of number."""
    op = g.choice(_ARITHMETIC)
    value = g.pick(lambda v: v.dtype != "bool")
    g.node(op, pair(g, value), exact=is_integer(value) or op in ("Max", "Min"))


def divide(g: GraphBuilder) -> None:
    """By what is far from zero."""
    value = g.pick(lambda v: v.dtype != "bool")
    divisor = g.pick(lambda v: v.dtype == value.dtype and _broadcast(v, value) and _is_far_from_0(v))
    if is_integer(value) and g.chance(0.5):
        g.node("Mod", [value, divisor], exact=True)
    else:
        g.node("Div", [value, divisor], exact=is_integer(value))


def _is_far_from_0(value: Value) -> bool:
    return value.array.size > 0 and bool((np.abs(value.array.astype(np.float64)) > 0.1).all())


def power(g: GraphBuilder) -> None:
    """Small powers by a constant."""
    value = g.pick(is_float)
    g.node("Pow", [value, g.constant(np.array(g.choice([2, 3]), value.dtype))])


def compare(g: GraphBuilder) -> None:
    """Two exact values."""
    value = g.pick(lambda v: v.exact and v.dtype != "bool")
    other = partner(g, value)
    if not other.exact:
        raise Refused
    g.node(g.choice(_COMPARISONS), [value, other], exact=True)


def logic(g: GraphBuilder) -> None:
    """Bools, and the bits of integers."""
    value = g.pick(lambda v: v.dtype == "bool" or is_integer(v))
    if g.chance(0.3):
        g.node("Not" if value.dtype == "bool" else "BitwiseNot", [value], exact=True)
    else:
        g.node(g.choice(_LOGIC if value.dtype == "bool" else _BITS), pair(g, value), exact=True)


def where(g: GraphBuilder) -> None:
    """One of two by a condition."""
    condition = g.pick(lambda v: v.dtype == "bool")
    value = g.pick(lambda v: _broadcast(v, condition))
    g.node("Where", [condition, *pair(g, value)], exact=True)


def clip(g: GraphBuilder) -> None:
    """Between two constants, one or none."""
    value = g.pick(lambda v: v.dtype != "bool")
    low, high = (g.constant(np.array(n, value.dtype)) if g.chance(0.8) else None for n in (1, 3))
    g.node("Clip", [value, low, high], exact=True)


def cast(g: GraphBuilder) -> None:
    """To another type; from floats to integers where nothing was rounded before."""
    to = g.choice(_TYPES)
    floats = to in FLOATS
    value = g.pick(lambda v: floats or v.exact or not is_float(v))
    if not floats and to != "bool" and (value.array.astype(np.float64) < 0).any() and to.startswith("u"):
        raise Refused  # negative floats to unsigned integers are undefined
    widens = np.can_cast(value.array.dtype, to)
    g.node("Cast", [value], exact=widens or not floats, to=helper.np_dtype_to_tensor_dtype(np.dtype(to)))


def cast_like(g: GraphBuilder) -> None:
    """To the type of another value."""
    value = g.pick(lambda v: v.exact or not is_float(v))
    like = g.pick(lambda v: is_float(v) or v.dtype in ("int32", "int64"))
    g.node("CastLike", [value, like], exact=bool(np.can_cast(value.array.dtype, like.array.dtype)))


def bit_cast(g: GraphBuilder) -> None:
    """Integers read with the other sign: the bits stay."""
    to = {"int64": "uint64", "int32": "uint32", "uint8": "int8", "int8": "uint8"}
    value = g.pick(lambda v: v.dtype in to and v.exact)
    g.node("BitCast", [value], exact=True, to=helper.np_dtype_to_tensor_dtype(np.dtype(to[value.dtype])))


def reduce(g: GraphBuilder) -> None:
    """Some axes, or all."""
    op = g.choice(_REDUCTIONS)
    only_order = op in ("ReduceMax", "ReduceMin")
    value = g.pick(lambda v: ranked(v) and (is_float(v) or (only_order and v.dtype in ("int32", "int64"))))
    if op == "ReduceLogSum" and not (value.array > 0).all():
        raise Refused
    axes = [a - len(value.shape) if g.chance(0.3) else a for a in range(len(value.shape)) if g.chance(0.5)]
    g.node(op, [value, g.ints(*axes) if axes else None], exact=only_order, keepdims=g.integer(0, 1))


def arg_reduce(g: GraphBuilder) -> None:
    """Of exact values, where ties are ties."""
    value = g.pick(lambda v: ranked(v) and v.exact and v.dtype in ("float32", "int32", "int64", "float64"))
    axis = g.integer(-len(value.shape), len(value.shape) - 1)
    last = g.integer(0, 1)
    op = g.choice(["ArgMax", "ArgMin"])
    g.node(op, [value], exact=True, axis=axis, keepdims=g.integer(0, 1), select_last_index=last)


def rows(g: GraphBuilder) -> None:
    """Softmax and its kin, along any axis."""
    value = g.pick(lambda v: is_float(v) and ranked(v))
    g.node(
        g.choice(["Softmax", "LogSoftmax"]), [value], axis=g.integer(-len(value.shape), len(value.shape) - 1)
    )


def hard_rows(g: GraphBuilder) -> None:
    """A one where the largest of each row is."""
    value = g.pick(lambda v: is_float(v) and ranked(v) and v.exact)
    g.node("Hardmax", [value], exact=True, axis=g.integer(-len(value.shape), len(value.shape) - 1))


def cumulate(g: GraphBuilder) -> None:
    """Running sums and products in both directions."""
    value = g.pick(lambda v: ranked(v) and v.dtype in ("float32", "float64", "int32", "int64"))
    axis = g.constant(np.array(g.integer(0, len(value.shape) - 1), np.int64))
    g.node(
        g.choice(["CumSum", "CumProd"]),
        [value, axis],
        exclusive=g.integer(0, 1),
        reverse=g.integer(0, 1),
        exact=is_integer(value),
    )


ELEMENTWISE: Mapping[Adder, float] = {
    smooth: 5,
    jumping: 1,
    partial: 1.5,
    several: 0.7,
    slope: 0.5,
    shift: 1,
    arithmetic: 6,
    divide: 1.5,
    power: 0.7,
    compare: 1,
    logic: 1,
    where: 1.5,
    clip: 1,
    cast: 2,
    cast_like: 0.5,
    bit_cast: 0.7,
    reduce: 2.5,
    arg_reduce: 0.7,
    rows: 1.2,
    hard_rows: 0.5,
    cumulate: 0.5,
}
"""How often each is tried."""
