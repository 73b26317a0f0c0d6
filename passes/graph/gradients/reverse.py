"""Reverse mode: the function with the cotangents of its arguments as results."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.builder import Builder
from xdsl.dialects.builtin import FunctionType, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.rewriter import InsertPoint

from stepwell.passes.graph.gradients.builder import GradientBuilder
from stepwell.passes.graph.gradients.sweep import Sweep, is_differentiable
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.weights import WeightStore


def differentiated(
    function: FuncOp, wrt: Sequence[int], name: str, weights: WeightStore, *, cotangents: bool
) -> FuncOp:
    """
    A private function that returns what `function` does, then the cotangents of the arguments `wrt`.

    Args: `function` has one block without calls; with `cotangents` the new one takes a cotangent for each
    result of floats after its arguments; without, that of the first result is 1 everywhere, of others 0.
    Raises: StepwellError `not-differentiable` for an argument that is none of floats; `no-derivative` with
    all ops that have none.
    """
    made = function.clone()
    made.properties["sym_name"] = StringAttr(name)
    made.properties["sym_visibility"] = StringAttr("private")
    for given in ("arg_attrs", "res_attrs"):
        made.properties.pop(given, None)
    block = made.body.block
    expect_differentiable(function, wrt)
    arguments = [block.args[number] for number in wrt]
    last = block.last_op
    assert isinstance(last, ReturnOp)
    results = list(last.operands)
    reverse = Sweep(arguments, list(block.ops)[:-1])
    reverse.expect_rules()
    b = GradientBuilder(Builder(InsertPoint.before(last)), weights)
    if cotangents:
        for result in filter(is_differentiable, results):
            reverse.add(result, block.insert_arg(result.type, len(block.args)), b)
    elif results and is_differentiable(results[0]):
        reverse.add(results[0], b.full(1.0, results[0]), b)
    gradients = reverse.run(b)
    last.operands = [*last.operands, *gradients]  # rules of loops replace results by ones with a tape
    types = list(block.arg_types), list(last.operand_types)
    made.properties["function_type"] = FunctionType.from_lists(*types)
    return made


def expect_differentiable(function: FuncOp, wrt: Sequence[int]) -> None:
    """Require arguments of floats. Raises: StepwellError `not-differentiable`."""
    name, arguments = function.sym_name.data, function.args
    for number in wrt:
        if number >= len(arguments):
            message = f"wrt names argument {number}, and @{name} has {len(arguments)}"
            raise StepwellError("not-differentiable", function, message)
        if not is_differentiable(arguments[number]):
            message = f"argument {number} of @{name} is {arguments[number].type}, which has no derivative"
            raise StepwellError(
                "not-differentiable", function, message, help="only tensors of floats have one"
            )
