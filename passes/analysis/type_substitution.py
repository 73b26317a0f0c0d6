"""Types in the places of type variables, in all types and properties of a function."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, TensorType
from xdsl.ir import Attribute, Operation, TypeAttribute

from stepwell.dialects._xdsl import set_type
from stepwell.dialects.type_variables import Types, mapped_type, substituted
from stepwell.dialects.types import Tensor, dims_of, tensor_type
from stepwell.runtime.dims import UNKNOWN


def substitute_types(function: Operation, arguments: Mapping[str, Attribute]) -> None:
    """Put types in the places of variables, in the function's type and in all ops inside."""
    map_types(function, lambda type: substituted(type, arguments))


def map_types(root: Operation, function: Types) -> None:
    """Apply a function to every type of an op and of the ops inside: of values, and in properties."""
    known: dict[Attribute, Attribute] = {}

    def mapped(type: Attribute) -> Attribute:
        if (new := known.get(type)) is None:
            new = known[type] = function(type)
        return new

    for op in root.walk():
        for value in (*op.results, *(a for r in op.regions for b in r.blocks for a in b.args)):
            if (new := mapped(value.type)) is not value.type:
                set_type(value, new)
        for name, attribute in op.properties.items():
            op.properties[name] = _mapped_property(attribute, mapped)


def _mapped_property(attribute: Attribute, function: Types) -> Attribute:
    if isinstance(attribute, ArrayAttr):
        parts = cast("ArrayAttr[Attribute]", attribute).data
        if any(isinstance(part, TypeAttribute) for part in parts):
            return ArrayAttr([_mapped_property(part, function) for part in parts])
        return cast(Attribute, attribute)
    return function(attribute) if isinstance(attribute, TypeAttribute) else attribute


def in_data(type: Attribute) -> Attribute:
    """A type as that of a field: a tensor's sizes are numbers, or unknown."""

    def open_sizes(part: Attribute) -> Attribute:
        if not isinstance(part, TensorType):
            return part
        tensor = cast(Tensor, part)
        dims = dims_of(tensor)
        if all(dim.is_static or dim.is_unknown for dim in dims):
            return tensor
        return tensor_type(tensor.element_type, [dim if dim.is_static else UNKNOWN for dim in dims])

    return mapped_type(type, open_sizes)
