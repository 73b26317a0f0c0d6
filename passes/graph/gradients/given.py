"""Derivatives that programs give themselves: `attributes {graph.derivative = @f_vjp}` on a function `@f`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from xdsl.builder import Builder
from xdsl.dialects.builtin import FunctionType, StringAttr, SymbolRefAttr
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from stepwell.dialects import graph
from stepwell.dialects.graph.gradients import is_float
from stepwell.dialects.locations import adopt_location
from stepwell.passes.graph.gradients.builder import GradientBuilder
from stepwell.passes.graph.gradients.rules import DERIVATIVE, Cotangents, derivative
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.weights import WeightStore


def given_derivative(function: FuncOp, functions: Mapping[str, FuncOp]) -> str | None:
    """
    The name of the function that a function gives as its derivative; None where it gives none.

    It takes the arguments and a cotangent for each result of floats, and returns the results, then the
    cotangents of all arguments of floats. Raises: StepwellError `unknown-function`, `type-mismatch`.
    """
    symbol = function.attributes.get(DERIVATIVE)
    if symbol is None:
        return None
    name = symbol.string_value() if isinstance(symbol, SymbolRefAttr) else str(symbol)
    if name not in functions:
        message = f"@{function.sym_name.data} has the derivative @{name}, and there is no such function"
        raise StepwellError("unknown-function", function, message)
    inputs, outputs = function.function_type.inputs.data, function.function_type.outputs.data
    wanted = derivative_type(inputs, outputs)
    if (found := functions[name].function_type) != wanted:
        own = function.sym_name.data
        message = f"@{name}, the derivative of @{own}, must have type {wanted}, found {found}"
        help = "it takes the arguments and the cotangents, and returns the results and the gradients"
        raise StepwellError("type-mismatch", function, message, help=help)
    return name


def derivative_type(inputs: Sequence[Attribute], outputs: Sequence[Attribute]) -> FunctionType:
    """The type of the derivative of a function by all arguments of floats."""
    floats = [type for type in outputs if is_float(type)]
    gradients = [type for type in inputs if is_float(type)]
    return FunctionType.from_lists([*inputs, *floats], [*outputs, *gradients])


def mark_calls(body: Region, functions: Mapping[str, FuncOp]) -> None:
    """Note the derivative at each call of a function that gives one."""
    for op in list(body.walk()):
        if not isinstance(op, graph.CallOp | CallOp):
            continue
        callee = functions.get(_callee(op))
        name = None if callee is None else given_derivative(callee, functions)
        if name is None:
            continue
        if isinstance(op, CallOp):
            made = graph.CallOp(_callee(op), list(op.operands), op.result_types)
            adopt_location(made, op.location)
            Rewriter.replace_op(op, made)
            op = made
        op.attributes[DERIVATIVE] = SymbolRefAttr(name)


def _callee(op: graph.CallOp | CallOp) -> str:
    """The name of the function that is called; empty for a value that is not `graph.function`."""
    symbol = op.callee
    if isinstance(op, graph.CallOp) and op.function is not None:
        owner = op.function.owner
        symbol = owner.callee if isinstance(owner, graph.FunctionOp) else None
    return "" if symbol is None else symbol.string_value()


@derivative(graph.CallOp)
def call(op: graph.CallOp, dy: SSAValue | Sequence[SSAValue | None], b: GradientBuilder) -> Cotangents:
    """
    A call of the derivative that the function gives; else calls of two functions that are written.

    The first returns a tape beside the results, and takes the place of the call; the second takes that and
    the cotangents. Calls of functions that do not lead to themselves are inlined before.
    """
    given = [dy] if isinstance(dy, SSAValue) else list(dy)
    if DERIVATIVE not in op.attributes:
        return _by_tape(op, given, b)
    cotangents = [
        cotangent or b.zeros(result)
        for cotangent, result in zip(given, op.outputs, strict=True)
        if is_float(result.type)
    ]
    name = cast(SymbolRefAttr, op.attributes[DERIVATIVE]).string_value()
    found = _called(name, list(op.arguments), list(op.result_types), cotangents, b)
    gradients = iter(found[len(op.outputs) :])
    arguments = [next(gradients) if is_float(value.type) else None for value in op.arguments]
    return [*[None] * (len(op.operands) - len(op.arguments)), *arguments]


def _by_tape(op: graph.CallOp, given: Sequence[SSAValue | None], b: GradientBuilder) -> Cotangents:
    """Calls of the functions forward, which leaves a tape, and backward."""
    active = [number for number, value in enumerate(op.arguments) if value in b.active]
    pair = b.scope.pair(op, active)
    ahead = b.before(op)
    forward = graph.CallOp(pair.forward, list(op.arguments), [*op.result_types, pair.tape])
    adopt_location(ahead.rewriter.insert(forward), op.location)
    *results, tape = forward.results
    for old, new in zip(op.results, results, strict=True):
        new.name_hint = old.name_hint
        old.replace_all_uses_with(new)
    op.detach()
    tangents = b.scope.tangents
    pairs = [(value, dy) for value, dy in zip(results, given, strict=True) if tangents.has(value)]
    cotangents = [b.zeros(value) if dy is None else dy for value, dy in pairs]
    types = [b.tangent(op.arguments[number]) for number in active]
    found = dict(zip(active, b.call(pair.backward, [tape, *cotangents], types), strict=True))
    return [found.get(number) for number in range(len(op.arguments))]


def _called(
    name: str,
    arguments: Sequence[SSAValue],
    outputs: Sequence[Attribute],
    cotangents: Sequence[SSAValue],
    b: GradientBuilder,
) -> Sequence[SSAValue]:
    type = derivative_type([value.type for value in arguments], outputs)
    made = graph.CallOp(name, [*arguments, *cotangents], type.outputs.data)
    b.rewriter.insert(made)
    return made.results


def calling(
    function: FuncOp, given: str, wrt: Sequence[int], name: str, weights: WeightStore, *, cotangents: bool
) -> FuncOp:
    """A private function that calls the derivative which a function gives, for the arguments `wrt`."""
    inputs, outputs = function.function_type.inputs.data, function.function_type.outputs.data
    floats = [type for type in outputs if is_float(type)]
    block = Block(arg_types=[*inputs, *(floats if cotangents else [])])
    block.add_op(last := ReturnOp())
    b = GradientBuilder(Builder(InsertPoint.before(last)), weights)
    arguments = list(block.args[: len(inputs)])
    if cotangents:
        seeds = list(block.args[len(inputs) :])
    else:
        seeds = [b.filled(float(place == 0), type) for place, type in enumerate(outputs) if is_float(type)]
    found = _called(given, arguments, outputs, seeds, b)
    order = [number for number, type in enumerate(inputs) if is_float(type)]
    gradients = [found[len(outputs) + order.index(number)] for number in wrt]
    last.operands = [*found[: len(outputs)], *gradients]
    types = FunctionType.from_lists(list(block.arg_types), list(last.operand_types))
    made = FuncOp(name, types, Region(block), visibility=StringAttr("private"))
    for op in made.walk():
        adopt_location(op, function.location)
    return made
