"""Operators that write elements at positions that are data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import IntegerAttr, StringAttr, UnitAttr, i64
from xdsl.ir import SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def
from xdsl.utils.exceptions import VerifyException

from stepwell.dialects.graph.base import AnyTensor, Kind, SameTypeOp
from stepwell.dialects.graph.gather import expect_position
from stepwell.dialects.graph.relations import (
    Domain,
    differ,
    expect_axis,
    expect_domain,
    expect_same_element,
    shape_text,
)
from stepwell.dialects.types import dims_of
from stepwell.runtime.dims import Dim

COMBINATIONS = ("none", "add", "mul", "max", "min")


class ScatterOp(SameTypeOp):
    """A copy of a tensor with elements at indices replaced or combined, in the order of the indices."""

    KIND: ClassVar[Kind] = Kind.OPAQUE

    input = operand_def(AnyTensor)
    indices = operand_def(AnyTensor)
    updates = operand_def(AnyTensor)
    combine = prop_def(StringAttr)
    unique = opt_prop_def(UnitAttr)

    def check(self) -> None:
        expect_domain(self.indices, Domain.INTEGER, "indices")
        expect_same_element(self.input, self.updates)
        if self.combine.data not in COMBINATIONS:
            raise VerifyException(
                f"combine must be one of {', '.join(COMBINATIONS)}, found {self.combine.data}"
            )

    def expect_updates(self, expected: Sequence[Dim]) -> None:
        """Require the shape of the updates. Raises: VerifyException."""
        dims = dims_of(self.updates.type)
        if len(dims) != len(expected) or any(differ(a, b) for a, b in zip(dims, expected, strict=True)):
            raise VerifyException(f"updates must have shape {shape_text(expected)}, found {shape_text(dims)}")


@irdl_op_definition
class ScatterElementsOp(ScatterOp):
    """
    Write one element an index: `y[indices[i, j], j] = updates[i, j]` for axis 0.

    Later updates of a position win; with `combine` they are added, multiplied, or the greater or lesser kept.
    `unique` promises that no position occurs twice.

    ```mlir
    %y = graph.scatter_elements %x, %i, %u axis 1 combine "add"
      : (tensor<3x4xf32>, tensor<3x2xi64>, tensor<3x2xf32>) -> tensor<3x4xf32>
    ```
    Constraints:
      (C1) indices are integers, updates have the tensor's element type.
      (C2) `combine` is none, add, mul, max or min.
      (C3) indices and updates have one shape, of the tensor's rank, and `axis` is below it.
    Source: ONNX ScatterElements, opset 18.
    """

    name = "graph.scatter_elements"

    axis = prop_def(IntegerAttr.constr(i64))

    assembly_format = (
        "$input `,` $indices `,` $updates `axis` $axis `combine` $combine (`unique` $unique^)?"
        " attr-dict `:` `(` type($input) `,` type($indices) `,` type($updates) `)` `->` type($result)"
    )

    def __init__(
        self,
        input: SSAValue,
        indices: SSAValue,
        updates: SSAValue,
        axis: int,
        combine: str = "none",
        unique: bool = False,
    ):
        self.initialize(
            [input, indices, updates],
            {"axis": axis, "combine": combine, "unique": UnitAttr() if unique else None},
        )

    def check(self) -> None:
        super().check()  # (C1) (C2)
        rank, index_dims = len(dims_of(self.input.type)), dims_of(self.indices.type)
        if rank != len(index_dims):  # (C3)
            raise VerifyException(f"indices must have rank {rank}, found rank {len(index_dims)}")
        expect_axis(self.axis.value.data, rank)
        self.expect_updates(index_dims)


@irdl_op_definition
class ScatterNdOp(ScatterOp):
    """
    Write slices at positions given by the last dimension of the indices.

    ```mlir
    %y = graph.scatter_nd %x, %i, %u combine "none"
      : (tensor<3x4x5xf32>, tensor<7x2xi64>, tensor<7x5xf32>) -> tensor<3x4x5xf32>
    ```
    Constraints:
      (C1) indices are integers, updates have the tensor's element type.
      (C2) `combine` is none, add, mul, max or min.
      (C3) the indices' last dimension is known, and at most the tensor's rank.
      (C4) updates have the shape of the indices without it, then the tensor's further dimensions.
    Source: ONNX ScatterND, opset 18.
    """

    name = "graph.scatter_nd"

    assembly_format = (
        "$input `,` $indices `,` $updates `combine` $combine (`unique` $unique^)?"
        " attr-dict `:` `(` type($input) `,` type($indices) `,` type($updates) `)` `->` type($result)"
    )

    def __init__(
        self,
        input: SSAValue,
        indices: SSAValue,
        updates: SSAValue,
        combine: str = "none",
        unique: bool = False,
    ):
        self.initialize(
            [input, indices, updates], {"combine": combine, "unique": UnitAttr() if unique else None}
        )

    def check(self) -> None:
        super().check()  # (C1) (C2)
        dims, index_dims = dims_of(self.input.type), dims_of(self.indices.type)
        expect_position(dims, index_dims, 0)  # (C3)
        self.expect_updates([*index_dims[:-1], *dims[index_dims[-1].value :]])  # (C4)
