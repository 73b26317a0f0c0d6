"""The interface of a level-1 program: names, types and shape checks of inputs and outputs."""

from __future__ import annotations

from typing import cast

import numpy as np
from xdsl.dialects import func
from xdsl.dialects.builtin import DictionaryAttr, StringAttr, TensorType, UnrankedTensorType
from xdsl.ir import Attribute

from stepwell.dialects import graph, onnx
from stepwell.dialects.constants import array_of
from stepwell.dialects.graph.host import is_opaque
from stepwell.dialects.graph_ir.state import state_pairs
from stepwell.dialects.types import Tensor, dims_of, dtype_of, type_before
from stepwell.lowering.main_to_buffers import assertion_symbols, input_symbols, inputs_of
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.weights import WeightStore
from stepwell.runtime.interface import Array, Interface, ShapeCheck, StateSpec, TensorSpec

KINDS = ("input", "output")


def read_interface(main: func.FuncOp) -> Interface:
    """
    The interface of a level-1 `@main`: names, types and shape checks; the arena's size is not known yet.

    Raises: StepwellError `unsupported` for values that are no tensors of numbers.
    """
    inputs, outputs = (
        tuple(tensor_spec(name, type, kind) for name, type in named_types(main, kind)) for kind in KINDS
    )
    known = input_symbols(main)
    checks = tuple(
        ShapeCheck(Dim.of(op.lhs.data), Dim.of(op.rhs.data), op.message.data)
        for op in main.body.block.ops
        if isinstance(op, graph.AssertOp) and assertion_symbols(op) <= known
    )
    states = tuple(
        StateSpec(each.name, each.argument, each.result, None, False, each.grows, each.adds)
        for each in state_pairs(main)
    )
    lengths = sum(state.adds is not None for state in states)
    if lengths != any(state.axis is not None for state in states):
        message = f"growing states have one length, found {lengths}"
        help = "`bind-states` makes the states, and `append-to-states` says how many positions a call adds"
        raise StepwellError("state-mismatch", main, message, help=help)
    return Interface(inputs, outputs, (), Dim.of(0), checks, states=states)


def with_initial_values(
    main: func.FuncOp, interface: Interface, weights: WeightStore, *, first: int
) -> tuple[Interface, list[Array]]:
    """
    The interface with numbers of initial values, from `first` on, and these values.

    Raises: StepwellError `state-mismatch` for a value of another type than the state.
    """
    arrays: list[Array] = []
    states: list[StateSpec] = []
    for pair, state in zip(state_pairs(main), interface.states, strict=True):
        if pair.initial is None:
            states.append(state)
            continue
        array, spec = array_of(pair.initial, weights), interface.inputs[state.input]
        if array.dtype != spec.dtype or [*map(Dim.of, array.shape)] != [*spec.dims]:
            message = f"the state {state.name!r} is {spec} and begins with {array.dtype}{list(array.shape)}"
            raise StepwellError("state-mismatch", main, message, help="give both one type")
        states.append(state._replace(initial=first + len(arrays)))
        arrays.append(array)
    return interface._replace(states=tuple(states)), arrays


def require_ranks(main: func.FuncOp) -> None:
    """Refuse inputs of unknown rank. Raises: StepwellError `unsupported-dynamic-rank`."""
    for name, type in named_types(main, "input"):
        if isinstance(type, onnx.AnyType):
            message = f"the model does not say what input {name!r} is"
            raise StepwellError(
                "unsupported-dynamic-rank", None, message, help="export it with types of its inputs"
            )
        if isinstance(type, UnrankedTensorType):
            raise StepwellError(
                "unsupported-dynamic-rank",
                None,
                f"the model does not say how many dimensions input {name!r} has",
                help=f"give it a shape, such as --input-shape {name}=1x3x224x224",
            )


def named_types(main: func.FuncOp, kind: str) -> list[tuple[str, Attribute]]:
    """Names and types of `@main`'s values of a kind, `input` or `output`, as they are at level 1."""
    is_input = kind == "input"
    types = [arg.type for arg in inputs_of(main)] if is_input else main.function_type.outputs.data
    attrs = main.arg_attrs if is_input else main.res_attrs
    said = attrs.data if attrs is not None else [DictionaryAttr({})] * len(types)
    return [
        (
            name.data if isinstance(name := about.data.get("graph.name"), StringAttr) else f"{kind}{index}",
            type_before(type, about.data),
        )
        for index, (about, type) in enumerate(zip(said, types, strict=False))
    ]


def tensor_spec(name: str, type: Attribute, kind: str) -> TensorSpec:
    """The runtime's description of an input or output. Raises: StepwellError `unsupported`."""
    if isinstance(type, TensorType):
        tensor = cast(Tensor, type)
        dtype = np.dtype(object) if is_opaque(tensor) else dtype_of(tensor.element_type)
        return TensorSpec(name, dtype, dims_of(tensor))
    is_object = isinstance(type, onnx.SequenceType | onnx.OptionalType | onnx.MapType)
    if is_object or (kind == "output" and isinstance(type, UnrankedTensorType)):
        return TensorSpec(name, np.dtype(object), (), type_text(cast(Attribute, type)))
    raise StepwellError("unsupported", None, f"{kind} {name!r} is {type}, expected a tensor of known rank")


def type_text(type: Attribute) -> str:
    """A type in ONNX's notation: `seq(f32)`, `map(i64, f32)`, `optional(seq(f32))`."""
    match type:
        case onnx.SequenceType():
            return f"seq({type_text(type.element)})"
        case onnx.OptionalType():
            return f"optional({type_text(type.element)})"
        case onnx.MapType():
            return f"map({type_text(type.key)}, {type_text(type.element)})"
        case TensorType() | UnrankedTensorType():
            return str(cast(Tensor, type).element_type)
        case _:
            return str(type)
