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
from stepwell.runtime.meaning.packed_codes import WIDTHS, codes_in_element

U8 = IntegerType(8, Signedness.UNSIGNED)
LEAST_BLOCK = 16


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
    Constraints:
      (C1) `x` and `scales` are f32, `codes` are i32, `zero_points` are ui8; `bits` is 2, 4 or 8.
      (C2) `block` is a positive multiple of 16.
      (C3) `codes` is [panels, ⌈K / block⌉ · block · bits / 32, panel], with `columns` in its last panel.
      (C4) `scales` and `zero_points` are [panels, ⌈K / block⌉, panel].
      (C5) `result` is `x` with `columns` instead of K.
    Source: MatMulNBits of ONNX Runtime's com.microsoft, version 1.
    """

    name = "graph.matmul_nbits"
    KIND: ClassVar[Kind] = Kind.CONTRACTION

    x = operand_def(AnyTensor)
    codes = operand_def(AnyTensor)
    scales = operand_def(AnyTensor)
    zero_points = opt_operand_def(AnyTensor)
    result = result_def(AnyTensor)
    columns = prop_def(IntegerAttr.constr(i64))
    bits = prop_def(IntegerAttr.constr(i64))
    block = prop_def(IntegerAttr.constr(i64))

    traits = traits_def(Pure())
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    assembly_format = (
        "$x `,` $codes `,` $scales (`zero_points` $zero_points^ `:` type($zero_points))? `columns` $columns "
        "`bits` $bits `block` $block attr-dict `:` "
        "`(` type($x) `,` type($codes) `,` type($scales) `)` `->` type($result)"
    )

    def __init__(
        self,
        x: SSAValue,
        codes: SSAValue,
        scales: SSAValue,
        zero_points: SSAValue | None = None,
        *,
        columns: int,
        bits: int,
        block: int,
    ):
        self.initialize([x, codes, scales, zero_points], {"columns": columns, "bits": bits, "block": block})

    def check(self) -> None:
        columns, bits, block = (attr.value.data for attr in (self.columns, self.bits, self.block))
        check_nbits(self.x, self.codes, self.scales, self.zero_points, columns, bits, block)

    def infer(self) -> Sequence[Attribute]:  # (C5)
        return [tensor_type(f32, (*dims_of(self.x.type)[:-1], Dim.of(self.columns.value.data)))]


def check_nbits(
    x: SSAValue,
    codes: SSAValue,
    scales: SSAValue,
    zero_points: SSAValue | None,
    columns: int,
    bits: int,
    block: int,
    byte: Attribute = U8,
) -> None:
    """
    Require operands of such a product to fit, as (C1) to (C4) say; `byte` is the type of zero points.

    Raises: VerifyException.
    """
    points = [] if zero_points is None else [(zero_points, "zero_points", byte)]
    for value, name, wanted in ((x, "x", f32), (codes, "codes", i32), (scales, "scales", f32), *points):
        if (found := element_of_value(value)) != wanted:  # (C1)
            raise VerifyException(f"{name} must be {wanted}, found {found}")
    if bits not in WIDTHS:
        raise VerifyException(f"bits must be one of {list(WIDTHS)}, found {bits}")
    if block <= 0 or block % LEAST_BLOCK:  # (C2)
        raise VerifyException(f"block must be a positive multiple of {LEAST_BLOCK}, found {block}")
    steps, found = dims_of(x.type)[-1:], dims_of(codes.type)
    if not steps or not steps[0].is_static or len(found) != len("PEC"):
        raise VerifyException(f"x must have K known steps, and codes three dimensions: {shape_text(found)}")
    blocks, panel = steps[0].ceildiv(block), found[2].value if found[2].is_static else 0
    panels = Dim.of(columns).ceildiv(panel) if panel > 0 and columns > 0 else Dim.of(0)
    elements = blocks * block // codes_in_element(bits)
    for value, name, count in (  # (C3), (C4)
        (codes, "codes", elements),
        (scales, "scales", blocks),
        *((value, name, blocks) for value, name, _ in points),
    ):
        own, wanted = dims_of(value.type), (panels, count, Dim.of(panel))
        if len(own) != len(wanted) or any(map(differ, own, wanted)):
            raise VerifyException(f"{name} must be {shape_text(wanted)}, found {shape_text(own)}")
