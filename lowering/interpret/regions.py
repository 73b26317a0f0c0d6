"""The branches, loops, function values and calls of `graph`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from xdsl.ir import Attribute, SSAValue

from stepwell.dialects import graph
from stepwell.dialects.graph.functions import captured_values
from stepwell.dialects.types import dims_of, tensor_of
from stepwell.lowering.interpret.engine import (
    Call,
    Compiler,
    Frame,
    InFrame,
    Running,
    Scope,
    Step,
    Value,
    Waiting,
    implements_in_frame,
    packed,
    step_of,
)
from stepwell.lowering.main_to_buffers import signature_of
from stepwell.runtime.dims import Dim
from stepwell.runtime.values import Data


def _sizes(names: Sequence[str], types: Sequence[Attribute]) -> Callable[[Scope, Sequence[Value]], list[int]]:
    """
    A function that binds symbols to the sizes in the shapes of values of given types, and returns the sizes.
    """
    positions = {
        str(dim): (position, axis)
        for position, type in enumerate(types)
        if type.name == "tensor"
        for axis, dim in enumerate(dims_of(type))
    }

    def bind(scope: Scope, values: Sequence[Value]) -> list[int]:
        sizes = [int(np.shape(values[positions[name][0]])[positions[name][1]]) for name in names]
        scope.symbols.update(zip(names, sizes, strict=True))
        return sizes

    return bind


@implements_in_frame("graph.if")
def prepare_if(op: graph.IfOp, compiler: Compiler) -> Step:
    """The branch that the condition selects."""
    then, otherwise = (compiler.steps(region.block) for region in op.regions)
    bind = _sizes(op.names, signature_of(op).outputs.data)

    def run(frame: Frame, condition: Value) -> Running:
        values = yield from (then if condition else otherwise).start(frame, [])
        return packed([*values, *bind(frame.scope, values)])

    return step_of(run, then, otherwise)


@implements_in_frame("graph.while")
def prepare_while(op: graph.WhileOp, compiler: Compiler) -> Step:
    """A loop that runs while its first region yields true."""
    test, body = compiler.steps(op.test.block), compiler.steps(op.body.block)
    bind_carried = _sizes(op.carried_names, signature_of(op).inputs.data)
    bind = _sizes(op.names, signature_of(op).outputs.data)

    def run(frame: Frame, *values: Value) -> Running:
        carried: Sequence[Value] = values
        while True:
            arguments = [*carried, *bind_carried(frame.scope, carried)]
            if not (yield from test.start(frame, arguments))[0]:
                return packed([*carried, *bind(frame.scope, carried)])
            carried = yield from body.start(frame, arguments)

    return step_of(run, test, body)


@implements_in_frame("graph.for")
def prepare_for(op: graph.ForOp, compiler: Compiler) -> Step:
    """A loop that runs a number of times."""
    body = compiler.steps(op.body.block)
    bind_carried = _sizes(op.carried_names, signature_of(op).inputs.data)
    bind = _sizes(op.names, signature_of(op).outputs.data)

    def run(frame: Frame, *operands: Value) -> Running:
        count, *values = operands
        carried: Sequence[Value] = values
        for number in range(int(count)):
            arguments = [np.int64(number), *carried, *bind_carried(frame.scope, carried)]
            carried = yield from body.start(frame, arguments)
        return packed([*carried, *bind(frame.scope, carried)])

    return step_of(run, body)


@implements_in_frame("graph.lambda")
def prepare_lambda(op: graph.LambdaOp, compiler: Compiler) -> InFrame:
    """A closure: captures the values and symbols at the moment of its creation."""
    itself, body_arguments = op.itself, op.arguments
    captured = list(captured_values(op.body))
    inner = Compiler(compiler.machine)
    outer_slots = [compiler.slot(value) for value in captured]
    inner_slots = [inner.slot(value) for value in captured]
    body = inner.steps(op.body.block)
    names = [str(dim) for arg in body_arguments for dim in _dims(arg) if not dim.is_static]

    def make(frame: Frame) -> Value:
        snapshot = [frame.slots[slot] for slot in outer_slots]
        symbols = dict(frame.scope.symbols)

        def call(values: Sequence[Value]) -> Running:
            own = inner.frame(Scope(dict(symbols)))
            for slot, value in zip(inner_slots, snapshot, strict=True):
                own.slots[slot] = value
            bind(own.scope, values)
            return body.start(own, values if itself is None else [call, *values])

        return call

    types = [argument.type for argument in body_arguments]
    bind = _sizes([name for name in names if name.isidentifier()], types)
    return make


def _dims(value: SSAValue) -> Sequence[Dim]:
    return dims_of(tensor_of(value)) if value.type.name == "tensor" else ()


@implements_in_frame("graph.function")
def prepare_function(op: graph.FunctionOp, compiler: Compiler) -> InFrame:
    """A function of the module as a value."""
    callee, machine = op.callee.string_value(), compiler.machine
    if op.callee.nested_references:
        return lambda frame: partial(_made, op.callee.nested_references.data[-1].data)
    return lambda frame: partial(machine.start, callee, at=op)


@implements_in_frame("graph.closure")
def prepare_closure(op: graph.ClosureOp, compiler: Compiler) -> Step:
    """A function of the module with its first arguments given."""
    callee, machine = op.callee.string_value(), compiler.machine

    def make(frame: Frame, *captured: Value) -> Value:
        def call(values: Sequence[Value]) -> Running:
            return machine.start(callee, [*captured, *values], at=op)

        return call

    return make


def _made(constructor: str, fields: Sequence[Value]) -> Running:
    """A constructor called as a function."""
    return [Data(constructor, fields)]
    yield


@implements_in_frame("graph.call")
def prepare_call(op: graph.CallOp, compiler: Compiler) -> Waiting:
    """A call of a function of the module, or of a function value."""
    machine = compiler.machine
    callee = None if op.callee is None else op.callee.string_value()

    def run(frame: Frame, *values: Value) -> Running:
        if callee is not None:
            body = machine.start(callee, values, at=op)
        else:
            function, *arguments = values
            body = function(arguments)
        return packed((yield Call(op, body)))

    return Waiting(run)


@implements_in_frame("graph.external")
def prepare_external(op: graph.ExternalOp, compiler: Compiler) -> Step:
    """A partition by the meaning of its function, which has the caller's symbols."""
    machine, callee = compiler.machine, op.callee.string_value()

    def run(frame: Frame, *values: Value) -> Value:
        return packed(machine.call(callee, values, frame.scope, op))

    return run
