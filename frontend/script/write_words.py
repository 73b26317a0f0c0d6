"""Ops on numbers as expressions of scripts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import FloatAttr, IndexType, IntegerAttr, IntegerType
from xdsl.ir import Attribute, Operation

from stepwell.dialects.types import dtype_of
from stepwell.frontend.te.named_ops import is_named

_INFIX = {
    **{"arith.addf": "+", "arith.addi": "+", "arith.subf": "-", "arith.subi": "-"},
    **{"arith.mulf": "*", "arith.muli": "*", "arith.divf": "/", "arith.floordivsi": "//"},
    **{"arith.andi": "&", "arith.ori": "|"},
}
_CALLS = {
    **{"arith.maximumf": "maximum", "arith.minimumf": "minimum", "arith.maxsi": "maximum"},
    **{"arith.minsi": "minimum", "arith.select": "select", "math.powf": "power", "math.absf": "absolute"},
    **{"math.roundeven": "round", "arith.divsi": "truncdiv", "arith.remsi": "truncmod"},
    **{
        f"math.{name}": name
        for name in (
            *("exp", "expm1", "log", "log1p", "sqrt", "rsqrt", "erf", "tanh", "sin", "cos", "tan", "sinh"),
            *("cosh", "asin", "acos", "atan", "asinh", "acosh", "atanh", "floor", "ceil", "trunc"),
        )
    },
}
_CASTS = ("arith.extf", "arith.truncf", "arith.sitofp", "arith.extsi", "arith.trunci", "arith.index_cast")
_ORDERED = {"oeq": "==", "une": "!=", "olt": "<", "ole": "<=", "ogt": ">", "oge": ">="}
_SIGNED = {"eq": "==", "ne": "!=", "slt": "<", "sle": "<=", "sgt": ">", "sge": ">="}


def expression_of(op: Operation, operands: Sequence[str]) -> str | None:
    """An op of one number as an expression of its operands' texts; None for any other op."""
    name = op.name
    if (sign := _INFIX.get(name)) is not None and _is_of_scripts(op, name):
        return f"({operands[0]} {sign} {operands[1]})"
    if (function := _CALLS.get(name)) is not None:
        return f"{function}({', '.join(operands)})"
    if name in _CASTS:
        return f'cast({operands[0]}, "{type_name(op.results[0].type)}")'
    if (special := _SPECIAL.get(name)) is not None:
        return special(op, operands)
    return f'op("{name}", {", ".join(operands)})' if is_named(op) else None


def _is_of_scripts(op: Operation, name: str) -> bool:
    """Whether a bitwise op is one of conditions."""
    return name not in ("arith.andi", "arith.ori") or op.results[0].type == IntegerType(1)


def _compared(op: Operation, operands: Sequence[str]) -> str | None:
    signs: Mapping[str, str] = _ORDERED if isinstance(op, arith.CmpfOp) else _SIGNED
    names = (
        arith.CMPF_COMPARISON_OPERATIONS if isinstance(op, arith.CmpfOp) else arith.CMPI_COMPARISON_OPERATIONS
    )
    predicate = op.properties["predicate"]
    if not isinstance(predicate, IntegerAttr):
        return None
    sign = signs.get(names[predicate.value.data])
    return None if sign is None else f"({operands[0]} {sign} {operands[1]})"


def plain_number(op: Operation) -> str | None:
    """The number of a constant as Python's, without a type; None for any other op, and for NaN."""
    match op.properties.get("value"):
        case IntegerAttr(value=value, type=type) if op.name == "arith.constant":
            return str(bool(value.data)) if type == IntegerType(1) else str(value.data)
        case FloatAttr(value=value) if op.name == "arith.constant" and value.data == value.data:
            return (
                repr(value.data)
                if abs(value.data) != float("inf")
                else f"({value.data > 0 and '' or '-'}1e999)"
            )
        case _:
            return None


def _constant(op: Operation, _: Sequence[str]) -> str | None:
    number = plain_number(op)
    return None if number is None else _typed(number, op.results[0].type)


def _typed(number: str, type: Attribute) -> str:
    """A number of a type; usual types are not written."""
    name = type_name(type)
    return number if name in ("float32", "int64", "bool") else f'cast({number}, "{name}")'


_SPECIAL: Mapping[str, Callable[[Operation, Sequence[str]], str | None]] = {
    "arith.cmpf": _compared,
    "arith.cmpi": _compared,
    "arith.constant": _constant,
    "arith.negf": lambda _, operands: f"(-{operands[0]})",
}


def type_name(type: Attribute) -> str:
    """The name of an element type in a script."""
    return "int64" if isinstance(type, IndexType) else dtype_of(type).name
