"""Products with weights of a few bits on level 2: unpacked in registers, or by panels in scratch memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from xdsl.dialects.builtin import IntegerAttr, TensorType, i8, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
)
from xdsl.utils.exceptions import VerifyException

from stepwell.dialects.costs.layouts import NBITS
from stepwell.dialects.graph.nbits_products import MOST_DIGIT_BITS, U8
from stepwell.dialects.graph.nbits_products import MatmulNbitsOp as GraphMatmulNbitsOp
from stepwell.dialects.linalg_ext.forms import Form, FormsOp, Size
from stepwell.dialects.tensor_ir.structured import tensor_shape
from stepwell.dialects.types import dims_of, int_attr
from stepwell.runtime.dims import Dim

MOST_CHAINS, MOST_FEW, MOST_GROUPS, MOST_DEPTH, MOST_ROWS, MOST_PAIRS = 4, 64, 64, 1 << 14, 8, 8
"""The largest sizes of forms: they bound code, which is written out for chains, and scratch memory."""
_DIGIT_ROWS = {"digit_rows": Size(NBITS.digit_rows, MOST_ROWS)}


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
    - `registers`: one row after the other; codes become floats in registers, in `chains` of sums. A row with
      infinity gives NaN.
    - `panels`: codes of `depth` steps and `columns` of a panel become weights in memory, once for all rows.
    - `by-rows`: `registers` for at most `few` rows, if they are finite, else `panels`.
    - `bytes`, of rows that are bytes: `rows` of them share unpacked codes, for `columns` of a panel at once;
      four products are added in 32 bits.
    - `short-bytes`: the same, with `pairs` sums of two products added in 16 bits before they become 32 bits.
    - `floats-or-bytes` and `floats-or-short-bytes`: `registers` for few rows, else `bytes` or `short-bytes`.
    - `digits`: numbers of a row become integers of three bytes, 16 or 32 of them with a common scale; each
      byte is multiplied with codes. `digit_rows` rows share unpacked codes. A row with infinity is NaN.
    - `digits-or-panels`: `digits` if all rows are finite, else `panels`; `digits-or-bytes`, of both: `digits`
      for few rows, else `bytes`.

    Constraints:
      (C1) operands are as for `graph.matmul_nbits`, with `zero_points` as i8; `x` has rank 2.
      (C2) the result has the type of `init` and the shape of the result of `graph.matmul_nbits`.
    """

    name = "linalg_ext.matmul_nbits"
    GRAPH_OP: ClassVar = GraphMatmulNbitsOp

    x = operand_def(TensorType)
    codes = operand_def(TensorType)
    scales = operand_def(TensorType)
    init = operand_def(TensorType)
    zero_points = opt_operand_def(TensorType)
    x_scales = opt_operand_def(TensorType)
    row_bytes = opt_operand_def(TensorType)
    result = result_def(TensorType)
    bits = prop_def(IntegerAttr.constr(i64))
    block = prop_def(IntegerAttr.constr(i64))
    few = opt_prop_def(IntegerAttr.constr(i64))

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    assembly_format = (
        "$x `,` $codes `,` $scales `into` $init (`zero_points` $zero_points^ `:` type($zero_points))? "
        "(`x_scales` $x_scales^ `:` type($x_scales))? (`row_bytes` $row_bytes^ `:` type($row_bytes))? "
        "(`few` $few^)? `bits` $bits `block` $block attr-dict `:` "
        "`(` type($x) `,` type($codes) `,` type($scales) `,` type($init) `)` `->` type($result)"
    )

    def verify_(self) -> None:
        found = dims_of(self.result.type)
        if len(found) != 2 or not found[1].is_static or len(dims_of(self.x.type)) != 2:  # (C1)
            raise VerifyException(
                f"x and the result must be matrices of known columns, found {self.x.type}, {self.result.type}"
            )
        super().verify_()

    def size_properties(self, sizes: Sequence[Sequence[Dim]]) -> Mapping[str, Attribute]:
        return {"columns": int_attr(sizes[0][1].value)}

    def element_of(self, name: str, value: SSAValue) -> Attribute:
        stored = super().element_of(name, value)
        return U8 if name == "zero_points" and stored == i8 else stored

    @property
    def rows(self) -> Dim:
        """The rows of `x`."""
        return dims_of(self.x.type)[0]

    @property
    def in_bytes(self) -> SSAValue:
        """The rows as bytes, if there are `x_scales`."""
        return self.x if self.row_bytes is None else self.row_bytes

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

    def _columns(self) -> Size:
        """The columns of a panel at a time."""
        panel = tensor_shape(self.codes)[-1]
        return Size(panel // NBITS.parts if panel % NBITS.parts == 0 else panel, panel)

    def _forms_of_bytes(self) -> Mapping[str, Form]:
        sizes = {"rows": Size(NBITS.byte_rows, MOST_ROWS), "columns": self._columns()}
        # Two products of a code and a byte are at most 2 · 128 · the largest code.
        most = min(MOST_PAIRS, ((1 << 15) - 1) // (2 * 128 * ((1 << self.bits.value.data) - 1)))
        refusal = None if most else "sums of 8-bit codes do not fit 16 bits"
        pairs = {"pairs": Size(max(1, most), max(1, most))}
        forms = {"bytes": sizes, "short-bytes": {**sizes, **pairs}}
        if self.row_bytes is not None:
            chains = {"chains": Size(NBITS.chains, MOST_CHAINS)}
            digits = {"digits-or-bytes": {**sizes, **_DIGIT_ROWS}}
            forms = {f"floats-or-{name}": {**own, **chains} for name, own in forms.items()} | digits
        refusals = {"pairs": refusal, "digit_rows": self._no_digits()}
        return {
            name: Form(own, next(filter(None, map(refusals.get, own)), None), self._misfit)
            for name, own in forms.items()
        }

    def _no_digits(self) -> str | None:
        """The reason why sums of the products of numbers that became digits are too large."""
        fits = self.bits.value.data <= MOST_DIGIT_BITS
        return None if fits else f"sums of {self.bits.value.data}-bit codes and digits do not fit 32 bits"

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
            "columns": self._columns(),
        }
        by_rows = {**registers, **panels, "few": Size(NBITS.few_rows, MOST_FEW)}
        forms = {
            "by-rows": Form(by_rows, misfit=self._misfit),
            "registers": Form(registers),
            "panels": Form(panels, misfit=self._misfit),
            "digits": Form({**_DIGIT_ROWS, "columns": panels["columns"]}, self._no_digits(), self._misfit),
            "digits-or-panels": Form({**_DIGIT_ROWS, **panels}, self._no_digits(), self._misfit),
        }
        if not self.rows.is_static:
            return forms
        first = "by-rows" if self.rows.value <= NBITS.few_rows else "panels"
        return {first: forms[first], **forms}
