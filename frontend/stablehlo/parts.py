"""Parts of StableHLO ops in the generic form: attributes as values, regions as the names of functions."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

import ml_dtypes
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    DictionaryAttr,
    IntegerAttr,
    StringAttr,
    SymbolRefAttr,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from stepwell.dialects.graph.relations import is_float
from stepwell.dialects.types import dtype_of

_FIELD = re.compile(r"(\w+) = (\[[^\]]*\]|-?\d+)")
_WORD = re.compile(r"\s*(\w+)\s*")
KINDS: Mapping[str, str] = {
    "add": "add",
    "multiply": "mul",
    "maximum": "max",
    "minimum": "min",
    "and": "and",
    "or": "or",
}
"""The kind of reduction that a region computes, by its only operation."""
_MAX_STEPS = 100
"""The most operations of a comparator."""


def op_name(op: Operation) -> str:
    """The name of an op without its dialect; of an op of another dialect the whole name."""
    name = op.attributes.get("op_name__")
    title = name.data if isinstance(name, StringAttr) else op.name
    return title.removeprefix("stablehlo.")


def values_of(op: Operation) -> dict[str, Any]:
    """The attributes of an op by name; dimension numbers are entries of their own."""
    found: dict[str, Any] = {}
    for name, attribute in {**op.properties, **op.attributes}.items():
        if name == "op_name__":
            continue
        text = _unregistered(attribute)
        if text is None:
            found[name] = plain(attribute)
        elif name == "dimension_numbers" and "->" in text:
            found[name] = text
        elif fields := _FIELD.findall(text):
            found |= {key: _numbers(value) for key, value in fields}
        else:
            word = _WORD.fullmatch(text)
            found[name] = word[1] if word is not None else text
    return found


def _unregistered(attribute: Attribute) -> str | None:
    """The text of an attribute of a dialect that is not loaded; None for others."""
    if not type(attribute).__name__.startswith("Unregistered"):
        return None
    value = getattr(attribute, "value", None)
    return value.data if isinstance(value, StringAttr) else str(attribute)


def _numbers(text: str) -> int | tuple[int, ...]:
    if not text.startswith("["):
        return int(text)
    return tuple(int(each) for each in text[1:-1].split(",") if each.strip())


def plain(attribute: Attribute) -> Any:
    """A builtin attribute as a value; itself where it has none."""
    match attribute:
        case StringAttr():
            return attribute.data
        case SymbolRefAttr():
            return attribute.string_value()
        case IntegerAttr():
            is_bool = str(cast(Attribute, attribute.type)) == "i1"
            return bool(attribute.value.data) if is_bool else attribute.value.data
        case DenseArrayBase():
            is_bool = str(attribute.elt_type) == "i1"
            numbers = cast("Sequence[int]", cast(Any, attribute).get_values())
            return tuple(bool(each) if is_bool else int(each) for each in numbers)
        case DenseIntOrFPElementsAttr():
            return tuple(cast("Sequence[int]", cast(Any, attribute).get_values()))
        case ArrayAttr():
            return tuple(plain(each) for each in attribute)
        case _:
            return attribute


def letters(attribute: object) -> str:
    """The letters in the configuration of a call as text, `diag=N,side=L`; empty for one that has none."""
    if not isinstance(attribute, DictionaryAttr):
        return ""
    codes = {name: each.value.data for name, each in attribute.data.items() if isinstance(each, IntegerAttr)}
    found = {name: chr(code) for name, code in sorted(codes.items()) if 0 <= code < 128}
    return ",".join(f"{name}={letter}" for name, letter in found.items() if letter.isalpha())


def combination(region: Region) -> str | None:
    """The name of the function of two arguments that a region computes; None for any other one."""
    block = region.block
    body = [op for op in block.ops if op_name(op) != "return"]
    if not body:
        returned = cast(Operation, block.last_op).operands[0]
        return "none" if returned is block.args[-1] else None
    if len(body) != 1 or set(body[0].operands) != set(block.args) or len(block.args) != 2:
        return None
    return KINDS.get(op_name(body[0]))


def extreme(region: Region) -> str | None:
    """`argmax` or `argmin` for the region of a reduction of values and positions, as JAX writes it."""
    block = region.block
    if len(block.args) != 4:
        return None
    for op in block.ops:
        if op_name(op) == "compare" and list(op.operands) == [block.args[0], block.args[2]]:
            direction = values_of(op)["comparison_direction"]
            if direction in ("GT", "LT"):
                return "argmax" if direction == "GT" else "argmin"
    return None


def extremes(element: Attribute) -> tuple[float, float]:
    """The least and the greatest number of an element type; infinities of floats."""
    dtype = dtype_of(element)
    if is_float(element):
        return float("-inf"), float("inf")
    kind: Any = ml_dtypes.iinfo
    return int(kind(dtype).min), int(kind(dtype).max)


def order(region: Region) -> tuple[str, int] | None:
    """
    The order of a sort, `ascending` or `descending`, and the number of its key; None for another comparator.

    Comparators that make all NaN equal, and both zeros, first are taken: each side depends on one argument.
    """
    block = region.block
    last = cast(Operation, block.last_op).operands[0].owner
    if not isinstance(last, Operation) or op_name(last) != "compare":
        return None
    sides = [_only_argument(value, block) for value in last.operands]
    direction = values_of(last)["comparison_direction"]
    if None in sides or direction not in ("LT", "GT"):
        return None
    first, second = cast("list[int]", sides)
    if first // 2 != second // 2 or first == second:
        return None
    ascending = (direction == "LT") == (first < second)
    return "ascending" if ascending else "descending", first // 2


def _only_argument(value: SSAValue, block: Block) -> int | None:
    """The number of the only argument that a value depends on."""
    waiting, found, steps = [value], set[int](), 0
    while waiting and steps < _MAX_STEPS:
        each, steps = waiting.pop(), steps + 1
        if isinstance(each.owner, Block):
            if each.owner is block:
                found.add(block.args.index(cast(Any, each)))
        else:
            waiting += each.owner.operands
    return found.pop() if len(found) == 1 and not waiting else None
