"""Kinds of reductions: how elements are prepared, combined and finished, by the names of graph ops."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import f64
from xdsl.ir import SSAValue

from stepwell.dialects.linalg_builder.scalars import Scalars


def itself(scalars: Scalars, x: SSAValue) -> SSAValue:
    """The element unchanged."""
    return x


def _square(scalars: Scalars, x: SSAValue) -> SSAValue:
    """x * x."""
    return scalars.multiply(x, x)


def _root(scalars: Scalars, x: SSAValue) -> SSAValue:
    """The square root; of an integer, rounded down, by way of f64."""
    if scalars.is_float:
        return math.SqrtOp(x).result
    wide = Scalars(f64)
    return wide.convert(math.SqrtOp(scalars.convert(x, wide)).result, scalars)


def _and(scalars: Scalars, a: SSAValue, b: SSAValue) -> SSAValue:
    return arith.AndIOp(a, b).result


def _or(scalars: Scalars, a: SSAValue, b: SSAValue) -> SSAValue:
    return arith.OrIOp(a, b).result


@dataclass(frozen=True)
class ReductionKind:
    """A kind of reduction: preparation of an element, combination of two, its identity, and a final step."""

    combine: Callable[[Scalars, SSAValue, SSAValue], SSAValue]
    start: Callable[[Scalars], float]
    prepare: Callable[[Scalars, SSAValue], SSAValue] = itself
    finish: Callable[[Scalars, SSAValue], SSAValue] | None = None


def _zero(scalars: Scalars) -> float:
    return 0


def _one(scalars: Scalars) -> float:
    return 1


KINDS: Mapping[str, ReductionKind] = {
    "sum": ReductionKind(Scalars.add, _zero),
    "prod": ReductionKind(Scalars.multiply, _one),
    "max": ReductionKind(Scalars.maximum, Scalars.lowest),
    "min": ReductionKind(Scalars.minimum, Scalars.highest),
    "sum_square": ReductionKind(Scalars.add, _zero, _square),
    "l1": ReductionKind(Scalars.add, _zero, Scalars.absolute),
    "l2": ReductionKind(Scalars.add, _zero, _square, _root),
    "and": ReductionKind(_and, _one),
    "or": ReductionKind(_or, _zero),
}
