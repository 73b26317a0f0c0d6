"""`detect-features`: prints the features of the graph level that a module uses, and changes nothing."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import FunctionType, ModuleOp, TensorType
from xdsl.ir import Operation, SSAValue
from xdsl.traits import is_side_effect_free

from stepwell.dialects import graph
from stepwell.dialects.graph.functions import captured_values
from stepwell.dialects.types import dims_of, tensor_of
from stepwell.passes.analysis.call_graph import CallGraph, recursive_functions
from stepwell.passes.analysis.manager import analysis
from stepwell.passes.base import ALL_ANALYSES, Pass, functions_of

_FEATURES: dict[type[Operation], str] = {
    graph.AssertOp: "check",
    graph.CallOp: "call",
    graph.CompositeOp: "composite",
    graph.ConstantOp: "constant",
    graph.ForOp: "loop",
    graph.FunctionOp: "function-value",
    graph.FusedOp: "kernel",
    graph.GetOp: "projection",
    graph.IfOp: "if",
    graph.LambdaOp: "function-value",
    graph.TupleOp: "tuple",
    graph.WhileOp: "loop",
}


@dataclass(frozen=True)
class DetectFeaturesPass(Pass):
    """
    Print to standard error the features that functions use, such as `if`, `closure`, `dynamic-shape`.

    `sharing`: a value has several uses. `data-dependent`: a size is known only at run time.
    Changes nothing.
    """

    name = "detect-features"
    preserves = ALL_ANALYSES

    json: bool = False
    """Print a JSON list."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        found = features_of(op)
        text = json.dumps(found) if self.json else f"features: {', '.join(found) or 'none'}"
        print(text, file=sys.stderr)


def features_of(module: ModuleOp) -> list[str]:
    """The names of the features that a module's functions use, sorted."""
    found = {"recursion"} if recursive_functions(analysis(module, CallGraph).callees) else set[str]()
    for func in functions_of(module):
        for value in func.args:
            found.update(_of_value(value))
        for op in func.body.walk():
            found.update(_of_op(op))
    return sorted(found)


def _of_op(op: Operation) -> Iterator[str]:
    if type(op) in _FEATURES:
        yield _FEATURES[type(op)]
    if isinstance(op, graph.LambdaOp) and captured_values(op.body):
        yield "closure"
    if isinstance(op, graph.ControlFlowOp) and op.names:
        yield "data-dependent"
    if op.results and not isinstance(op, graph.CallOp) and not op.regions and not is_side_effect_free(op):
        yield "effect"
    for value in (*op.results, *(arg for r in op.regions for block in r.blocks for arg in block.args)):
        yield from _of_value(value)


def _of_value(value: SSAValue) -> Iterator[str]:
    if isinstance(value.type, FunctionType):
        yield "function-value"
    if isinstance(value.type, TensorType) and not all(dim.is_static for dim in dims_of(tensor_of(value))):
        yield "dynamic-shape"
    if value.first_use is not None and not value.has_one_use():
        yield "sharing"
