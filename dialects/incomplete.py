"""Incomplete IR: ops, functions and modules in which a hole stands for a type."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, TensorType, UnrankedTensorType
from xdsl.ir import Attribute, Operation, SSAValue, TypeAttribute

from stepwell.dialects.type_variables import HoleType, types_inside
from stepwell.dialects.types import DimsAttr, Tensor, dims_of

SOLVER_SYMBOL = "stepwell_hole_"
"""The first letters of symbols that stand for unknown extents while types are inferred."""


def has_hole(type: Attribute) -> bool:
    """Whether a type has a hole inside."""
    return any(isinstance(part, HoleType) for part in types_inside(type))


def lacks_shape(type: Attribute) -> bool:
    """Whether the rank or an extent of a tensor inside of a type is a class."""
    return any(map(_is_unknown_inside, types_inside(type)))


def _is_unknown_inside(type: Attribute) -> bool:
    """Whether the rank of a tensor is unknown, or an extent is the symbol of a class."""
    if isinstance(type, UnrankedTensorType):
        return True
    if not isinstance(type, TensorType) or not isinstance(cast(Tensor, type).encoding, DimsAttr):
        return False
    return any(
        name.startswith(SOLVER_SYMBOL) for dim in dims_of(cast(Tensor, type)) for name in dim.symbols()
    )


def is_incomplete(op: Operation) -> bool:
    """
    Whether there is a hole among the types in the constraints of an op.

    These are the types of operands, results and properties, and of the arguments and yielded values of
    regions; for a terminator also the types in the properties of the op around.
    """
    return any(map(has_hole, _related_types(op)))


def _related_types(op: Operation) -> Iterator[Attribute]:
    yield from (value.type for value in related_values(op))
    around = op.parent_op() if not op.results else None
    for each in (op, around) if around is not None else (op,):
        yield from types_of_properties(each)


def related_values(op: Operation) -> Iterator[SSAValue]:
    """The operands and results of an op, the arguments of its regions and the operands of their last ops."""
    yield from op.operands
    yield from op.results
    for region in op.regions:
        for block in region.blocks:
            yield from block.args
            if block.last_op is not None:
                yield from block.last_op.operands


def types_of_properties(op: Operation) -> Iterator[Attribute]:
    """The types in an op's properties, those in lists too."""
    for attribute in op.properties.values():
        if isinstance(attribute, ArrayAttr):
            parts = cast("ArrayAttr[Attribute]", attribute).data
            yield from (part for part in parts if isinstance(part, TypeAttribute))
        elif isinstance(attribute, TypeAttribute):
            yield attribute


def has_holes(root: Operation) -> bool:
    """Whether any type inside of an op has a hole; no op is visited in a process without holes."""
    if not HoleType.exist():
        return False
    known: dict[Attribute, bool] = {}
    for op in root.walk():
        arguments = (a.type for r in op.regions for b in r.blocks for a in b.args)
        for type in (*op.result_types, *arguments, *types_of_properties(op)):
            if (found := known.get(type)) is None:
                found = known[type] = has_hole(type)
            if found:
                return True
    return False
