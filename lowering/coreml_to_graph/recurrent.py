"""Recurrent layers."""

from __future__ import annotations

from collections.abc import Sequence

from stepwell.dialects import graph
from stepwell.lowering.coreml_to_graph.support import Call, converts
from stepwell.lowering.to_graph import Value

_LSTM, _GRU = (0, 2, 1, 3), (2, 0, 1)
"""The gates in the order of `graph.rnn`, by their position in the program: i f o g, and r o z."""


@converts("lstm")
def lstm(call: Call) -> list[Value | None]:
    """A layer of LSTM cells: the outputs, and the last states."""
    ways = 2 if call.text("direction") == "bidirectional" else 1
    if call.optional("peephole") is not None or call.optional("peephole_back") is not None:
        raise call.unsupported("peepholes")
    suffixes = ("", "_back")[:ways]
    w, r = (
        _stacked(call, [call.tensor(f"weight_{name}{end}") for end in suffixes], _LSTM)
        for name in ("ih", "hh")
    )
    bias = _biases(call, [call.optional(f"bias{end}") for end in suffixes], _LSTM)
    states = [_state(call, call.tensor(f"initial_{name}"), ways) for name in ("h", "c")]
    functions = [call.text(name) for name in ("recurrent_activation", "cell_activation", "activation")]
    clip = call.value("clip")
    op = graph.RnnOp(
        call.tensor().ssa,
        w.ssa,
        r.ssa,
        cell="lstm",
        direction=call.text("direction"),
        activations=_functions(call, functions, ways),
        alphas=[0.0] * (3 * ways),
        betas=[0.0] * (3 * ways),
        bias=None if bias is None else bias.ssa,
        h0=states[0].ssa,
        c0=states[1].ssa,
        clip=None if clip is None else call.number("clip"),
    )
    y, *last = call.insert(op)
    return _results(call, y, [_joined(each) for each in last])


@converts("gru")
def gru(call: Call) -> list[Value | None]:
    """A layer of GRU cells: the outputs, and the last state."""
    w, r = (_stacked(call, [call.tensor(f"weight_{name}")], _GRU) for name in ("ih", "hh"))
    bias = _biases(call, [call.optional("bias")], _GRU)
    if (of_input := call.optional("input_bias")) is not None:
        before = _stacked(call, [of_input], _GRU)
        after = before * 0 if bias is None else bias.slice(1, before.dims[1], before.dims[1] * 2)
        bias = call.at.concat([before, after], 1)
    functions = [call.text(name) for name in ("recurrent_activation", "activation")]
    op = graph.RnnOp(
        call.tensor().ssa,
        w.ssa,
        r.ssa,
        cell="gru",
        direction=call.text("direction"),
        activations=_functions(call, functions, 1),
        alphas=[0.0] * 2,
        betas=[0.0] * 2,
        bias=None if bias is None else bias.ssa,
        h0=_state(call, call.tensor("initial_h"), 1).ssa,
        linear_before_reset=call.flag("reset_after"),
    )
    y, last = call.insert(op)
    return _results(call, y, [_joined(last)])


def _functions(call: Call, names: Sequence[str], ways: int) -> list[str]:
    known = {"sigmoid", "tanh", "relu"}
    if unknown := set(names) - known:
        raise call.unsupported(f"the activation {min(unknown)!r}")
    return [*names] * ways


def _reordered(call: Call, x: Value, order: Sequence[int]) -> Value:
    """The blocks of rows in another order."""
    width = x.dims[0] // len(order)
    return call.at.concat([x.slice(0, width * i, width * (i + 1)) for i in order], 0)


def _stacked(call: Call, parts: Sequence[Value], order: Sequence[int]) -> Value:
    """The weights of all directions, [D, G * H, …]."""
    ordered = [_reordered(call, each, order).unsqueeze(0) for each in parts]
    return ordered[0] if len(ordered) == 1 else call.at.concat(ordered, 0)


def _biases(call: Call, parts: Sequence[Value | None], order: Sequence[int]) -> Value | None:
    """The biases of all directions, [D, 2 * G * H]: of the input, which is 0, then of the state."""
    given = [each for each in parts if each is not None]
    if len(given) != len(parts):
        return None
    hidden = _stacked(call, given, order)
    return call.at.concat([hidden * 0, hidden], 1)


def _state(call: Call, x: Value, ways: int) -> Value:
    """A state [N, D * H] as [D, N, H]."""
    if ways == 1:
        return x.unsqueeze(0)
    half = x.dims[1] // 2
    return call.at.concat([x.slice(1, 0, half).unsqueeze(0), x.slice(1, half, x.dims[1]).unsqueeze(0)], 0)


def _joined(x: Value) -> Value:
    """A state [D, N, H] as [N, D * H]."""
    ways, batch, width = x.dims
    return x.transpose([1, 0, 2]).reshape([batch, ways * width])


def _results(call: Call, y: Value, last: Sequence[Value]) -> list[Value | None]:
    """The outputs [T, N, D * H], or only those of the last step, and the last states."""
    if not call.flag("output_sequence"):
        return [last[0].unsqueeze(0), *last]
    steps, ways, batch, width = y.dims
    return [y.transpose([0, 2, 1, 3]).reshape([steps, batch, ways * width]), *last]
