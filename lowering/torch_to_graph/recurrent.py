"""Recurrent layers."""

from __future__ import annotations

from collections.abc import Sequence

from stepwell.dialects import graph
from stepwell.lowering.to_graph import Value
from stepwell.lowering.torch_to_graph.support import Call, converts

_ORDER = {"lstm": (0, 3, 1, 2), "gru": (1, 0, 2), "rnn": (0,)}
"""The gates of a cell in the order of `graph.rnn`, by their position in torch's: i f g o; r z n."""
_ACTIVATIONS = {"lstm": ("sigmoid", "tanh", "tanh"), "gru": ("sigmoid", "tanh")}


@converts("lstm.input")
def lstm(call: Call) -> list[Value]:
    """Layers of LSTM cells: the outputs, and the last states."""
    hidden, cells = call.tensors("hx")
    return _layers(call, "lstm", hidden, cells)


@converts("gru.input", "rnn_tanh.input", "rnn_relu.input")
def gru(call: Call) -> list[Value]:
    """Layers of GRU or plain cells: the outputs, and the last state."""
    cell = "gru" if "gru" in call.op.SIGNATURE.name else "rnn"
    return _layers(call, cell, call.tensor("hx"), None)


def _layers(call: Call, cell: str, hidden: Value, cells: Value | None) -> list[Value]:
    """The layers, one after the other, each with its own weights and first state."""
    if call.flag("train") and call.number("dropout") != 0:
        raise call.unsupported("dropout in training", "call .eval() on the module before it is exported")
    x, weights = call.tensor("input"), call.tensors("params")
    batch_first, directions = call.flag("batch_first"), 2 if call.flag("bidirectional") else 1
    each = (4 if call.flag("has_biases") else 2) * directions
    layers = call.integer("num_layers")
    if len(weights) != each * layers:
        raise call.unsupported("layers with projections")
    if batch_first:
        x = x.transpose([1, 0, 2])
    lasts: list[list[Value]] = []
    for layer in range(layers):
        states = [
            None if state is None else state.slice(0, layer * directions, (layer + 1) * directions)
            for state in (hidden, cells)
        ]
        x, last = _layer(call, cell, x, weights[layer * each : (layer + 1) * each], directions, states)
        lasts.append(last)
    if batch_first:
        x = x.transpose([1, 0, 2])
    joined = [
        parts[0] if len(parts) == 1 else call.at.concat(list(parts), 0) for parts in zip(*lasts, strict=True)
    ]
    return [x, *joined]


def _layer(
    call: Call, cell: str, x: Value, weights: Sequence[Value], directions: int, states: Sequence[Value | None]
) -> tuple[Value, list[Value]]:
    """The outputs [T, N, D * H] and the last states of a layer."""
    size = len(weights) // directions
    by_kind = [[weights[d * size + kind] for d in range(directions)] for kind in range(size)]
    w, r, *biases = (_stacked(call, cell, parts) for parts in by_kind)
    bias = call.at.concat(biases, 1) if biases else None
    relu = "relu" in call.op.SIGNATURE.name
    functions = [*_ACTIVATIONS.get(cell, ("relu",) if relu else ("tanh",))] * directions
    op = graph.RnnOp(
        x.ssa,
        w.ssa,
        r.ssa,
        cell=cell,
        direction="bidirectional" if directions == 2 else "forward",
        activations=functions,
        alphas=[0.0] * len(functions),
        betas=[0.0] * len(functions),
        bias=None if bias is None else bias.ssa,
        h0=None if states[0] is None else states[0].ssa,
        c0=None if states[1] is None else states[1].ssa,
        linear_before_reset=cell == "gru",
    )
    y, *last = call.insert(op)
    steps, _, batch, width = y.dims
    return y.transpose([0, 2, 1, 3]).reshape([steps, batch, width * directions]), last


def _stacked(call: Call, cell: str, parts: Sequence[Value]) -> Value:
    """The weights of all directions, [D, G * H, …], with the gates in the order of `graph.rnn`."""
    ordered = [_reordered(call, each, _ORDER[cell]).unsqueeze(0) for each in parts]
    return ordered[0] if len(ordered) == 1 else call.at.concat(ordered, 0)


def _reordered(call: Call, x: Value, order: Sequence[int]) -> Value:
    """The blocks of rows of a weight in another order."""
    if len(order) == 1:
        return x
    width = x.dims[0] // len(order)
    return call.at.concat([x.slice(0, width * i, width * (i + 1)) for i in order], 0)
