"""`arith` and `math`: on numbers, on vectors, and on the grids of a structured op's body alike."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from math import prod
from typing import Any

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, FloatAttr, IndexType, IntegerAttr, bf16
from xdsl.ir import Attribute, Operation

from stepwell.dialects.arith import (
    DotBfloatsOp,
    DotBytesOp,
    DotPairsOp,
    DotShortsOp,
    PackBfloatsOp,
    PairBfloatsOp,
    ScaleOp,
)
from stepwell.dialects.types import dtype_of
from stepwell.lowering.interpret.elements import numpy_dtype
from stepwell.lowering.interpret.engine import Binary, Unary, Value, implement_all, implements

_python: Any = operator
"""Python's operators: on numpy's scalars they are ten times faster than numpy's functions."""
_numpy: Any = np


def is_grid(value: Value) -> bool:
    """Whether a value is an array of elements, of a vector or of a whole grid, not a single one."""
    return isinstance(value, np.ndarray) and value.ndim > 0


@implements("arith.constant")
def prepare_constant(op: arith.ConstantOp) -> Callable[[], Value]:
    """A number, or an array for a tensor or vector."""
    value = constant_value(op.value)
    return lambda: value


def constant_value(attribute: Attribute) -> Value:
    """The value of a constant's attribute."""
    match attribute:
        case IntegerAttr():
            number = attribute.value.data
            type = attribute.type
            if isinstance(type, IndexType):
                return number
            width = type.width.data
            return np.bool_(number & 1) if width == 1 else _wrapped(number, numpy_dtype(type))
        case FloatAttr():
            return numpy_dtype(attribute.type).type(attribute.value.data)
        case DenseIntOrFPElementsAttr():
            numbers = np.frombuffer(attribute.data.data, numpy_dtype(attribute.type))
            shape = attribute.get_shape()
            return numbers.reshape(shape) if numbers.size == prod(shape) else np.broadcast_to(numbers, shape)
        case _:
            raise TypeError(f"constant {attribute}")


def _wrapped(number: int, dtype: np.dtype[np.generic]) -> Value:
    """An integer modulo two to the width of a dtype."""
    return np.array(number & ((1 << 8 * dtype.itemsize) - 1), np.dtype(f"u{dtype.itemsize}")).view(dtype)[()]


def unsigned(function: Binary) -> Binary:
    """The same function on the operands' bits read as unsigned numbers; an index is not negative anyway."""

    def apply(a: Value, b: Value) -> Value:
        if isinstance(a, int) and isinstance(b, int):
            return function(a, b)
        left, right = np.asarray(a), np.asarray(b)
        bits = np.dtype(f"u{left.itemsize}")
        if left.dtype.kind == "b":
            return function(left.view(np.uint8), right.view(np.uint8))
        outcome = np.asarray(function(left.view(bits), right.view(bits)))
        return (outcome if outcome.dtype.kind == "b" else outcome.view(left.dtype))[()]

    return apply


def truncating_divide(a: Value, b: Value) -> Value:
    """Integer division that rounds to 0."""
    if isinstance(a, int) and isinstance(b, int):
        return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    return (a - _numpy.fmod(a, b)) // b


def _remainder(a: Value, b: Value) -> Value:
    """The remainder of a division that rounds to 0."""
    if isinstance(a, int) and isinstance(b, int):
        return a - truncating_divide(a, b) * b
    return _numpy.fmod(a, b)


def _maximum(a: Value, b: Value) -> Value:
    return max(a, b) if isinstance(a, int) and isinstance(b, int) else _numpy.maximum(a, b)


def _minimum(a: Value, b: Value) -> Value:
    return min(a, b) if isinstance(a, int) and isinstance(b, int) else _numpy.minimum(a, b)


