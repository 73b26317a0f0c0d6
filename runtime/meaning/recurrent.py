"""The numpy meaning of recurrent layers: LSTM, GRU and the plain cell, as ONNX defines them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from stepwell.runtime.meaning import Array, meaning
from stepwell.runtime.meaning.contraction import Numbers, accumulator

Activation: TypeAlias = Callable[[Numbers], Numbers]


def _sigmoid(x: Numbers) -> Numbers:
    # tanh does not overflow where exp(-x) would.
    return (np.tanh(x * 0.5) + 1) * 0.5


def activation(name: str, alpha: float, beta: float) -> Activation:
    """An activation function of a cell. Raises: KeyError for a name that ONNX does not have."""
    functions: dict[str, Activation] = {
        "sigmoid": _sigmoid,
        "tanh": np.tanh,
        "relu": lambda x: np.maximum(x, 0),
        "affine": lambda x: x * alpha + beta,
        "leaky_relu": lambda x: np.where(x < 0, x * alpha, x),
        "thresholded_relu": lambda x: np.where(x > alpha, x, 0),
        "scaled_tanh": lambda x: np.tanh(x * beta) * alpha,
        "hard_sigmoid": lambda x: np.clip(x * alpha + beta, 0, 1),
        "elu": lambda x: np.where(x < 0, np.expm1(np.minimum(x, 0)) * alpha, x),
        "softsign": lambda x: x / (1 + np.abs(x)),
        "softplus": lambda x: np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x))),
    }
    return functions[name]


@dataclass(frozen=True)
class _Weights:
    """
    The operands of a direction of a layer: the product of the whole input with W, and the weights of each
    step.
    """

    gates: Numbers
    """[T, N, gates * H]: x · Wᵀ + Wb."""
    r: Numbers
    """[gates * H, H]."""
    rb: Numbers
    """[gates * H]."""
    peepholes: Numbers
    """[3, H]: for the gates i, o, f."""
    activations: Sequence[Activation]
    input_forget: bool
    linear_before_reset: bool


State: TypeAlias = tuple[Numbers, Numbers]


def _lstm(at: Numbers, state: State, of: _Weights) -> State:
    h, c = state
    f, g, out = of.activations
    i, o, forget, cell = np.split(at + h @ of.r.T + of.rb, 4, axis=-1)
    p_i, p_o, p_f = of.peepholes
    i = f(i + p_i * c)
    forget = 1 - i if of.input_forget else f(forget + p_f * c)
    c = forget * c + i * g(cell)
    return f(o + p_o * c) * out(c), c


def _gru(at: Numbers, state: State, of: _Weights) -> State:
    h, c = state
    f, g = of.activations
    hidden = h.shape[-1]
    rz, rh = of.r[: 2 * hidden], of.r[2 * hidden :]
    z, reset = np.split(f(at[:, : 2 * hidden] + h @ rz.T + of.rb[: 2 * hidden]), 2, axis=-1)
    bias = of.rb[2 * hidden :]
    inner = reset * (h @ rh.T + bias) if of.linear_before_reset else (reset * h) @ rh.T + bias
    return (1 - z) * g(at[:, 2 * hidden :] + inner) + z * h, c


def _plain(at: Numbers, state: State, of: _Weights) -> State:
    h, c = state
    return of.activations[0](at + h @ of.r.T + of.rb), c


_CELLS = {"lstm": _lstm, "gru": _gru, "rnn": _plain}


@meaning("graph.rnn")
def rnn(
    x: Array,
    w: Array,
    r: Array,
    b: Array | None = None,
    lengths: Array | None = None,
    h0: Array | None = None,
    c0: Array | None = None,
    peepholes: Array | None = None,
    *,
    cell: str,
    direction: str = "forward",
    activations: Sequence[str],
    alphas: Sequence[float],
    betas: Sequence[float],
    clip: float | None = None,
    input_forget: bool = False,
    linear_before_reset: bool = False,
    packing: int = 0,
) -> tuple[Array, ...]:
    """
    A recurrent layer: y [T, D, N, H], the last h [D, N, H], and for an LSTM the last c; y is 0 after a
    sequence's end.
    """
    if packing:
        w, r = (v.swapaxes(2, 3).reshape(len(v), -1, v.shape[2]) for v in (w, r))
    steps, batch, _ = x.shape
    directions, rows, hidden = r.shape
    kept = accumulator(x.dtype)
    per_direction = len(activations) // directions
    ys: list[Numbers] = []
    states: list[State] = []
    for d in range(directions):
        mine = range(d * per_direction, (d + 1) * per_direction)
        functions = [activation(activations[i], alphas[i], betas[i]) for i in mine]
        # The last function of an LSTM is applied to the cell, which is no gate's input.
        functions = [*(_clipped(function, clip) for function in functions[:2]), *functions[2:]]
        bias = np.zeros(2 * rows, kept) if b is None else b[d].astype(kept)
        weights = _Weights(
            gates=x.astype(kept) @ w[d].astype(kept).T + bias[:rows],
            r=r[d].astype(kept),
            rb=bias[rows:],
            peepholes=np.zeros((3, hidden), kept)
            if peepholes is None
            else peepholes[d].astype(kept).reshape(3, -1),
            activations=functions,
            input_forget=input_forget,
            linear_before_reset=linear_before_reset,
        )
        zeros = np.zeros((batch, hidden), kept)
        state = (zeros if h0 is None else h0[d].astype(kept), zeros if c0 is None else c0[d].astype(kept))
        backwards = direction == "reverse" or d == 1
        y, state = _run(_CELLS[cell], weights, state, lengths, range(steps)[:: -1 if backwards else 1])
        ys.append(y)
        states.append(state)
    results = [np.stack(ys, axis=1), np.stack([h for h, _ in states]), np.stack([c for _, c in states])]
    return tuple(result.astype(x.dtype) for result in results[: 3 if cell == "lstm" else 2])


def _clipped(function: Activation, clip: float | None) -> Activation:
    return function if clip is None else lambda x: function(np.clip(x, -clip, clip))


def _run(
    cell: Callable[[Numbers, State, _Weights], State],
    weights: _Weights,
    state: State,
    lengths: Array | None,
    order: range,
) -> tuple[Numbers, State]:
    """All steps of a direction. A step after the end of a sequence leaves its state unchanged and gives 0."""
    y: Numbers = np.zeros((len(order), *state[0].shape), state[0].dtype)
    for t in order:
        h, c = cell(weights.gates[t], state, weights)
        if lengths is not None:
            valid = np.asarray(t < lengths.astype(np.int64))[:, None]
            y[t] = np.where(valid, h, 0)
            state = (np.where(valid, h, state[0]), np.where(valid, c, state[1]))
        else:
            y[t], state = h, (h, c)
    return y, state
