"""`expand-forms`: ops of `linalg_ext` become loops on scalars and vectors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from xdsl.context import Context
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue
from xdsl.rewriter import Rewriter

from stepwell.dialects.ir_builder import Constants
from stepwell.dialects.linalg_ext import (
    AttentionOp,
    FormsOp,
    MatmulNbitsOp,
    PoolOp,
    TreeEnsembleOp,
    WinogradConvOp,
    form_of,
)
from stepwell.passes.base import FunctionPass
from stepwell.passes.tensor.forms.attention import attention_by_blocks
from stepwell.passes.tensor.forms.nbits import nbits_by_rows
from stepwell.passes.tensor.forms.nbits_bytes import nbits_of_bytes
from stepwell.passes.tensor.forms.nbits_panels import nbits_by_panels
from stepwell.passes.tensor.forms.nbits_registers import nbits_in_registers
from stepwell.passes.tensor.forms.pool_rows import pool_by_rows
from stepwell.passes.tensor.forms.tree_bits import trees_by_bits
from stepwell.passes.tensor.forms.tree_walk import trees_by_walks
from stepwell.passes.tensor.forms.winograd import winograd_by_blocks

_Expansion = Callable[[Any, Mapping[str, int], Constants], SSAValue]
"""Emits the loops of an op before it, with the sizes of its form; returns the result."""

EXPANSIONS: Mapping[type[FormsOp], Mapping[str, _Expansion]] = {
    AttentionOp: {"softmax": attention_by_blocks, "online-softmax": attention_by_blocks},
    MatmulNbitsOp: {
        "registers": nbits_in_registers,
        "panels": nbits_by_panels,
        "by-rows": nbits_by_rows,
        "bytes": nbits_of_bytes,
        "short-bytes": nbits_of_bytes,
    },
    PoolOp: {"rows": pool_by_rows},
    TreeEnsembleOp: {"walk": trees_by_walks, "bits": trees_by_bits},
    WinogradConvOp: {"blocks": winograd_by_blocks, "channels": winograd_by_blocks},
}


class ExpandFormsPass(FunctionPass):
    """
    Write the loops of each op of `linalg_ext`, by the `form` of its schedule and with its sizes.

    An op without a schedule has its first form, with default sizes. What the loops contain gets schedules
    from `choose-schedules`, which therefore runs after. Class: exact.
    """

    name = "expand-forms"

    def apply_to_function(self, ctx: Context, func: FuncOp) -> None:
        ops = [op for op in func.walk() if isinstance(op, FormsOp)]
        constants = Constants(func) if ops else None
        for op in ops:
            assert constants is not None
            form, sizes = form_of(op)
            Rewriter.replace_op(op, [], [EXPANSIONS[type(op)][form](op, sizes, constants)])
