"""Sampling a tensor at another density."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import DenseArrayBase, Float32Type, FloatAttr, StringAttr, UnitAttr, f32, f64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from stepwell.dialects.graph.base import AnyTensor, GraphOp, Kind
from stepwell.dialects.graph.mixed import Mixed, expect_mixed, mixed_dims, split_mixed
from stepwell.dialects.types import DimsAttr, dims_of, tensor_of, tensor_type

MODES = ("nearest", "linear", "cubic")
COORDINATES = (
    "half_pixel",
    "pytorch_half_pixel",
    "half_pixel_symmetric",
    "asymmetric",
    "align_corners",
    "tf_half_pixel_for_nn",
    "tf_crop_and_resize",
)
ROUNDINGS = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")


class ResizeProperties(IRDLOperation, ABC):
    """The properties of resizes, of levels 1 and 2."""

    scales = opt_prop_def(DenseArrayBase.constr(f64))
    mode = prop_def(StringAttr)
    coordinate = prop_def(StringAttr)
    nearest = prop_def(StringAttr)
    cubic_a = prop_def(FloatAttr[Float32Type])
    antialias = opt_prop_def(UnitAttr)
    exclude_outside = opt_prop_def(UnitAttr)
    roi = opt_prop_def(DenseArrayBase.constr(f64))
    extrapolation = prop_def(FloatAttr[Float32Type])


@irdl_op_definition
class ResizeOp(ResizeProperties, GraphOp):
    """
    Sample a tensor at another density along its axes, one after the other, the last first.

    `scales`, one an axis, are factors in the formula of the coordinates; without them: quotients of the
    sizes. Axes whose size stays and whose scale is 1 are left alone.

    ```mlir
    %y = graph.resize %x shape <[1, 3, 8, 10]> scales [1.0, 1.0, 2.0, 2.5] mode "linear"
      coordinate "half_pixel" nearest "floor" cubic_a -7.5e-1 extrapolation 0.0
      : tensor<1x3x4x4xf32> -> tensor<1x3x8x10xf32>
    ```
    Constraints:
      (C1) the shape is given once, as dimensions or as an operand, one an axis.
      (C2) scales are positive, one an axis; `roi` has two numbers an axis, all starts before all ends.
      (C3) mode, coordinate and nearest are of their lists; antialias is for linear and cubic.
    Source: ONNX Resize, opset 19.
    """

    name = "graph.resize"
    KIND: ClassVar[Kind] = Kind.INJECTIVE

    input = operand_def(AnyTensor)
    shape_value = opt_operand_def(AnyTensor)
    shape = opt_prop_def(DimsAttr)
    result = result_def(AnyTensor)

    traits = traits_def(Pure())
    assembly_format = (
        "$input (`shape` $shape^)? (`shape_value` $shape_value^ `:` type($shape_value))?"
        " (`scales` $scales^)? `mode` $mode `coordinate` $coordinate `nearest` $nearest `cubic_a` $cubic_a"
        " (`antialias` $antialias^)? (`exclude_outside` $exclude_outside^)? (`roi` $roi^)?"
        " `extrapolation` $extrapolation attr-dict `:` type($input) `->` type($result)"
    )

    def __init__(
        self,
        input: SSAValue,
        shape: Mixed,
        scales: Sequence[float] | None = None,
        *,
        mode: str = "nearest",
        coordinate: str = "half_pixel",
        nearest: str = "round_prefer_floor",
        cubic_a: float = -0.75,
        antialias: bool = False,
        exclude_outside: bool = False,
        roi: Sequence[float] | None = None,
        extrapolation: float = 0.0,
    ):
        attribute, value = split_mixed(shape)
        self.initialize(
            [input, value],
            {
                "shape": attribute,
                "scales": None if scales is None else DenseArrayBase.from_list(f64, scales),
                "mode": mode,
                "coordinate": coordinate,
                "nearest": nearest,
                "cubic_a": FloatAttr(cubic_a, f32),
                "antialias": UnitAttr() if antialias else None,
                "exclude_outside": UnitAttr() if exclude_outside else None,
                "roi": None if roi is None else DenseArrayBase.from_list(f64, roi),
                "extrapolation": FloatAttr(extrapolation, f32),
            },
        )

    def infer(self) -> Sequence[Attribute]:
        return [tensor_type(tensor_of(self.input).element_type, mixed_dims(self.shape, self.shape_value))]

    def check(self) -> None:
        rank = len(dims_of(self.input.type))
        expect_mixed(self.shape, self.shape_value, "shape")
        if (n := len(mixed_dims(self.shape, self.shape_value))) != rank:  # (C1)
            raise VerifyException(f"expected {rank} sizes, one an axis, found {n}")
        for what, values, count in (("scales", self.scales, rank), ("roi", self.roi, 2 * rank)):
            if values is not None and len(values) != count:  # (C2)
                raise VerifyException(f"expected {count} numbers in {what}, found {len(values)}")
        if self.scales is not None and min(self.scales.get_values(), default=1) <= 0:
            raise VerifyException(f"scales must be positive, found {list(self.scales.get_values())}")
        for what, value, allowed in (
            ("mode", self.mode, MODES),
            ("coordinate", self.coordinate, COORDINATES),
            ("nearest", self.nearest, ROUNDINGS),
        ):
            if value.data not in allowed:  # (C3)
                raise VerifyException(f"{what} must be one of {', '.join(allowed)}, found {value.data}")
        if self.antialias is not None and self.mode.data == "nearest":
            raise VerifyException("mode nearest takes no antialias")
