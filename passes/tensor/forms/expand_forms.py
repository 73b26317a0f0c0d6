"""`expand-forms`: ops of `linalg_ext` become loops on scalars and vectors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

from xdsl.context import Context
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue
from xdsl.rewriter import Rewriter

from stepwell.dialects.ir_builder import Constants, IRBuilder
from stepwell.dialects.linalg_ext import FormsOp, form_of
from stepwell.passes.base import FunctionPass
from stepwell.passes.tensor.forms.graph_ops import by_graph_op, drop_names

_Expansion = Callable[[Any, Mapping[str, int], IRBuilder], SSAValue | Sequence[SSAValue]]
"""Emits the loops of an op before it, with the sizes of its form; returns the results."""

EXPANSIONS: Mapping[str, Mapping[str, str]] = {
    "AttentionOp": {
        "softmax": "attention:attention_by_blocks",
        "online-softmax": "attention:attention_by_blocks",
    },
    "MatmulNbitsOp": {
        "registers": "nbits_registers:nbits_in_registers",
        "panels": "nbits_panels:nbits_by_panels",
        "by-rows": "nbits:nbits_by_rows",
        "digits": "nbits_digits:nbits_by_digits",
        "digits-or-panels": "nbits:nbits_by_digits_or_panels",
        "bytes": "nbits_bytes:nbits_of_bytes",
        "short-bytes": "nbits_bytes:nbits_of_bytes",
        "floats-or-bytes": "nbits:nbits_by_arithmetic",
        "floats-or-short-bytes": "nbits:nbits_by_arithmetic",
        "digits-or-bytes": "nbits:nbits_by_arithmetic",
    },
    "PoolOp": {"rows": "pool_rows:pool_by_rows"},
    "ResizeOp": {
        "repeat": "resize:resize_by_repeats",
        "gather": "resize:resize_by_gather",
        "last-axis-first": "resize:resize_last_axis_first",
        "first-axis-first": "resize:resize_first_axis_first",
    },
    "RnnOp": {"whole": "recurrent:rnn_by_steps", "blocks": "recurrent:rnn_by_steps"},
    "ScanOp": {
        "rows": "scan:scan_by_rows",
        "columns": "scan:scan_by_columns",
        "layers": "scan:scan_by_layers",
    },
    "TopKOp": {"rounds": "top_k_search:top_k_by_rounds", "search": "top_k_search:top_k_by_search"},
    "TreeEnsembleOp": {"walk": "tree_walk:trees_by_walks", "bits": "tree_bits:trees_by_bits"},
    "WinogradConvOp": {"blocks": "winograd:winograd_by_blocks", "channels": "winograd:winograd_by_blocks"},
}
"""The expansion of each form of an op class, `file:function`: few models have more than two of these ops."""
_BY_GRAPH_OP = frozenset(("ResizeOp", "RnnOp", "ScanOp", "TopKOp"))
"""The op classes whose expansions are written in terms of the graph op."""


def expansion_of(op_class: str, form: str) -> _Expansion:
    """The expansion of a form."""
    file, _, name = EXPANSIONS[op_class][form].partition(":")
    found = getattr(import_module(f"{__name__.rpartition('.')[0]}.{file}"), name)
    return by_graph_op(found) if op_class in _BY_GRAPH_OP else found


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
            results = expansion_of(type(op).__name__, form)(op, sizes, IRBuilder.before(op, constants))
            Rewriter.replace_op(op, [], [results] if isinstance(results, SSAValue) else results)
        drop_names(func)
