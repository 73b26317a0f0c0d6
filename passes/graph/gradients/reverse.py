"""Reverse mode: the function with the cotangents of its arguments as results."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.builder import Builder
from xdsl.dialects.builtin import FunctionType, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region
from xdsl.rewriter import InsertPoint

from stepwell.dialects import graph
from stepwell.dialects.graph.gradients import is_differentiable
from stepwell.passes.analysis.tangents import Tangents
from stepwell.passes.graph.gradients.builder import GradientBuilder
from stepwell.passes.graph.gradients.function_pairs import FunctionPairs, as_private
from stepwell.passes.graph.gradients.sweep import Sweep
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.weights import WeightStore


def differentiated(
    function: FuncOp,
    wrt: Sequence[int],
    name: str,
    weights: WeightStore,
    shared: FunctionPairs,
    *,
    cotangents: bool,
) -> FuncOp:
    """
    A private function that returns what `function` does, then the cotangents of the arguments `wrt`.

    Args: `function` has one block, whose calls are of recursive functions; with `cotangents` the new one
    takes a cotangent for each result that has one after its arguments; without, that of the first result is
    1 everywhere, of others 0.
    Raises: StepwellError `no-derivative` with all ops that have none.
    """
    made = as_private(function.clone())
    made.properties["sym_name"] = StringAttr(name)
    block = made.body.block
    arguments = [block.args[number] for number in wrt]
    last = block.last_op
    assert isinstance(last, ReturnOp)
    results = list(last.operands)
    reverse = Sweep(arguments, list(block.ops)[:-1], shared.tangents)
    reverse.expect_rules()
    b = GradientBuilder(Builder(InsertPoint.before(last)), weights, shared=shared)
    if cotangents:
        for result in filter(shared.tangents.has, results):
            reverse.add(result, block.insert_arg(b.tangent(result), len(block.args)), b)
    elif results and is_differentiable(results[0]):
        reverse.add(results[0], b.full(1.0, results[0]), b)
    before = shared.naming_tapes(name)
    gradients = reverse.run(b)
    shared.restore_tapes(before)
    last.operands = [*last.operands, *gradients]  # rules of loops replace results by ones with a tape
    types = list(block.arg_types), list(last.operand_types)
    made.properties["function_type"] = FunctionType.from_lists(*types)
    return made


def wrapped(function: FuncOp) -> FuncOp:
    """A function that only calls another one."""
    inputs, outputs = function.function_type.inputs.data, function.function_type.outputs.data
    block = Block(arg_types=inputs)
    call = graph.CallOp(function.sym_name.data, block.args, outputs)
    block.add_ops([call, ReturnOp(*call.results)])
    made = FuncOp("wrapped", (inputs, outputs), Region(block))
    for old, new in zip(function.args, block.args, strict=True):
        new.name_hint = old.name_hint
    made.location = call.location = function.location
    return made


def expect_differentiable(function: FuncOp, wrt: Sequence[int], tangents: Tangents, at: Operation) -> None:
    """Require arguments that have cotangents. Raises: StepwellError `not-differentiable` at an op."""
    name, arguments = function.sym_name.data, function.args
    for number in wrt:
        if number >= len(arguments):
            message = f"wrt names argument {number}, and @{name} has {len(arguments)}"
            help = "arguments count from 0"
            raise StepwellError("not-differentiable", at, message, help=help)
        if not tangents.has(arguments[number]):
            message = f"argument {number} of @{name} is {arguments[number].type}, which has no derivative"
            help = "only tensors of floats have one, and tuples and data of these"
            raise StepwellError("not-differentiable", at, message, help=help)
