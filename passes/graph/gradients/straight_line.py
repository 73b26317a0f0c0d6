"""Functions without calls and norms, as reverse mode takes them."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.rewriter import Rewriter

from stepwell.dialects import graph
from stepwell.dialects.graph_ir.refine import refine_types
from stepwell.dialects.locations import adopt_location
from stepwell.passes.analysis.call_graph import call_graph, functions_by_name, recursive_functions
from stepwell.passes.graph.gradients.decompositions import decompositions
from stepwell.passes.graph.gradients.given import mark_calls
from stepwell.passes.graph.gradients.named_sizes import name_sizes
from stepwell.passes.graph.gradients.options import Options
from stepwell.passes.graph.gradients.rules import DERIVATIVE
from stepwell.passes.graph.inlining import inlinable_functions, inline_calls
from stepwell.passes.graph.loops_as_calls import call_loops, has_fixed_sizes, reads_sizes
from stepwell.patterns.driver.greedy import apply_patterns
from stepwell.runtime.files.weights import WeightStore


def straight_line(
    function: FuncOp, module: ModuleOp, weights: WeightStore, fresh: Callable[[str], str], options: Options
) -> FuncOp:
    """
    A copy of a function in which calls are inlined, and norms are arithmetic that has derivatives.

    Calls of recursive functions stay, and of those that give a derivative; loops that change sizes are calls
    of functions that this adds to the module, by names that `fresh` makes. Raises: StepwellError
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
    is_called = _changes_sizes_or_is_while if options.has_lists else _changes_sizes
    loops = call_loops(made, weights, fresh, is_called, named=True)
    if loops:
        module.body.block.insert_ops_after(loops, function)
    named = name_sizes(made, weights)
    if apply_patterns(made.body, decompositions(weights)) or loops or named:
        refine_types(made)
    _return_declared_sizes(made)
    return made


def _changes_sizes(op: graph.LoopOp) -> bool:
    """Whether a loop's tape is no buffer of one size."""
    return not has_fixed_sizes(op) and not reads_sizes(op)


def _changes_sizes_or_is_while(op: graph.LoopOp) -> bool:
    """Whether a loop's tape is a list, where those of `graph.while` are lists too."""
    is_list = isinstance(op, graph.WhileOp) or not has_fixed_sizes(op)
    return is_list and not reads_sizes(op)


def _return_declared_sizes(function: FuncOp) -> None:
    """Forget names of sizes in results that the function's type does not have."""
    last = function.body.block.last_op
    assert isinstance(last, ReturnOp)
    for place, (value, type) in enumerate(zip(last.operands, function.function_type.outputs, strict=True)):
        if value.type != type:
            shape = graph.ShapeOfOp(value)
            same = graph.ReshapeOp(value, shape.result)
            function.body.block.insert_ops_before([shape, same], last)
            last.operands[place] = same.result


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
