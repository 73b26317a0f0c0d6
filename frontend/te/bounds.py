"""Bounds of indices: proofs that reads are inside their tensors, and counterexamples."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from stepwell.frontend.te.expressions import Axis, Call, Expr, Number, Read, Size, size_of
from stepwell.frontend.te.integers import is_nonnegative, keeps_numbers
from stepwell.frontend.te.places import FormulaError
from stepwell.runtime.dims import Dim


class Interval(NamedTuple):
    """The least and the greatest value of an integer expression; None where nothing is known."""

    low: Dim | None
    high: Dim | None


class Linear(NamedTuple):
    """An integer expression as a sum: each atom with its factor, and a constant."""

    terms: Mapping[Expr, Dim]
    constant: Dim


_NOTHING = Interval(None, None)


def expect_inside(values: Iterable[Expr], positive: Mapping[str, Dim]) -> None:
    """
    Require all reads of formulas to be inside, guarded, or clamped.

    Args: `positive` is as `positive_extents` gives it.
    Raises: StepwellError `te-bounds`, with a counterexample.
    """
    for value in values:
        for read, is_guarded in _reads(value, is_guarded=False, seen=set()):
            if is_guarded and read.is_checked:
                raise FormulaError(
                    "te-bounds",
                    f"te.checked({read}) is on one side of te.if_then_else, and all its indices are checked",
                    help=f"te.clamped({read}) reads the nearest element, which the condition may leave out",
                    where=read.where,
                )
            if not is_guarded and not read.is_clamped:
                _expect_inside(read, positive)


def positive_extents(axes: Iterable[Axis]) -> Mapping[str, Dim]:
    """The symbols of extents, which are at least 1 at a point, as 1 more than a size from 0 on."""
    names = [str(axis.extent) for axis in axes if str(axis.extent).isidentifier()]
    return {name: Dim.symbol(name) + 1 for name in names}


def _reads(expr: Expr, *, is_guarded: bool, seen: set[tuple[int, bool]]) -> Iterator[tuple[Read, bool]]:
    """The reads of an expression, each with whether it is on one side of an `if_then_else`."""
    if (id(expr), is_guarded) in seen:
        return
    seen.add((id(expr), is_guarded))
    if isinstance(expr, Read):
        yield expr, is_guarded
    for position, part in enumerate(expr.parts):
        inside = isinstance(expr, Call) and expr.op == "if_then_else" and position > 0
        yield from _reads(part, is_guarded=is_guarded or inside, seen=seen)


def is_inside(read: Read, axis: int, positive: Mapping[str, Dim]) -> bool:
    """Whether the index of a read along a dimension is provably inside."""
    size = read.tensor.dims[axis]
    for loose in (False, True):
        low, high = interval(read.indices[axis], loose=loose)
        if low is None or high is None:
            break
        if is_nonnegative(low, positive) and is_nonnegative(size - 1 - high, positive):
            return True
    from stepwell.frontend.te.index_proofs import proves_inside  # few formulas need it

    return proves_inside(read.indices[axis], size, positive)


def _expect_inside(read: Read, positive: Mapping[str, Dim]) -> None:
    for axis, (index, size) in enumerate(zip(read.indices, read.tensor.dims, strict=True)):
        if is_inside(read, axis, positive):
            continue
        raise FormulaError(
            "te-bounds",
            f"`{read}`: {_reached(index, size, positive)}, the extent is {size}",
            help=_help(read, index),
            where=read.where,
        )


def _help(read: Read, index: Expr) -> str:
    if None in interval(index):
        return f"te.clamped({read}) reads the nearest element, te.checked({read}) makes it an error"
    return "te.if_then_else(condition, …, 0) reads nothing where the condition does not hold"


def _reached(index: Expr, size: Dim, positive: Mapping[str, Dim]) -> str:
    """The value of an index that is outside, and where; or the reason why it may be outside."""
    from stepwell.frontend.te.index_proofs import point_outside

    low, high = interval(index)
    if low is not None and high is not None and _is_sum(index):
        is_low = not is_nonnegative(low, positive)
        reached, at = (low, _corner(index, least=True)) if is_low else (high, _corner(index, least=False))
        return f"{index} reaches {reached}{f' at {at}' if at else ''}"
    if (point := point_outside(index, size)) is not None:
        at = ", ".join(f"{name} = {value}" for name, value in (*point.axes.items(), *point.sizes.items()))
        return f"{index} reaches {point.value}{f' at {at}' if at else ''}"
    if low is None and high is None:
        return f"nothing bounds the index `{index}`"
    return f"`{index}` is not provably inside"


def _is_sum(index: Expr) -> bool:
    """Whether an index is a sum of axes, so that the ends of the axes give its bounds."""
    return all(isinstance(atom, Axis) for atom in linear(index).terms)


def _corner(index: Expr, *, least: bool) -> str:
    """The values of the axes at which a sum of them is least or greatest, as text."""
    found: list[str] = []
    for atom, factor in linear(index).terms.items():
        for axis in (part for part in _atoms(atom) if isinstance(part, Axis)):
            low, high = _of_axis(axis)
            found.append(f"{axis} = {low if least == factor.is_nonnegative else high}")
    return ", ".join(dict.fromkeys(found))


def _atoms(expr: Expr) -> Sequence[Expr]:
    return [expr] if not expr.parts else [atom for part in expr.parts for atom in _atoms(part)]


def linear(expr: Expr) -> Linear:
    """An integer expression as a sum of axes and of other atoms."""
    if isinstance(expr, Size | Number):
        return Linear({}, size_of(expr))
    if isinstance(expr, Call) and expr.op in ("add", "subtract"):
        left, right = map(linear, expr.parts)
        sign = Dim.of(1 if expr.op == "add" else -1)
        terms = dict(left.terms)
        for atom, factor in right.terms.items():
            terms[atom] = terms.get(atom, Dim.of(0)) + factor * sign
        return Linear({a: f for a, f in terms.items() if f != 0}, left.constant + right.constant * sign)
    if isinstance(expr, Call) and expr.op == "multiply":
        left, right = map(linear, expr.parts)
        form, other = (left, right) if not right.terms else (right, left)
        if not other.terms:
            factor = other.constant
            return Linear({a: f * factor for a, f in form.terms.items()}, form.constant * factor)
    return Linear({expr: Dim.of(1)}, Dim.of(0))


def interval(expr: Expr, *, loose: bool = False) -> Interval:
    """
    The minimum and maximum of an integer expression.

    Args: with `loose`, a quotient is bounded by its numerator; this proves more than a symbolic quotient.
    """
    terms, constant = linear(expr)
    low: Dim | None = constant
    high: Dim | None = constant
    for atom, factor in terms.items():
        a, b = _of_atom(atom, loose)
        if not factor.is_nonnegative:
            a, b = b, a
            if not (-factor).is_nonnegative:
                return _NOTHING
        low = None if low is None or a is None else low + a * factor
        high = None if high is None or b is None else high + b * factor
    return Interval(low, high)


def _of_axis(axis: Axis) -> tuple[Dim, Dim]:
    low = Dim.of(0) if axis.low is None else axis.low
    return low, low + axis.extent - 1


def _of_atom(atom: Expr, loose: bool) -> Interval:
    match atom:
        case Axis():
            return Interval(*_of_axis(atom))
        case Call(op="floordiv" | "floormod"):
            return _of_division(atom, loose)
        case Call(op="minimum" | "maximum"):
            return _of_extremum(atom, loose)
        case Call(op="select" | "if_then_else", parts=(_, a, b)):
            return _joined(interval(a, loose=loose), interval(b, loose=loose))
        case Call(op="cast", parts=(part,)) if keeps_numbers(part.dtype, atom.dtype):
            return interval(part, loose=loose)
        case _:
            return _NOTHING


def _of_division(atom: Call, loose: bool) -> Interval:
    (low, high), divisor = interval(atom.parts[0], loose=loose), linear(atom.parts[1])
    by = divisor.constant
    if divisor.terms or not (by - 1).is_nonnegative:
        return _NOTHING
    if atom.op == "floormod":
        if low is not None and high is not None and low.is_nonnegative and (by - 1 - high).is_nonnegative:
            return Interval(low, high)
        return Interval(Dim.of(0), by - 1)
    bottom = None if low is None else low // by
    if loose and high is not None and (high + 1).is_nonnegative:
        return Interval(bottom, high)
    return Interval(bottom, None if high is None else high // by)


def _of_extremum(atom: Call, loose: bool) -> Interval:
    (a, b), (c, d) = (interval(part, loose=loose) for part in atom.parts)
    if atom.op == "minimum":
        low = None if a is None or c is None else a.minimum(c)
        return Interval(low, b.minimum(d) if b is not None and d is not None else b or d)
    high = None if b is None or d is None else b.maximum(d)
    return Interval(a.maximum(c) if a is not None and c is not None else a or c, high)


def _joined(x: Interval, y: Interval) -> Interval:
    low = None if x.low is None or y.low is None else x.low.minimum(y.low)
    high = None if x.high is None or y.high is None else x.high.maximum(y.high)
    return Interval(low, high)
