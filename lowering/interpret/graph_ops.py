"""`graph`: each op by its numpy meaning; kernels, tuples and checks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from xdsl.ir import Operation

from stepwell.dialects import graph
from stepwell.dialects.graph.base import GraphOp, operand_slots, plain_properties
from stepwell.dialects.graph.structure import constant_array
from stepwell.dialects.types import DimsAttr
from stepwell.lowering.interpret.engine import (
    Compiler,
    Frame,
    InFrame,
    Step,
    Unary,
    Value,
    implements,
    implements_in_frame,
)
from stepwell.lowering.main_to_buffers import error_row
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.meaning import evaluate, has_meaning

if TYPE_CHECKING:
    from stepwell.dialects import dev
    from stepwell.lowering.interpret.machine import Observer


@implements_in_frame("graph.*")
def prepare_graph_op(op: Operation, compiler: Compiler) -> Step:
    """An op by its numpy meaning."""
    if not isinstance(op, GraphOp) or not has_meaning(op.name):
        raise StepwellError("unsupported-op", op, f"the interpreter cannot run {op.name}")
    present = [value is not None for value in operand_slots(op)]
    single = len(op.results) == 1
    # Sizes may be known only when the op runs, and differ from one run to the next.
    fixed = None if _is_symbolic(op) else plain_properties(op)

    def run(frame: Frame, *values: Value) -> Value:
        rest = iter(values)
        properties = _properties(op, frame.scope.symbols) if fixed is None else fixed
        operands = [next(rest) if there else None for there in present]
        if (noise := compiler.machine.noise) is not None:
            operands = noise.on_operands(op.name, operands)
        results = evaluate(op.name, operands, properties, quick=compiler.machine.quick)
        if noise is not None:
            results = noise.on_results(results)
        return results[0] if single else results

    return run


def _is_symbolic(op: Operation) -> bool:
    """Whether a property of an op has symbolic dimensions."""
    return any(
        not dim.is_static
        for attribute in op.properties.values()
        if isinstance(attribute, DimsAttr)
        for dim in attribute.get()
    )


def _properties(op: Operation, symbols: Mapping[str, int]) -> Mapping[str, object]:
    """The properties of an op as the meanings expect them, symbols replaced by sizes."""
    try:
        return plain_properties(op, symbols)
    except KeyError as error:
        raise StepwellError("run-time", op, f"{op.name}: no input determines the size of {error}") from None


@implements_in_frame("graph.constant")
def prepare_constant(op: graph.ConstantOp, compiler: Compiler) -> InFrame:
    """A constant, from the weight store when it is large."""
    array = constant_array(op, compiler.machine.weights)
    return lambda frame: array


@implements_in_frame("graph.fused", "graph.composite")
def prepare_closed_region(op: graph.FusedOp | graph.CompositeOp, compiler: Compiler) -> Step:
    """The ops inside a kernel, or inside a matched pattern."""
    body = compiler.steps(op.body.block)
    single = len(op.results) == 1
    observe: Observer | None = compiler.machine.observe if isinstance(op, graph.FusedOp) else None

    def run(frame: Frame, *values: Value) -> Value:
        results = body.run(frame, values)
        if observe is not None:
            with compiler.machine.noisy():
                others = body.run(frame, values)
            observe(op, values, results, others, frame.scope.symbols)
        return results[0] if single else tuple(results)

    return run


@implements_in_frame("graph.expression")
def prepare_expression(op: graph.ExpressionOp, compiler: Compiler) -> Step:
    """Tensors by their formula."""
    from stepwell.lowering.interpret.expressions import Formula  # few programs have one

    return Formula(op, compiler).run


@implements_in_frame("graph.nest")
def prepare_nest(op: graph.NestOp, compiler: Compiler) -> Step:
    """Tensors by ops of level 2."""
    from stepwell.lowering.interpret.expressions import Nest

    return Nest(op, compiler).run


@implements("dev.copy")
def prepare_copy(op: dev.CopyOp) -> Step:
    """A value on another device: the same elements."""

    def copy(value: Value) -> Value:
        return value

    return copy


@implements("graph.tuple")
def prepare_tuple(op: graph.TupleOp) -> Step:
    """Several values as one tuple."""

    def pack(*values: Value) -> Value:
        return values

    return pack


@implements("graph.get")
def prepare_get(op: graph.GetOp) -> Unary:
    """The field of a tuple at an index."""
    index = op.index.value.data
    return lambda values: values[index]


@implements_in_frame("graph.assert")
def prepare_assert(op: graph.AssertOp, compiler: Compiler) -> Step:
    """A check that two dimensions are equal."""
    lhs, rhs = Dim.of(op.lhs.data), Dim.of(op.rhs.data)

    def run(frame: Frame) -> tuple[()]:
        symbols = frame.scope.symbols
        if unknown := (lhs.symbols() | rhs.symbols()) - symbols.keys():
            raise StepwellError(
                "run-time", op, f"no input determines the size of {', '.join(sorted(unknown))}"
            )
        a, b = lhs.evaluate(symbols), rhs.evaluate(symbols)
        if a != b:
            raise error_row(op).error(a, b)
        return ()

    return run
