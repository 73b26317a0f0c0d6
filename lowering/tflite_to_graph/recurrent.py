"""Recurrent layers and cells, whose variables are states."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from stepwell.dialects import graph
from stepwell.dialects.graph.relations import is_float
from stepwell.lowering.tflite_to_graph.cells import Cell, LstmCell, PlainCell, States, activated
from stepwell.lowering.tflite_to_graph.support import Call, converts
from stepwell.lowering.to_graph import Value

_GATES = (0, 3, 1, 2)
"""The gates of `graph.rnn` (i, o, f, c) among those of TFLite (i, f, c, o)."""


class _Operands:
    """The operands of a call by number; those that are left out are None."""

    def __init__(self, call: Call):
        self._call = call
        tensors = call.op.SIGNATURE.tensors
        self._given: list[SSAValue | None] = (
            call.op.tensors("xs") if tensors[0].is_list else [call.op.tensor(each.name) for each in tensors]
        )
        _refuse_integers(call)

    def optional(self, number: int) -> Value | None:
        """An operand that may be absent, as numbers."""
        found = self._given[number] if number < len(self._given) else None
        return None if found is None else self._call.numbers(self._call.at.value(found))

    def given(self, number: int) -> Value:
        """An operand, as numbers. Raises: StepwellError `invalid-model` for an absent one."""
        if (found := self.optional(number)) is None:
            raise self._call.invalid(f"operand {number} is missing")
        return found

    def several(self, numbers: Sequence[int]) -> list[Value]:
        """Operands of which all are given, or none. Raises: StepwellError `invalid-model`."""
        found = [self.optional(number) for number in numbers]
        given = [each for each in found if each is not None]
        if given and len(given) != len(found):
            raise self._call.invalid(f"operands {', '.join(map(str, numbers))} must be given together")
        return given


def _refuse_integers(call: Call) -> None:
    """
    Refuse inputs of integers, for which LiteRT rounds each gate and each state to steps of its own.

    Weights of integers beside inputs of floats stand for their numbers.
    """
    element = call.at.value(call.op.operands[0]).element if call.op.operands else None
    if element is not None and not is_float(element):
        help = "quantize the weights alone (dynamic range), or leave the layer out of the quantization"
        raise call.unsupported(f"a recurrent layer of the integers {element}", help)


@converts("rnn")
def rnn(call: Call) -> list[Value]:
    """A step of a plain cell: the output, which is the next state."""
    x, cell, state = _plain_operands(call)
    return _results(call, *cell.step(x, (state,)) * 2)


@converts("unidirectional_sequence_rnn")
def unidirectional_sequence_rnn(call: Call) -> list[Value]:
    """A layer of plain cells: the outputs, and the last state."""
    x, cell, state = _plain_operands(call)
    y, last = cell.sequence(_time_major(call, x, state), (state,))
    return _results(call, _in_input_order(call, y), last)


@converts("bidirectional_sequence_rnn")
def bidirectional_sequence_rnn(call: Call) -> list[Value]:
    """Two layers of plain cells, one of them backwards: the outputs, and the last states."""
    operands = _Operands(call)
    _refuse_auxiliary(call, operands, (9, 10, 11))
    cells = [_plain(call, operands, first) for first in (1, 5)]
    return _both_ways(call, operands.given(0), cells, [(operands.given(4),), (operands.given(8),)])


@converts("unidirectional_sequence_lstm")
def unidirectional_sequence_lstm(call: Call) -> list[Value]:
    """A layer of LSTM cells: the outputs, the last output and the last cell."""
    operands = _Operands(call)
    if call.flag("diagonal_recurrent_tensors"):
        raise call.unsupported("recurrent weights that are diagonals")
    x, states = operands.given(0), (operands.given(18), operands.given(19))
    cell = _lstm(call, operands, 1, norms=(20, 21, 22, 23))
    y, *last = cell.sequence(_time_major(call, x, states[0]), states)
    return _results(call, _in_input_order(call, y), *last)


@converts("bidirectional_sequence_lstm")
def bidirectional_sequence_lstm(call: Call) -> list[Value]:
    """Two layers of LSTM cells, one of them backwards: the outputs, and the last states."""
    operands = _Operands(call)
    _refuse_auxiliary(call, operands, range(39, 48))
    cells = [_lstm(call, operands, first) for first in (1, 18)]
    states = [(operands.given(first), operands.given(first + 1)) for first in (35, 37)]
    return _both_ways(call, operands.given(0), cells, states)


@converts("lstm")
def lstm(call: Call) -> list[Value]:
    """
    A step of an LSTM cell: the output and the next states; a basic cell also returns its intermediate values.
    """
    operands = _Operands(call)
    if call.value("kernel_type") == "BASIC":
        return _basic_lstm(call, operands)
    states = (operands.given(18), operands.given(19))
    output, cell = _lstm(call, operands, 1, norms=(20, 21, 22, 23)).step(operands.given(0), states)
    return _results(call, output, output, cell)


def _basic_lstm(call: Call, operands: _Operands) -> list[Value]:
    """The kernel whose gates are i, new value, f, o, and whose weights are of the input and the output."""
    x, before, weights, bias, cell = map(operands.given, range(5))
    joined = call.at.concat([x, before], 1)
    sums = joined.matmul(weights.transpose([1, 0])) + bias
    width = cell.dims[1]
    i, new, f, o = (sums.slice(1, width * k, width * (k + 1)) for k in range(4))
    cell = i.apply(graph.SigmoidOp) * new.apply(graph.TanhOp) + f.apply(graph.SigmoidOp) * cell
    return _results(call, o.apply(graph.SigmoidOp) * cell.apply(graph.TanhOp), cell, joined, sums)


@converts("svdf")
def svdf(call: Call) -> list[Value]:
    """A filter of rank one or more over the last inputs: the output, and the inputs' features so far."""
    _refuse_integers(call)
    x, state, times = call.tensor(), call.tensor("state"), call.tensor("times")
    features, rank = call.tensor("features"), call.integer("rank")
    filters, steps = times.dims
    before = state.reshape([x.dims[0], filters, steps])
    new = x.matmul(features.transpose([1, 0])).unsqueeze(2)
    after = call.at.concat([before.slice(2, 1, steps), new], 2)
    sums = (after * times).reduce("sum", [2]).reshape([x.dims[0], filters // rank, rank]).reduce("sum", [2])
    if call.op.tensor("bias") is not None:
        sums = sums + call.tensor("bias")
    kind = str(call.value("fused_activation_function"))
    return _results(call, activated(call, sums, kind), after.reshape(list(state.dims)))


def _plain(call: Call, operands: _Operands, first: int) -> PlainCell:
    """A plain cell, whose weights are operands from a number on."""
    w, r, bias = (operands.given(first + k) for k in range(3))
    return PlainCell(call, w, r, str(call.value("fused_activation_function")), bias)


def _plain_operands(call: Call) -> tuple[Value, PlainCell, Value]:
    operands = _Operands(call)
    return operands.given(0), _plain(call, operands, 1), operands.given(4)


def _lstm(call: Call, operands: _Operands, first: int, norms: Sequence[int] = ()) -> LstmCell:
    """
    An LSTM cell, whose weights are operands from a number on.

    A cell without an input gate has 1 - f for it, which is the gate of the negative weights.
    """
    has_input = operands.optional(first) is not None
    w, r, bias = (_gates(operands, first + offset, 4, has_input) for offset in (0, 4, 11))
    peepholes = _gates(operands, first + 8, 3, has_input)
    found = operands.several(norms[0 if has_input else 1 :])
    found = found if has_input else [*found[:1], *found]
    return LstmCell(
        call,
        call.at.concat(w, 0),
        call.at.concat(r, 0),
        str(call.value("fused_activation_function")),
        bias,
        peepholes,
        [found[k] for k in _GATES] if found else [],
        operands.optional(first + 15),
        operands.optional(first + 16),
        call.number("cell_clip"),
        call.number("proj_clip"),
    )


def _gates(operands: _Operands, first: int, count: int, has_input: bool) -> list[Value]:
    """The operands of 4 gates as i, o, f, c; the optional peepholes of 3 gates as i, o, f."""
    if count == 3:
        found = operands.several(range(first + (not has_input), first + 3))
        if not found:
            return []
        forget, output = found[-2:]
        return [found[0] if has_input else -forget, output, forget]
    forget, new, output = (operands.given(first + k) for k in (1, 2, 3))
    return [operands.given(first) if has_input else -forget, output, forget, new]


def _time_major(call: Call, x: Value, state: Value) -> Value:
    """The input as [T, N, I], with the batch size of the state."""
    x = x if call.flag("time_major") else x.transpose([1, 0, 2])
    return x.reshape([x.dims[0], state.dims[0], x.dims[2]])


def _in_input_order(call: Call, y: Value) -> Value:
    """Outputs in the order of the input's dimensions."""
    return y if call.flag("time_major") else y.transpose([1, 0, 2])


def _both_ways(call: Call, x: Value, cells: Sequence[Cell], states: Sequence[States]) -> list[Value]:
    """The outputs of a layer forward and of one backward, joined if the model says so, and their states."""
    x = _time_major(call, x, states[0][0])
    outputs, last = list[Value](), list[Value]()
    for cell, given, backward in zip(cells, states, (False, True), strict=True):
        y, *after = cell.sequence(x, given, backward=backward)
        outputs.append(_in_input_order(call, y))
        last += after
    if call.flag("merge_outputs"):
        outputs = [call.at.concat(outputs, 2)]
    return _results(call, *outputs, *last)


def _refuse_auxiliary(call: Call, operands: _Operands, numbers: Sequence[int]) -> None:
    if any(operands.optional(number) is not None for number in numbers):
        raise call.unsupported("an auxiliary input")


def _results(call: Call, *values: Value) -> list[Value]:
    """The results. Raises: StepwellError `invalid-model` if a state among the operands is no variable."""
    if len(call.op.results) != len(values):
        message = f"expected {len(values)} results with those of variables, found {len(call.op.results)}"
        raise call.invalid(message)
    return list(values)
