"""Operators about shapes: views of the same elements, broadcasting, and tensors made from dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import ClassVar

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
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
from stepwell.dialects.graph.relations import (
    differ,
    expect_axis,
    expect_same_element,
    expect_scalar,
    shape_text,
)
from stepwell.dialects.types import DimLike, DimsAttr, dims_attr, dims_of, tensor_of, tensor_type
from stepwell.runtime.dims import Dim


class ToShapeOp(GraphOp):
    """An op whose result has the elements' type of its operand and a shape that is a parameter."""

    input = operand_def(AnyTensor)
    shape_value = opt_operand_def(AnyTensor)
    shape = opt_prop_def(DimsAttr)
    result = result_def(AnyTensor)

    traits = traits_def(Pure())
    assembly_format = (
        "$input (`shape` $shape^)? (`shape_value` $shape_value^ `:` type($shape_value))?"
        " attr-dict `:` type($input) `->` type($result)"
    )

    def __init__(self, input: SSAValue, shape: Mixed):
        attribute, value = split_mixed(shape)
        self.initialize([input, value], {"shape": attribute})

    @property
    def target(self) -> tuple[Dim, ...]:
        """The dimensions of the result, unknown ones where they come as an operand."""
        return mixed_dims(self.shape, self.shape_value)

    def infer(self) -> Sequence[Attribute]:
        return [tensor_type(tensor_of(self.input).element_type, self.target)]

    def check(self) -> None:
        expect_mixed(self.shape, self.shape_value, "shape")


@irdl_op_definition
class ReshapeOp(ToShapeOp):
    """
    The same elements in row-major order under another shape.

    ```mlir
    %y = graph.reshape %x shape <["N", 4, 8]> : tensor<?x32xf32, #graph.dims<["N", 32]>>
      -> tensor<?x4x8xf32, #graph.dims<["N", 4, 8]>>
    ```
    Constraints:
      (C1) the shape is given once, as dimensions or as an operand.
      (C2) both shapes have as many elements.
    Source: ONNX Reshape, opset 21; 0 and -1 are resolved at import.
    """

    name = "graph.reshape"
    KIND: ClassVar[Kind] = Kind.INJECTIVE

    def check(self) -> None:
        super().check()  # (C1)
        before, after = dims_of(self.input.type), self.target
        if differ(prod(before, start=Dim.of(1)), prod(after, start=Dim.of(1))):  # (C2)
            raise VerifyException(f"shape {shape_text(after)} has other elements than {shape_text(before)}")


class AxesOp(GraphOp):
    """The base of ops with a tensor operand and a list of axes, in ascending order."""

    KIND: ClassVar[Kind] = Kind.INJECTIVE

    input = operand_def(AnyTensor)
    axes = prop_def(DenseArrayBase.constr(i64))
    result = result_def(AnyTensor)

    traits = traits_def(Pure())
    assembly_format = "$input `axes` $axes attr-dict `:` type($input) `->` type($result)"

    def __init__(self, input: SSAValue, axes: Sequence[int]):
        self.initialize([input], {"axes": sorted(axes)})

    def expect_axes(self, rank: int) -> None:
        """Require the axes to be sorted, distinct and below a rank. Raises: VerifyException."""
        axes = self.axes.get_values()
        if list(axes) != sorted(set(axes)):
            raise VerifyException(f"axes must be sorted and distinct, found {list(axes)}")
        for axis in axes:
            expect_axis(axis, rank, "an axis")


@irdl_op_definition
class ExpandDimsOp(AxesOp):
    """
    Insert dimensions of size 1, which become the `axes` of the result (ONNX: Unsqueeze).

    ```mlir
    %y = graph.expand_dims %x axes [0, 2] : tensor<3x4xf32> -> tensor<1x3x1x4xf32>
    ```
    Constraints:
      (C1) `axes` are sorted, distinct, and below the result's rank.
    Source: ONNX Unsqueeze, opset 21.
    """

    name = "graph.expand_dims"

    def infer(self) -> Sequence[Attribute]:
        axes = self.axes.get_values()
        dims = list(dims_of(self.input.type))
        for axis in axes:
            dims.insert(axis, Dim.of(1))
        return [tensor_type(tensor_of(self.input).element_type, dims)]

    def check(self) -> None:
        self.expect_axes(len(dims_of(self.input.type)) + len(self.axes))  # (C1)


