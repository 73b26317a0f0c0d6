"""Operators that read elements at positions given as data: gather and its variants, one_hot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import IntegerAttr, StringAttr, i1, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from stepwell.dialects.graph.base import AnyTensor, GraphOp, Kind
from stepwell.dialects.graph.relations import Domain, differ, expect_axis, expect_domain, shape_text
from stepwell.dialects.types import DimLike, DimsAttr, dims_attr, dims_of, tensor_of, tensor_type
from stepwell.runtime.dims import Dim

BOUNDS = ("check", "clip")


@irdl_op_definition
class GatherOp(GraphOp):
    """
    Take slices of a tensor at indices along an axis; a negative index counts from the end.

    The first `batch_dims` dimensions of both operands go together. An index outside is an error (bounds
    check), or takes the nearest element inside (clip).

    ```mlir
    %y = graph.gather %x, %i axis 0 batch_dims 0 bounds "check"
      : (tensor<9x4xf32>, tensor<2x3xi64>) -> tensor<2x3x4xf32>
    ```
    Constraints:
      (C1) indices are integers.
      (C2) `axis` is below the rank.
      (C3) `batch_dims` is at most `axis` and the indices' rank, and those dimensions are equal.
      (C4) `bounds` is check or clip.
    Source: ONNX Gather, opset 13.
    """

    name = "graph.gather"
    KIND: ClassVar[Kind] = Kind.INJECTIVE

    input = operand_def(AnyTensor)
    indices = operand_def(AnyTensor)
    axis = prop_def(IntegerAttr.constr(i64))
    batch_dims = prop_def(IntegerAttr.constr(i64))
    bounds = prop_def(StringAttr)
    result = result_def(AnyTensor)

    traits = traits_def(Pure())
    assembly_format = (
        "$input `,` $indices `axis` $axis `batch_dims` $batch_dims `bounds` $bounds"
        " attr-dict `:` `(` type($input) `,` type($indices) `)` `->` type($result)"
    )

    def __init__(
        self, input: SSAValue, indices: SSAValue, axis: int, batch_dims: int = 0, bounds: str = "check"
    ):
        self.initialize([input, indices], {"axis": axis, "batch_dims": batch_dims, "bounds": bounds})

    def infer(self) -> Sequence[Attribute]:
        axis, batch = self.axis.value.data, self.batch_dims.value.data
        dims, index_dims = dims_of(self.input.type), dims_of(self.indices.type)
        result = [*dims[:axis], *index_dims[batch:], *dims[axis + 1 :]]
        return [tensor_type(tensor_of(self.input).element_type, result)]

    def check(self) -> None:
        expect_domain(self.indices, Domain.INTEGER, "indices")  # (C1)
        axis, batch = self.axis.value.data, self.batch_dims.value.data
        dims, index_dims = dims_of(self.input.type), dims_of(self.indices.type)
        expect_axis(axis, len(dims))  # (C2)
        expect_batch(dims, index_dims, batch, min(axis, len(index_dims)))  # (C3)
        if self.bounds.data not in BOUNDS:  # (C4)
            raise VerifyException(f"bounds must be one of {', '.join(BOUNDS)}, found {self.bounds.data}")


def expect_batch(dims: Sequence[Dim], index_dims: Sequence[Dim], batch: int, most: int) -> None:
    """Require leading dimensions of two tensors to go together. Raises: VerifyException."""
    if not 0 <= batch <= most:
        raise VerifyException(f"batch_dims must be in 0..{most}, found {batch}")
    if any(differ(a, b) for a, b in zip(dims[:batch], index_dims[:batch], strict=True)):
        raise VerifyException(
            f"the first {batch} dimensions must be equal,"
            f" found {shape_text(dims)} and {shape_text(index_dims)}"
        )


@irdl_op_definition
class GatherElementsOp(GraphOp):
    """
    Take one element an index, `y[i, j] = x[indices[i, j], j]` for axis 0; negative ones count from the end.

    ```mlir
    %y = graph.gather_elements %x, %i axis 1 : (tensor<3x4xf32>, tensor<3x2xi64>) -> tensor<3x2xf32>
    ```
    Constraints:
      (C1) indices are integers, of the tensor's rank.
      (C2) `axis` is below the rank.
    Source: ONNX GatherElements, opset 13.
    """

    name = "graph.gather_elements"
    KIND: ClassVar[Kind] = Kind.INJECTIVE

    input = operand_def(AnyTensor)
    indices = operand_def(AnyTensor)
    axis = prop_def(IntegerAttr.constr(i64))
    result = result_def(AnyTensor)

    traits = traits_def(Pure())
    assembly_format = (
        "$input `,` $indices `axis` $axis attr-dict `:` "
        "`(` type($input) `,` type($indices) `)` `->` type($result)"
    )

    def __init__(self, input: SSAValue, indices: SSAValue, axis: int):
        self.initialize([input, indices], {"axis": axis})

    def infer(self) -> Sequence[Attribute]:
        return [tensor_type(tensor_of(self.input).element_type, dims_of(self.indices.type))]

    def check(self) -> None:
        expect_domain(self.indices, Domain.INTEGER, "indices")
        rank, index_rank = len(dims_of(self.input.type)), len(dims_of(self.indices.type))
        if rank != index_rank:  # (C1)
            raise VerifyException(f"indices must have rank {rank}, found rank {index_rank}")
        expect_axis(self.axis.value.data, rank)  # (C2)


@irdl_op_definition
class GatherNdOp(GraphOp):
    """
    Take slices at positions given by the last dimension of the indices; negative ones count from the end.

    ```mlir
    %y = graph.gather_nd %x, %i batch_dims 0 : (tensor<3x4x5xf32>, tensor<7x2xi64>) -> tensor<7x5xf32>
    ```
    Constraints:
      (C1) indices are integers, of rank 1 or more, their last dimension known.
      (C2) `batch_dims` leading dimensions are equal, fewer than the indices' rank.
      (C3) a position has at most as many numbers as the tensor has further dimensions.
    Source: ONNX GatherND, opset 13.
    """

    name = "graph.gather_nd"
    KIND: ClassVar[Kind] = Kind.INJECTIVE

    input = operand_def(AnyTensor)
    indices = operand_def(AnyTensor)
    batch_dims = prop_def(IntegerAttr.constr(i64))
    result = result_def(AnyTensor)

    traits = traits_def(Pure())
    assembly_format = (
        "$input `,` $indices `batch_dims` $batch_dims"
        " attr-dict `:` `(` type($input) `,` type($indices) `)` `->` type($result)"
    )

    def __init__(self, input: SSAValue, indices: SSAValue, batch_dims: int = 0):
        self.initialize([input, indices], {"batch_dims": batch_dims})

    def infer(self) -> Sequence[Attribute]:
        dims, index_dims = dims_of(self.input.type), dims_of(self.indices.type)
        taken = self.batch_dims.value.data + index_dims[-1].value
        return [tensor_type(tensor_of(self.input).element_type, [*index_dims[:-1], *dims[taken:]])]

    def check(self) -> None:
        expect_domain(self.indices, Domain.INTEGER, "indices")
        dims, index_dims = dims_of(self.input.type), dims_of(self.indices.type)
        expect_position(dims, index_dims, self.batch_dims.value.data)


def expect_position(dims: Sequence[Dim], index_dims: Sequence[Dim], batch: int) -> None:
    """Constraints (C1) to (C3) of `gather_nd` and `scatter_nd` on shapes. Raises: VerifyException."""
    if not index_dims or not index_dims[-1].is_static:  # (C1)
        raise VerifyException(
            f"the last dimension of the indices must be known, found {shape_text(index_dims)}"
        )
    expect_batch(dims, index_dims, batch, min(len(dims), len(index_dims) - 1))  # (C2)
    if (n := index_dims[-1].value) > len(dims) - batch:  # (C3)
        raise VerifyException(f"a position has at most {len(dims) - batch} numbers, found {n}")


@irdl_op_definition
class OneHotOp(GraphOp):
    """
    True at each index along a new axis, false elsewhere; everywhere for an index outside `0 .. depth - 1`.

    ```mlir
    %y = graph.one_hot %i depth <[10]> axis 1 : tensor<4xi64> -> tensor<4x10xi1>
    ```
    Constraints:
      (C1) indices are integers.
      (C2) `depth` is one dimension.
      (C3) `axis` is at most the indices' rank.
    Source: ONNX OneHot, opset 11, whose wrapping and values are composed at import.
    """

    name = "graph.one_hot"
    KIND: ClassVar[Kind] = Kind.BROADCAST

    indices = operand_def(AnyTensor)
    depth = prop_def(DimsAttr)
    axis = prop_def(IntegerAttr.constr(i64))
    result = result_def(AnyTensor)

    traits = traits_def(Pure())
    assembly_format = "$indices `depth` $depth `axis` $axis attr-dict `:` type($indices) `->` type($result)"

    def __init__(self, indices: SSAValue, depth: DimLike, axis: int):
        self.initialize([indices], {"depth": dims_attr([depth]), "axis": axis})

    def infer(self) -> Sequence[Attribute]:
        dims, axis = dims_of(self.indices.type), self.axis.value.data
        return [tensor_type(i1, [*dims[:axis], *self.depth.get(), *dims[axis:]])]

    def check(self) -> None:
        expect_domain(self.indices, Domain.INTEGER, "indices")  # (C1)
        if (n := len(self.depth.get())) != 1:  # (C2)
            raise VerifyException(f"depth must be one dimension, found {n}")
        expect_axis(self.axis.value.data, len(dims_of(self.indices.type)) + 1)  # (C3)