def _ceiling_divide(a: Value, b: Value) -> Value:
    return -(-a // b)


def _ceiling_divide_unsigned(a: Value, b: Value) -> Value:
    return a // b + (a % b != 0)


_INTEGER: Mapping[str, Binary] = {
    "arith.addi": _python.add,
    "arith.subi": _python.sub,
    "arith.muli": _python.mul,
}
_ON_BITS: Mapping[str, Binary] = {
    "arith.addi": _python.xor,
    "arith.subi": _python.xor,
    "arith.muli": _python.and_,
}


@implements(*_INTEGER)
def prepare_integer(op: Operation) -> Binary:
    """Sums and products, modulo 2 on single bits."""
    return (_ON_BITS if numpy_dtype(op.results[0].type).kind == "b" else _INTEGER)[op.name]


implement_all(
    {
        "arith.divsi": truncating_divide,
        "arith.floordivsi": _python.floordiv,
        "arith.ceildivsi": _ceiling_divide,
        "arith.divui": unsigned(_python.floordiv),
        "arith.ceildivui": unsigned(_ceiling_divide_unsigned),
        "arith.remsi": _remainder,
        "arith.remui": unsigned(_python.mod),
        "arith.maxsi": _maximum,
        "arith.minsi": _minimum,
        "arith.maxui": unsigned(_maximum),
        "arith.minui": unsigned(_minimum),
        "arith.andi": _python.and_,
        "arith.ori": _python.or_,
        "arith.xori": _python.xor,
        "arith.shli": _python.lshift,
        "arith.shrsi": _python.rshift,
        "arith.shrui": unsigned(_python.rshift),
        "arith.addf": _python.add,
        "arith.subf": _python.sub,
        "arith.mulf": _python.mul,
        "arith.divf": _numpy.true_divide,
        "arith.remf": _numpy.fmod,
        "arith.negf": _python.neg,
        "arith.maximumf": _numpy.maximum,
        "arith.minimumf": _numpy.minimum,
        "arith.maxnumf": _numpy.fmax,
        "arith.minnumf": _numpy.fmin,
    }
)


@implements("math.ctlz")
def prepare_leading_zeros(op: Operation) -> Unary:
    """The number of zero bits above the highest set one."""
    bits = 8 * numpy_dtype(op.results[0].type).itemsize
    return lambda a: a.dtype.type(bits - (int(a) & ((1 << bits) - 1)).bit_length())


_SIGNED_ORDER: tuple[Binary, ...] = (_python.eq, _python.ne, _python.lt, _python.le, _python.gt, _python.ge)


@implements("arith.cmpi")
def prepare_cmpi(op: arith.CmpiOp) -> Binary:
    """Comparison of integers, by the number of its predicate."""
    predicate = op.predicate.value.data
    compare = _SIGNED_ORDER[predicate] if predicate < 6 else unsigned(_SIGNED_ORDER[predicate - 4])
    if numpy_dtype(op.lhs.type).kind == "b" and 2 <= predicate < 6:
        return lambda a, b: compare(b, a)  # a set bit is -1
    return compare


def _unordered(a: Value, b: Value) -> Value:
    return _numpy.isnan(a) | _numpy.isnan(b)


# In the order of the predicate's numbers; comparisons with NaN are false, but for `!=`.
_FLOAT_ORDER: tuple[Binary, ...] = (
    lambda a, b: np.zeros(np.broadcast_shapes(np.shape(a), np.shape(b)), np.bool_)[()],
    _python.eq,
    _python.gt,
    _python.ge,
    _python.lt,
    _python.le,
    lambda a, b: (a < b) | (a > b),
    lambda a, b: ~_unordered(a, b),
    lambda a, b: (a == b) | _unordered(a, b),
    lambda a, b: ~(a <= b),
    lambda a, b: ~(a < b),
    lambda a, b: ~(a >= b),
    lambda a, b: ~(a > b),
    _python.ne,
    _unordered,
    lambda a, b: np.ones(np.broadcast_shapes(np.shape(a), np.shape(b)), np.bool_)[()],
)


@implements("arith.cmpf")
def prepare_cmpf(op: arith.CmpfOp) -> Binary:
    """Comparison of floats, by the number of its predicate."""
    return _FLOAT_ORDER[op.predicate.value.data]


def select(condition: Value, a: Value, b: Value) -> Value:
    """The first or the second value by a condition, elementwise for a grid of conditions."""
    return _numpy.where(condition, a, b) if is_grid(condition) else (a if condition else b)


implement_all({"arith.select": select})


@implements("arith.dot_bytes")
def prepare_dot_bytes(op: DotBytesOp) -> Callable[[Value, Value, Value], Value]:
    """A sum plus four products of bytes, unsigned times signed."""

    def dot(a: Value, b: Value, acc: Value) -> Value:
        unsigned_bytes = np.ascontiguousarray(np.asarray(a, np.int32)[..., None]).view(np.uint8)
        signed_bytes = np.ascontiguousarray(np.asarray(b, np.int32)[..., None]).view(np.int8)
        products = unsigned_bytes.astype(np.int64) * signed_bytes.astype(np.int64)
        return (products.sum(-1) + np.asarray(acc, np.int64)).astype(np.int32)[()]

    return dot


@implements("arith.dot_shorts")
def prepare_dot_shorts(op: DotShortsOp) -> Callable[[Value, Value, Value], Value]:
    """A sum plus two products of signed 16-bit numbers."""

    def dot(a: Value, b: Value, acc: Value) -> Value:
        halves = [np.ascontiguousarray(np.asarray(x, np.int32)[..., None]).view(np.int16) for x in (a, b)]
        products = halves[0].astype(np.int64) * halves[1].astype(np.int64)
        return (products.sum(-1) + np.asarray(acc, np.int64)).astype(np.int32)[()]

    return dot


@implements("arith.dot_pairs")
def prepare_dot_pairs(op: DotPairsOp) -> Callable[[Value, Value, Value], Value]:
    """A sum in each 16-bit half plus two products of bytes, unsigned times signed."""

    def dot(a: Value, b: Value, acc: Value) -> Value:
        numbers, others, sums = (
            np.ascontiguousarray(np.asarray(x, np.int32)[..., None]).view(dtype)
            for x, dtype in ((a, np.uint8), (b, np.int8), (acc, np.int16))
        )
        products = numbers.astype(np.int32) * others.astype(np.int32)
        halves = products.reshape(*sums.shape, 2).sum(-1) + sums
        return np.ascontiguousarray(halves.astype(np.int16)).view(np.int32)[..., 0]

    return dot


@implements("arith.dot_bfloats")
def prepare_dot_bfloats(op: DotBfloatsOp) -> Callable[[Value, Value, Value], Value]:
    """A sum plus the products of two pairs of bf16, rounded to f32 after each."""

    def dot(a: Value, b: Value, acc: Value) -> Value:
        packed = [np.asarray(x, np.int32).view(np.uint32) for x in (a, b)]
        upper = [(w & np.uint32(0xFFFF0000)).view(np.float32).astype(np.float64) for w in packed]
        lower = [(w << np.uint32(16)).view(np.float32).astype(np.float64) for w in packed]
        total = (upper[0] * upper[1] + acc).astype(np.float32)
        return (lower[0] * lower[1] + total).astype(np.float32)[()]

    return dot


@implements("arith.pack_bfloats")
def prepare_pack_bfloats(op: PackBfloatsOp) -> Unary:
    """Neighbouring lanes rounded to bf16, the first one in the lower half."""
    return lambda a: np.ascontiguousarray(a).astype(dtype_of(bf16)).view(np.int32)


@implements("arith.pair_bfloats")
def prepare_pair_bfloats(op: PairBfloatsOp) -> Binary:
    """Two numbers rounded to bf16, the first one in the lower half."""

    def pair(low: Value, high: Value) -> Value:
        both = np.stack(np.broadcast_arrays(np.asarray(low), np.asarray(high)), axis=-1)
        return both.astype(dtype_of(bf16)).view(np.int32)[..., 0][()]

    return pair


@implements("arith.scale")
def prepare_scale(op: ScaleOp) -> Binary:
    """A product with a power of two whose exponent is a float; NaN for an exponent that is NaN."""

    def scale(x: Value, n: Value) -> Value:
        whole = np.nan_to_num(np.clip(n, -1000, 1000))
        return np.ldexp(x, np.asarray(whole, np.int32)) + np.where(np.isnan(n), n, np.float32(0))

    return scale


def converted(value: Value, dtype: np.dtype[np.generic]) -> Value:
    """A number or an array in another dtype, as C converts it."""
    return np.asarray(value).astype(dtype)[()]


@implements("arith.extf", "arith.truncf", "arith.sitofp", "arith.extsi", "arith.trunci")
def prepare_signed_cast(op: Operation) -> Unary:
    """Casts of signed integers and floats; a set bit is -1."""
    source, target = numpy_dtype(op.operands[0].type), numpy_dtype(op.results[0].type)
    if target.kind == "b" and source.kind == "i":
        return lambda a: converted(a & 1, target)
    if source.kind == "b" and op.name in ("arith.sitofp", "arith.extsi"):
        return lambda a: converted(-converted(a, np.dtype(np.int8)), target)
    return lambda a: converted(a, target)


@implements("arith.extui", "arith.uitofp")
def prepare_unsigned_source(op: Operation) -> Unary:
    """Casts of unsigned integers to wider types and floats."""
    source, target = numpy_dtype(op.operands[0].type), numpy_dtype(op.results[0].type)
    bits = np.dtype(np.uint8) if source.kind == "b" else np.dtype(f"u{source.itemsize}")
    return lambda a: converted(np.asarray(a, source).view(bits), target)


@implements("arith.fptosi")
def prepare_signed_target(op: Operation) -> Unary:
    """The cast of a float to a signed integer: the nearest bound if it does not fit, 0 for NaN."""
    target = numpy_dtype(op.results[0].type)
    bits = 1 if target.kind == "b" else 8 * target.itemsize
    beyond = 1 << bits - 1

    def cast(a: Value) -> Value:
        number = np.trunc(np.asarray(a, np.float64))
        over, under = number >= beyond, number < -beyond
        whole = np.where(over | under | np.isnan(number), 0, number).astype(np.int64)
        return converted(np.select([over, under], [beyond - 1, -beyond], whole), target)

    return cast


@implements("arith.fptoui")
def prepare_unsigned_target(op: Operation) -> Unary:
    """The cast of a float to an unsigned integer."""
    target = numpy_dtype(op.results[0].type)
    bits = np.dtype(np.uint8) if target.kind == "b" else np.dtype(f"u{target.itemsize}")
    return lambda a: converted(a, bits).view(target)


@implements("arith.bitcast", "vector.bitcast")
def prepare_bitcast(op: Operation) -> Unary:
    """The same bits as another type."""
    target = numpy_dtype(op.results[0].type)
    return lambda a: np.ascontiguousarray(a).reshape(np.shape(a)).view(target)[()]


@implements("arith.index_cast", "arith.index_castui")
def prepare_index_cast(op: Operation) -> Unary:
    """A cast between an index, a plain int, and a number of some width."""
    if isinstance(op.results[0].type, IndexType):
        return lambda a: converted(a, np.dtype(np.int64)) if is_grid(a) else int(a)
    target = numpy_dtype(op.results[0].type)
    return lambda a: converted(a, target)
