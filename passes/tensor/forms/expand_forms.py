"""`expand-forms`: ops of `linalg_ext` become loops on scalars and vectors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from xdsl.context import Context
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue
from xdsl.rewriter import Rewriter

from stepwell.dialects.ir_builder import Constants, IRBuilder
from stepwell.dialects.linalg_ext import (
    AttentionOp,
    FormsOp,
    MatmulNbitsOp,
    PoolOp,
    ResizeOp,
    RnnOp,
    ScanOp,
    TopKOp,
    TreeEnsembleOp,
    WinogradConvOp,
    form_of,
)
from stepwell.passes.base import FunctionPass
from stepwell.passes.tensor.forms.attention import attention_by_blocks
from stepwell.passes.tensor.forms.graph_ops import by_graph_op, drop_names
from stepwell.passes.tensor.forms.nbits import nbits_by_arithmetic, nbits_by_digits_or_panels, nbits_by_rows
from stepwell.passes.tensor.forms.nbits_bytes import nbits_of_bytes
from stepwell.passes.tensor.forms.nbits_digits import nbits_by_digits
from stepwell.passes.tensor.forms.nbits_panels import nbits_by_panels
from stepwell.passes.tensor.forms.nbits_registers import nbits_in_registers
from stepwell.passes.tensor.forms.pool_rows import pool_by_rows
from stepwell.passes.tensor.forms.recurrent import rnn_by_steps
from stepwell.passes.tensor.forms.resize import resize_by_axes, resize_by_gather, resize_by_repeats
from stepwell.passes.tensor.forms.scan import scan_by_columns, scan_by_layers, scan_by_rows
from stepwell.passes.tensor.forms.top_k_search import top_k_by_rounds, top_k_by_search
from stepwell.passes.tensor.forms.tree_bits import trees_by_bits
from stepwell.passes.tensor.forms.tree_walk import trees_by_walks
from stepwell.passes.tensor.forms.winograd import winograd_by_blocks

_Expansion = Callable[[Any, Mapping[str, int], IRBuilder], SSAValue | Sequence[SSAValue]]
"""Emits the loops of an op before it, with the sizes of its form; returns the results."""

EXPANSIONS: Mapping[type[FormsOp], Mapping[str, _Expansion]] = {
    AttentionOp: {"softmax": attention_by_blocks, "online-softmax": attention_by_blocks},
    MatmulNbitsOp: {
        "registers": nbits_in_registers,
        "panels": nbits_by_panels,
        "by-rows": nbits_by_rows,
        "digits": nbits_by_digits,
        "digits-or-panels": nbits_by_digits_or_panels,
        "bytes": nbits_of_bytes,
        "short-bytes": nbits_of_bytes,
        "floats-or-bytes": nbits_by_arithmetic,
        "floats-or-short-bytes": nbits_by_arithmetic,
        "digits-or-bytes": nbits_by_arithmetic,
    },
    PoolOp: {"rows": pool_by_rows},
    ResizeOp: {
        "repeat": by_graph_op(resize_by_repeats),
        "gather": by_graph_op(resize_by_gather),
        "last-axis-first": by_graph_op(resize_by_axes(last_first=True)),
        "first-axis-first": by_graph_op(resize_by_axes(last_first=False)),
    },
    RnnOp: {"whole": by_graph_op(rnn_by_steps), "blocks": by_graph_op(rnn_by_steps)},
    ScanOp: {
        "rows": by_graph_op(scan_by_rows),
        "columns": by_graph_op(scan_by_columns),
        "layers": by_graph_op(scan_by_layers),
    },
    TopKOp: {"rounds": by_graph_op(top_k_by_rounds), "search": by_graph_op(top_k_by_search)},
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
        if not ops:
            return
        constants = Constants(func)
        for op in ops:
            form, sizes = form_of(op)
            results = EXPANSIONS[type(op)][form](op, sizes, IRBuilder.before(op, constants))
            Rewriter.replace_op(op, [], [results] if isinstance(results, SSAValue) else results)
        drop_names(func)
