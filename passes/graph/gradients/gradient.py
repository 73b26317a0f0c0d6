"""`gradient`: derivatives of functions are written out as functions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation
from xdsl.rewriter import Rewriter

from stepwell.dialects import graph, ref
from stepwell.dialects._xdsl import weights_of
from stepwell.passes.analysis.call_graph import (
    call_graph,
    functions_by_name,
    reached_from,
    recursive_functions,
)
from stepwell.passes.analysis.dead_ops import erase_dead_ops
from stepwell.passes.base import Pass
from stepwell.passes.graph.gradients.function_pairs import FunctionPairs
from stepwell.passes.graph.gradients.given import calling, given_derivative
from stepwell.passes.graph.gradients.higher_order import HigherOrder
from stepwell.passes.graph.gradients.options import BLOCKED, Options
from stepwell.passes.graph.gradients.reverse import differentiated, expect_differentiable, wrapped
from stepwell.passes.graph.gradients.straight_line import straight_line
from stepwell.passes.graph.instances import monomorphize
from stepwell.passes.graph.specializing import specialize_functions
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.weights import WeightStore

MODES = ("auto", "first-order", "higher-order")


@dataclass(frozen=True)
class GradientPass(Pass):
    """
    Write the functions that `graph.vjp` and `graph.gradient` stand for, and replace these ops by
    `graph.function`.

    ```mlir
    func.func @main(%x: tensor<4xf32>) -> (tensor<f32>, tensor<4xf32>) {
      %g = graph.gradient @f wrt [0] : (tensor<4xf32>) -> (tensor<f32>, tensor<4xf32>)
      %y, %dx = graph.call %g(%x) : (tensor<4xf32>) -> (tensor<f32>, tensor<4xf32>)
      func.return %y, %dx : tensor<f32>, tensor<4xf32>
    }
    // ->
    func.func @main(%x: tensor<4xf32>) -> (tensor<f32>, tensor<4xf32>) {
      %g = graph.function @f.gradient_0 : (tensor<4xf32>) -> (tensor<f32>, tensor<4xf32>)
      %y, %dx = graph.call %g(%x) : (tensor<4xf32>) -> (tensor<f32>, tensor<4xf32>)
      func.return %y, %dx : tensor<f32>, tensor<4xf32>
    }
    ```
    Derivatives inside of a function are written before its own, so gradients of gradients work. Calls are
    inlined into the copy of the function that is differentiated, except calls of functions with a derivative
    of their own (`attributes {graph.derivative = @f_vjp}`). Reverse mode (Griewank and Walther, "Evaluating
    Derivatives", 2008) through branches, loops, recursion, tuples and data, with tapes that are data.

    `mode`: `first-order` is this method; `higher-order` computes cotangents by closures, for programs with
    cells or unknown function values; `auto` uses `higher-order` where a function reaches these.

    Class: exact. Fails for unknown functions; for ops without a derivative, the error lists all of them.
    """

    name = "gradient"

    mode: str = "auto"
    checkpoint: str = "all"
    """
    For loops: `all` keeps the values that iterations begin with, and computes these again; `every:K` those of
    one in K iterations; `none` all that derivatives read, and computes nothing again.
    """
    tape: str = "buffer"
    """Of `graph.while`: `buffer` counts iterations by running twice; `list` grows while it runs once."""
    straight_through: bool = False
    """Whether the derivative of `graph.quantize` and `graph.dequantize` is 1, in the range of integers."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.mode not in MODES:
            message = f"unknown mode {self.mode!r}: choose one of {', '.join(MODES)}"
            raise StepwellError("bad-option", op, message)
        options = Options.of(self.checkpoint, self.tape)
        if not any(isinstance(each, graph.VjpOp | graph.GradientOp) for each in op.walk()):
            return
        monomorphize(op)
        _without_known_functions(op)
        functions = functions_by_name(op)
        _Expansion(op, functions, weights_of(ctx), self, options).run()


class _Expansion:
    """The functions of a module, and those that are written for derivatives, each once."""

    def __init__(
        self,
        module: ModuleOp,
        functions: dict[str, FuncOp],
        weights: WeightStore,
        chosen: GradientPass,
        options: Options,
    ):
        self._module, self._functions, self._weights = module, functions, weights
        self._mode = chosen.mode
        self._under_way: set[str] = set()
        self._shared = FunctionPairs(
            module, weights, self._expand, options, straight_through=chosen.straight_through
        )
        self._closures = HigherOrder(self._shared, weights, self._expand)

    def run(self) -> None:
        """Expand all derivatives of the module."""
        for function in list(self._functions.values()):
            self._expand(function)

    def _expand(self, function: FuncOp) -> None:
        """Expand the derivatives in a function; those in the functions that they are of, first."""
        found = [op for op in function.body.walk() if isinstance(op, graph.VjpOp | graph.GradientOp)]
        for op in found:
            name = self._written(op)
            wanted, type = self._functions[name].function_type, op.result.type
            if type != wanted:
                message = f"the derivative of @{op.callee.string_value()} has type {wanted}, found {type}"
                raise StepwellError("type-mismatch", op, message)
            Rewriter.replace_op(op, graph.FunctionOp(name, wanted))

    def _written(self, op: graph.VjpOp | graph.GradientOp) -> str:
        """The name of the function that an op stands for."""
        callee, wrt = op.callee.string_value(), list(op.wrt.get_values())
        function = self._functions.get(callee)
        if function is None or function.is_declaration:
            raise StepwellError("unknown-function", op, f"there is no function @{callee} with a body")
        name = ".".join([callee, "_".join([op.name.partition(".")[2], *map(str, wrt)])])
        if name in self._functions:
            return name
        expect_differentiable(function, wrt, self._shared.tangents, op)
        if callee in self._under_way:
            raise StepwellError("cycle", op, f"@{callee} contains a derivative of itself")
        cotangents = isinstance(op, graph.VjpOp)
        given = given_derivative(function, self._functions)
        if given is not None:
            made = calling(function, given, wrt, name, self._weights, cotangents=cotangents)
        else:
            self._under_way.add(callee)
            self._expand(function)
            self._under_way.discard(callee)
            made = self._differentiated(function, wrt, name, cotangents=cotangents)
        erase_dead_ops(made.body.block)
        for each in made.body.walk():
            each.attributes.pop(BLOCKED, None)
        self._module.body.block.insert_op_after(made, function)
        self._functions[name] = made
        return name

    def _differentiated(self, function: FuncOp, wrt: Sequence[int], name: str, *, cotangents: bool) -> FuncOp:
        """The derivative of a function that gives none itself."""
        calls = call_graph(self._module)
        callee = function.sym_name.data
        if callee in reached_from(calls[callee], calls):
            line = wrapped(function)
        else:
            line = self._line(function)
        of = [self._functions[name] for name in reached_from([callee], calls) if name in self._functions]
        may_have = self._mode == "auto" and any(
            map(_is_of_closures, (op for each in of for op in each.walk()))
        )
        if self._mode == "higher-order" or (may_have and self._has_closures(line)):
            return self._closures.differentiated(function, wrt, name, cotangents=cotangents)
        return differentiated(line, wrt, name, self._weights, self._shared, cotangents=cotangents)

    def _line(self, function: FuncOp) -> FuncOp:
        return straight_line(
            function, self._module, self._weights, self._shared.tangents.fresh, self._shared.options
        )

    def _has_closures(self, line: FuncOp) -> bool:
        """Whether a function without calls that can be inlined reaches cells, or unknown function values."""
        seen: set[str] = set()
        pending = [line]
        while pending:
            for op in pending.pop().walk():
                if _is_of_closures(op):
                    return True
                name = op.callee.string_value() if isinstance(op, graph.CallOp) and op.callee else ""
                if (
                    name not in seen
                    and (function := self._functions.get(name))
                    and not function.is_declaration
                ):
                    seen.add(name)
                    pending.append(function)
        return False


def _is_of_closures(op: Operation) -> bool:
    """Whether an op writes a cell, or calls a function value."""
    return isinstance(op, ref.WriteOp) or (isinstance(op, graph.CallOp) and op.function is not None)


def _without_known_functions(module: ModuleOp) -> None:
    """Copy recursive functions that are given known functions, in what derivatives are of."""
    functions, calls = functions_by_name(module), call_graph(module)
    found = [op for op in module.walk() if isinstance(op, graph.VjpOp | graph.GradientOp)]
    reached = reached_from([op.callee.string_value() for op in found], calls)
    recursive = recursive_functions({name: calls[name] for name in reached if name in calls})
    of = [functions[name] for name in reached if name in functions]
    given = (op for function in of for op in function.walk() if isinstance(op, graph.CallOp))
    if any(_gives_function(op) and op.callee.string_value() in recursive for op in given if op.callee):
        specialize_functions(module, of)


def _gives_function(op: graph.CallOp) -> bool:
    return any(isinstance(value.type, FunctionType) for value in op.arguments)
