"""Matrix products with constant weights of a few bits, which stay packed until the product reads them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import IntegerAttr, IntegerType, Signedness, f32, i32, i64
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
from stepwell.dialects.graph.relations import differ, element_of_value, shape_text
from stepwell.dialects.types import dims_of, tensor_type
from stepwell.runtime.dims import Dim
from stepwell.runtime.meaning.packed_codes import BYTES_IN_ELEMENT, WIDTHS, codes_in_element

U8 = IntegerType(8, Signedness.UNSIGNED)
LEAST_BLOCK = 16
MOST_DIGIT_BITS = 4
"""The most bits of a code whose products with numbers of 24 bits have sums of 32 bits."""
BYTES_PERMITTED = "graph.bytes_permitted"
"""A unit attribute of products of floats whose model permits bytes for their rows."""


@irdl_op_definition
class MatmulNbitsOp(GraphOp):
    """
    Product of rows with a constant matrix of codes of a few bits, blocks of which share a scale.

    ```mlir
    %y = graph.matmul_nbits %x, %codes, %scales columns 60 bits 4 block 32
      : (tensor<?x80xf32>, tensor<2x12x32xi32>, tensor<2x3x32xf32>) -> tensor<?x60xf32>
    %z = graph.matmul_nbits %x, %codes, %scales zero_points %points : tensor<2x3x32xui8> columns 60 bits 4
      block 32 : (tensor<?x80xf32>, tensor<2x12x32xi32>, tensor<2x3x32xf32>) -> tensor<?x60xf32>
    ```
    The weight of step k for a column is (code - zero point) · scale of the block ⌊k / block⌋. A lane is a
    column: the 32 bits of an element are consecutive codes of a column. Four of them are in the lowest bits
    of the four bytes, the next four in the bits above. Without zero points, the middle code stands for 0.

    With `x_scales` the rows are signed bytes, in blocks with a scale each; four of them are an element:
    ```mlir
    %y = graph.matmul_nbits %q, %codes, %scales x_scales %t : tensor<?x3xf32> columns 60 bits 4 block 32
      : (tensor<?x24xi32>, tensor<2x12x32xi32>, tensor<2x3x32xf32>) -> tensor<?x60xf32>
    ```
    With `row_bytes` too, `x` are the rows in floats, which count if there are at most `few`; of more rows the
    bytes do:
    ```mlir
    %v = graph.matmul_nbits %x, %codes, %scales x_scales %u : tensor<?x3xf32> row_bytes %q : tensor<?x24xi32>
      few 4 columns 60 bits 4 block 32
      : (tensor<?x80xf32>, tensor<2x12x32xi32>, tensor<2x3x32xf32>) -> tensor<?x60xf32>
    ```
    Constraints:
      (C1) `x` and scales are f32, `codes` are i32, `zero_points` are ui8; `bits` is 2, 4 or 8; the bytes, of
           `row_bytes` or else of `x` with `x_scales`, are i32.
      (C2) `block` is a positive multiple of 16.
      (C3) `codes` is [panels, ⌈K / block⌉ · block · bits / 32, panel], with `columns` in its last panel.
      (C4) `scales` and `zero_points` are [panels, ⌈K / block⌉, panel].
      (C5) `x_scales` is `x` with a number for each of the whole blocks that the bytes have.
      (C6) `result` is `x` with `columns` instead of K.
      (C7) `row_bytes` are the rows of `x` in whole blocks, and come with `x_scales` and `few`, at least 1.
    Source: MatMulNBits of ONNX Runtime's com.microsoft, version 1.
    """

    name = "graph.matmul_nbits"
    KIND: ClassVar[Kind] = Kind.CONTRACTION

    x = operand_def(AnyTensor)
    codes = operand_def(AnyTensor)
    scales = operand_def(AnyTensor)
    zero_points = opt_operand_def(AnyTensor)
    x_scales = opt_operand_def(AnyTensor)
    row_bytes = opt_operand_def(AnyTensor)
    result = result_def(AnyTensor)
    columns = prop_def(IntegerAttr.constr(i64))
    bits = prop_def(IntegerAttr.constr(i64))
    block = prop_def(IntegerAttr.constr(i64))
    few = opt_prop_def(IntegerAttr.constr(i64))

    traits = traits_def(Pure())
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    assembly_format = (
        "$x `,` $codes `,` $scales (`zero_points` $zero_points^ `:` type($zero_points))? "
        "(`x_scales` $x_scales^ `:` type($x_scales))? (`row_bytes` $row_bytes^ `:` type($row_bytes))? "
        "(`few` $few^)? `columns` $columns "
        "`bits` $bits `block` $block attr-dict `:` "
        "`(` type($x) `,` type($codes) `,` type($scales) `)` `->` type($result)"
    )

    def __init__(
        self,
        x: SSAValue,
        codes: SSAValue,
        scales: SSAValue,
        zero_points: SSAValue | None = None,
        x_scales: SSAValue | None = None,
        row_bytes: SSAValue | None = None,
        *,
        columns: int,
        bits: int,
        block: int,
        few: int | None = None,
    ):
        settings = {"columns": columns, "bits": bits, "block": block}
        if few is not None:
            settings["few"] = few
        self.initialize([x, codes, scales, zero_points, x_scales, row_bytes], settings)

    def check(self) -> None:
        columns, bits, block = (attr.value.data for attr in (self.columns, self.bits, self.block))
        for value, name, wanted in (
            (self.x, "x", f32 if self.x_scales is None or self.row_bytes is not None else i32),
            (self.row_bytes, "row_bytes", i32),
            (self.codes, "codes", i32),
            (self.scales, "scales", f32),
            (self.zero_points, "zero_points", U8),
            (self.x_scales, "x_scales", f32),
        ):
            if value is not None and (found := element_of_value(value)) != wanted:  # (C1)
                raise VerifyException(f"{name} must be {wanted}, found {found}")
        if bits not in WIDTHS:
            raise VerifyException(f"bits must be one of {list(WIDTHS)}, found {bits}")
        if block <= 0 or block % LEAST_BLOCK:  # (C2)
            raise VerifyException(f"block must be a positive multiple of {LEAST_BLOCK}, found {block}")
        in_bytes = self.x if self.row_bytes is None else self.row_bytes
        steps, found = dims_of(in_bytes.type)[-1:], dims_of(self.codes.type)
        if not steps or not steps[0].is_static or len(found) != len("PEC"):
            raise VerifyException(f"x must have known steps, and codes three dimensions: {shape_text(found)}")
        self._check_panels(columns, bits, block)
        self._check_bytes(block)

    def infer(self) -> Sequence[Attribute]:  # (C6)
        return [tensor_type(f32, (*dims_of(self.x.type)[:-1], Dim.of(self.columns.value.data)))]

    def steps(self) -> int:
        """The steps of a sum, with those that are zeros if there are bytes."""
        if self.x_scales is None:
            return dims_of(self.x.type)[-1].value
        in_bytes = self.x if self.row_bytes is None else self.row_bytes
        return dims_of(in_bytes.type)[-1].value * BYTES_IN_ELEMENT

    def _check_panels(self, columns: int, bits: int, block: int) -> None:  # (C3), (C4)
        blocks, width = -(-self.steps() // block), dims_of(self.codes.type)[2]
        panel = width.value if width.is_static else 0
        panels = -(-columns // panel) if panel > 0 and columns > 0 else 0
        elements = blocks * block // codes_in_element(bits)
        for value, name, count in (
            (self.codes, "codes", elements),
            (self.scales, "scales", blocks),
            (self.zero_points, "zero_points", blocks),
        ):
            if value is None:
                continue
            own, wanted = dims_of(value.type), tuple(map(Dim.of, (panels, count, panel)))
            if len(own) != len(wanted) or any(map(differ, own, wanted)):
                raise VerifyException(f"{name} must be {shape_text(wanted)}, found {shape_text(own)}")

    def _check_bytes(self, block: int) -> None:  # (C5), (C7)
        is_given = self.row_bytes is not None
        if is_given != (self.few is not None) or (is_given and self.x_scales is None):
            raise VerifyException("row_bytes must come with x_scales and few")
        if self.few is not None and self.few.value.data < 1:
            raise VerifyException(f"few must be at least 1, found {self.few.value.data}")
        if self.x_scales is None:
            return
        rows, steps = dims_of(self.x.type)[:-1], self.steps()
        blocks = -(-dims_of(self.x.type)[-1].value // block) if is_given else steps // block
        for value, name, count in (
            (self.x_scales, "x_scales", blocks),
            (self.row_bytes, "row_bytes", blocks * block // BYTES_IN_ELEMENT),
        ):
            own, wanted = () if value is None else dims_of(value.type), (*rows, Dim.of(count))
            is_wrong = steps % block or len(own) != len(wanted) or any(map(differ, own, wanted))
            if value is not None and is_wrong:
                raise VerifyException(f"{name} must be {shape_text(wanted)}, found {shape_text(own)}")
