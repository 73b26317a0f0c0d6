"""Types that a group of private functions leaves open become type variables of these functions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from xdsl.dialects.builtin import ArrayAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation

from stepwell.dialects.incomplete import related_values
from stepwell.dialects.type_variables import (
    TYPE_KIND,
    TYPE_PARAMS,
    HoleType,
    ParamsAttr,
    VarType,
    params_of,
    type_parts,
)
from stepwell.passes.context import count
from stepwell.passes.graph.types.type_solver import TypeSolver

_OF_ANY_TYPE = ("adt.", "ref.", "func.")
_OPS_OF_ANY_TYPE = frozenset(
    f"graph.{name}"
    for name in ("call", "closure", "for", "function", "get", "if", "lambda", "tuple", "while", "yield")
)


def generalize(solver: TypeSolver) -> None:
    """
    Make types that no op determines type variables `T0`, `T1`, …, where all functions with values of them
    can.

    A type becomes a variable if no op requires a certain type, and if all functions that have values of it
    are private and have it in their signatures. Calls between these functions have the same types.
    """
    functions = solver.functions
    if not all(_is_private(function) and not function.is_declaration for function in functions):
        return
    named = [_open_types(solver, _signature(function)) for function in functions]
    inside = [_open_types(solver, _values(function)) for function in functions]
    tied = {hole for f in functions for hole in _open_types(solver, _needed(f))}
    chosen = [
        hole
        for hole in dict.fromkeys(hole for each in named for hole in each)
        if hole not in tied and all(hole in own for own, of in zip(named, inside, strict=True) if hole in of)
    ]
    variables = _variables(chosen, functions)
    for hole, variable in variables.items():
        solver.say(hole, variable)
    for function, own in zip(functions, named, strict=True):
        new = [variables[hole].label.data for hole in own if hole in variables]
        if new:
            params = params_of(function)
            kinds = params.by_name if params is not None else {}
            function.attributes[TYPE_PARAMS] = ParamsAttr.of({**kinds, **dict.fromkeys(new, TYPE_KIND)})
            count("variables declared", len(new))
    if variables:
        _name_arguments(functions)


def _is_private(function: FuncOp) -> bool:
    return function.sym_visibility is not None and function.sym_visibility.data == "private"


def _signature(function: FuncOp) -> Iterator[Attribute]:
    yield from function.function_type.inputs
    yield from function.function_type.outputs


def _values(function: FuncOp) -> Iterator[Attribute]:
    for op in function.walk():
        yield from (value.type for value in related_values(op))


def _needed(function: FuncOp) -> Iterator[Attribute]:
    """The types of values of ops that do not take any type."""
    for op in function.walk():
        if op.name not in _OPS_OF_ANY_TYPE and not op.name.startswith(_OF_ANY_TYPE):
            yield from (value.type for value in related_values(op))


def _open_types(solver: TypeSolver, types: Iterator[Attribute]) -> list[HoleType]:
    """The whole types that are unknown inside of types, elements and shapes of tensors left out."""
    found: dict[HoleType, None] = {}
    for type in types:
        waiting = [solver.resolved(type)]
        while waiting:
            part = waiting.pop()
            if isinstance(part, HoleType) and solver.is_open(part):
                found[part] = None
            elif part.name != "tensor":
                waiting += type_parts(part)
    return list(found)


def _variables(holes: Sequence[HoleType], functions: Sequence[FuncOp]) -> Mapping[HoleType, VarType]:
    known = {name for f in functions if (params := params_of(f)) is not None for name in params.names}
    free = (name for number in range(len(holes) + len(known)) if (name := f"T{number}") not in known)
    return {hole: VarType(name) for hole, name in zip(holes, free, strict=False)}


def _name_arguments(functions: Sequence[FuncOp]) -> None:
    """Give uses of functions of a group, within it, the variables of these as type arguments."""
    params = {f.sym_name.data: own for f in functions if (own := params_of(f)) is not None}
    for function in functions:
        for op in function.walk():
            if (own := params.get(_callee(op))) is not None and "type_args" not in op.properties:
                op.properties["type_args"] = ArrayAttr([VarType(name) for name in own.names])


def _callee(op: Operation) -> str:
    return str(callee.string_value()) if (callee := getattr(op, "callee", None)) is not None else ""
