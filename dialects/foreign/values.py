"""Arguments of foreign ops that are no operands: Python values as attributes, and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias, cast

from xdsl.dialects.builtin import ArrayAttr, FloatAttr, IntegerAttr, NoneAttr, StringAttr, f64, i1
from xdsl.ir import Attribute

from stepwell.dialects.foreign.signature import Argument
from stepwell.dialects.types import bool_attr, int_attr
from stepwell.runtime.dims import Dim

Value: TypeAlias = "None | bool | int | float | str | Dim | Attribute | Sequence[Value]"
"""An argument as Python has it; element types are attributes, sizes with symbols are dimensions."""


def attribute_of(value: Value, argument: Argument) -> Attribute:
    """
    The attribute of an argument's value: `2 : i64`, `"N * 4"` for a size with symbols, `[1, 2]`, `f32`.

    Raises: TypeError for a value that the argument's type does not have.
    """
    if argument.is_list and value is not None:
        if not isinstance(value, Sequence) or isinstance(value, str):
            raise TypeError(f"`{argument.name}` must be a list of {argument.base}, found {value!r}")
        return ArrayAttr([_item(each, argument) for each in cast("Sequence[Value]", value)])
    return _item(value, argument)


def _item(value: Value, argument: Argument) -> Attribute:
    match argument.base, value:
        case _, None:
            return NoneAttr()
        case "bool" | "Scalar" | "SymBool", bool():
            return bool_attr(value)
        case "float" | "SymFloat", int() | float():
            return FloatAttr(float(value), f64)
        case "Scalar", float():
            return FloatAttr(value, f64)
        case "int" | "SymInt" | "Scalar" | "bool", int() if -(1 << 63) <= value < 1 << 63:
            return int_attr(int(value))
        case "int" | "SymInt" | "Scalar", Dim():
            return int_attr(value.value) if value.is_static else StringAttr(str(value))
        case "ScalarType", Attribute():
            return value
        case "str" | "Layout" | "Device" | "MemoryFormat" | "Generator", str():
            return StringAttr(value)
        case _:
            raise TypeError(f"`{argument.name}` must be of type {argument.base}, found {value!r}")


_SIZES = ("int", "SymInt", "Scalar")


def value_of(attribute: Attribute, argument: Argument) -> Value:
    """The value of an argument from its attribute; text of a size is a dimension."""
    match attribute:
        case NoneAttr():
            return None
        case IntegerAttr():
            number = attribute.value.data
            return bool(number) if cast(Attribute, attribute.type) == i1 else number
        case FloatAttr():
            return attribute.value.data
        case StringAttr():
            return Dim.of(attribute.data) if argument.base in _SIZES else attribute.data
        case ArrayAttr():
            return tuple(value_of(item, argument) for item in attribute)
        case _:
            return attribute


def expected_attribute(attribute: Attribute, argument: Argument) -> bool:
    """Whether an attribute is a value of an argument's type."""
    if isinstance(attribute, NoneAttr):
        return argument.is_optional or argument.default is None
    if not argument.is_list:
        return _is_item(attribute, argument)
    items = cast("ArrayAttr[Attribute]", attribute).data if isinstance(attribute, ArrayAttr) else None
    return items is not None and all(_is_item(item, argument) for item in items)


def _is_item(attribute: Attribute, argument: Argument) -> bool:
    match argument.base:
        case "int" | "SymInt":
            return isinstance(attribute, IntegerAttr) or _is_dimension(attribute)
        case "float" | "SymFloat":
            return isinstance(attribute, FloatAttr)
        case "Scalar":
            return isinstance(attribute, IntegerAttr | FloatAttr) or _is_dimension(attribute)
        case "bool" | "SymBool":
            return isinstance(attribute, IntegerAttr)
        case "ScalarType":
            return not isinstance(attribute, IntegerAttr | FloatAttr | StringAttr | ArrayAttr)
        case _:
            return isinstance(attribute, StringAttr | IntegerAttr)


def _is_dimension(attribute: Attribute) -> bool:
    try:
        return isinstance(attribute, StringAttr) and bool(Dim.of(attribute.data) or True)
    except ValueError:
        return False
