"""Functions without calls and norms, as reverse mode takes them."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.rewriter import Rewriter

from stepwell.dialects import graph
from stepwell.dialects.graph_ir.refine import refine_types
from stepwell.passes.analysis.call_graph import functions_by_name
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
    bodies = inlinable_functions(module)
    inline_calls(made, {name: body for name, body in bodies.items() if DERIVATIVE not in body.attributes})
    mark_calls(made.body, functions)
    for op in list(made.body.walk()):
        if isinstance(op, graph.GetOp) and isinstance(made_of := op.operands[0].owner, graph.TupleOp):
            Rewriter.replace_op(op, [], [made_of.operands[op.index.value.data]])
    if apply_patterns(made.body, decompositions(weights)):
        refine_types(made)
    return made
