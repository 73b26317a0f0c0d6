"""Operators that make a tensor larger from its own elements: pad and tile."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
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
from stepwell.dialects.graph.relations import expect_same_element, expect_scalar
from stepwell.dialects.types import DimsAttr, dims_of, tensor_of, tensor_type

PAD_MODES = ("constant", "reflect", "edge", "wrap")


@irdl_op_definition
class PadOp(GraphOp):
    """
    Add elements around a tensor: `pads` says how many, before each dimension and then after each.

    Negative pads crop. The new elements are `value` (0 when absent), or repeat those of the cropped tensor:
    mirrored without the edge element (reflect), the edge element (edge), or from the other side (wrap).

    ```mlir
    %y = graph.pad %x pads <[0, 2, 0, 1]> mode "reflect" : tensor<2x3xf32> -> tensor<2x6xf32>
    ```
    Constraints:
      (C1) pads are given once, as dimensions or as an operand, two a dimension.
      (C2) `mode` is constant, reflect, edge or wrap.
      (C3) `value` has rank 0 and the element type, and is given with mode constant only.
    Source: ONNX Pad, opset 21.
    """

    name = "graph.pad"
    KIND: ClassVar[Kind] = Kind.INJECTIVE

    input = operand_def(AnyTensor)
    value = opt_operand_def(AnyTensor)
    pads_value = opt_operand_def(AnyTensor)
    pads = opt_prop_def(DimsAttr)
    mode = prop_def(StringAttr)
    result = result_def(AnyTensor)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(Pure())
    assembly_format = (
        "$input (`with` $value^ `:` type($value))? (`pads` $pads^)?"
        " (`pads_value` $pads_value^ `:` type($pads_value))? `mode` $mode"
        " attr-dict `:` type($input) `->` type($result)"
    )

    def __init__(self, input: SSAValue, pads: Mixed, mode: str = "constant", value: SSAValue | None = None):
        attribute, pads_value = split_mixed(pads)
        self.initialize([input, value, pads_value], {"pads": attribute, "mode": mode})

    def infer(self) -> Sequence[Attribute]:
        dims, pads = dims_of(self.input.type), mixed_dims(self.pads, self.pads_value)
        padded = [dim + pads[i] + pads[i + len(dims)] for i, dim in enumerate(dims)]
        return [tensor_type(tensor_of(self.input).element_type, padded)]

    def check(self) -> None:
        rank = len(dims_of(self.input.type))
        expect_mixed(self.pads, self.pads_value, "pads")
        if (n := len(mixed_dims(self.pads, self.pads_value))) != 2 * rank:  # (C1)
            raise VerifyException(f"expected {2 * rank} pads, two a dimension, found {n}")
        if self.mode.data not in PAD_MODES:  # (C2)
            raise VerifyException(f"mode must be one of {', '.join(PAD_MODES)}, found {self.mode.data}")
        if self.value is None:
            return
        expect_scalar(self.value, "value")
        expect_same_element(self.input, self.value)
        if self.mode.data != "constant":  # (C3)
            raise VerifyException(f"mode {self.mode.data} takes no value")


@irdl_op_definition
class TileOp(GraphOp):
    """
    Repeat a whole tensor along each dimension.

    ```mlir
    %y = graph.tile %x repeats <[2, "N"]> : tensor<3x4xf32> -> tensor<6x?xf32, #graph.dims<[6, "4 * N"]>>
    ```
    Constraints:
      (C1) repeats are given once, as dimensions or as an operand, one a dimension.
    Source: ONNX Tile, opset 13.
    """

    name = "graph.tile"
    KIND: ClassVar[Kind] = Kind.INJECTIVE

    input = operand_def(AnyTensor)
    repeats_value = opt_operand_def(AnyTensor)
    repeats = opt_prop_def(DimsAttr)
    result = result_def(AnyTensor)

    traits = traits_def(Pure())
    assembly_format = (
        "$input (`repeats` $repeats^)? (`repeats_value` $repeats_value^ `:` type($repeats_value))?"
        " attr-dict `:` type($input) `->` type($result)"
    )

    def __init__(self, input: SSAValue, repeats: Mixed):
        attribute, value = split_mixed(repeats)
        self.initialize([input, value], {"repeats": attribute})

    def infer(self) -> Sequence[Attribute]:
        dims, repeats = dims_of(self.input.type), mixed_dims(self.repeats, self.repeats_value)
        tiled = [dim * n for dim, n in zip(dims, repeats, strict=True)]
        return [tensor_type(tensor_of(self.input).element_type, tiled)]

    def check(self) -> None:
        rank = len(dims_of(self.input.type))
        expect_mixed(self.repeats, self.repeats_value, "repeats")
        if (n := len(mixed_dims(self.repeats, self.repeats_value))) != rank:  # (C1)
            raise VerifyException(f"expected {rank} repeats, one a dimension, found {n}")
