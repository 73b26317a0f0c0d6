"""Where a function other than `@main` finds the sizes of symbols: shapes of its arguments, or data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import cast

from xdsl.dialects.builtin import TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, BlockArgument, Operation

from stepwell.dialects.types import DimsAttr, Tensor, dims_of

SYMBOLS = "graph.symbols"
"""Attribute of an argument that is no value of the model: the dimensions whose sizes its elements are."""


@dataclass(frozen=True)
class SymbolSource:
    """Where the size of a symbol is: a dimension of an argument, or an element of one."""

    value: BlockArgument
    place: int
    is_element: bool


def symbol_sources(function: FuncOp) -> dict[str, SymbolSource]:
    """The sizes that the arguments of a function tell, by symbol."""
    attrs = function.arg_attrs
    found: dict[str, SymbolSource] = {}
    for arg in function.args:
        told = attrs.data[arg.index].data.get(SYMBOLS) if attrs is not None else None
        if isinstance(told, DimsAttr):
            for place, dim in enumerate(told.get()):
                found.setdefault(str(dim), SymbolSource(arg, place, True))
        elif isinstance(type := arg.type, TensorType):
            for axis, dim in enumerate(dims_of(cast(Tensor, type))):
                if str(dim) in dim.symbols():
                    found.setdefault(str(dim), SymbolSource(arg, axis, False))
    return found


def symbols_needed(ops: Iterable[Operation]) -> Iterator[str]:
    """The symbols that ops read from their properties, those in regions too."""
    for op in ops:
        for inner in op.walk():
            for attribute in inner.properties.values():
                if isinstance(attribute, DimsAttr):
                    yield from _symbols(attribute)


def symbols_of_type(type: Attribute) -> set[str]:
    """The symbols whose sizes a value of a type tells: those that are a dimension by themselves."""
    if not isinstance(type, TensorType):
        return set()
    return {str(dim) for dim in dims_of(cast(Tensor, type)) if str(dim) in dim.symbols()}


def _symbols(attribute: DimsAttr) -> Iterator[str]:
    for dim in attribute.get():
        if not dim.is_unknown:
            yield from sorted(dim.symbols())
