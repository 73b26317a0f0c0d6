"""Python values as attributes, by their own class or by what the definition of an op accepts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias, cast

from xdsl.dialects.builtin import (
    AnyFloat,
    ArrayAttr,
    DenseArrayBase,
    FloatAttr,
    IntegerAttr,
    StringAttr,
    UnitAttr,
    f32,
    f64,
    i1,
    i32,
    i64,
)
from xdsl.ir import Attribute
from xdsl.irdl import AttrConstraint, VerificationContext
from xdsl.utils.exceptions import VerifyException

from stepwell.runtime.errors import StepwellError

AttributeLike: TypeAlias = Attribute | bool | int | float | str | Sequence["AttributeLike"]


def attribute(value: AttributeLike) -> Attribute:
    """
    A Python value as an attribute: bool i1, int i64, float f64, str, a sequence an array.

    Raises: StepwellError `type-mismatch` for any other, and for an int that i64 cannot have.
    """
    match value:
        case Attribute():
            return value
        case bool():
            return IntegerAttr(int(value), i1)
        case int() if -(1 << 63) <= value < 1 << 63:
            return IntegerAttr(value, i64)
        case float():
            return FloatAttr(value, f64)
        case str():
            return StringAttr(value)
        case list() | tuple():
            return ArrayAttr([attribute(item) for item in value])
        case _:
            wanted = "an attribute, or a bool, 64-bit int, float, str, list or tuple of these"
            raise StepwellError("type-mismatch", None, f"expected {wanted}, found {value!r}")


def accepted(value: AttributeLike, constraint: AttrConstraint) -> Attribute:
    """
    A Python value as the first attribute that a definition accepts: `[1, 2]` as `array<i64: 1, 2>` where
    that is expected.

    Returns: as `attribute`, when none is accepted, so that verifying the op says what is expected.
    """
    plain = attribute(value)
    for candidate in (plain, *_others(value)):
        try:
            constraint.verify(candidate, VerificationContext())
        except VerifyException:
            continue
        return candidate
    return plain


def _others(value: AttributeLike) -> Iterator[Attribute]:
    """The attributes besides that of `attribute` that a value may become."""
    if isinstance(value, Attribute):
        value = python_value(value)
    if value is True:
        yield UnitAttr()
    if isinstance(value, int) and abs(value) < 1 << 31:
        yield IntegerAttr(int(value), i64)
        yield IntegerAttr(int(value), i32)
    if isinstance(value, int | float):
        yield FloatAttr(float(value), f64)
        yield FloatAttr(float(value), f32)
    if not isinstance(value, list | tuple):
        return
    yield ArrayAttr([attribute(item) for item in value])
    items = cast("Sequence[object]", value)
    if all(isinstance(item, int) for item in items):
        ints = [int(item) for item in cast("Sequence[int]", items)]
        yield DenseArrayBase.from_list(i64, ints)
        if all(abs(item) < 1 << 31 for item in ints):
            yield DenseArrayBase.from_list(i32, ints)
    if all(isinstance(item, int | float) for item in items):
        floats = [float(item) for item in cast("Sequence[float]", items)]
        yield DenseArrayBase.from_list(f64, floats)
        yield DenseArrayBase.from_list(f32, floats)


def python_value(value: Attribute) -> AttributeLike:
    """The number, text or list of these that an attribute contains; other attributes as they are."""
    match value:
        case IntegerAttr() | FloatAttr():
            return value.value.data
        case StringAttr():
            return value.data
        case DenseArrayBase():
            return list(cast("DenseArrayBase[AnyFloat]", value).get_values())
        case ArrayAttr():
            return [python_value(item) for item in value]
        case _:
            return value
