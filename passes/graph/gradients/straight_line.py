"""Functions without calls and norms, as reverse mode takes them."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from stepwell.dialects.graph_ir.refine import refine_types
from stepwell.passes.graph.inlining import inlinable_functions, inline_calls
from stepwell.passes.graph.norm_parts import norm_patterns
from stepwell.patterns.driver.greedy import apply_patterns
from stepwell.runtime.files.weights import WeightStore


def straight_line(function: FuncOp, module: ModuleOp, weights: WeightStore) -> FuncOp:
    """
    A copy of a function in which calls are inlined, and norms are arithmetic that has derivatives.

    Calls of recursive functions stay. Raises: StepwellError `type-mismatch`, `too-large` of the inlining.
    """
    made = function.clone()
    inline_calls(made, inlinable_functions(module))
    patterns = {id(pattern): pattern for pattern in norm_patterns(weights).values()}
    if apply_patterns(made.body, list(patterns.values())):
        refine_types(made)
    return made
