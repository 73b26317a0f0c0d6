"""`monomorphize`: polymorphic functions are copied for the types that they are used at."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from stepwell.passes.base import Pass
from stepwell.passes.graph.instances import monomorphize


@dataclass(frozen=True)
class MonomorphizePass(Pass):
    """
    Replace each use of a polymorphic function by a use of a copy for its type arguments.

    ```mlir
    %n = graph.call @length<tensor<f32>>(%l) : (!adt.data<@List, tensor<f32>>) -> tensor<i64>
    ```
    becomes a call of `@length.f32`, whose types have no variables; polymorphic functions are erased. Class:
    exact. Fails for a function that needs more than 64 instances: it calls itself at ever larger types.
    Source: monomorphization as in MLton (Weeks, "Whole-program compilation in MLton", 2006).
    """

    name = "monomorphize"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        monomorphize(op)
