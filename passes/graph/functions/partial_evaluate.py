"""`partial-evaluate`: compute values that are known at compile time, and unfold calls of known functions."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from stepwell.dialects._xdsl import weights_of
from stepwell.dialects.type_variables import params_of
from stepwell.passes.analysis.call_graph import CallGraph, functions_by_name, recursive_functions
from stepwell.passes.analysis.effects import Effects
from stepwell.passes.analysis.manager import analysis
from stepwell.passes.base import Pass, functions_of
from stepwell.passes.graph.functions.unfolding import Evaluator


@dataclass(frozen=True)
class PartialEvaluatePass(Pass):
    """
    Compute what depends on constants alone, and unfold the calls of known functions.

    ```mlir
    %r = ref.new %x : tensor<f32> -> !ref.cell<tensor<f32>>
    %a = ref.read %r : !ref.cell<tensor<f32>> -> tensor<f32>
    %b = graph.multiply %a, %a : (tensor<f32>, tensor<f32>) -> tensor<f32>
    ref.write %r, %b : !ref.cell<tensor<f32>>, tensor<f32>
    %c = ref.read %r : !ref.cell<tensor<f32>> -> tensor<f32>
    // ->
    %r = ref.new %x : tensor<f32> -> !ref.cell<tensor<f32>>
    %b = graph.multiply %x, %x : (tensor<f32>, tensor<f32>) -> tensor<f32>
    ref.write %r, %b : !ref.cell<tensor<f32>>, tensor<f32>
    ```
    Tensors of at most 1,024 elements, tuples, data, functions and cells are followed; branches and cases that
    are decided are replaced by the arm. A call of a recursive function unfolds when an argument that its
    branches depend on is of known size, and smaller than in the call around: constructors of data, a natural
    number. Effects stay, in their order; what is unused is left to `dead-code-elimination`. Polymorphic
    functions stay as they are: `monomorphize` goes before.
    Class: exact.
    Source: Thiemann and Dussart, "Partial evaluation for higher-order languages with state" (1999).
    """

    name = "partial-evaluate"

    budget: int = 10_000
    """The number of emitted ops and unfolded calls of a function after which no more calls unfold."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions = {name: f for name, f in functions_by_name(op).items() if params_of(f) is None}
        recursive = recursive_functions(analysis(op, CallGraph).callees)
        effects = Effects.of(op)
        made: list[tuple[FuncOp, FuncOp]] = []
        for function in functions_of(op):
            if params_of(function) is None and len(function.body.blocks) == 1:
                evaluator = Evaluator(functions, recursive, effects, weights_of(ctx), self.budget)
                made.append((function, evaluator.evaluated(function)))
        for function, new in made:  # at the end: calls unfold bodies as they were
            if (parent := function.parent) is not None:
                parent.insert_op_before(new, function)
                function.detach()
                function.erase(safe_erase=False)
