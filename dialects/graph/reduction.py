"""Reductions over axes: to one number, to the position of an extremum, running, and to a distribution."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import BoolAttr, DenseArrayBase, IntegerAttr, StringAttr, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, prop_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from stepwell.dialects.graph.base import AnyTensor, GraphOp, Kind, SameTypeOp
from stepwell.dialects.graph.relations import (
    Domain,
    element_of_type,
    expect_axis,
    expect_domain,
    one_element,
    reduced,
)
from stepwell.dialects.types import dims_of, tensor_of, tensor_type
from stepwell.runtime.dims import UNKNOWN

FLOAT_REDUCTIONS = ("l1", "l2", "log_sum_exp", "mean", "sum_square")
ORDER_REDUCTIONS = ("max", "min", "prod", "sum")
BOOL_REDUCTIONS = ("and", "or")
REDUCTIONS = (*ORDER_REDUCTIONS, *FLOAT_REDUCTIONS, *BOOL_REDUCTIONS)
SCANS = ("sum", "prod", "max", "min")


@irdl_op_definition
class ReduceOp(GraphOp):
    """
    Combine the elements along some axes: `sum prod max min mean sum_square l1 l2 log_sum_exp and or`.

    Integer sums wrap and integer means truncate; narrow floats are summed in f32; NaN wins in `max` and
    `min`. Of no elements the sum is 0, the product 1, the maximum the lowest number, the minimum the
    highest, the mean NaN (integers: 0), sum_square, l1 and l2 are 0, log_sum_exp is -inf, and `and` is
    true. Without axes only the elementwise part is applied: the square, the absolute value.

    ```mlir
    %y = graph.reduce %x kind "sum" axes [1] keep_dims false : tensor<2x3xf32> -> tensor<2xf32>
    ```
    Constraints:
      (C1) `kind` is one of the above.
      (C2) elements are i1 for `and` and `or`, floats for `log_sum_exp`, else floats or integers.
      (C3) `axes` are dimensions of the input, in ascending order.
    Source: ONNX ReduceSum and its kin, opset 18.
    """

    name = "graph.reduce"
    KIND: ClassVar[Kind] = Kind.REDUCTION

    input = operand_def(AnyTensor)
    kind = prop_def(StringAttr)
    axes = prop_def(DenseArrayBase.constr(i64))
    keep_dims = prop_def(BoolAttr)
    result = result_def(AnyTensor)

    traits = traits_def(Pure())
    assembly_format = (
        "$input `kind` $kind `axes` $axes `keep_dims` $keep_dims attr-dict"
        " `:` type($input) `->` type($result)"
    )

    def __init__(self, input: SSAValue, kind: str, axes: Sequence[int], *, keep_dims: bool = False):
        self.initialize([input], {"kind": kind, "axes": axes, "keep_dims": keep_dims})

    def infer(self) -> Sequence[Attribute]:
        type = tensor_of(self.input)
        dims = reduced(dims_of(type), self.axes.get_values(), bool(self.keep_dims))
        return [tensor_type(type.element_type, dims)]

    def infer_operands(
        self, results: Sequence[Attribute], operands: Sequence[Attribute]
    ) -> Sequence[Attribute | None]:
        if not self.keep_dims:
            return one_element(results, 1)
        axes, dims = self.axes.get_values(), dims_of(results[0])
        kept = [UNKNOWN if axis in axes else dim for axis, dim in enumerate(dims)]
        return [tensor_type(element_of_type(results[0]), kept)]

    def check(self) -> None:
        kind, axes = self.kind.data, self.axes.get_values()
        if kind not in REDUCTIONS:  # (C1)
            raise VerifyException(f'kind must be one of {", ".join(REDUCTIONS)}, found "{kind}"')
        domain = Domain.BOOL if kind in BOOL_REDUCTIONS else Domain.NUMBER
        domain = Domain.FLOAT if kind == "log_sum_exp" else domain
        expect_domain(self.input, domain)  # (C2)
        for axis in axes:
            expect_axis(axis, len(dims_of(self.input.type)), "axes")  # (C3)
        if list(axes) != sorted(set(axes)):
            raise VerifyException(f"axes must ascend, found {list(axes)}")


class ArgReduceOp(GraphOp, ABC):
    """
    The position of an extremum along an axis, as i64: the first, or the last; the first NaN is extreme.
    """

    KIND: ClassVar[Kind] = Kind.REDUCTION

    input = operand_def(AnyTensor)
    axis = prop_def(IntegerAttr.constr(i64))
    keep_dims = prop_def(BoolAttr)
    select_last = prop_def(BoolAttr)
    result = result_def(AnyTensor)

    traits = traits_def(Pure())
    assembly_format = (
        "$input `axis` $axis `keep_dims` $keep_dims `select_last` $select_last attr-dict"
        " `:` type($input) `->` type($result)"
    )

    def __init__(self, input: SSAValue, axis: int, *, keep_dims: bool = False, select_last: bool = False):
        self.initialize([input], {"axis": axis, "keep_dims": keep_dims, "select_last": select_last})

    def infer(self) -> Sequence[Attribute]:
        dims = reduced(dims_of(self.input.type), [self.axis.value.data], bool(self.keep_dims))
        return [tensor_type(i64, dims)]

    def check(self) -> None:
        expect_domain(self.input, Domain.NUMBER)  # (C1)
        dims, axis = dims_of(self.input.type), self.axis.value.data
        expect_axis(axis, len(dims))  # (C2)
        if dims[axis] == 0:  # (C3)
            raise VerifyException(f"{self.name} over an empty axis has no result")


@irdl_op_definition
class ArgmaxOp(ArgReduceOp):
    """
    The index of the greatest element along an axis: the first such position, or the last; NaN is greatest.

    ```mlir
    %y = graph.argmax %x axis 1 keep_dims false select_last false : tensor<2x3xf32> -> tensor<2xi64>
    ```
    Constraints:
      (C1) elements are floats or integers.
      (C2) `axis` is a dimension of the input.
      (C3) that dimension is not 0.
    Source: ONNX ArgMax, opset 13.
    """

    name = "graph.argmax"


@irdl_op_definition
class ArgminOp(ArgReduceOp):
    """
    The index of the least element along an axis: the first such position, or the last; NaN is least.

    ```mlir
    %y = graph.argmin %x axis 1 keep_dims true select_last false : tensor<2x3xf32> -> tensor<2x1xi64>
    ```
    Constraints:
      (C1) elements are floats or integers.
      (C2) `axis` is a dimension of the input.
      (C3) that dimension is not 0.
    Source: ONNX ArgMin, opset 13.
    """

    name = "graph.argmin"


class ScanProperties(IRDLOperation, ABC):
    """The properties of scans, of levels 1 and 2."""

    kind = prop_def(StringAttr)
    axis = prop_def(IntegerAttr.constr(i64))
    exclusive = prop_def(BoolAttr)
    reverse = prop_def(BoolAttr)


@irdl_op_definition
class ScanOp(ScanProperties, SameTypeOp):
    """
    Running `sum prod max min` along an axis; `exclusive` leaves the element itself out, `reverse` runs
    back.

    ```mlir
    %y = graph.scan %x kind "sum" axis 0 exclusive false reverse false : tensor<4xf32> -> tensor<4xf32>
    ```
    Constraints:
      (C1) `kind` is one of the above.
      (C2) elements are floats or integers.
      (C3) `axis` is a dimension of the input.
    Source: ONNX CumSum, opset 14, and CumProd, opset 26.
    """

    name = "graph.scan"
    KIND: ClassVar[Kind] = Kind.OPAQUE

    assembly_format = (
        "$input `kind` $kind `axis` $axis `exclusive` $exclusive `reverse` $reverse attr-dict"
        " `:` type($input) `->` type($result)"
    )

    def __init__(
        self, input: SSAValue, kind: str, axis: int, *, exclusive: bool = False, reverse: bool = False
    ):
        self.initialize([input], {"kind": kind, "axis": axis, "exclusive": exclusive, "reverse": reverse})

    def check(self) -> None:
        if self.kind.data not in SCANS:  # (C1)
            raise VerifyException(f'kind must be one of {", ".join(SCANS)}, found "{self.kind.data}"')
        expect_domain(self.input, Domain.NUMBER)  # (C2)
        expect_axis(self.axis.value.data, len(dims_of(self.input.type)))  # (C3)


class RowOp(SameTypeOp, ABC):
    """A function of the rows along one axis, in the input's shape."""

    KIND: ClassVar[Kind] = Kind.ROW

    axis = prop_def(IntegerAttr.constr(i64))

    assembly_format = "$input `axis` $axis attr-dict `:` type($input) `->` type($result)"

    def __init__(self, input: SSAValue, axis: int, properties: dict[str, Attribute] | None = None):
        self.initialize([input], {"axis": axis, **(properties or {})})

    def check(self) -> None:
        expect_domain(self.input, Domain.FLOAT)  # (C1)
        expect_axis(self.axis.value.data, len(dims_of(self.input.type)))  # (C2)


@irdl_op_definition
class SoftmaxOp(RowOp):
    """
    exp(x - max) / sum(exp(x - max)) along an axis.

    ```mlir
    %y = graph.softmax %x axis 1 : tensor<2x3xf32> -> tensor<2x3xf32>
    ```
    Constraints:
      (C1) elements are floats.
      (C2) `axis` is a dimension of the input.
    Source: ONNX Softmax, opset 13.
    """

    name = "graph.softmax"


@irdl_op_definition
class LogSoftmaxOp(RowOp):
    """
    x - max - log(sum(exp(x - max))) along an axis.

    ```mlir
    %y = graph.log_softmax %x axis 1 : tensor<2x3xf32> -> tensor<2x3xf32>
    ```
    Constraints:
      (C1) elements are floats.
      (C2) `axis` is a dimension of the input.
    Source: ONNX LogSoftmax, opset 13.
    """

    name = "graph.log_softmax"
