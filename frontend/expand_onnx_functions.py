"""
`expand-onnx-functions`: replaces calls, and operators that ONNX defines by a function, by function bodies.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from stepwell.dialects import onnx
from stepwell.dialects._xdsl import weights_of
from stepwell.dialects.onnx.structure import with_absent
from stepwell.dialects.plugins.operators import operator_of
from stepwell.frontend.functions import function_name
from stepwell.frontend.inline import inline
from stepwell.runtime.errors import StepwellError

if TYPE_CHECKING:  # few models need it, and the package onnx with it
    from stepwell.frontend.schema_functions import SchemaFunctions

BY_BODY = (
    "onnx.BlackmanWindow",
    "onnx.HammingWindow",
    "onnx.HannWindow",
    "onnx.NegativeLogLikelihoodLoss",
    "onnx.RotaryEmbedding",
    "onnx.SoftmaxCrossEntropyLoss",
)
"""Operators that have no conversion of their own."""

MAX_OPS = 200_000
"""The most ops of a model after expansion: functions that call the next one twice double it at each level."""


@dataclass(frozen=True)
class ExpandOnnxFunctionsPass(ModulePass):
    """
    Replace calls of model-local functions, and the operators named by `ops`, by the body of their function;
    a plugin's lowering of an operator is preferred to a function of the model.

    A body has opsets of its own; its ops keep them as `onnx.opset` where the model's differ. Functions that
    only the schemas have, and that depend on the types of their inputs, are requested with the types that the
    model declares, or else with those that ONNX infers. Leaves no `onnx.Function`. Fails when functions are
    recursive.
    """

    name = "expand-onnx-functions"

    ops: tuple[str, ...] = BY_BODY
    ready: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Inline calls, then expand the named operators until none are left; with `ready`, once."""
        _inline_calls(op)
        wanted = set(self.ops)
        bodies: SchemaFunctions | None = None
        while found := [o for o in op.walk() if isinstance(o, onnx.OnnxOp) and o.name in wanted]:
            if bodies is None:
                from stepwell.frontend.schema_functions import SchemaFunctions

                bodies = SchemaFunctions(op, weights_of(ctx))
            for each in filter(is_ready, found) if self.ready else found:
                _expand(each, bodies)
            if self.ready:
                return


def is_ready(op: onnx.OnnxOp) -> bool:
    """Whether all inputs of an operator are converted, and its schema has a function."""
    from stepwell.frontend.schema_functions import has_function

    return has_function(op) and not any(isinstance(value.owner, onnx.OnnxOp) for value in op.operands)


def _expand(op: onnx.OnnxOp, bodies: SchemaFunctions) -> None:
    """Replace an operator by the body of its schema's function."""
    function = bodies.function(op)
    given = {name: value for name in op.signature.attributes if (value := op.attribute(name)) is not None}
    row = op.signature
    inline(
        op,
        function,
        [getattr(op, parameter.name) for parameter in row.inputs],
        given,
        [getattr(op, parameter.name) for parameter in row.outputs],
    )


def _inline_calls(module: ModuleOp) -> None:
    """Replace all calls of model-local functions by their bodies, and erase the functions."""
    functions = {o.sym_name.data: o for o in module.ops if isinstance(o, onnx.FunctionOp)}
    others = [op for op in module.ops if not isinstance(op, onnx.FunctionOp)]
    sizes: dict[str, int] = {}
    for op in others:
        if (ops := _expanded_size(op, functions, sizes, ())) > MAX_OPS:
            raise StepwellError("too-large", op, f"the functions expand to {ops} ops, at most {MAX_OPS}")
        while calls := _calls(op, functions):
            for call in calls:
                function = functions[_callee(call)]
                arguments = {**function.defaults.data, **call.arguments.data}
                operands = with_absent(call.inputs, call.absent, None)
                results = with_absent(call.outputs, call.absent_outputs, None)
                inline(call, function, operands, arguments, results)
    for function in functions.values():
        function.detach()
        function.erase()


def _calls(op: Operation, functions: Mapping[str, onnx.FunctionOp]) -> list[onnx.CallOp]:
    """The calls of known functions inside an op, except those that a plugin lowers."""
    calls = [o for o in op.walk() if isinstance(o, onnx.CallOp) and _callee(o) in functions]
    return [call for call in calls if operator_of(call) is None]


def _expanded_size(
    op: Operation, functions: Mapping[str, onnx.FunctionOp], sizes: dict[str, int], callers: tuple[str, ...]
) -> int:
    """The number of ops inside an op after all calls are expanded. Raises: StepwellError `cycle`."""
    total = sum(1 for _ in op.walk())
    for call in _calls(op, functions):
        name = _callee(call)
        if name in callers:
            cycle = " -> ".join([*callers[callers.index(name) :], name])
            message = f"functions call each other: {cycle}"
            raise StepwellError("cycle", call, message, help="write recursion as a Loop")
        if name not in sizes:
            sizes[name] = _expanded_size(functions[name], functions, sizes, (*callers, name))
        total += sizes[name]
    return total


def _callee(call: onnx.CallOp) -> str:
    """The symbol of the function that a call names."""
    overload = call.overload.data if call.overload is not None else ""
    return function_name(call.domain.data, call.op_type.data, overload)
