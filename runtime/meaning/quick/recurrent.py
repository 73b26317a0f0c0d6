"""Quicker recurrent layers of the usual cells: the gates of a step are computed in place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from stepwell.runtime.meaning import Array, quick_form
from stepwell.runtime.meaning.contraction import Numbers

_Step: TypeAlias = Callable[[Numbers, Numbers, Numbers], None]
"""Computes a step in place: from the product of its input with W, to the new h and c."""
_USUAL = {"lstm": ("sigmoid", "tanh", "tanh"), "gru": ("sigmoid", "tanh")}


@quick_form("graph.rnn")
def rnn(
    x: Numbers,
    w: Numbers,
    r: Numbers,
    b: Numbers | None = None,
    lengths: Array | None = None,
    h0: Numbers | None = None,
    c0: Numbers | None = None,
    peepholes: Numbers | None = None,
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
) -> object:
    """An LSTM or GRU with the usual activations, without limits, peepholes and lengths."""
    usual = _USUAL.get(cell)
    if usual is None or tuple(activations) != usual * len(r) or clip is not None or input_forget or packing:
        return NotImplemented
    if lengths is not None or peepholes is not None:
        return NotImplemented
    (steps, batch, _), (directions, rows, hidden) = x.shape, r.shape
    y: Numbers = np.empty((steps, directions, batch, hidden), x.dtype)
    last_h: Numbers = np.zeros((directions, batch, hidden), x.dtype) if h0 is None else h0.copy()
    last_c: Numbers = np.zeros((directions, batch, hidden), x.dtype) if c0 is None else c0.copy()
    with np.errstate(all="ignore"):
        for d in range(directions):
            bias = np.zeros(2 * rows, x.dtype) if b is None else b[d]
            gates = x.reshape(-1, x.shape[-1]) @ w[d].T + bias[:rows]
            step = (
                _lstm(r[d], bias[rows:]) if cell == "lstm" else _gru(r[d], bias[rows:], linear_before_reset)
            )
            h, c = last_h[d], last_c[d]
            backwards = direction == "reverse" or d == 1
            for t in range(steps)[:: -1 if backwards else 1]:
                step(gates.reshape(steps, batch, rows)[t], h, c)
                y[t, d] = h
    return (y, last_h, last_c) if cell == "lstm" else (y, last_h)


def _sigmoid(x: Numbers) -> None:
    """The sigmoid in place, by the tangent as the meaning has it."""
    x *= 0.5
    np.tanh(x, out=x)
    x += 1
    x *= 0.5


def _lstm(r: Numbers, bias: Numbers) -> _Step:
    """The step of an LSTM, whose gates are i, o, f and the cell's."""
    hidden, recurrent = r.shape[1], np.ascontiguousarray(r.T)

    def step(gates: Numbers, h: Numbers, c: Numbers) -> None:
        total = h @ recurrent
        total += gates
        total += bias
        _sigmoid(total[:, : 3 * hidden])
        i, o, forget, cell = (total[:, n * hidden : (n + 1) * hidden] for n in range(4))
        np.tanh(cell, out=cell)
        cell *= i
        c *= forget
        c += cell
        np.tanh(c, out=h)
        h *= o

    return step


def _gru(r: Numbers, bias: Numbers, linear_before_reset: bool) -> _Step:
    """The step of a GRU, whose gates are z, r and the cell's."""
    hidden, recurrent = r.shape[1], np.ascontiguousarray(r.T)
    of_gates, of_cell = np.ascontiguousarray(recurrent[:, : 2 * hidden]), recurrent[:, 2 * hidden :].copy()

    def step(gates: Numbers, h: Numbers, c: Numbers) -> None:
        both = h @ of_gates
        both += gates[:, : 2 * hidden]
        both += bias[: 2 * hidden]
        _sigmoid(both)
        z, reset = both[:, :hidden], both[:, hidden:]
        inner = (h if linear_before_reset else reset * h) @ of_cell
        inner += bias[2 * hidden :]
        if linear_before_reset:
            inner *= reset
        inner += gates[:, 2 * hidden :]
        np.tanh(inner, out=inner)
        h *= z
        h += np.multiply(np.subtract(1, z, out=z), inner, out=inner)

    return step
