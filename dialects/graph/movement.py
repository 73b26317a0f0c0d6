"""Operators that move elements: permute, join, cut, overwrite and turn around."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, cast

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, TensorType, i64
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
    var_operand_def,
    var_result_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from stepwell.dialects.graph.base import AnyTensor, GraphOp, Kind, SameTypeOp
from stepwell.dialects.graph.mixed import Mixed, expect_mixed, mixed_dims, split_mixed
from stepwell.dialects.graph.relations import (
    differ,
    element_of_type,
    expect_axis,
    expect_same_element,
    one_element,
    shape_text,
)
from stepwell.dialects.graph.shape import AxesOp
from stepwell.dialects.types import DimsAttr, Tensor, dims_of, tensor_of, tensor_type
from stepwell.runtime.dims import UNKNOWN, Dim


def unified(a: Dim, b: Dim) -> Dim:
    """The more precise of two dimensions that must be equal: a number, else a name, else the first."""
    if a.is_static or b.is_unknown:
        return a
    return b if b.is_static or a.is_unknown else a


@irdl_op_definition
class TransposeOp(GraphOp):
    """
    Permute the dimensions of a tensor.

    ```mlir
    %y = graph.transpose %x perm [1, 0] : tensor<2x3xf32> -> tensor<3x2xf32>
    ```
    Constraints:
      (C1) `perm` is a permutation of `0 .. rank(input) - 1`.
    Source: ONNX Transpose, opset 21.
    """

    name = "graph.transpose"
    KIND: ClassVar[Kind] = Kind.INJECTIVE

    input = operand_def(AnyTensor)
    perm = prop_def(DenseArrayBase.constr(i64))
    result = result_def(AnyTensor)

    traits = traits_def(Pure())
    assembly_format = "$input `perm` $perm attr-dict `:` type($input) `->` type($result)"

    def __init__(self, input: SSAValue, perm: Sequence[int]):
        self.initialize([input], {"perm": perm})

    def infer(self) -> Sequence[Attribute]:
        dims = dims_of(self.input.type)
        return [tensor_type(tensor_of(self.input).element_type, [dims[i] for i in self.perm.get_values()])]

    def infer_operands(
        self, results: Sequence[Attribute], operands: Sequence[Attribute]
    ) -> Sequence[Attribute | None]:
        places = {axis: place for place, axis in enumerate(self.perm.get_values())}
        dims = dims_of(results[0])
        return [tensor_type(element_of_type(results[0]), [dims[places[axis]] for axis in range(len(dims))])]

    def check(self) -> None:
        perm, rank = self.perm.get_values(), len(dims_of(self.input.type))
        if sorted(perm) != list(range(rank)):  # (C1)
            raise VerifyException(f"perm must be a permutation of 0..{rank - 1}, found {list(perm)}")


@irdl_op_definition
class ConcatOp(GraphOp):
    """
    Join tensors along an axis.

    ```mlir
    %y = graph.concat %a, %b axis 1 : (tensor<2x3xf32>, tensor<2x5xf32>) -> tensor<2x8xf32>
    ```
    Constraints:
      (C1) one tensor or more, of one element type.
      (C2) `axis` is below the rank.
      (C3) the other dimensions are equal.
    Source: ONNX Concat, opset 13.
    """

    name = "graph.concat"
    KIND: ClassVar[Kind] = Kind.INJECTIVE

    inputs = var_operand_def(AnyTensor)
    axis = prop_def(IntegerAttr.constr(i64))
    result = result_def(AnyTensor)

    traits = traits_def(Pure())
    assembly_format = "$inputs `axis` $axis attr-dict `:` `(` type($inputs) `)` `->` type($result)"

    def __init__(self, inputs: Sequence[SSAValue], axis: int):
        self.initialize([inputs], {"axis": axis})

    def infer(self) -> Sequence[Attribute]:
        axis = self.axis.value.data
        result = list(dims_of(self.inputs[0].type))
        for value in self.inputs[1:]:
            for i, dim in enumerate(dims_of(value.type)):
                result[i] = result[i] + dim if i == axis else unified(result[i], dim)
        return [tensor_type(tensor_of(self.inputs[0]).element_type, result)]

    def infer_operands(
        self, results: Sequence[Attribute], operands: Sequence[Attribute]
    ) -> Sequence[Attribute | None]:
        types = [*results, *operands]
        if (
            known := next((cast(Tensor, type) for type in types if isinstance(type, TensorType)), None)
        ) is None:
            return one_element(types, len(operands))
        dims = [UNKNOWN if i == self.axis.value.data else d for i, d in enumerate(dims_of(known))]
        return [tensor_type(element_of_type(known), dims)] * len(operands)

    def check(self) -> None:
        if not self.inputs:  # (C1)
            raise VerifyException("concat needs one tensor or more")
        first = dims_of(self.inputs[0].type)
        axis = self.axis.value.data
        expect_axis(axis, len(first))  # (C2)
        for value in self.inputs[1:]:
            expect_same_element(self.inputs[0], value)  # (C1)
            dims = dims_of(value.type)
            others = [(a, b) for i, (a, b) in enumerate(zip(first, dims, strict=False)) if i != axis]
            if len(dims) != len(first) or any(differ(a, b) for a, b in others):  # (C3)
                raise VerifyException(
                    f"shapes {shape_text(first)} and {shape_text(dims)} do not join along axis {axis}"
                )


@irdl_op_definition
class SplitOp(GraphOp):
    """
    Cut a tensor into pieces along an axis.

    ```mlir
    %a, %b = graph.split %x axis 1 sizes <[3, 5]> : tensor<2x8xf32> -> (tensor<2x3xf32>, tensor<2x5xf32>)
    ```
    Constraints:
      (C1) `axis` is below the rank.
      (C2) sizes are given once, as dimensions or as an operand, one a result.
      (C3) the sizes add up to the dimension that is cut.
    Source: ONNX Split, opset 18.
    """

    name = "graph.split"
    KIND: ClassVar[Kind] = Kind.INJECTIVE

    input = operand_def(AnyTensor)
    sizes_value = opt_operand_def(AnyTensor)
    axis = prop_def(IntegerAttr.constr(i64))
    sizes = opt_prop_def(DimsAttr)
    pieces = var_result_def(AnyTensor)

    traits = traits_def(Pure())
    assembly_format = (
        "$input `axis` $axis (`sizes` $sizes^)? (`sizes_value` $sizes_value^ `:` type($sizes_value))?"
        " attr-dict `:` type($input) `->` `(` type($pieces) `)`"
    )

    def __init__(self, input: SSAValue, axis: int, sizes: Mixed):
        attribute, value = split_mixed(sizes)
        self.initialize(
            [input, value],
            {"axis": axis, "sizes": attribute},
            result_types=[[input.type] * len(mixed_dims(attribute, value))],
        )

    def infer(self) -> Sequence[Attribute]:
        axis, dims = self.axis.value.data, dims_of(self.input.type)
        element = tensor_of(self.input).element_type
        return [
            tensor_type(element, [*dims[:axis], size, *dims[axis + 1 :]])
            for size in mixed_dims(self.sizes, self.sizes_value)
        ]

    def check(self) -> None:
        dims = dims_of(self.input.type)
        expect_axis(self.axis.value.data, len(dims))  # (C1)
        expect_mixed(self.sizes, self.sizes_value, "sizes")
        sizes = mixed_dims(self.sizes, self.sizes_value)
        if len(sizes) != len(self.pieces):  # (C2)
            raise VerifyException(f"expected {len(self.pieces)} sizes, one a result, found {len(sizes)}")
        whole = dims[self.axis.value.data]
        if differ(total := sum(sizes, start=Dim.of(0)), whole):  # (C3)
            raise VerifyException(f"sizes must add up to {whole}, found {total}")


@irdl_op_definition
class SliceOp(GraphOp):
    """
    Every `step`-th element from `start` up to, but without, `limit`, in each dimension.

    A negative step walks down; its limit is -1 to take element 0 too. Starts and limits are clamped to the
    tensor at import.

    ```mlir
    %y = graph.slice %x starts <[0, 7]> limits <[2, -1]> steps [1, -2] : tensor<2x8xf32> -> tensor<2x4xf32>
    ```
    Constraints:
      (C1) starts and limits are given once each, as dimensions or as operands.
      (C2) starts, limits and steps are one a dimension, and no step is 0.
      (C3) known starts and limits are within the tensor.
    Source: ONNX Slice, opset 13.
    """

    name = "graph.slice"
    KIND: ClassVar[Kind] = Kind.INJECTIVE

    input = operand_def(AnyTensor)
    starts_value = opt_operand_def(AnyTensor)
    limits_value = opt_operand_def(AnyTensor)
    starts = opt_prop_def(DimsAttr)
    limits = opt_prop_def(DimsAttr)
    steps = prop_def(DenseArrayBase.constr(i64))
    result = result_def(AnyTensor)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(Pure())
    assembly_format = (
        "$input (`starts` $starts^)? (`starts_value` $starts_value^ `:` type($starts_value))?"
        " (`limits` $limits^)? (`limits_value` $limits_value^ `:` type($limits_value))?"
        " `steps` $steps attr-dict `:` type($input) `->` type($result)"
    )

    def __init__(self, input: SSAValue, starts: Mixed, limits: Mixed, steps: Sequence[int]):
        starts_attr, starts_value = split_mixed(starts)
        limits_attr, limits_value = split_mixed(limits)
        self.initialize(
            [input, starts_value, limits_value],
            {"starts": starts_attr, "limits": limits_attr, "steps": steps},
        )

    def infer(self) -> Sequence[Attribute]:
        starts = mixed_dims(self.starts, self.starts_value)
        limits = mixed_dims(self.limits, self.limits_value)
        axes = zip(dims_of(self.input.type), starts, limits, self.steps.get_values(), strict=True)
        dims = [
            # All of an axis is the axis, even where that this is at least 0 cannot be seen.
            dim if (start, limit, step) == (0, dim, 1) else slice_extent(start, limit, step)
            for dim, start, limit, step in axes
        ]
        return [tensor_type(tensor_of(self.input).element_type, dims)]

    def check(self) -> None:
        expect_mixed(self.starts, self.starts_value, "starts")  # (C1)
        expect_mixed(self.limits, self.limits_value, "limits")  # (C1)
        dims, steps = dims_of(self.input.type), self.steps.get_values()
        starts = mixed_dims(self.starts, self.starts_value)
        limits = mixed_dims(self.limits, self.limits_value)
        if not len(dims) == len(starts) == len(limits) == len(steps) or 0 in steps:  # (C2)
            raise VerifyException(
                f"starts, limits and non-zero steps must be {len(dims)} each, found {len(starts)},"
                f" {len(limits)} and {list(steps)}"
            )
        for dim, start, limit, step in zip(dims, starts, limits, steps, strict=True):
            low, high = (0, dim) if step > 0 else (-1, dim - 1)
            for bound in (start, limit):
                if _negative(bound - low) or _negative(high - bound):  # (C3)
                    raise VerifyException(f"starts and limits must be in {low}..{high}, found {bound}")


def _negative(dim: Dim) -> bool:
    return (-1 - dim).is_nonnegative


def slice_extent(start: Dim, limit: Dim, step: int) -> Dim:
    """The number of elements of a slice: ⌈(limit - start) / step⌉, at least 0."""
    distance = limit - start if step > 0 else start - limit
    return distance.maximum(0).ceildiv(abs(step))


@irdl_op_definition
class InsertSliceOp(SameTypeOp):
    """
    A copy of a tensor with a block of it replaced.

    ```mlir
    %y = graph.insert_slice %u into %x at <[0, "P"]>
      : (tensor<2x1xf32>, tensor<2x?xf32, #graph.dims<[2, "P + 1"]>>)
      -> tensor<2x?xf32, #graph.dims<[2, "P + 1"]>>
    ```
    Constraints:
      (C1) both tensors have one element type and one rank.
      (C2) offsets are given once, as dimensions or as an operand, one a dimension.
      (C3) offsets of known number are not negative, and leave room for the update. Others are checked at run
      time: the call ends with an error.
    Source: ONNX TensorScatter, opset 24; numpy's `x[i:j] = u`.
    """

    name = "graph.insert_slice"
    KIND: ClassVar[Kind] = Kind.INJECTIVE

    input = operand_def(AnyTensor)
    update = operand_def(AnyTensor)
    offsets_value = opt_operand_def(AnyTensor)
    offsets = opt_prop_def(DimsAttr)

    assembly_format = (
        "$update `into` $input (`at` $offsets^)? (`at_value` $offsets_value^ `:` type($offsets_value))?"
        " attr-dict `:` `(` type($update) `,` type($input) `)` `->` type($result)"
    )

    def __init__(self, input: SSAValue, update: SSAValue, offsets: Mixed):
        attribute, value = split_mixed(offsets)
        self.initialize([input, update, value], {"offsets": attribute})

    def check(self) -> None:
        expect_same_element(self.input, self.update)
        rank, update_rank = len(dims_of(self.input.type)), len(dims_of(self.update.type))
        if rank != update_rank:  # (C1)
            raise VerifyException(f"the update must have rank {rank}, found rank {update_rank}")
        expect_mixed(self.offsets, self.offsets_value, "offsets")
        if (n := len(mixed_dims(self.offsets, self.offsets_value))) != rank:  # (C2)
            raise VerifyException(f"expected {rank} offsets, one a dimension, found {n}")
        if self.offsets is not None:
            for offset, limit in zip(self.offsets.get(), self.last_offsets(), strict=True):
                room = limit - offset
                if min(_number_or_zero(offset), _number_or_zero(room)) < 0:  # (C3)
                    raise VerifyException(f"an offset of {offset} is not between 0 and {limit}")

    def last_offsets(self) -> Sequence[Dim]:
        """The greatest offset along each dimension that leaves room for the update."""
        pairs = zip(dims_of(self.input.type), dims_of(self.update.type), strict=True)
        return [whole - part for whole, part in pairs]


def _number_or_zero(dim: Dim) -> int:
    return dim.value if dim.is_static else 0


@irdl_op_definition
class ReverseOp(AxesOp):
    """
    Turn the order of elements around along some axes.

    ```mlir
    %y = graph.reverse %x axes [1] : tensor<2x3xf32> -> tensor<2x3xf32>
    ```
    Constraints:
      (C1) `axes` are sorted, distinct, and below the rank.
    Source: numpy.flip.
    """

    name = "graph.reverse"

    def infer(self) -> Sequence[Attribute]:
        return [self.input.type]

    def check(self) -> None:
        self.expect_axes(len(dims_of(self.input.type)))  # (C1)
