"""Symbols that @main defines at run time: sizes that depend on data, as `index` results with names."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count, islice
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, FunctionType, IndexType, IntegerAttr, StringAttr, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, SSAValue

from stepwell.dialects.types import DimsAttr, Tensor, dims_of, int_attr
from stepwell.runtime.dims import Dim

SYMBOLS = "symbols"
"""Property of an op: the names of the sizes that its last results, of type `index`, define."""
SIGNATURE = "graph.signature"
"""
From level 2 on, the function type of a host call, or of what a branch or loop carries and gives, with names
of dimensions and signs of integers.
"""
_COUNTER = "graph.fresh_symbols"
_PREFIX = "data_"


def symbol_names(names: Sequence[str]) -> ArrayAttr[StringAttr]:
    """Names as an op's property `symbols`."""
    return ArrayAttr([StringAttr(name) for name in names])


def defined_symbols(op: Operation) -> list[tuple[str, SSAValue]]:
    """The symbols that an op defines with their values, which are the op's last results."""
    names = cast("ArrayAttr[StringAttr] | None", op.properties.get(SYMBOLS))
    if names is None or not names.data:
        return []
    values = op.results[-len(names) :]
    return [(name.data, value) for name, value in zip(names, values, strict=True)]


def positions_of(names: Sequence[str], types: Sequence[Attribute]) -> list[tuple[int, int]]:
    """The (type index, axis) of each symbol that is a dimension by itself."""
    found = {
        str(dim): (index, axis)
        for index, type in enumerate(types)
        if type.name == TensorType.name
        for axis, dim in enumerate(dims_of(type))
    }
    return [found[name] for name in names]


def fresh_symbols(at: Operation, number: int) -> list[str]:
    """
    Names for symbols that an op is about to define, new in its function.

    The number of names given out is an attribute of the function, from which later passes go on.
    """
    function = _function_of(at)
    counter = function.attributes.get(_COUNTER)
    first = counter.value.data if isinstance(counter, IntegerAttr) else 0
    taken = {name for arg in function.args for name in _names_in(arg.type)}
    names = list(islice((name for i in count(first) if (name := f"{_PREFIX}{i}") not in taken), number))
    last = int(names[-1].removeprefix(_PREFIX)) + 1 if names else first
    function.attributes[_COUNTER] = int_attr(last)
    return names


def symbol_sources(block: Block) -> dict[Operation, list[Operation]]:
    """
    Maps each op of a block to the ops of the block that define symbols used by the op or inside of it.

    No operand expresses this order: passes that move ops must preserve it.
    """
    definers = {name: op for op in block.ops for name, _ in defined_symbols(op)}
    if not definers:
        return {}
    sources: dict[Operation, list[Operation]] = {}
    for op in block.ops:
        names = sorted(_used_symbols(op) & definers.keys())
        found = [definers[name] for name in names if definers[name] is not op]
        if found:
            sources[op] = list(dict.fromkeys(found))
    return sources


def _used_symbols(op: Operation) -> set[str]:
    """The symbols in the types and properties of an op, and of those inside it."""
    names: set[str] = set()
    for inner in op.walk():
        for value in (*inner.operands, *inner.results):
            names |= _names_in(value.type)
        if isinstance(signature := inner.attributes.get(SIGNATURE), FunctionType):
            for type in (*signature.inputs, *signature.outputs):
                names |= _names_in(type)
        for attribute in inner.properties.values():
            if isinstance(attribute, DimsAttr):
                names |= {name for dim in attribute.get() for name in dim.symbols()}
        if inner.name == "graph.assert":
            for side in ("lhs", "rhs"):
                names |= Dim.of(cast(StringAttr, inner.properties[side]).data).symbols()
    return names


def _function_of(op: Operation) -> FuncOp:
    parent: Operation | None = op
    while parent is not None and not isinstance(parent, FuncOp):
        parent = parent.parent_op()
    if parent is None:
        raise ValueError(f"{op.name} stands in no function")
    return parent


def _names_in(type: Attribute) -> set[str]:
    if not isinstance(type, TensorType):
        return set()
    return {name for dim in dims_of(cast(Tensor, type)) for name in dim.symbols()}


INDEX = IndexType()
