"""Arithmetic, logic and comparisons: a function of numpy for each name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple

import numpy as np

from stepwell.lowering.interpret.ptx import exact
from stepwell.lowering.interpret.ptx.code import Code, Frame, Step, makes
from stepwell.lowering.interpret.ptx.reader import Instruction
from stepwell.lowering.interpret.ptx.values import TYPES, DType, Value, where

_U32, _U64 = np.dtype(np.uint32), np.dtype(np.uint64)
_NEAREST = ("rn",)


class _Rule(NamedTuple):
    """The meaning of instructions of a name for some types."""

    function: Callable[..., Value]
    kinds: str = "uif"
    """The kinds of types as numpy has them: unsigned, signed, float, or `b` for predicates."""
    modifiers: tuple[str, ...] = ()
    """Parts of the name between first and last that change nothing here."""
    needed: str | None = None
    """A part that floats need: without it the hardware is free to round otherwise."""
    others: tuple[DType | None, ...] = ()
    """The types of operands after the first; None for that of the instruction."""
    operands: int = 2


def _negated(a: Value) -> Value:
    return (a.view(np.dtype(f"u{a.dtype.itemsize}")) ^ _sign(a)).view(a.dtype) if a.dtype.kind == "f" else -a


def _quotient(a: Value, b: Value) -> Value:
    return a / b if a.dtype.kind == "f" else exact.quotient(a, b)


def _reciprocal(a: Value) -> Value:
    return a.dtype.type(1) / a


def _count_of_ones(a: Value) -> Value:
    return np.bitwise_count(a).astype(_U32)


def _sign(a: Value) -> Value:
    return np.array(1 << (8 * a.dtype.itemsize - 1), np.dtype(f"u{a.dtype.itemsize}"))[()]


def _with_sign_of(a: Value, b: Value) -> Value:
    """b with the sign of a, in the order of PTX."""
    return np.copysign(b, a)


def _reversed(a: Value) -> Value:
    """The bits in the other order."""
    for shift, mask in ((1, 0x55555555), (2, 0x33333333), (4, 0x0F0F0F0F), (8, 0x00FF00FF), (16, 0x0000FFFF)):
        low, by = a.dtype.type(mask if a.dtype.itemsize == 4 else mask << 32 | mask), a.dtype.type(shift)
        a = ((a >> by) & low) | ((a & low) << by)
    return (a >> np.uint64(32)) | (a << np.uint64(32)) if a.dtype.itemsize == 8 else a


def _leading_zeros(a: Value) -> Value:
    """The number of zeros above the highest bit that is set, as u32."""
    count = np.zeros_like(a)
    width = 8 * a.dtype.itemsize
    remaining = a
    step = width // 2
    while step:
        above = remaining >> a.dtype.type(width - step)
        zero = above == 0
        count = where(zero, count + a.dtype.type(step), count)
        remaining = where(zero, remaining << a.dtype.type(step), remaining)
        step //= 2
    return where(a == 0, a.dtype.type(width), count).astype(_U32)


def _any_logic(table: int) -> Callable[..., Value]:
    """The function of three bits of `lop3`: the table has its result for each triple."""

    def function(a: Value, b: Value, c: Value) -> Value:
        total: Value = np.zeros_like(a)
        for number in range(8):
            if table >> number & 1:
                x, y, z = number & 4, number & 2, number & 1
                total = total | ((a if x else ~a) & (b if y else ~b) & (c if z else ~c))
        return total

    return function


def _bytes_of(a: Value, b: Value, selector: Value) -> Value:
    """Four bytes of eight, each by a digit of a selector; a digit above 7 copies the sign over its byte."""
    both = a.astype(_U64) | (b.astype(_U64) << np.uint64(32))
    total: Value = np.uint32(0)
    for place in range(4):
        digit = (selector >> np.uint32(4 * place)) & np.uint32(15)
        byte = (both >> ((digit & np.uint32(7)).astype(_U64) * np.uint64(8))) & np.uint64(255)
        sign = where(byte >> np.uint64(7) != 0, np.uint64(255), np.uint64(0))
        byte = where(digit > 7, sign, byte)
        total = total | (byte.astype(_U32) << np.uint32(8 * place))
    return total


def _exp2(a: Value) -> Value:
    """2 to a power, rounded; the hardware's `ex2.approx` is within 2 units in the last place of it."""
    return np.exp2(a.astype(np.float64)).astype(np.float32)


