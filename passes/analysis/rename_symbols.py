"""Substitution of symbols in types and properties: a function that ops are copied to has names of its own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, FunctionType, StringAttr, TensorType, TupleType
from xdsl.ir import Attribute, Operation, Region, SSAValue, TypeAttribute

from stepwell.dialects._xdsl import set_type
from stepwell.dialects.graph.structure import AssertOp
from stepwell.dialects.types import DimsAttr, Tensor, dims_of, tensor_type
from stepwell.runtime.dims import Dim

_NAMES = ("symbols", "carries")
"""Properties with the names of the symbols that an op defines."""


def rename_symbols(region: Region, names: Mapping[str, Dim]) -> None:
    """
    Substitute symbols in all types and properties of a region.

    A symbol that an op of the region defines can only be replaced by another symbol.
    """
    for block in region.blocks:
        for arg in block.args:
            _retype(arg, names)
    for op in region.walk():
        for value in (*op.results, *(a for r in op.regions for block in r.blocks for a in block.args)):
            _retype(value, names)
        _rename_properties(op, names)


def _retype(value: SSAValue, names: Mapping[str, Dim]) -> None:
    if (renamed := renamed_type(value.type, names)) != value.type:
        set_type(value, renamed)


def renamed_type(type: Attribute, names: Mapping[str, Dim]) -> Attribute:
    """A tensor, tuple or function type with its symbols substituted; other types as they are."""
    if isinstance(type, TensorType):
        tensor = cast(Tensor, type)
        return tensor_type(tensor.element_type, [_renamed(dim, names) for dim in dims_of(tensor)])
    if isinstance(type, TupleType):
        return TupleType(tuple(cast(TypeAttribute, renamed_type(t, names)) for t in type.types))
    if isinstance(type, FunctionType):
        parts = ([renamed_type(t, names) for t in part] for part in (type.inputs, type.outputs))
        return FunctionType.from_lists(*parts)
    return type


def _renamed(dim: Dim, names: Mapping[str, Dim]) -> Dim:
    known = {name: names[name] for name in dim.symbols() if name in names}
    return dim.substitute(known) if known and not dim.is_unknown else dim


def _rename_properties(op: Operation, names: Mapping[str, Dim]) -> None:
    if isinstance(op, AssertOp):
        for side in ("lhs", "rhs"):
            text = cast(StringAttr, op.properties[side]).data
            op.properties[side] = StringAttr(str(_renamed(Dim.of(text), names)))
    for key, value in op.properties.items():
        if isinstance(value, DimsAttr):
            op.properties[key] = DimsAttr.of([_renamed(dim, names) for dim in value.get()])
        elif key in _NAMES and isinstance(value, ArrayAttr):
            old = [name.data for name in cast("ArrayAttr[StringAttr]", value)]
            op.properties[key] = ArrayAttr([StringAttr(str(names.get(name, name))) for name in old])


def symbols_named(op: Operation) -> Iterator[str]:
    """The symbols that an op references: in the types of its results and block arguments, in properties."""
    for value in (*op.results, *(a for r in op.regions for block in r.blocks for a in block.args)):
        if value.type.name == TensorType.name:
            for dim in dims_of(value.type):
                yield from dim.symbols()
    for attribute in op.properties.values():
        if isinstance(attribute, DimsAttr):
            for dim in attribute.get():
                yield from dim.symbols()
    if isinstance(op, AssertOp):
        for side in (op.lhs, op.rhs):
            yield from Dim.of(side.data).symbols()


def defined_names(region: Region) -> list[str]:
    """The names of the symbols that ops of a region define."""
    return [
        name.data
        for op in region.walk()
        for key in _NAMES
        if isinstance(names := op.properties.get(key), ArrayAttr)
        for name in cast("ArrayAttr[StringAttr]", names)
    ]


def missing_symbols(regions: Iterable[Region], types: Sequence[Attribute]) -> list[str]:
    """The symbols in regions that neither ops inside nor the types of arguments define."""
    every = list(regions)
    used = {name for region in every for op in region.walk() for name in symbols_named(op)}
    used -= {name for region in every for name in defined_names(region)}
    used |= {name for dim in _dims(types) if not dim.is_unknown for name in dim.symbols()}
    return sorted(name for name in used - given_symbols(types) if not Dim.of(name).is_unknown)


def given_symbols(types: Iterable[Attribute]) -> set[str]:
    """The symbols that are a dimension of a type by themselves."""
    return {name for dim in _dims(types) for name in dim.symbols() if dim == Dim.symbol(name)}


def _dims(types: Iterable[Attribute]) -> list[Dim]:
    return [dim for type in types if type.name == TensorType.name for dim in dims_of(type)]


def unified(parameters: list[Attribute], arguments: list[Attribute]) -> dict[str, Dim]:
    """
    Maps the symbols of a callee's parameter types to the dimensions of a call's argument types.

    Only dimensions that are a symbol by themselves bind it; the first one does whose size is known.
    """
    found: dict[str, Dim] = {}
    for parameter, argument in zip(parameters, arguments, strict=True):
        if isinstance(parameter, TensorType) and isinstance(argument, TensorType):
            pairs = zip(dims_of(cast(Tensor, parameter)), dims_of(cast(Tensor, argument)), strict=True)
            for own, given in pairs:
                is_name = not own.is_static and not own.is_unknown and own.symbols() == frozenset({str(own)})
                if is_name and ((known := found.get(str(own))) is None or known.is_unknown):
                    found[str(own)] = given
    return found
