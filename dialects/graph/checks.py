"""Checks of data at run time: indices and offsets within the bounds of a dimension."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import IntegerAttr, StringAttr, TensorType, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def
from xdsl.utils.exceptions import VerifyException

from stepwell.dialects.graph.base import AnyTensor, GraphOp, Kind
from stepwell.dialects.graph.relations import Domain, expect_domain, shape_text
from stepwell.dialects.types import DimLike, DimsAttr, dims_attr, dims_of
from stepwell.runtime.dims import Dim


@irdl_op_definition
class CheckIndicesOp(GraphOp):
    """
    Stop the call with an error when an index is outside of `-size .. size - 1`.

    With several sizes the last dimension of the indices has a number for each, as `gather_nd` reads them.

    ```mlir
    graph.check_indices %i within <["N"]> : tensor<3x2xi64>
    graph.check_indices %i within <["N"]> of "x[i[k, j]]" : tensor<3x2xi64>
    ```
    The indices of an access of a formula, whose text is after `of`, are from 0 on.

    Constraints:
      (C1) indices are integers.
      (C2) every size is a number or a symbol; there is one, or one for each index along the last dimension.
    """

    name = "graph.check_indices"
    KIND: ClassVar[Kind] = Kind.STRUCTURE

    indices = operand_def(AnyTensor)
    sizes = prop_def(DimsAttr)
    access = opt_prop_def(StringAttr)

    assembly_format = "$indices `within` $sizes (`of` $access^)? attr-dict `:` type($indices)"

    def __init__(self, indices: SSAValue, sizes: Sequence[DimLike], access: str | None = None):
        properties = {"sizes": dims_attr(sizes), "access": None if access is None else StringAttr(access)}
        super().__init__(operands=[indices], properties=properties)

    def infer(self) -> Sequence[Attribute]:
        return []

    def check(self) -> None:
        expect_domain(self.indices, Domain.INTEGER, "indices")  # (C1)
        dims, sizes = dims_of(self.indices.type), self.sizes.get()
        fits = len(sizes) == 1 or (bool(dims) and dims[-1] == Dim.of(len(sizes)))
        if not fits or any(size.is_unknown for size in sizes):  # (C2)
            raise VerifyException(f"sizes {shape_text(sizes)} do not fit indices {shape_text(dims)}")


@irdl_op_definition
class CheckAccessesOp(GraphOp):
    """
    Stop the call with an error when a kernel has recorded an access outside of its tensor, of a number.

    The record is the number of the access, or 0, then the index and the extent (`check-bounds`).

    ```mlir
    graph.check_accesses %faults number 2 of "x[i + 1]" : tensor<3xi64>
    ```
    Constraints:
      (C1) the record is a tensor<3xi64>, and the number is positive.
    """

    name = "graph.check_accesses"
    KIND: ClassVar[Kind] = Kind.STRUCTURE

    record = operand_def(AnyTensor)
    number = prop_def(IntegerAttr.constr(i64))
    access = prop_def(StringAttr)

    assembly_format = "$record `number` $number `of` $access attr-dict `:` type($record)"

    def __init__(self, record: SSAValue, number: int, access: str):
        properties = {"number": IntegerAttr(number, i64), "access": StringAttr(access)}
        super().__init__(operands=[record], properties=properties)

    def infer(self) -> Sequence[Attribute]:
        return []

    def check(self) -> None:
        if self.record.type != TensorType(i64, [3]) or self.number.value.data < 1:  # (C1)
            found = f"number {self.number.value.data} of {self.record.type}"
            raise VerifyException(f"the record is a tensor<3xi64>, its numbers are from 1 on, found {found}")


@irdl_op_definition
class CheckOffsetsOp(GraphOp):
    """
    Stop the call with an error when an offset is negative or greater than its limit.

    ```mlir
    graph.check_offsets <["data_0", "P"]> up_to <[7, "N - 1"]>
    ```
    Constraints:
      (C1) offsets and limits are known by number or name, and there is a limit for each offset.
    """

    name = "graph.check_offsets"
    KIND: ClassVar[Kind] = Kind.STRUCTURE

    offsets = prop_def(DimsAttr)
    limits = prop_def(DimsAttr)

    assembly_format = "$offsets `up_to` $limits attr-dict"

    def __init__(self, offsets: Sequence[DimLike], limits: Sequence[DimLike]):
        super().__init__(properties={"offsets": dims_attr(offsets), "limits": dims_attr(limits)})

    def infer(self) -> Sequence[Attribute]:
        return []

    def check(self) -> None:
        offsets, limits = self.offsets.get(), self.limits.get()
        if len(offsets) != len(limits) or any(dim.is_unknown for dim in (*offsets, *limits)):  # (C1)
            raise VerifyException(f"limits {shape_text(limits)} do not fit offsets {shape_text(offsets)}")
