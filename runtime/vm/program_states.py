"""States of a program: inputs and outputs of `@main` that live between calls."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from stepwell.runtime.dims import UNKNOWN, Dim
from stepwell.runtime.interface import Interface, StateSpec, TensorSpec, dtype_from_name
from stepwell.runtime.vm.program import TENSOR, Constant, Signature, Type

_OBJECT = np.dtype(object)


def state_problem(signature: Signature, constants: Sequence[Constant], *, is_main: bool) -> str:
    """The fault in the states of a public function, in words; empty for none."""
    states = signature.states
    if states and not is_main:
        return "it has states, which are values of @main alone"
    for taken in ([s.name for s in states], [s.input for s in states], [s.output for s in _written(states)]):
        if len(set(taken)) != len(taken):
            return "two of its states are one value"
    if any(state.axis is not None for state in states) != sum(state.adds is not None for state in states):
        return "growing states have one length"
    problems = (_problem(state, signature, constants) for state in states)
    return next(filter(None, problems), "")


def _written(states: Sequence[StateSpec]) -> Sequence[StateSpec]:
    return [state for state in states if state.output is not None]


def _problem(state: StateSpec, signature: Signature, constants: Sequence[Constant]) -> str:
    """The fault in a state, in words; empty for none."""
    name = f"the state {state.name!r}"
    if state.input >= len(signature.inputs) or (state.output or 0) >= len(signature.outputs):
        return f"{name} is input {state.input} and output {state.output}, which are not there"
    before = signature.inputs[state.input]
    if before.kind != TENSOR or UNKNOWN in before.dims:
        return f"{name} is {before}: expected a tensor whose sizes have names"
    if state.output is not None and (after := signature.outputs[state.output]) != before:
        return f"{name} is {before} before a call and {after} after it"
    if state.axis is not None and state.axis >= len(before.dims):
        return f"{name} grows along axis {state.axis} of {before}"
    if state.adds is not None and (before.name, before.dims) != ("int64", ()):
        return f"{name} is the length of growing states and {before}, not i64[]"
    if state.initial is None:
        return ""
    if state.initial >= len(constants):
        return f"{name} begins with constant #{state.initial}, which is not there"
    array = constants[state.initial].array
    if (array.dtype, tuple(map(str, array.shape))) != (dtype_from_name(before.name), before.dims):
        return f"{name} is {before} and begins with {array.dtype}{list(array.shape)}"
    return ""


def interface_of_signature(signature: Signature) -> Interface:
    """The interface of a public function as that of a compiled model: values with parts are objects."""
    inputs = (_spec(signature.name_of(number), type) for number, type in enumerate(signature.inputs))
    outputs = (_spec(f"output{number}", type) for number, type in enumerate(signature.outputs))
    return Interface(tuple(inputs), tuple(outputs), (), Dim.of(0), states=signature.states)


def _spec(name: str, type: Type) -> TensorSpec:
    if type.kind != TENSOR:
        return TensorSpec(name, _OBJECT, (), str(type))
    return TensorSpec(name, dtype_from_name(type.name), tuple(map(Dim.of, type.dims)))
