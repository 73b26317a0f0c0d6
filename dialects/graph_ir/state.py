"""`graph.state`: the mark of an argument and a result of `@main` that are one value living between calls."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, StringAttr
from xdsl.dialects.func import FuncOp

STATE = "graph.state"
"""Key of an argument's or result's attribute: the name of the value."""
NAME = "graph.name"


def argument_attributes(function: FuncOp) -> list[DictionaryAttr]:
    """The attributes of a function's arguments, one dictionary each."""
    given = function.arg_attrs
    return list(given.data) if given is not None else [DictionaryAttr({})] * len(function.body.block.args)


def state_names(function: FuncOp) -> list[str | None]:
    """For each argument of a function the name of its state; None for an input."""
    found = [each.data.get(STATE) for each in argument_attributes(function)]
    return [name.data if isinstance(name, StringAttr) else None for name in found]


def named(name: str, *, state: bool = False) -> DictionaryAttr:
    """The attributes of an argument or result with a name, which may be a state."""
    attributes = {NAME: StringAttr(name)} | ({STATE: StringAttr(name)} if state else {})
    return DictionaryAttr(attributes)


def set_argument_attributes(function: FuncOp, attributes: Sequence[DictionaryAttr]) -> None:
    """Give the arguments of a function their attributes."""
    function.properties["arg_attrs"] = ArrayAttr(attributes)
