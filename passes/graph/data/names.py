"""The data types and functions that the ops of a module name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, SymbolRefAttr
from xdsl.ir import Attribute, Operation, TypeAttribute

from stepwell.dialects.adt import DataType
from stepwell.dialects.type_variables import types_inside


def types_of(op: Operation) -> Iterator[Attribute]:
    """The types that an op names: of results, of arguments of regions, in properties."""
    yield from op.result_types
    for region in op.regions:
        for block in region.blocks:
            yield from block.arg_types
    for attribute in (*op.properties.values(), *op.attributes.values()):
        if isinstance(attribute, TypeAttribute):
            yield attribute
        elif isinstance(attribute, ArrayAttr):
            parts = cast("ArrayAttr[Attribute]", attribute)
            yield from (each for each in parts if isinstance(each, TypeAttribute))


def data_named_by(ops: Iterable[Operation]) -> set[str]:
    """The names of the data types in the types of ops."""
    types = {type for op in ops for type in types_of(op)}
    return {part.symbol for type in types for part in types_inside(type) if isinstance(part, DataType)}


def symbols_named_by(ops: Iterable[Operation]) -> set[str]:
    """The names of functions and of the data types of constructors that ops refer to."""
    properties = (attribute for op in ops for attribute in op.properties.values())
    return {symbol.root_reference.data for symbol in properties if isinstance(symbol, SymbolRefAttr)}
