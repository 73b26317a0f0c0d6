"""Recurrent layers on level 2: the products with the input for all steps at once, or by blocks of steps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    var_operand_def,
    var_result_def,
)
from xdsl.utils.exceptions import VerifyException

from stepwell.dialects.costs.kernels import CELLS
from stepwell.dialects.graph.recurrent import GATES, RnnProperties
from stepwell.dialects.graph.recurrent import RnnOp as GraphRnnOp
from stepwell.dialects.linalg_ext.forms import Form, FormsOp, Size
from stepwell.dialects.tensor_ir.sizes import size_of
from stepwell.dialects.types import dims_of
from stepwell.runtime.machine.target import F32_BYTES

MOST_STEPS = 1 << 16
"""The most steps of a block: they bound its memory."""


@irdl_op_definition
class RnnOp(RnnProperties, FormsOp):
    """
    `graph.rnn` into tensors: the outputs of all steps, the last states and, of an LSTM, the last cells.

    ```mlir
    %y, %h = linalg_ext.rnn %x, %w, %r bias %b : tensor<1x24xf32>
      into %y0, %h0 : tensor<400x1x1x4xf32>, tensor<1x1x4xf32> cell "gru" direction "forward"
      activations ["sigmoid", "tanh"] alphas [0.0, 0.0] betas [0.0, 0.0]
      {sched.schedule = #sched.schedule<form = "blocks", sizes = {steps = 50}>}
      : (tensor<400x1x8xf32>, tensor<1x12x8xf32>, tensor<1x12x4xf32>)
      -> tensor<400x1x1x4xf32>, tensor<1x1x4xf32>
    ```
    A step multiplies the state by `r` and computes the cell. The product of the input and `w` does not depend
    on the state, so it is computed before. The schedule has a `form`:
    - `whole`: one product of `w` for all steps.
    - `blocks`: a product of `w` for each block of `steps`, whose results are still in a cache when the steps
      read them.

    Constraints:
      (C1) operands and properties are as for `graph.rnn`, with a state of known size.
      (C2) the results have the types of `inits` and the shapes of the results of `graph.rnn`.
    """

    name = "linalg_ext.rnn"
    GRAPH_OP: ClassVar = GraphRnnOp
    PLAIN: ClassVar = frozenset({"lengths"})

    x = operand_def(TensorType)
    w = operand_def(TensorType)
    r = operand_def(TensorType)
    bias = opt_operand_def(TensorType)
    lengths = opt_operand_def(TensorType)
    h0 = opt_operand_def(TensorType)
    c0 = opt_operand_def(TensorType)
    peepholes = opt_operand_def(TensorType)
    inits = var_operand_def(TensorType)
    outputs = var_result_def(TensorType)
    of = opt_prop_def(Attribute)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    assembly_format = (
        "$x `,` $w `,` $r (`bias` $bias^ `:` type($bias))? (`lengths` $lengths^ `:` type($lengths))?"
        " (`h0` $h0^ `:` type($h0))? (`c0` $c0^ `:` type($c0))?"
        " (`peepholes` $peepholes^ `:` type($peepholes))? `into` $inits `:` type($inits) (`of` $of^)?"
        " `cell` $cell `direction` $direction `activations` $activations `alphas` $alphas `betas` $betas"
        " (`clip` $clip^)? (`input_forget` $input_forget^)? (`linear_before_reset` $linear_before_reset^)?"
        " (`packing` $packing^)? attr-dict"
        " `:` `(` type($x) `,` type($w) `,` type($r) `)` `->` type($outputs)"
    )

    def verify_(self) -> None:
        if not dims_of(self.r.type)[2].is_static:  # (C1)
            raise VerifyException(f"the state must be of known size, found r of {self.r.type}")
        super().verify_()

    @property
    def gates(self) -> int:
        """The elements that a step has for all gates of a sequence."""
        return GATES[self.cell.data] * dims_of(self.r.type)[2].value

    def forms(self) -> Mapping[str, Form]:
        steps, batch = (size_of(self.x, position) for position in (0, 1))
        if steps is None or not steps.is_static:
            refusal = "form blocks needs a known number of steps"
            return {"whole": Form({}), "blocks": Form({"steps": Size(1, 1)}, refusal)}
        each = self.gates * F32_BYTES * (batch.value if batch is not None and batch.is_static else 1)
        count, fitting = steps.value, max(1, CELLS.block_bytes // max(1, each))
        most = max(1, min(count, MOST_STEPS))
        block = max(n for n in range(1, min(most, fitting) + 1) if count % n == 0)

        def partial(sizes: Mapping[str, int]) -> str | None:
            number = sizes["steps"]
            return f"steps of form blocks must divide {count}, found {number}" if count % number else None

        return {"whole": Form({}), "blocks": Form({"steps": Size(block, most)}, misfit=partial)}
