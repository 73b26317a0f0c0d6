"""Functions without calls and norms, as reverse mode takes them."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.rewriter import Rewriter

from stepwell.dialects import graph
from stepwell.dialects.graph_ir.refine import refine_types
from stepwell.dialects.locations import adopt_location
from stepwell.passes.analysis.call_graph import call_graph, functions_by_name, recursive_functions
from stepwell.passes.graph.gradients.decompositions import decompositions
from stepwell.passes.graph.gradients.given import mark_calls
from stepwell.passes.graph.gradients.rules import DERIVATIVE
from stepwell.passes.graph.inlining import inlinable_functions, inline_calls
from stepwell.patterns.driver.greedy import apply_patterns
from stepwell.runtime.files.weights import WeightStore


def straight_line(function: FuncOp, module: ModuleOp, weights: WeightStore) -> FuncOp:
    """
    A copy of a function in which calls are inlined, and norms are arithmetic that has derivatives.

    Calls of recursive functions stay, and of those that give a derivative. Raises: StepwellError
    `type-mismatch`, `too-large` of the inlining.
    """
    made = function.clone()
    functions = functions_by_name(module)
    recursive = recursive_functions(call_graph(module))
    bodies = {name: body for name, body in inlinable_functions(module).items() if name not in recursive}
    inline_calls(made, {name: body for name, body in bodies.items() if DERIVATIVE not in body.attributes})
    mark_calls(made.body, functions)
    _call_by_name(made)
    for op in list(made.body.walk()):
        if isinstance(op, graph.GetOp) and isinstance(made_of := op.operands[0].owner, graph.TupleOp):
            Rewriter.replace_op(op, [], [made_of.operands[op.index.value.data]])
    if apply_patterns(made.body, decompositions(weights)):
        refine_types(made)
    return made


def _call_by_name(function: FuncOp) -> None:
    """Let all calls of functions of the module be `graph.call` by symbol."""
    for op in list(function.body.walk()):
        if isinstance(op, CallOp):
            made = graph.CallOp(op.callee.string_value(), list(op.operands), op.result_types)
        elif isinstance(op, graph.CallOp) and op.function is not None:
            if not isinstance(value := op.function.owner, graph.FunctionOp) or DERIVATIVE in op.attributes:
                continue
            made = graph.CallOp(value.callee.string_value(), op.arguments, op.result_types)
        else:
            continue
        adopt_location(made, op.location)
        Rewriter.replace_op(op, made)
