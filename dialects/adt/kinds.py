"""Kinds of types: variables that are declared, elements of tensors, arguments of data types and functions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import cast

from xdsl.dialects.builtin import FunctionType, TensorType
from xdsl.ir import Attribute, Operation

from stepwell.dialects.adt.data import DataOp, DataType
from stepwell.dialects.adt.definitions import definition_of
from stepwell.dialects.graph.relations import Domain
from stepwell.dialects.incomplete import types_of_properties
from stepwell.dialects.type_variables import (
    TYPE_KIND,
    HoleType,
    ParamsAttr,
    VarType,
    params_of,
    type_parts,
    types_inside,
)
from stepwell.runtime.errors import StepwellError

TANGENT = ".tangent"
"""The end of the names of data types that `gradient` will define, of that before it."""
_DOMAINS: Mapping[str, Domain] = {
    "any": Domain.ANY,
    "float": Domain.FLOAT,
    "integer": Domain.INTEGER,
    "number": Domain.NUMBER,
    "bool": Domain.BOOL,
}


def kind_errors(scope: Operation) -> Iterator[tuple[Operation, StepwellError]]:
    """The ops of a function or data type that name types of wrong kinds, each with the first error."""
    params = scope.params if isinstance(scope, DataOp) else params_of(scope)
    declared = params.by_name if params is not None else {}
    checked: set[int] = set()
    for op in scope.walk():
        try:
            for type in _types_of(op):
                if id(type) not in checked:
                    checked.add(id(type))
                    _check(type, declared, op)
        except StepwellError as error:
            yield op, error


def _types_of(op: Operation) -> Iterator[Attribute]:
    yield from op.result_types
    for region in op.regions:
        for block in region.blocks:
            yield from block.arg_types
    yield from types_of_properties(op)


def _check(type: Attribute, declared: Mapping[str, str], at: Operation) -> None:
    """Require the kinds of all types inside a type. Raises: StepwellError `bad-kind`."""
    for part in types_inside(type):
        if isinstance(part, VarType) and (name := part.label.data) not in declared:
            if at.name == "adt.constructor":
                continue  # the verifier of the data type says so
            known = ", ".join(declared) or "none"
            message = f"the type variable {name} is not declared: there are {known}"
            help = f'write `attributes {{graph.type_params = #graph.params<["{name}"]>}}` after the function'
            raise StepwellError("bad-kind", at, message, help=help)
        if isinstance(part, TensorType):
            _expect_element(next(iter(type_parts(cast(Attribute, part)))), declared, at)
        elif isinstance(part, DataType):
            base = part.symbol.removesuffix(TANGENT)
            params = definition_of(DataType.of(base, *part.arguments), at).params
            if params is not None:
                expect_kinds(params, part.arguments.data, at, declared)


def _expect_element(element: Attribute, declared: Mapping[str, str], at: Operation) -> None:
    if isinstance(element, VarType) and declared.get(element.label.data) == TYPE_KIND:
        message = f"the type variable {element.label.data} is of kind type, and an element of a tensor"
        help = f'declare it with a kind of elements, as in `"{element.label.data}": number`'
        raise StepwellError("bad-kind", at, message, help=help)
    if not _is_element(element):
        message = f"a tensor has no elements of type {element}"
        raise StepwellError("bad-kind", at, message, help="use a list, or another data type, of such values")


def _is_element(type: Attribute) -> bool:
    """Whether a type can be the element type of a tensor."""
    return type.name not in ("tuple", "adt.data", "ref.cell", TensorType.name, FunctionType.name)


def expect_kinds(
    params: ParamsAttr,
    arguments: Sequence[Attribute],
    at: Operation,
    declared: Mapping[str, str] | None = None,
) -> None:
    """
    Require type arguments to have the kinds of their variables.

    Args: `declared` are the variables around `at` with their kinds (default: the function's).
    Raises: StepwellError `bad-kind`.
    """
    for (name, kind), argument in zip(params.by_name.items(), arguments, strict=False):
        if kind != TYPE_KIND and not isinstance(argument, HoleType):
            declared = _declared_around(at) if declared is None else declared
            if not _is_of_kind(argument, kind, declared):
                message = f"the type argument {argument} is for {name}, whose kind is {kind}"
                help = "give the type of elements, such as f32 for tensor<4xf32>"
                raise StepwellError("bad-kind", at, message, help=help)


def _is_of_kind(argument: Attribute, kind: str, declared: Mapping[str, str]) -> bool:
    if isinstance(argument, VarType):
        own = declared.get(argument.label.data, TYPE_KIND)
        return own != TYPE_KIND and _DOMAINS[kind].holds_kind(own)
    return _is_element(argument) and _DOMAINS[kind].holds(argument)


def _declared_around(op: Operation) -> Mapping[str, str]:
    at: Operation | None = op
    while at is not None:
        if (params := params_of(at)) is not None:
            return params.by_name
        at = at.parent_op()
    return {}
