"""`infer-effects`: each function says what a call of it may do but give results."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr

from stepwell.passes.analysis.call_graph import functions_by_name
from stepwell.passes.analysis.effects import ALL, EFFECTS, Effects
from stepwell.passes.base import Pass


@dataclass(frozen=True)
class InferEffectsPass(Pass):
    """
    Give each function with a body the attribute `graph.effects`: the effects of its calls.

    ```mlir
    func.func private @peek(%r: !ref.cell<tensor<f32>>) -> tensor<f32> {
      %v = ref.read %r : !ref.cell<tensor<f32>> -> tensor<f32>
      func.return %v : tensor<f32>
    }
    // ->
    func.func private @peek(%r: …) -> tensor<f32> attributes {graph.effects = ["read"]} {
    ```
    They are `alloc`, `read` and `write` of cells, `check` (an assertion may end the call) and `host` (a host
    call that says `effect`); the empty list is a pure function. A function without a body has those of its
    attribute, all without one; a call of a function value has the effects of all functions that the module
    makes a value of that type, all effects where such values come from outside. Class: exact.
    Source: `Effects`.
    """

    name = "infer-effects"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        effects = Effects.of(op)
        for function in functions_by_name(op).values():
            if not function.is_declaration:
                found = effects.by_body[function]
                function.attributes[EFFECTS] = ArrayAttr([StringAttr(each) for each in ALL if each in found])
