"""`adt` and `ref`: values of data types, the cases of matches, and mutable cells."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from stepwell.dialects import adt, ref
from stepwell.dialects.adt.patterns import ANYTHING, BOUND, TUPLE, PatternAttr
from stepwell.lowering.interpret.engine import (
    Compiler,
    Frame,
    Running,
    Step,
    Unary,
    Value,
    implements,
    implements_in_frame,
    packed,
    step_of,
)
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.values import Data

Fit: TypeAlias = Callable[[Value, list[Value]], bool]
"""Whether a value fits a pattern, whose bound parts are added to the list."""


@implements("adt.make")
def prepare_make(op: adt.MakeOp) -> Step:
    """A constructor applied to its fields."""
    constructor = op.name_of_constructor
    return lambda *fields: Data(constructor, fields)


def fit_of(pattern: PatternAttr) -> Fit:
    """The test of a pattern."""
    if pattern.kind == ANYTHING:
        return lambda value, bound: True
    if pattern.kind == BOUND:

        def bind(value: Value, bound: list[Value]) -> bool:
            bound.append(value)
            return True

        return bind
    parts = [fit_of(part) for part in pattern.parts]
    if pattern.kind == TUPLE:
        return lambda value, bound: all(fit(field, bound) for fit, field in zip(parts, value, strict=True))
    constructor = pattern.kind

    def fits(value: Data, bound: list[Value]) -> bool:
        fields = zip(parts, value.fields, strict=False)
        return value.constructor == constructor and all(fit(field, bound) for fit, field in fields)

    return fits


@implements_in_frame("adt.match")
def prepare_match(op: adt.MatchOp, compiler: Compiler) -> Step:
    """The first case whose pattern fits the value."""
    bodies = [compiler.steps(case.block) for case in op.cases]
    cases = list(zip(map(fit_of, op.patterns), bodies, strict=True))

    def run(frame: Frame, value: Value) -> Running:
        for fit, body in cases:
            bound: list[Value] = []
            if fit(value, bound):
                return packed((yield from body.start(frame, bound)))
        what = value.constructor if isinstance(value, Data) else "the value"
        raise StepwellError("no-case", op, f"no case of this match fits {what}")

    return step_of(run, *bodies)


@implements("ref.new")
def prepare_new(op: ref.NewOp) -> Unary:
    """A new cell: a list of one value."""
    return lambda value: [value]


@implements("ref.read")
def prepare_read(op: ref.ReadOp) -> Unary:
    """The value in a cell."""
    return lambda cell: cell[0]


@implements("ref.write")
def prepare_write(op: ref.WriteOp) -> Step:
    """Put a value into a cell."""

    def write(cell: Value, value: Value) -> tuple[()]:
        cell[0] = value
        return ()

    return write