@irdl_op_definition
class SqueezeOp(AxesOp):
    """
    Drop dimensions of size 1.

    ```mlir
    %y = graph.squeeze %x axes [0, 2] : tensor<1x3x1x4xf32> -> tensor<3x4xf32>
    ```
    Constraints:
      (C1) `axes` are sorted, distinct, and below the rank.
      (C2) each dropped dimension can be 1.
    Source: ONNX Squeeze, opset 21.
    """

    name = "graph.squeeze"

    def infer(self) -> Sequence[Attribute]:
        axes = self.axes.get_values()
        dims = [d for i, d in enumerate(dims_of(self.input.type)) if i not in axes]
        return [tensor_type(tensor_of(self.input).element_type, dims)]

    def check(self) -> None:
        dims = dims_of(self.input.type)
        self.expect_axes(len(dims))  # (C1)
        for axis in self.axes.get_values():
            if differ(dims[axis], Dim.of(1)):  # (C2)
                raise VerifyException(f"only dimensions of size 1 can go, dimension {axis} is {dims[axis]}")


@irdl_op_definition
class BroadcastToOp(ToShapeOp):
    """
    Repeat a tensor along dimensions of size 1, and along new ones at the left, up to a shape.

    ```mlir
    %y = graph.broadcast_to %x shape <["N", 3, 4]> : tensor<3x1xf32>
      -> tensor<?x3x4xf32, #graph.dims<["N", 3, 4]>>
    ```
    Constraints:
      (C1) the shape is given once, as dimensions or as an operand.
      (C2) aligned at the right, each dimension of the operand is 1 or that of the shape.
    Source: ONNX Expand, opset 13, made one-way at import.
    """

    name = "graph.broadcast_to"
    KIND: ClassVar[Kind] = Kind.BROADCAST

    def check(self) -> None:
        super().check()  # (C1)
        dims, shape = dims_of(self.input.type), self.target
        aligned = shape[len(shape) - len(dims) :]
        fits = len(dims) <= len(shape) and not any(
            differ(a, b) and differ(a, Dim.of(1)) for a, b in zip(dims, aligned, strict=True)
        )
        if not fits:  # (C2)
            raise VerifyException(f"shape {shape_text(dims)} does not broadcast to {shape_text(shape)}")


@irdl_op_definition
class ShapeOfOp(GraphOp):
    """
    Some dimensions of a tensor, `start` up to but without `end`, as data.

    ```mlir
    %s = graph.shape_of %x start 0 end 2 : tensor<?x3x4xf32> -> tensor<2xi64>
    ```
    Constraints:
      (C1) 0 <= start <= end <= rank.
    Source: ONNX Shape, opset 21.
    """

    name = "graph.shape_of"
    KIND: ClassVar[Kind] = Kind.INJECTIVE

    input = operand_def(AnyTensor)
    start = prop_def(IntegerAttr.constr(i64))
    end = prop_def(IntegerAttr.constr(i64))
    result = result_def(AnyTensor)

    traits = traits_def(Pure())
    assembly_format = "$input `start` $start `end` $end attr-dict `:` type($input) `->` type($result)"

    def __init__(self, input: SSAValue, start: int = 0, end: int | None = None):
        rank = len(dims_of(input.type))
        self.initialize([input], {"start": start, "end": rank if end is None else end})

    def infer(self) -> Sequence[Attribute]:
        return [tensor_type(i64, [self.end.value.data - self.start.value.data])]

    def check(self) -> None:
        start, end, rank = self.start.value.data, self.end.value.data, len(dims_of(self.input.type))
        if not 0 <= start <= end <= rank:  # (C1)
            raise VerifyException(f"start and end must be in order within 0..{rank}, found {start} and {end}")


