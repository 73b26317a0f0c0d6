"""Proofs that indices of formulas are inside, by the analyzer of integers; points at which they are not."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice, product
from typing import NamedTuple

from stepwell.frontend.te.expressions import Axis, Call, Expr, Number, Size, is_integer, size_of, walk
from stepwell.frontend.te.integers import is_nonnegative, keeps_numbers
from stepwell.runtime.dims import Dim

_MOST_POINTS = 4096
_MOST_CASES = 16
_TRIED_SIZES = (1, 2, 3, 4, 7)
_SIGNS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "=="}
_OPPOSITE = {"<": ">=", "<=": ">", ">": "<=", ">=": "<"}


class Point(NamedTuple):
    """Values of sizes and axes, with the value of an index there, and the extent."""

    sizes: Mapping[str, int]
    axes: Mapping[str, int]
    value: int
    extent: int


class _Case(NamedTuple):
    """A value of an expression, with the comparisons under which it is the value."""

    value: Dim
    facts: tuple[str, ...]


class _Unknown(Exception):
    """An expression whose value depends on data."""


def proves_inside(index: Expr, extent: Dim, positive: Mapping[str, Dim]) -> bool:
    """Whether an index is inside an extent at all points, by the analyzer or by trying all of them."""
    if extent.is_unknown or point_outside(index, extent, _corners) is not None:
        return False
    words = _Words(index, extent, positive)
    try:
        cases = words.cases(index)
    except ArithmeticError:
        return False
    if all(_is_proved(case, extent, words, positive) for case in cases):
        return True
    axes = _axes(index)
    is_static = all(axis.extent.is_static and _low(axis).is_static for axis in axes) and extent.is_static
    return is_static and _holds_everywhere(index, extent, axes)


def _is_proved(case: _Case, extent: Dim, words: _Words, positive: Mapping[str, Dim]) -> bool:
    from stepwell.runtime.integers.analyzer import Analyzer  # few formulas need it

    analyzer = Analyzer(words.ranges)
    for name in positive:
        analyzer.assume(f"{name} >= 1")
    for fact in case.facts:
        analyzer.assume(fact)
    return (
        analyzer.proves(f"{case.value} >= 0") is True and analyzer.proves(f"{case.value} < {extent}") is True
    )


class _Words:
    """The names of the axes of an expression, and of what nothing is known of, with their ranges."""

    def __init__(self, index: Expr, extent: Dim, positive: Mapping[str, Dim]):
        self._positive = positive
        dims = [part.dim for part in walk(index) if isinstance(part, Size)] + [extent]
        dims += [dim for axis in _axes(index) for dim in (axis.extent, _low(axis))]
        self._taken = {name for dim in dims for name in dim.symbols()}
        self._names: dict[Expr, str] = {}
        self.ranges: dict[str, tuple[Dim | None, Dim | None]] = {}

    def cases(self, expr: Expr) -> list[_Case]:
        """The values of an integer expression by the conditions in it."""
        match expr:
            case Axis():
                low = _low(expr)
                return [_Case(self._symbol(expr, low, low + expr.extent - 1), ())]
            case Size() | Number():
                return [_Case(size_of(expr), ())]
            case Call(op="cast", parts=(part,)) if keeps_numbers(part.dtype, expr.dtype):
                return self.cases(part)
            case Call(op="select" | "if_then_else", parts=(condition, a, b)):
                sides = ((a, self._facts(condition, True)), (b, self._facts(condition, False)))
                found = [_Case(v, (*f, *facts)) for side, facts in sides for v, f in self.cases(side)]
                return found if len(found) <= _MOST_CASES else [self._opaque(expr)]
            case Call(op=op, parts=(a, b)) if op in _BINARY:
                return self._combined(expr, _BINARY[op], a, b)
            case Call(op="floordiv" | "floormod" as op, parts=(a, b)):
                return self._divided(expr, op, a, b)
            case _:
                return [self._opaque(expr)]

    def _combined(self, expr: Expr, combine: Callable[[Dim, Dim], Dim], a: Expr, b: Expr) -> list[_Case]:
        found = [
            _Case(combine(x.value, y.value), (*x.facts, *y.facts))
            for x, y in product(self.cases(a), self.cases(b))
        ]
        return found if len(found) <= _MOST_CASES else [self._opaque(expr)]

    def _divided(self, expr: Expr, op: str, a: Expr, b: Expr) -> list[_Case]:
        by = size_of(b) if isinstance(b, Size | Number) else None
        if by is None or not by.is_static or by.value < 1:
            is_rest = op == "floormod" and by is not None and is_nonnegative(by - 1, self._positive)
            low, high = (Dim.of(0), by - 1) if is_rest and by is not None else (None, None)
            return [_Case(self._symbol(expr, low, high), ())]
        if op == "floordiv":
            return [_Case(value // by, facts) for value, facts in self.cases(a)]
        return [_Case(value - (value // by) * by, facts) for value, facts in self.cases(a)]

    def _opaque(self, expr: Expr) -> _Case:
        return _Case(self._symbol(expr, None, None), ())

    def _symbol(self, expr: Expr, low: Dim | None, high: Dim | None) -> Dim:
        if (name := self._names.get(expr)) is None:
            number = len(self._names)
            while (name := f"v{number}") in self._taken:
                number += 1
            self._taken.add(name)
            known = [None if end is None or end.is_unknown else end for end in (low, high)]
            self._names[expr], self.ranges[name] = name, (known[0], known[1])
        return Dim.symbol(name)

    def _facts(self, condition: Expr, holds: bool) -> tuple[str, ...]:
        """The comparisons that follow from a condition."""
        match condition:
            case Call(op="all", parts=(a, b)) if holds:
                return (*self._facts(a, True), *self._facts(b, True))
            case Call(op=op, parts=(a, b)) if op in _SIGNS and is_integer(a.dtype):
                left, right = self.cases(a), self.cases(b)
                sign = _SIGNS[op] if holds else _OPPOSITE.get(_SIGNS[op])
                if sign is None or len(left) > 1 or len(right) > 1:
                    return ()
                return (f"{left[0].value} {sign} {right[0].value}",)
            case _:
                return ()


_BINARY: Mapping[str, Callable[[Dim, Dim], Dim]] = {
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * b,
    "minimum": Dim.minimum,
    "maximum": Dim.maximum,
}


def _low(axis: Axis) -> Dim:
    return Dim.of(0) if axis.low is None else axis.low


def _axes(expr: Expr) -> list[Axis]:
    return list(dict.fromkeys(part for part in walk(expr) if isinstance(part, Axis)))


def _corners(ranges: Sequence[range]) -> Iterator[tuple[int, ...]]:
    """The first and the last value of each axis, in all combinations."""
    return product(*(dict.fromkeys((values[0], values[-1])) for values in ranges))


def _all_points(ranges: Sequence[range]) -> Iterator[tuple[int, ...]]:
    return product(*ranges)


def point_outside(
    index: Expr, extent: Dim, points: Callable[[Sequence[range]], Iterator[tuple[int, ...]]] = _all_points
) -> Point | None:
    """A point at which an index is outside, with small numbers for open sizes; None where none is found."""
    axes = _axes(index)
    dims = [extent, *(dim for axis in axes for dim in (axis.extent, _low(axis)))]
    dims += [part.dim for part in walk(index) if isinstance(part, Size)]
    if any(dim.is_unknown for dim in dims):
        return None
    names = sorted({name for dim in dims for name in dim.symbols()})
    try:
        for numbers in islice(product(_TRIED_SIZES, repeat=len(names)), _MOST_POINTS):
            sizes = dict(zip(names, numbers, strict=True))
            ranges = [_range(axis, sizes) for axis in axes]
            if not all(ranges):
                continue
            size = extent.evaluate(sizes)
            for point in islice(points(ranges), _MOST_POINTS):
                values = dict(zip(axes, point, strict=True))
                found = _value(index, values, sizes)
                if not 0 <= found < size:
                    return Point(sizes, {axis.name: at for axis, at in values.items()}, found, size)
    except (_Unknown, ArithmeticError):
        return None
    return None


def _range(axis: Axis, sizes: Mapping[str, int]) -> range:
    low = _low(axis).evaluate(sizes)
    return range(low, low + axis.extent.evaluate(sizes))


def _holds_everywhere(index: Expr, extent: Dim, axes: Sequence[Axis]) -> bool:
    """Whether an index is inside at each of at most so many points."""
    count = 1
    for axis in axes:
        count *= axis.extent.value
    if count > _MOST_POINTS:
        return False
    try:
        return all(
            0 <= _value(index, dict(zip(axes, point, strict=True)), {}) < extent.value
            for point in _all_points([_range(axis, {}) for axis in axes])
        )
    except (_Unknown, ArithmeticError):
        return False


def _value(expr: Expr, axes: Mapping[Axis, int], sizes: Mapping[str, int]) -> int:
    """The value of an expression at a point. Raises: _Unknown where it depends on data."""
    match expr:
        case Axis():
            return axes[expr]
        case Size():
            return expr.dim.evaluate(sizes)
        case Number():
            return int(expr.value)
        case Call(op="cast", parts=(part,)) if keeps_numbers(part.dtype, expr.dtype):
            return _value(part, axes, sizes)
        case Call(op="select" | "if_then_else", parts=(condition, a, b)):
            return _value(a if _value(condition, axes, sizes) else b, axes, sizes)
        case Call(op="not_", parts=(part,)):
            return not _value(part, axes, sizes)
        case Call(op="negate", parts=(part,)):
            return -_value(part, axes, sizes)
        case Call(op=op, parts=(a, b)) if op in _VALUES:
            return _VALUES[op](_value(a, axes, sizes), _value(b, axes, sizes))
        case _:
            raise _Unknown


def _floordiv(a: int, b: int) -> int:
    return a // b if b else 0


def _floormod(a: int, b: int) -> int:
    return a % b if b else 0


_VALUES: Mapping[str, Callable[[int, int], int]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "minimum": min,
    "maximum": max,
    "floordiv": _floordiv,
    "floormod": _floormod,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
    "eq": operator.eq,
    "ne": operator.ne,
    "all": min,
    "any": max,
}
