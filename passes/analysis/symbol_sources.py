"""Sources of symbol sizes in functions other than `@main`: shapes or elements of their arguments."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import cast

from xdsl.dialects.builtin import TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, BlockArgument, Operation

from stepwell.dialects.types import DimsAttr, Tensor, dims_of

SYMBOLS = "graph.symbols"
"""Attribute of a 1-D argument that carries sizes, no value of the model: the dimension of each element."""


@dataclass(frozen=True)
class SymbolSource:
    """The source of a symbol's size: an argument, and an axis of its shape or the index of its element."""

    value: BlockArgument
    position: int
    """The axis, or the element's index."""
    is_element: bool


def symbol_sources(function: FuncOp) -> dict[str, SymbolSource]:
    """Maps each symbol whose size a function's arguments contain to its first source."""
    attrs = function.arg_attrs
    found: dict[str, SymbolSource] = {}
    for arg in function.args:
        annotated = attrs.data[arg.index].data.get(SYMBOLS) if attrs is not None else None
        if isinstance(annotated, DimsAttr):
            for index, dim in enumerate(annotated.get()):
                found.setdefault(str(dim), SymbolSource(arg, index, True))
        elif isinstance(type := arg.type, TensorType):
            for axis, dim in enumerate(dims_of(cast(Tensor, type))):
                if str(dim) in dim.symbols():
                    found.setdefault(str(dim), SymbolSource(arg, axis, False))
    return found


def symbols_needed(ops: Iterable[Operation]) -> Iterator[str]:
    """The symbols in dimension properties of ops and of the ops in their regions, repeated ones too."""
    for op in ops:
        for inner in op.walk():
            for attribute in inner.properties.values():
                if isinstance(attribute, DimsAttr):
                    yield from _symbols(attribute)


def symbols_of_type(type: Attribute) -> set[str]:
    """The symbols whose sizes follow from a value's shape: dimensions of its type that are a bare symbol."""
    if not isinstance(type, TensorType):
        return set()
    return {str(dim) for dim in dims_of(cast(Tensor, type)) if str(dim) in dim.symbols()}


def _symbols(attribute: DimsAttr) -> Iterator[str]:
    for dim in attribute.get():
        if not dim.is_unknown:
            yield from sorted(dim.symbols())
