"""Reverse mode on straight-line functions: the function with the cotangents of its arguments as results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.builder import Builder
from xdsl.dialects.builtin import FunctionType, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint

from stepwell.dialects.graph.relations import Domain
from stepwell.dialects.locations import adopt_location
from stepwell.dialects.types import Tensor, TensorType
from stepwell.passes.graph.gradients.builder import GradientBuilder
from stepwell.passes.graph.gradients.rules import rule_of, zero
from stepwell.passes.graph.gradients.without_derivative import REASONS
from stepwell.runtime.errors import StepwellError, describe_location
from stepwell.runtime.files.weights import WeightStore


def is_differentiable(value: SSAValue) -> bool:
    """Whether a value is a tensor of floats."""
    type = value.type
    return isinstance(type, TensorType) and Domain.FLOAT.holds(cast(Tensor, type).element_type)


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
    arguments = [_argument(function, list(block.args), number) for number in wrt]
    last = block.last_op
    assert isinstance(last, ReturnOp)
    results = list(last.operands)
    reverse = _Reverse(arguments, list(block.ops)[:-1])
    reverse.expect_rules()
    b = GradientBuilder(Builder(InsertPoint.before(last)), weights)
    if cotangents:
        for result in filter(is_differentiable, results):
            reverse.add(result, block.insert_arg(result.type, len(block.args)), b)
    elif results and is_differentiable(results[0]):
        reverse.add(results[0], b.full(1.0, results[0]), b)
    gradients = reverse.run(b)
    last.operands = [*results, *gradients]
    types = list(block.arg_types), list(last.operand_types)
    made.properties["function_type"] = FunctionType.from_lists(*types)
    return made


def _argument(function: FuncOp, arguments: Sequence[SSAValue], number: int) -> SSAValue:
    name = function.sym_name.data
    if number >= len(arguments):
        message = f"wrt names argument {number}, and @{name} has {len(arguments)}"
        raise StepwellError("not-differentiable", function, message)
    if not is_differentiable(arguments[number]):
        message = f"argument {number} of @{name} is {arguments[number].type}, which has no derivative"
        raise StepwellError("not-differentiable", function, message, help="only tensors of floats have one")
    return arguments[number]


class _Reverse:
    """The reverse sweep over a block: cotangents by value, absent where they are zero."""

    def __init__(self, arguments: Sequence[SSAValue], ops: Sequence[Operation]):
        self._arguments = arguments
        self._cotangents: dict[SSAValue, SSAValue] = {}
        active = set(arguments)
        self._ops: list[Operation] = []
        """The ops through which results depend on the arguments."""
        for op in ops:
            if rule_of(op) is not zero and any(value in active for value in op.operands):
                found = [result for result in op.results if is_differentiable(result)]
                if found or rule_of(op) is None:
                    active.update(found)
                    self._ops.append(op)
        self._active = active

    def expect_rules(self) -> None:
        """Require a derivative of each op. Raises: StepwellError `no-derivative`, which lists all without."""
        missing = [op for op in self._ops if rule_of(op) is None]
        if missing:
            names = ", ".join(dict.fromkeys(op.name for op in missing))
            notes = [f"{op.name} at {place}" for op in missing[:20] if (place := describe_location(op))]
            reasons = {op.name: REASONS[type(op)] for op in missing if type(op) in REASONS}
            notes += [f"{name}: {reason}" for name, reason in reasons.items()]
            message = f"no derivative is known of {names}"
            help = "leave out the arguments that need it, or register one: stepwell.plugin.derivative"
            raise StepwellError("no-derivative", missing[0], message, note=notes, help=help)

    def add(self, value: SSAValue, cotangent: SSAValue, b: GradientBuilder) -> None:
        """Add to the cotangent of a value."""
        known = self._cotangents.get(value)
        self._cotangents[value] = cotangent if known is None else b.add(known, cotangent)

    def run(self, b: GradientBuilder) -> list[SSAValue]:
        """The cotangents of the arguments, of zeros where no result depends on one."""
        for op in reversed(self._ops):
            given = [self._cotangents.get(result) for result in op.results]
            if all(each is None for each in given):
                continue
            rule = rule_of(op)
            assert rule is not None
            before = _last_before(b)
            found = rule(op, given[0] if len(given) == 1 else given, b)
            _locate(before, b, op)
            for operand, cotangent in zip(op.operands, found, strict=True):
                if cotangent is not None and operand in self._active:
                    self.add(operand, cotangent, b)
        return [self._cotangents.get(value) or b.full(0.0, value) for value in self._arguments]


def _last_before(b: GradientBuilder) -> Operation | None:
    """The op before the place of a builder."""
    following = b.rewriter.insertion_point.insert_before
    return None if following is None else following.prev_op


def _locate(before: Operation | None, b: GradientBuilder, op: Operation) -> None:
    """Give the ops that a rule has made the location of the op whose derivative they are."""
    made = _last_before(b)
    while made is not None and made is not before:
        adopt_location(made, op.location)
        made = made.prev_op