@irdl_op_definition
class ExtentsOp(GraphOp):
    """
    Dimension expressions as data.

    ```mlir
    %s = graph.extents <["N", "2 * S"]> -> tensor<2xi64>
    ```
    Constraints:
      (C1) every dimension is known by number or name.
    """

    name = "graph.extents"
    KIND: ClassVar[Kind] = Kind.INJECTIVE

    dims = prop_def(DimsAttr)
    result = result_def(AnyTensor)

    traits = traits_def(Pure())
    assembly_format = "$dims attr-dict `->` type($result)"

    def __init__(self, dims: Sequence[DimLike]):
        super().__init__(properties={"dims": dims_attr(dims)}, result_types=[tensor_type(i64, [len(dims)])])

    def infer(self) -> Sequence[Attribute]:
        return [tensor_type(i64, [len(self.dims.get())])]

    def check(self) -> None:
        if any(dim.is_unknown for dim in self.dims.get()):  # (C1)
            raise VerifyException(f"every dimension must be known, found {shape_text(self.dims.get())}")


@irdl_op_definition
class FullOp(ToShapeOp):
    """
    A tensor with one value everywhere.

    ```mlir
    %y = graph.full %value shape <["N", 4]> : tensor<f32> -> tensor<?x4xf32, #graph.dims<["N", 4]>>
    ```
    Constraints:
      (C1) the shape is given once, as dimensions or as an operand.
      (C2) the value has rank 0.
    Source: ONNX ConstantOfShape, opset 9.
    """

    name = "graph.full"
    KIND: ClassVar[Kind] = Kind.INJECTIVE

    def check(self) -> None:
        super().check()  # (C1)
        expect_scalar(self.input, "the value")  # (C2)


@irdl_op_definition
class IotaOp(GraphOp):
    """
    A tensor whose elements are their own index along one axis.

    ```mlir
    %y = graph.iota shape <["N", 4]> axis 1 of i64 -> tensor<?x4xi64, #graph.dims<["N", 4]>>
    ```
    Constraints:
      (C1) `axis` is below the rank.
    """

    name = "graph.iota"
    KIND: ClassVar[Kind] = Kind.INJECTIVE

    shape = prop_def(DimsAttr)
    axis = prop_def(IntegerAttr.constr(i64))
    type = prop_def()
    result = result_def(AnyTensor)

    traits = traits_def(Pure())
    assembly_format = "`shape` $shape `axis` $axis `of` $type attr-dict `->` type($result)"

    def __init__(self, shape: Sequence[DimLike], axis: int, type: Attribute):
        self.initialize(
            [],
            {"shape": dims_attr(shape), "axis": axis, "type": type},
            result_types=[tensor_type(type, shape)],
        )

    def infer(self) -> Sequence[Attribute]:
        return [tensor_type(self.type, self.shape.get())]

    def check(self) -> None:
        expect_axis(self.axis.value.data, len(self.shape.get()))  # (C1)


@irdl_op_definition
class RangeOp(GraphOp):
    """
    Numbers from `start` up to `limit`, without it, in steps of `delta`; how many is known at run time.

    ```mlir
    %y = graph.range %a, %b, %c : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<?xi64>
    ```
    Constraints:
      (C1) all three are of one type and rank 0.
    Source: ONNX Range, opset 11.
    """

    name = "graph.range"
    KIND: ClassVar[Kind] = Kind.OPAQUE

    start = operand_def(AnyTensor)
    limit = operand_def(AnyTensor)
    delta = operand_def(AnyTensor)
    result = result_def(AnyTensor)

    traits = traits_def(Pure())
    assembly_format = (
        "$start `,` $limit `,` $delta attr-dict `:` `(` type($start) `,` type($limit) `,` type($delta) `)`"
        " `->` type($result)"
    )

    def __init__(self, start: SSAValue, limit: SSAValue, delta: SSAValue):
        self.initialize([start, limit, delta])

    def infer(self) -> Sequence[Attribute]:
        return [tensor_type(tensor_of(self.start).element_type, ["?"])]

    def check(self) -> None:
        for value, what in ((self.start, "start"), (self.limit, "limit"), (self.delta, "delta")):
            expect_scalar(value, what)  # (C1)
            expect_same_element(self.start, value)
