"""Recurrent layers of ONNX → `graph.rnn`, time-major, with explicit activations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern

from stepwell.dialects import graph, onnx
from stepwell.dialects.graph.recurrent import ACTIVATIONS, DIRECTIONS, FUNCTIONS, GATES
from stepwell.lowering.onnx_to_graph.shape_values import renamed
from stepwell.lowering.onnx_to_graph.support import OnnxLowering, shape_of
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError

_DEFAULTS = {"lstm": ("sigmoid", "tanh", "tanh"), "gru": ("sigmoid", "tanh"), "rnn": ("tanh",)}
# Maps ONNX's name (in any case) to ours, and to the number of parameters that it reads from the lists.
_NAMES = {
    "affine": ("affine", 2),
    "elu": ("elu", 1),
    "hardsigmoid": ("hard_sigmoid", 2),
    "leakyrelu": ("leaky_relu", 1),
    "relu": ("relu", 0),
    "scaledtanh": ("scaled_tanh", 2),
    "sigmoid": ("sigmoid", 0),
    "softplus": ("softplus", 0),
    "softsign": ("softsign", 0),
    "tanh": ("tanh", 0),
    "thresholdedrelu": ("thresholded_relu", 1),
}


@dataclass(frozen=True)
class _Activations:
    """The activations of a layer: names and parameters."""

    names: Sequence[str]
    alphas: Sequence[float]
    betas: Sequence[float]

    @staticmethod
    def of(op: onnx.OnnxOp, cell: str, direction: str) -> _Activations:
        """The activations of a layer; those with parameters read them from the lists in order."""
        directions = DIRECTIONS[direction]
        # Not the default of the schema, which has two for an RNN of one direction.
        if "activations" in op.properties:
            names = [name.decode().lower() for name in op.strings("activations")]
        else:
            names = [*_DEFAULTS[cell]] * directions
        if len(names) != (count := FUNCTIONS[cell] * directions):
            raise StepwellError(
                "invalid-model", op, f"{op.op_type}: expected {count} activations, found {len(names)}"
            )
        if unknown := [name for name in names if name not in _NAMES]:
            raise StepwellError("invalid-model", op, f"{op.op_type} knows no activation {unknown[0]!r}")
        alphas, betas = _numbers(op, "activation_alpha"), _numbers(op, "activation_beta")
        ours = [_NAMES[name] for name in names]
        return _Activations(
            [name for name, _ in ours],
            [next(alphas, ACTIVATIONS[name][0]) if takes > 0 else 0.0 for name, takes in ours],
            [next(betas, ACTIVATIONS[name][1]) if takes > 1 else 0.0 for name, takes in ours],
        )


def _numbers(op: onnx.OnnxOp, name: str) -> Iterator[float]:
    """The numbers of an attribute, in order; none when it is absent."""
    return iter(op.floats(name) if op.has(name) else ())


class RecurrentLowering(OnnxLowering):
    """
    `onnx.LSTM`, `onnx.GRU`, `onnx.RNN` → `graph.rnn`; with `layout` 1 between transposes.

    ```mlir
    %y, %h = "onnx.GRU"(%x, %w, %r) <{layout = 1 : i64, …}>
    // ->
    %0 = graph.transpose %x perm [1, 0, 2] : …
    %1, %2 = graph.rnn %0, %w, %r cell "gru" direction "forward" … : …
    %y = graph.transpose %1 perm [2, 0, 1, 3] : …
    %h = graph.transpose %2 perm [1, 0, 2] : …
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.LSTMOp | onnx.GRUOp | onnx.RNNOp, rewriter: PatternRewriter) -> None:
        """Build the layer from weights, states and activations, between transposes if the batch is first."""
        # Attributes
        cell = op.op_type.lower()
        # Version 1 of GRU has a typing error in its default.
        direction = op.string("direction").lower().replace("foward", "forward")
        if direction not in DIRECTIONS:
            raise StepwellError("invalid-model", op, f"{op.op_type} knows no direction {direction!r}")
        activations = _Activations.of(op, cell, direction)
        batch_first = op.has("layout") and op.integer("layout") == 1

        def time_major(value: SSAValue | None) -> SSAValue | None:
            if value is None or not batch_first:
                return value
            return rewriter.insert(graph.TransposeOp(value, [1, 0, 2])).result

        lstm = op if isinstance(op, onnx.LSTMOp) else None
        w, r = _known_weights(op, cell, direction, rewriter)
        layer = graph.RnnOp(
            time_major(op.X) or op.X,
            w,
            r,
            cell=cell,
            direction=direction,
            activations=activations.names,
            alphas=activations.alphas,
            betas=activations.betas,
            bias=op.B,
            lengths=op.sequence_lens,
            h0=time_major(op.initial_h),
            c0=time_major(lstm.initial_c) if lstm else None,
            peepholes=lstm.P if lstm else None,
            clip=op.floating("clip") if op.has("clip") else None,
            input_forget=lstm is not None and op.has("input_forget") and bool(op.integer("input_forget")),
            linear_before_reset=op.has("linear_before_reset") and bool(op.integer("linear_before_reset")),
        )
        # Results: back to batch-major with `layout` 1
        made = list(rewriter.insert(layer).outputs)
        formal = [op.Y, op.Y_h, *([lstm.Y_c] if lstm else [])]
        results: list[SSAValue] = []
        for result, value in zip(formal, made, strict=True):
            if result is None:
                continue
            perm = [2, 0, 1, 3] if result is op.Y else [1, 0, 2]
            results.append(rewriter.insert(graph.TransposeOp(value, perm)).result if batch_first else value)
        rewriter.replace(op, [], results)


def _known_weights(
    op: onnx.LSTMOp | onnx.GRUOp | onnx.RNNOp, cell: str, direction: str, rewriter: PatternRewriter
) -> tuple[SSAValue, SSAValue]:
    """The weights with sizes given by `direction` and `hidden_size`, checked at run time."""
    if not op.has("hidden_size"):
        return op.W, op.R
    hidden, what = Dim.of(op.integer("hidden_size")), "direction, hidden_size and the weights"
    outer = [Dim.of(DIRECTIONS[direction]), hidden * GATES[cell]]
    w = renamed(op, op.W, [*outer, shape_of(op.W, op)[-1]], what, rewriter)
    return w, renamed(op, op.R, [*outer, hidden], what, rewriter)