_RULES: Mapping[str, _Rule] = {
    "add": _Rule(np.add, modifiers=_NEAREST, needed="rn"),
    "sub": _Rule(np.subtract, modifiers=_NEAREST, needed="rn"),
    "div": _Rule(_quotient, modifiers=_NEAREST, needed="rn"),
    "rem": _Rule(exact.remainder, "ui"),
    "neg": _Rule(_negated, "if", operands=1),
    "abs": _Rule(np.abs, "if", operands=1),
    "copysign": _Rule(_with_sign_of, "f"),
    "rcp": _Rule(_reciprocal, "f", _NEAREST, "rn", operands=1),
    "sqrt": _Rule(np.sqrt, "f", _NEAREST, "rn", operands=1),
    "ex2": _Rule(_exp2, "f", ("approx",), "approx", operands=1),
    "and": _Rule(np.bitwise_and, "ub"),
    "or": _Rule(np.bitwise_or, "ub"),
    "xor": _Rule(np.bitwise_xor, "ub"),
    "not": _Rule(np.invert, "ub", operands=1),
    "shl": _Rule(exact.shifted_left, "u", others=(_U32,)),
    "shr": _Rule(exact.shifted_right, "ui", others=(_U32,)),
    "bfe": _Rule(exact.field, "ui", others=(_U32, _U32), operands=3),
    "bfi": _Rule(exact.inserted, "u", others=(None, _U32, _U32), operands=4),
    "brev": _Rule(_reversed, "u", operands=1),
    "clz": _Rule(_leading_zeros, "u", operands=1),
    "popc": _Rule(_count_of_ones, "u", operands=1),
    "prmt": _Rule(_bytes_of, "u", operands=3),
}


@makes(*_RULES)
def make_elementwise(code: Code, instruction: Instruction) -> Step:
    """An instruction of `_RULES`."""
    name, *modifiers, type = instruction.parts
    rule, dtype = _RULES[name], TYPES[type]
    is_float = dtype.kind == "f"
    if dtype.kind not in rule.kinds or (
        is_float and rule.needed is not None and rule.needed not in modifiers
    ):
        raise ValueError(name)
    if not {*modifiers} <= {*rule.modifiers} or (name == "ex2" and type != "f32"):
        raise ValueError(name)
    others = [each or dtype for each in rule.others] or [dtype] * (rule.operands - 1)
    return elementwise(code, instruction, rule.function, [dtype, *others])


def elementwise(
    code: Code, instruction: Instruction, function: Callable[..., Value], dtypes: list[DType]
) -> Step:
    """A step for a function of all operands after the first, the register of the result."""
    target, *sources = instruction.operands
    put = code.put(target)
    if len(dtypes) != len(sources):
        raise ValueError(instruction.text)
    gets = [code.get(source, dtype) for source, dtype in zip(sources, dtypes, strict=True)]
    if len(gets) == 2:
        first, second = gets

        def run_two(frame: Frame) -> None:
            put(frame, function(first(frame), second(frame)))

        return run_two

    def run(frame: Frame) -> None:
        put(frame, function(*[get(frame) for get in gets]))

    return run


@makes("mul", "mad")
def make_product(code: Code, instruction: Instruction) -> Step:
    """A product, with a third operand a product and a sum."""
    name, *modifiers, type = instruction.parts
    dtype = TYPES[type]
    how = modifiers[0] if len(modifiers) == 1 else ""
    if (
        (how == "rn") != (dtype.kind == "f")
        or how not in ("rn", "lo", "hi", "wide")
        or (name, how) == ("mad", "rn")
    ):
        raise ValueError(instruction.text)
    result = np.dtype(f"{dtype.kind}{2 * dtype.itemsize}") if how == "wide" else dtype
    product = _product(how, dtype, result)
    if name == "mul":
        return elementwise(code, instruction, product, [dtype, dtype])

    def product_and_sum(a: Value, b: Value, c: Value) -> Value:
        return product(a, b) + c

    return elementwise(code, instruction, product_and_sum, [dtype, dtype, result])


def _product(how: str, dtype: DType, result: DType) -> Callable[[Value, Value], Value]:
    """The function of a product: all bits of it, the lower half, or the upper one."""
    wide = np.dtype(f"{dtype.kind}{min(8, 2 * dtype.itemsize)}")

    def all_bits(a: Value, b: Value) -> Value:
        return a.astype(wide) * b.astype(wide)

    def upper_half(a: Value, b: Value) -> Value:
        return (all_bits(a, b) >> wide.type(8 * dtype.itemsize)).astype(dtype)

    if how == "wide":
        return all_bits
    if how != "hi":
        return np.multiply
    if dtype.itemsize == 8:
        return exact.signed_high_product if dtype.kind == "i" else exact.high_product
    return upper_half


