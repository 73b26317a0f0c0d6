"""`specialize-functions`: a copy of a function for each known function that calls pass to it."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from stepwell.passes.base import Pass, functions_of
from stepwell.passes.graph.specializing import specialize_functions


@dataclass(frozen=True)
class SpecializeFunctionsPass(Pass):
    """
    Copy a function for each set of known functions that are its arguments; lambdas are lifted before.

    ```mlir
    %f = graph.closure @g_lambda_0(%k) : (tensor<f32>) -> ((tensor<f32>) -> tensor<f32>)
    %m = graph.call @map.f32_f32(%f, %l) : ((tensor<f32>) -> tensor<f32>, !adt.data<@List, tensor<f32>>)
      -> !adt.data<@List, tensor<f32>>
    ```
    becomes a call of a copy in which the function is called by its name, with what it has captured:
    ```mlir
    %m = graph.call @map.f32_f32.g_lambda_0(%l, %k) : (!adt.data<@List, tensor<f32>>, tensor<f32>)
      -> !adt.data<@List, tensor<f32>>
    ```
    Function values that are stored, returned or chosen at run time stay. So do function arguments of a
    function that would need more than 64 copies. Class: exact. Needs functions without type variables.
    Source: Chin and Darlington, "A higher-order removal method" (Lisp and Symbolic Computation 9, 1996).
    """

    name = "specialize-functions"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        specialize_functions(op, functions_of(op))
