"""Products with weights of a few bits on level 2: unpacked in registers, or by panels in scratch memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from xdsl.dialects.builtin import IntegerAttr, TensorType, f32, i8, i64
from xdsl.ir import SSAValue
from xdsl.irdl import (
    AnyAttr,
    AttrSizedOperandSegments,
    VarConstraint,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from stepwell.dialects.costs.layouts import NBITS
from stepwell.dialects.graph.nbits_products import MatmulNbitsOp as GraphMatmulNbitsOp
from stepwell.dialects.graph.nbits_products import NbitsOperands
from stepwell.dialects.graph.relations import differ, shape_text
from stepwell.dialects.linalg_ext.forms import Form, FormsOp, Size
from stepwell.dialects.tensor_ir.structured import tensor_element, tensor_shape
from stepwell.dialects.types import dims_of
from stepwell.runtime.dims import Dim

MOST_CHAINS, MOST_FEW, MOST_GROUPS, MOST_DEPTH, MOST_ROWS, MOST_PAIRS = 4, 64, 64, 1 << 14, 8, 8
"""The largest sizes of forms: they bound code, which is written out for chains, and scratch memory."""


@irdl_op_definition
class MatmulNbitsOp(FormsOp):
    """
    `graph.matmul_nbits` of a matrix into a tensor, all of whose elements it writes.

    ```mlir
    %y = linalg_ext.matmul_nbits %x, %codes, %scales into %init bits 4 block 32
      {sched.schedule = #sched.schedule<form = "registers", sizes = {chains = 2}>}
      : (tensor<?x80xf32>, tensor<2x12x32xi32>, tensor<2x3x32xf32>, tensor<?x60xf32>) -> tensor<?x60xf32>
    ```
    Its schedule has a `form`:
    - `registers`: a row after the other; codes become floats in registers, in `chains` of sums. A row with
      infinity is NaN.
    - `panels`: codes of `depth` steps and a panel of columns become weights in memory, once for all rows.
    - `by-rows`: `registers` for at most `few` rows, which are finite, else `panels`.
    - `bytes`, of rows that are bytes: `rows` of them share unpacked codes, for `columns` of a panel at once;
      four products are added in 32 bits.
    - `short-bytes`: the same, with `pairs` sums of two products added in 16 bits before they become 32 bits.

    Constraints:
      (C1) operands are those of `graph.matmul_nbits`, with `zero_points` as i8; `x` has rank 2.
      (C2) the result, of the type of `init`, is that of `graph.matmul_nbits`.
    """

    name = "linalg_ext.matmul_nbits"

    T: ClassVar = VarConstraint("T", AnyAttr())

    x = operand_def(TensorType)
    codes = operand_def(TensorType)
    scales = operand_def(TensorType)
    init = operand_def(T)
    zero_points = opt_operand_def(TensorType)
    x_scales = opt_operand_def(TensorType)
    result = result_def(T)
    bits = prop_def(IntegerAttr.constr(i64))
    block = prop_def(IntegerAttr.constr(i64))

    traits = traits_def(Pure())
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    assembly_format = (
        "$x `,` $codes `,` $scales `into` $init (`zero_points` $zero_points^ `:` type($zero_points))? "
        "(`x_scales` $x_scales^ `:` type($x_scales))? `bits` $bits `block` $block attr-dict `:` "
        "`(` type($x) `,` type($codes) `,` type($scales) `,` type($init) `)` `->` type($result)"
    )

    def __init__(self, op: GraphMatmulNbitsOp, x: SSAValue, x_scales: SSAValue | None, init: SSAValue):
        """The op that writes what `op` computes of a matrix into `init`."""
        super().__init__(
            operands=[x, op.codes, op.scales, init, op.zero_points, x_scales],
            result_types=[init.type],
            properties={"bits": op.bits, "block": op.block},
        )

    def verify_(self) -> None:
        found = dims_of(self.result.type)
        if len(found) != 2 or not found[1].is_static or len(dims_of(self.x.type)) != 2:  # (C1)
            raise VerifyException(
                f"x and the result must be matrices of known columns, found {self.x.type}, {self.result.type}"
            )
        operands = NbitsOperands(self.x, self.codes, self.scales, self.zero_points, self.x_scales)
        operands.check(found[1].value, self.bits.value.data, self.block.value.data, i8)
        wanted = (self.rows, found[1])
        if tensor_element(self.result) != f32 or any(map(differ, found, wanted)):  # (C2)
            raise VerifyException(f"the result must be f32 {shape_text(wanted)}, found {self.result.type}")

    @property
    def rows(self) -> Dim:
        """The rows of `x`."""
        return dims_of(self.x.type)[0]

    @property
    def steps(self) -> int:
        """The steps of a sum."""
        return tensor_shape(self.x)[1]

    @property
    def columns(self) -> int:
        """The columns of the result."""
        return tensor_shape(self.result)[1]

    def forms(self) -> Mapping[str, Form]:
        if self.x_scales is not None:
            return self._forms_of_bytes()
        return self._forms_of_floats()

    def _forms_of_bytes(self) -> Mapping[str, Form]:
        panel = tensor_shape(self.codes)[-1]
        columns = panel // NBITS.parts if panel % NBITS.parts == 0 else panel
        sizes = {"rows": Size(NBITS.byte_rows, MOST_ROWS), "columns": Size(columns, panel)}
        # Two products of a code and a byte are at most 2 · 128 · the largest code.
        most = min(MOST_PAIRS, ((1 << 15) - 1) // (2 * 128 * ((1 << self.bits.value.data) - 1)))
        refusal = None if most else "sums of 8-bit codes do not fit 16 bits"
        pairs = {"pairs": Size(max(1, most), max(1, most))}
        forms = {"bytes": sizes, "short-bytes": {**sizes, **pairs}}
        return {
            name: Form(own, refusal if own is not sizes else None, self._misfit)
            for name, own in forms.items()
        }

    def _misfit(self, sizes: Mapping[str, int]) -> str | None:
        panel = tensor_shape(self.codes)[-1]
        if panel % sizes["columns"] == 0:
            return None
        return f"columns must divide the {panel} columns of a panel, found {sizes['columns']}"

    def _forms_of_floats(self) -> Mapping[str, Form]:
        block, blocks = self.block.value.data, tensor_shape(self.scales)[1]
        whole = block * blocks
        parts = -(-whole // max(block, NBITS.panel_steps // block * block))
        depth = -(-blocks // parts) * block  # parts of about one size
        registers = {"chains": Size(NBITS.chains, MOST_CHAINS)}
        panels = {
            "depth": Size(depth, max(block, min(whole, MOST_DEPTH // block * block)), block),
            "groups": Size(min(NBITS.groups, tensor_shape(self.codes)[0]), MOST_GROUPS),
        }
        by_rows = {**registers, **panels, "few": Size(NBITS.few_rows, MOST_FEW)}
        forms = {"by-rows": Form(by_rows), "registers": Form(registers), "panels": Form(panels)}
        if not self.rows.is_static:
            return forms
        first = "by-rows" if self.rows.value <= NBITS.few_rows else "panels"
        return {first: forms[first], **forms}
