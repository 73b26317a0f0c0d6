"""`graph.rnn` → `LSTM`, `GRU`, `RNN`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects.builtin import i32
from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern

from stepwell.dialects import graph, onnx
from stepwell.lowering.graph_to_onnx.nodes import replace_by_node
from stepwell.lowering.graph_to_onnx.support import OnnxExport, cast_to

CELLS: Mapping[str, type[onnx.OnnxOp]] = {"lstm": onnx.LSTMOp, "gru": onnx.GRUOp, "rnn": onnx.RNNOp}
# Maps our name to ONNX's, and to the number of parameters (alpha, beta) that it reads from the lists.
ACTIVATIONS: Mapping[str, tuple[str, int]] = {
    "affine": ("Affine", 2),
    "elu": ("Elu", 1),
    "hard_sigmoid": ("HardSigmoid", 2),
    "leaky_relu": ("LeakyRelu", 1),
    "relu": ("Relu", 0),
    "scaled_tanh": ("ScaledTanh", 2),
    "sigmoid": ("Sigmoid", 0),
    "softplus": ("Softplus", 0),
    "softsign": ("Softsign", 0),
    "tanh": ("Tanh", 0),
    "thresholded_relu": ("ThresholdedRelu", 1),
}


class RnnExport(OnnxExport):
    """`graph.rnn` → the operator of its cell; packed weights have no counterpart."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.RnnOp, rewriter: PatternRewriter) -> None:
        """
        Order the operands for the cell, and list activations and their parameters; decline packed weights.
        """
        if op.panel:
            return
        cell = op.cell.data
        lengths = op.lengths if op.lengths is None else cast_to(op.lengths, i32, rewriter)
        operands: list[SSAValue | None] = [op.x, op.w, op.r, op.bias, lengths, op.h0]
        names = [name.data for name in op.activations]
        replace_by_node(
            rewriter,
            op,
            CELLS[cell],
            [*operands, op.c0, op.peepholes] if cell == "lstm" else operands,
            direction=op.direction.data,
            hidden_size=op.hidden.value,
            activations=[ACTIVATIONS[name][0] for name in names],
            activation_alpha=_taken(names, op.alphas.get_values(), 1),
            activation_beta=_taken(names, op.betas.get_values(), 2),
            clip=op.clip.value.data if op.clip is not None else None,
            input_forget=bool(op.input_forget.value.data) if cell == "lstm" else None,
            linear_before_reset=bool(op.linear_before_reset.value.data) if cell == "gru" else None,
        )


def _taken(names: Sequence[str], numbers: Sequence[float], least: int) -> list[float] | None:
    """The numbers of the activations that have at least so many parameters; None when there are none."""
    pairs = zip(names, numbers, strict=True)
    return [number for name, number in pairs if ACTIVATIONS[name][1] >= least] or None
