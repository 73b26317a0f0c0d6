"""Derivatives as function values: `graph.vjp` and `graph.gradient` of a function of the module."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from typing import ClassVar, cast

from xdsl.dialects.builtin import DenseArrayBase, FunctionType, SymbolRefAttr, TensorType, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, prop_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from stepwell.dialects.graph.base import GraphOp, Kind, OrUnknown
from stepwell.dialects.graph.relations import Domain
from stepwell.dialects.types import Tensor


def is_float(type: Attribute) -> bool:
    """Whether a type is that of tensors of floats, which have cotangents."""
    return isinstance(type, TensorType) and Domain.FLOAT.holds(cast(Tensor, type).element_type)


def is_differentiable(value: SSAValue) -> bool:
    """Whether a value is a tensor of floats."""
    return is_float(value.type)


class DerivativeOp(GraphOp, ABC):
    """A function value that computes the results of a function, and gradients of some of its arguments."""

    KIND: ClassVar[Kind] = Kind.STRUCTURE

    callee = prop_def(SymbolRefAttr)
    wrt = prop_def(DenseArrayBase.constr(i64))
    """The numbers of the arguments."""
    result = result_def(OrUnknown(FunctionType))

    traits = traits_def(Pure())
    assembly_format = "$callee `wrt` $wrt attr-dict `:` type($result)"

    def __init__(self, callee: str, wrt: Sequence[int], type: FunctionType):
        properties = {"callee": SymbolRefAttr(callee), "wrt": DenseArrayBase.from_list(i64, wrt)}
        super().__init__(properties=properties, result_types=[type])

    def infer(self) -> Sequence[Attribute]:
        return self.result_types  # the callee's type is checked where functions are

    def check(self) -> None:
        wrt = list(self.wrt.get_values())
        if wrt != sorted(set(wrt)) or any(number < 0 for number in wrt):  # (C1)
            raise VerifyException(f"wrt must be sorted and distinct numbers of arguments, found {wrt}")


@irdl_op_definition
class VjpOp(DerivativeOp):
    """
    The vector-Jacobian product of a function, from its arguments and the cotangents of its results.

    A cotangent says how much one number depends on the elements of a result; the function value gives the
    results, then for each argument of `wrt` how much that number depends on it.

    ```mlir
    %f = graph.vjp @f wrt [0] : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
    ```
    Constraints:
      (C1) `wrt` are sorted, distinct numbers of arguments.
    Source: Griewank and Walther, "Evaluating Derivatives" (2008), reverse mode.
    """

    name = "graph.vjp"


@irdl_op_definition
class GradientOp(DerivativeOp):
    """
    The gradients of the sum of a function's first result, after its results.

    ```mlir
    %f = graph.gradient @loss wrt [0] : (tensor<4xf32>) -> (tensor<f32>, tensor<4xf32>)
    ```
    Constraints:
      (C1) `wrt` are sorted, distinct numbers of arguments.
    """

    name = "graph.gradient"
