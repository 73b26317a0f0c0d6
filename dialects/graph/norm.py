"""Normalizations of rows: by their mean and deviation, their mean square, their norm."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import Float32Type, FloatAttr, IntegerAttr, f32, i64
from xdsl.ir import Attribute, SSAValue, TypeAttribute
from xdsl.irdl import (
    AttrSizedOperandSegments,
    AttrSizedResultSegments,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_result_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from stepwell.dialects.graph.base import AnyTensor, GraphOp, Kind
from stepwell.dialects.graph.reduction import RowOp
from stepwell.dialects.graph.relations import (
    Domain,
    broadcast,
    differ,
    expect_axis,
    expect_domain,
    is_float,
    shape_text,
)
from stepwell.dialects.types import dims_of, int_attr, tensor_of, tensor_type
from stepwell.runtime.dims import Dim


class RowNormOp(GraphOp, ABC):
    """
    The base of normalizations over all dimensions from `axis` on: operands, checks, the results' shapes.
    """

    KIND: ClassVar[Kind] = Kind.ROW

    input = operand_def(AnyTensor)
    scale = opt_operand_def(AnyTensor)
    bias = opt_operand_def(AnyTensor)
    axis = prop_def(IntegerAttr.constr(i64))
    eps = prop_def(FloatAttr[Float32Type])
    compute_type = prop_def(TypeAttribute)

    traits = traits_def(Pure())

    def check(self) -> None:
        expect_domain(self.input, Domain.FLOAT)  # (C1)
        dims = dims_of(self.input.type)
        expect_axis(self.axis.value.data, len(dims))  # (C2)
        for what, operand in (("scale", self.scale), ("bias", self.bias)):
            if operand is not None:  # (C3)
                expect_domain(operand, Domain.FLOAT, f"element type of the {what}")
                own = dims_of(operand.type)
                joined = broadcast([dims, own])
                if len(joined) != len(dims) or any(differ(a, b) for a, b in zip(joined, dims, strict=True)):
                    texts = f"{shape_text(dims)}, found {shape_text(own)}"
                    raise VerifyException(f"the {what} must broadcast to the input's shape {texts}")
        if not is_float(self.compute_type):  # (C4)
            raise VerifyException(f"compute_type must be a float, found {self.compute_type}")

    def _statistics_type(self) -> Attribute:
        """The type of a number per row: 1s stand for the normalized dimensions."""
        dims, axis = dims_of(self.input.type), self.axis.value.data
        return tensor_type(self.compute_type, (*dims[:axis], *(Dim.of(1) for _ in dims[axis:])))


@irdl_op_definition
class LayerNormOp(RowNormOp):
    """
    (x - mean) / sqrt(variance + eps) * scale + bias, with the statistics of each row.

    A row is all dimensions from `axis` on. The mean and the inverse deviation of the rows are results too,
    when they are asked for.

    ```mlir
    %y = graph.layer_norm %x scale %s : tensor<4xf32> bias %b : tensor<4xf32> axis 1 eps 1.0e-5 compute_type
    f32
      : tensor<2x4xf32> -> tensor<2x4xf32>
    %z, %mean, %inv_std = graph.layer_norm %x axis 1 eps 1.0e-5 compute_type f32
      : tensor<2x4xf32> -> tensor<2x4xf32>, tensor<2x1xf32>, tensor<2x1xf32>
    ```
    Constraints:
      (C1) elements of the input are floats.
      (C2) `axis` is a dimension of the input.
      (C3) scale and bias are floats and broadcast to the input's shape.
      (C4) `compute_type` is a float.
      (C5) the mean and the inverse deviation are results together, or neither.
    Source: ONNX LayerNormalization, opset 17.
    """

    name = "graph.layer_norm"

    # Fields of a subclass come before those of its base: all results are declared here.
    result = result_def(AnyTensor)
    mean = opt_result_def(AnyTensor)
    inv_std = opt_result_def(AnyTensor)

    irdl_options = (AttrSizedOperandSegments(as_property=True), AttrSizedResultSegments(as_property=True))
    assembly_format = (
        "$input (`scale` $scale^ `:` type($scale))? (`bias` $bias^ `:` type($bias))?"
        " `axis` $axis `eps` $eps `compute_type` $compute_type attr-dict"
        " `:` type($input) `->` type($result) (`,` type($mean)^ `,` type($inv_std))?"
    )

    def __init__(
        self,
        input: SSAValue,
        scale: SSAValue | None = None,
        bias: SSAValue | None = None,
        *,
        axis: int,
        eps: float = 1e-5,
        compute_type: Attribute = f32,
        statistics: bool = False,
    ):
        row = input.type if statistics else None
        self.initialize(
            [input, scale, bias],
            {"axis": axis, "eps": FloatAttr(eps, f32), "compute_type": compute_type},
            result_types=[input.type, row, row],
        )

    def infer(self) -> Sequence[Attribute]:
        statistics = [] if self.mean is None else [self._statistics_type()] * 2
        return [tensor_of(self.input), *statistics]

    def check(self) -> None:
        super().check()
        if (self.mean is None) != (self.inv_std is None):  # (C5)
            raise VerifyException("mean and inv_std must be results together, or neither")


@irdl_op_definition
class RmsNormOp(RowNormOp):
    """
    x / sqrt(mean(x * x) + eps) * scale + bias, over each row: all dimensions from `axis` on.

    ```mlir
    %y = graph.rms_norm %x scale %s : tensor<4xf32> axis 1 eps 1.0e-5 compute_type f32
      : tensor<2x4xf32> -> tensor<2x4xf32>
    ```
    Constraints:
      (C1) elements of the input are floats.
      (C2) `axis` is a dimension of the input.
      (C3) scale and bias are floats and broadcast to the input's shape.
      (C4) `compute_type` is a float.
    Source: ONNX RMSNormalization, opset 23.
    """

    name = "graph.rms_norm"

    result = result_def(AnyTensor)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    assembly_format = (
        "$input (`scale` $scale^ `:` type($scale))? (`bias` $bias^ `:` type($bias))?"
        " `axis` $axis `eps` $eps `compute_type` $compute_type attr-dict `:` type($input) `->` type($result)"
    )

    def __init__(
        self,
        input: SSAValue,
        scale: SSAValue | None = None,
        bias: SSAValue | None = None,
        *,
        axis: int,
        eps: float = 1e-5,
        compute_type: Attribute = f32,
    ):
        self.initialize(
            [input, scale, bias], {"axis": axis, "eps": FloatAttr(eps, f32), "compute_type": compute_type}
        )

    def infer(self) -> Sequence[Attribute]:
        return [tensor_of(self.input)]


@irdl_op_definition
class LpNormOp(RowOp):
    """
    x divided by the norm of its row along an axis: the sum of absolute values, or the root of the sum of
    squares.

    A row whose norm is 0 becomes 0.

    ```mlir
    %y = graph.lp_norm %x axis 1 p 2 : tensor<2x3xf32> -> tensor<2x3xf32>
    ```
    Constraints:
      (C1) elements are floats.
      (C2) `axis` is a dimension of the input.
      (C3) `p` is 1 or 2.
    Source: ONNX LpNormalization, opset 22.
    """

    name = "graph.lp_norm"
    assembly_format = "$input `axis` $axis `p` $p attr-dict `:` type($input) `->` type($result)"

    p = prop_def(IntegerAttr.constr(i64))

    def __init__(self, input: SSAValue, axis: int, p: int = 2):
        super().__init__(input, axis, {"p": int_attr(p)})

    def check(self) -> None:
        super().check()
        if (p := self.p.value.data) not in (1, 2):  # (C3)
            raise VerifyException(f"p must be 1 or 2, found {p}")
