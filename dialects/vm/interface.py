"""The interface of a program of level 1: its data types and public functions, without instructions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

from xdsl.dialects.builtin import ModuleOp, StringAttr, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute

from stepwell.dialects.adt.data import DataOp
from stepwell.dialects.constants import Constant, array_of
from stepwell.dialects.graph_ir.state import StatePair, state_pairs
from stepwell.dialects.type_variables import TYPE_PARAMS
from stepwell.dialects.types import dims_of
from stepwell.dialects.vm.program import data_type, signature_of_type
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.weights import WeightStore
from stepwell.runtime.image import MAIN
from stepwell.runtime.interface import StateSpec
from stepwell.runtime.vm import program


def interface_of(module: ModuleOp, weights: WeightStore) -> program.Program:
    """
    The data types and public functions of a module; its constants are the initial values of states.

    Raises: StepwellError `unsupported` for a type, `state-mismatch`, `missing-weights`.
    """
    data = tuple(data_type(op) for op in module.ops if isinstance(op, DataOp))
    initial: list[Constant] = []

    def row(value: Constant) -> int:
        initial.append(value)
        return len(initial) - 1

    functions = tuple(
        _function(op, row)
        for op in module.ops
        if isinstance(op, FuncOp)
        and is_public(op)
        and not op.is_declaration
        and TYPE_PARAMS not in op.attributes
    )
    constants = tuple(program.Constant("", array_of(value, weights)) for value in initial)
    return program.Program(data, constants, (), functions)


def _function(op: FuncOp, row: Callable[[Constant], int]) -> program.Function:
    """A public function without its instructions."""
    name, count = op.sym_name.data, len(op.args)
    states = state_specs(op, row) if name == MAIN else ()
    signature = signature_of_type(op.function_type, tuple(input_names(op)), tuple(states))
    return program.Function(name, count, count, (), signature)


def state_specs(main: FuncOp, row: Callable[[Constant], int]) -> Sequence[StateSpec]:
    """
    The states of `@main`; `row` gives an initial value its number in the table of constants.

    Raises: StepwellError `state-mismatch` for one that is no tensor of known rank and named sizes, and for an
    initial value of another type.
    """
    for each in state_pairs(main):
        _expect_state(main, each)
    return [
        StateSpec(
            each.name,
            each.argument,
            each.result,
            None if each.initial is None else row(each.initial),
            axis=each.grows,
            adds=each.adds,
        )
        for each in state_pairs(main)
    ]


def _expect_state(main: FuncOp, state: StatePair) -> None:
    type = main.body.block.arg_types[state.argument]
    sizes = _sizes(type)
    if sizes is None or any(dim.is_unknown for dim in sizes):
        message = f"the state {state.name!r} is {type}: states are tensors whose sizes are numbers or symbols"
        help = "let data be arguments and results, and keep them in Python"
        raise StepwellError("state-mismatch", main, message, help=help)
    initial: Attribute = getattr(state.initial, "type", type)
    if _sizes(initial) != sizes:
        message = f"the state {state.name!r} is {type} and begins with {initial}"
        raise StepwellError("state-mismatch", main, message, help="give both one type")


def _sizes(type: Attribute) -> list[Dim] | None:
    """The sizes of a tensor type; None for another type."""
    return list(dims_of(cast("TensorType[Attribute]", type))) if isinstance(type, TensorType) else None


def is_public(function: FuncOp) -> bool:
    """Whether users may call a function."""
    return function.sym_visibility is None or function.sym_visibility.data != "private"


def input_names(function: FuncOp) -> Sequence[str]:
    """The names of a function's inputs in the model, or else in the text."""
    attributes = function.arg_attrs.data if function.arg_attrs is not None else ()
    names: list[str] = []
    for position, argument in enumerate(function.args):
        named = attributes[position].data.get("graph.name") if position < len(attributes) else None
        names.append(named.data if isinstance(named, StringAttr) else argument.name_hint or "")
    return names
