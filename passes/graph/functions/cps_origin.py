"""The form that a function had before it took a continuation, as an attribute."""

from __future__ import annotations

from typing import NamedTuple

from xdsl.dialects.builtin import DictionaryAttr, FunctionType, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute

ORIGIN = "graph.cps_of"
"""Key of the attribute."""


class Origin(NamedTuple):
    """A function's name, type, and attributes of arguments and results before."""

    name: str
    type: FunctionType
    described: dict[str, Attribute]
    """The properties `arg_attrs` and `res_attrs`, where it had them."""


def set_origin(function: FuncOp) -> None:
    """Remember the form of a function, and take away the attributes of its arguments and results."""
    described = {
        key: function.properties.pop(key) for key in ("arg_attrs", "res_attrs") if key in function.properties
    }
    form = {"name": function.sym_name, "type": function.function_type, **described}
    function.attributes[ORIGIN] = DictionaryAttr(form)


def origin_of(function: FuncOp) -> Origin | None:
    """The form of a function before it took a continuation; None of others."""
    form = function.attributes.get(ORIGIN)
    if not isinstance(form, DictionaryAttr):
        return None
    name, type, *_ = (form.data.get(key) for key in ("name", "type"))
    if not isinstance(name, StringAttr) or not isinstance(type, FunctionType):
        return None
    described = {key: each for key, each in form.data.items() if key not in ("name", "type")}
    return Origin(name.data, type, described)
