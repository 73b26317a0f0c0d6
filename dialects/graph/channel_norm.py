"""Normalizations by channel: with given statistics, those of channels or groups, or of neighbours."""

from __future__ import annotations

from abc import ABC
from typing import ClassVar

from xdsl.dialects.builtin import Float32Type, FloatAttr, IntegerAttr, f32, i64
from xdsl.ir import SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    VarConstraint,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    prop_def,
)
from xdsl.utils.exceptions import VerifyException

from stepwell.dialects.graph.base import AnyTensor, Kind, SameTypeOp
from stepwell.dialects.graph.relations import Domain, expect_axis, expect_dims, expect_domain
from stepwell.dialects.types import dims_of
from stepwell.runtime.dims import Dim


def _expect_vector(vector: SSAValue | None, size: Dim, what: str) -> None:
    if vector is not None:
        expect_domain(vector, Domain.FLOAT, f"element type of the {what}")
        expect_dims(vector, [size], f"the {what}")


@irdl_op_definition
class BatchNormOp(SameTypeOp):
    """
    (x - mean) / sqrt(variance + eps) * scale + bias, with statistics given per channel.

    ```mlir
    %y = graph.batch_norm %x mean %m variance %v scale %s bias %b eps 1.0e-5 axis 1
      : (tensor<1x3x4xf32>, tensor<3xf32>) -> tensor<1x3x4xf32>
    ```
    Constraints:
      (C1) elements of the input are floats.
      (C2) `axis` is a dimension of the input.
      (C3) mean, variance, scale and bias are vectors of floats, of one type and the size of that dimension.
    Source: ONNX BatchNormalization, opset 15, in inference.
    """

    name = "graph.batch_norm"
    KIND: ClassVar[Kind] = Kind.BROADCAST
    V: ClassVar = VarConstraint("V", AnyTensor)

    input = operand_def(AnyTensor)
    mean = operand_def(V)
    variance = operand_def(V)
    scale = opt_operand_def(V)
    bias = opt_operand_def(V)
    eps = prop_def(FloatAttr[Float32Type])
    axis = prop_def(IntegerAttr.constr(i64))

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    assembly_format = (
        "$input `mean` $mean `variance` $variance (`scale` $scale^)? (`bias` $bias^)? `eps` $eps `axis` $axis"
        " attr-dict `:` `(` type($input) `,` type($mean) `)` `->` type($result)"
    )

    def __init__(
        self,
        input: SSAValue,
        mean: SSAValue,
        variance: SSAValue,
        scale: SSAValue | None = None,
        bias: SSAValue | None = None,
        *,
        eps: float = 1e-5,
        axis: int = 1,
    ):
        self.initialize([input, mean, variance, scale, bias], {"eps": FloatAttr(eps, f32), "axis": axis})

    def check(self) -> None:
        expect_domain(self.input, Domain.FLOAT)  # (C1)
        dims, axis = dims_of(self.input.type), self.axis.value.data
        expect_axis(axis, len(dims))  # (C2)
        vectors = {"mean": self.mean, "variance": self.variance, "scale": self.scale, "bias": self.bias}
        for what, vector in vectors.items():
            _expect_vector(vector, dims[axis], what)  # (C3)


class ChannelNormOp(SameTypeOp, ABC):
    """The base of normalizations by the statistics of each sample's channels; channels are dimension 1."""

    KIND: ClassVar[Kind] = Kind.ROW

    input = operand_def(AnyTensor)
    scale = opt_operand_def(AnyTensor)
    bias = opt_operand_def(AnyTensor)
    eps = prop_def(FloatAttr[Float32Type])

    def check(self) -> None:
        expect_domain(self.input, Domain.FLOAT)  # (C1)
        dims = dims_of(self.input.type)
        if len(dims) < 2:  # (C2)
            raise VerifyException(f"the input must have rank 2 or more, found {len(dims)}")
        _expect_vector(self.scale, dims[1], "scale")  # (C3)
        _expect_vector(self.bias, dims[1], "bias")