@makes("fma")
def make_fma(code: Code, instruction: Instruction) -> Step:
    """A fused multiply-add of floats, rounded once."""
    _, rounding, type = instruction.parts
    if rounding != "rn":
        raise ValueError(instruction.text)
    function = {"f32": exact.fma, "f64": exact.wide_fma}[type]
    return elementwise(code, instruction, function, [TYPES[type]] * 3)


@makes("min", "max")
def make_extremum(code: Code, instruction: Instruction) -> Step:
    """
    A minimum or maximum; of floats NaN is the result with `.NaN`, and never else. Integers below 0 become 0
    with `.relu`, which LLVM writes from sm_90 on.
    """
    name, *modifiers, type = instruction.parts
    dtype = TYPES[type]
    if dtype.kind == "f":
        of_floats = exact.maximum if name == "max" else exact.minimum
        if modifiers not in ([], ["NaN"]):
            raise ValueError(instruction.text)
        return elementwise(code, instruction, partial(of_floats, keeps_nan=bool(modifiers)), [dtype] * 2)
    of_integers = np.maximum if name == "max" else np.minimum
    if modifiers == ["relu"] and type == "s32":

        def rectified(a: Value, b: Value) -> Value:
            return np.maximum(of_integers(a, b), dtype.type(0))

        return elementwise(code, instruction, rectified, [dtype] * 2)
    if modifiers:
        raise ValueError(instruction.text)
    return elementwise(code, instruction, of_integers, [dtype] * 2)


@makes("selp")
def make_select(code: Code, instruction: Instruction) -> Step:
    """The choice between two values by a predicate."""
    dtype = TYPES[instruction.parts[1]]

    def choose(a: Value, b: Value, holds: Value) -> Value:
        return where(holds, a, b)

    return elementwise(code, instruction, choose, [dtype, dtype, np.dtype(np.bool_)])


_INTEGER_COMPARISONS: Mapping[str, Callable[..., Value]] = {
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater,
    "ge": np.greater_equal, "lo": np.less, "ls": np.less_equal, "hi": np.greater, "hs": np.greater_equal,
}  # fmt: skip
_JOINS: Mapping[str, Callable[..., Value]] = {
    "and": np.logical_and,
    "or": np.logical_or,
    "xor": np.logical_xor,
}


def _compares(name: str, kind: str) -> Callable[[Value, Value], Value]:
    """The function of a comparison; those of floats that end in `u` hold for NaN. Raises: KeyError."""
    if kind != "f":
        return _INTEGER_COMPARISONS[name]
    if name in ("num", "nan"):
        return lambda a, b: (np.isnan(a) | np.isnan(b)) == (name == "nan")
    if name.endswith("u"):
        unordered = _INTEGER_COMPARISONS[name[:-1]]
        return lambda a, b: unordered(a, b) | np.isnan(a) | np.isnan(b)
    if name == "ne":
        return lambda a, b: (a != b) & ~(np.isnan(a) | np.isnan(b))
    return _INTEGER_COMPARISONS[name]


@makes("setp")
def make_comparison(code: Code, instruction: Instruction) -> Step:
    """A predicate from a comparison, joined with another predicate if the name says so."""
    _, name, *joins, type = instruction.parts
    dtype, boolean = TYPES[type], np.dtype(np.bool_)
    compare = _compares(name, dtype.kind)
    if not joins:
        return elementwise(code, instruction, compare, [dtype, dtype])
    (join,) = joins
    function = _JOINS[join]

    def compare_and_join(a: Value, b: Value, other: Value) -> Value:
        return function(compare(a, b), other)

    return elementwise(code, instruction, compare_and_join, [dtype, dtype, boolean])


@makes("lop3")
def make_logic(code: Code, instruction: Instruction) -> Step:
    """Any logic function of three operands, by its table."""
    if instruction.parts != ("lop3", "b32"):
        raise ValueError(instruction.text)
    *operands, table = instruction.operands
    without = Instruction(instruction.line, instruction.text, instruction.parts, tuple(operands))
    return elementwise(code, without, _any_logic(int(table, 0)), [_U32] * 3)


@makes("shf")
def make_funnel(code: Code, instruction: Instruction) -> Step:
    """A shift of two registers as one."""
    _, direction, how, type = instruction.parts
    if type != "b32" or how not in ("wrap", "clamp") or direction not in ("l", "r"):
        raise ValueError(instruction.text)

    def shift(low: Value, high: Value, count: Value) -> Value:
        count = count & np.uint32(31) if how == "wrap" else np.minimum(count, np.uint32(32))
        both, by = low.astype(_U64) | (high.astype(_U64) << np.uint64(32)), count.astype(_U64)
        return (both >> by if direction == "r" else (both << by) >> np.uint64(32)).astype(_U32)

    return elementwise(code, instruction, shift, [_U32] * 3)