@irdl_op_definition
class InstanceNormOp(ChannelNormOp):
    """
    (x - mean) / sqrt(variance + eps) * scale + bias, with the statistics of each channel of each sample.

    ```mlir
    %y = graph.instance_norm %x scale %s : tensor<3xf32> bias %b : tensor<3xf32> eps 1.0e-5
      : tensor<2x3x4xf32> -> tensor<2x3x4xf32>
    ```
    Constraints:
      (C1) elements of the input are floats.
      (C2) the input has rank 2 or more; channels are dimension 1.
      (C3) scale and bias are vectors of floats, one a channel.
    Source: ONNX InstanceNormalization, opset 22.
    """

    name = "graph.instance_norm"

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    assembly_format = (
        "$input (`scale` $scale^ `:` type($scale))? (`bias` $bias^ `:` type($bias))? `eps` $eps attr-dict"
        " `:` type($input) `->` type($result)"
    )

    def __init__(
        self,
        input: SSAValue,
        scale: SSAValue | None = None,
        bias: SSAValue | None = None,
        *,
        eps: float = 1e-5,
    ):
        self.initialize([input, scale, bias], {"eps": FloatAttr(eps, f32)})


@irdl_op_definition
class GroupNormOp(ChannelNormOp):
    """
    (x - mean) / sqrt(variance + eps) * scale + bias, with the statistics of each group of channels.

    ```mlir
    %y = graph.group_norm %x scale %s : tensor<6xf32> bias %b : tensor<6xf32> groups 2 eps 1.0e-5
      : tensor<2x6x4xf32> -> tensor<2x6x4xf32>
    ```
    Constraints:
      (C1) elements of the input are floats.
      (C2) the input has rank 2 or more; channels are dimension 1.
      (C3) scale and bias are vectors of floats, one a channel.
      (C4) `groups` is at least 1 and divides the channels.
    Source: ONNX GroupNormalization, opset 21.
    """

    name = "graph.group_norm"

    groups = prop_def(IntegerAttr.constr(i64))

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    assembly_format = (
        "$input (`scale` $scale^ `:` type($scale))? (`bias` $bias^ `:` type($bias))?"
        " `groups` $groups `eps` $eps attr-dict `:` type($input) `->` type($result)"
    )

    def __init__(
        self,
        input: SSAValue,
        scale: SSAValue | None = None,
        bias: SSAValue | None = None,
        *,
        groups: int,
        eps: float = 1e-5,
    ):
        self.initialize([input, scale, bias], {"groups": groups, "eps": FloatAttr(eps, f32)})

    def check(self) -> None:
        super().check()
        groups, channels = self.groups.value.data, dims_of(self.input.type)[1]
        if groups < 1 or (channels.is_static and channels.value % groups):  # (C4)
            raise VerifyException(f"groups must divide the {channels} channels, found {groups}")


@irdl_op_definition
class LrnOp(SameTypeOp):
    """
    x / (bias + alpha / size * s) ** beta, where s sums the squares of `size` neighbouring channels.

    The window of channel c begins at c - ⌊(size - 1) / 2⌋ and is cut at the first and last channel.

    ```mlir
    %y = graph.lrn %x size 3 alpha 1.0e-4 beta 0.75 bias 1.0 : tensor<1x5x2xf32> -> tensor<1x5x2xf32>
    ```
    Constraints:
      (C1) elements are floats.
      (C2) the input has rank 2 or more; channels are dimension 1.
      (C3) `size` is at least 1.
    Source: ONNX LRN, opset 13.
    """

    name = "graph.lrn"
    KIND: ClassVar[Kind] = Kind.REDUCTION

    size = prop_def(IntegerAttr.constr(i64))
    alpha = prop_def(FloatAttr[Float32Type])
    beta = prop_def(FloatAttr[Float32Type])
    bias = prop_def(FloatAttr[Float32Type])

    assembly_format = (
        "$input `size` $size `alpha` $alpha `beta` $beta `bias` $bias attr-dict"
        " `:` type($input) `->` type($result)"
    )

    def __init__(
        self, input: SSAValue, size: int, *, alpha: float = 1e-4, beta: float = 0.75, bias: float = 1.0
    ):
        self.initialize(
            [input],
            {
                "size": size,
                "alpha": FloatAttr(alpha, f32),
                "beta": FloatAttr(beta, f32),
                "bias": FloatAttr(bias, f32),
            },
        )

    def check(self) -> None:
        expect_domain(self.input, Domain.FLOAT)  # (C1)
        if (rank := len(dims_of(self.input.type))) < 2:  # (C2)
            raise VerifyException(f"the input must have rank 2 or more, found {rank}")
        if (size := self.size.value.data) < 1:  # (C3)
            raise VerifyException(f"size must be at least 1, found {size}")
