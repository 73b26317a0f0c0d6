"""Recurrent layers of TFLite, and LiteRT's results of calls in a row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from tests.frontends.tflite.models import Array, ModelBuilder, schema

STEPS, BATCH, WIDTH, UNITS, OUTPUTS = 4, 2, 3, 5, 4


@dataclass(frozen=True)
class Calls:
    """A model, and the inputs of calls of it, the first one with variables as they begin."""

    model: bytes
    inputs: Sequence[Sequence[Array]]

    def results(self) -> list[list[Array]]:
        """What LiteRT gives for each call."""
        module = import_module("ai_edge_litert.interpreter")
        kind = module.OpResolverType.BUILTIN_REF
        made = module.Interpreter(model_content=self.model, experimental_op_resolver_type=kind)
        found: list[list[Array]] = []
        for inputs in self.inputs:
            details = made.get_input_details()
            for each, array in zip(details, inputs, strict=True):
                if tuple(each["shape"]) != array.shape:
                    made.resize_tensor_input(each["index"], array.shape)
            made.allocate_tensors()
            for each, array in zip(details, inputs, strict=True):
                made.set_tensor(each["index"], array)
            made.invoke()
            found.append([np.asarray(made.get_tensor(each["index"])) for each in made.get_output_details()])
        return found


def floats(*shape: int, seed: int = 0) -> Array:
    """Random numbers."""
    return np.random.default_rng(seed + sum(shape)).normal(size=shape).astype(np.float32)


class _Layer:
    """A model of one layer: its operands, and the states among them."""

    def __init__(self, shape: Sequence[int]):
        self.model = ModelBuilder()
        self.operands = [self.model.input("x", shape)]

    def weight(self, *shape: int, scale: float = 0.5) -> None:
        """A constant."""
        data = floats(*shape, seed=10 * len(self.operands)) * np.float32(scale)
        self.operands.append(self.model.constant(f"w{len(self.operands)}", data))

    def nothing(self, count: int = 1) -> None:
        """Operands that are left out."""
        self.operands += [-1] * count

    def state(self, width: int) -> None:
        """A variable of the batch."""
        self.operands.append(self.model.variable(f"state{len(self.operands)}", [BATCH, width]))

    def calls(self, kind: str, table: str, shapes: Sequence[Sequence[int]], **options: Any) -> Calls:
        """The model, and three calls of it."""
        outputs = [self.model.tensor(f"y{i}", shape) for i, shape in enumerate(shapes)]
        self.model.operator(kind, self.operands, outputs, table, **options)
        given = [[int(size) for size in self.model.tensors[number].shape] for number in self.model.inputs]
        inputs = [[floats(*shape, seed=k) for shape in given] for k in range(3)]
        return Calls(self.model.finish(outputs), inputs)


def _lstm_weights(
    layer: _Layer, *, cifg: bool, peepholes: bool, projection: bool, projected: int, bias: bool = True
) -> None:
    """The weights of an LSTM cell, 17 operands."""
    gates = [not cifg, True, True, True]
    for width in (WIDTH, projected):
        for is_given in gates:
            layer.weight(UNITS, width) if is_given else layer.nothing()
    for is_given in (peepholes and not cifg, peepholes, peepholes):
        layer.weight(UNITS) if is_given else layer.nothing()
    for is_given in gates:
        layer.weight(UNITS) if is_given else layer.nothing()
    if projection:
        layer.weight(projected, UNITS)
        layer.weight(projected) if bias else layer.nothing()
    else:
        layer.nothing(2)


def _act(name: str) -> int:
    return int(getattr(schema().ActivationFunctionType, name))


def lstm(
    *,
    steps: bool = True,
    time_major: bool = True,
    cifg: bool = False,
    peepholes: bool = False,
    projection: bool = False,
    norm: bool = False,
    activation: str = "TANH",
    cell_clip: float = 0.0,
    proj_clip: float = 0.0,
) -> Calls:
    """A layer of LSTM cells, or one step."""
    shape = [STEPS, BATCH] if time_major else [BATCH, STEPS]
    layer = _Layer([*shape, WIDTH] if steps else [BATCH, WIDTH])
    projected = OUTPUTS if projection else UNITS
    _lstm_weights(layer, cifg=cifg, peepholes=peepholes, projection=projection, projected=projected)
    layer.state(projected)
    layer.state(UNITS)
    if norm:
        for gate in range(4):
            layer.nothing() if gate == 0 and cifg else layer.weight(UNITS, scale=1.0)
    options = dict(fusedActivationFunction=_act(activation), cellClip=cell_clip, projClip=proj_clip)
    if not steps:
        return layer.calls("LSTM", "LSTM", [[BATCH, projected]], **options)
    kind = "UNIDIRECTIONAL_SEQUENCE_LSTM", "UnidirectionalSequenceLSTM"
    return layer.calls(*kind, [[*shape, projected]], timeMajor=time_major, **options)


def basic_lstm() -> Calls:
    """One step of the kernel with one matrix of weights."""
    layer = _Layer([BATCH, WIDTH])
    layer.operands.append(layer.model.input("h", [BATCH, UNITS]))
    layer.weight(4 * UNITS, WIDTH + UNITS)
    layer.weight(4 * UNITS)
    layer.operands.append(layer.model.input("c", [BATCH, UNITS]))
    shapes = [[BATCH, UNITS], [BATCH, UNITS], [BATCH, WIDTH + UNITS], [BATCH, 4 * UNITS]]
    kernel = schema().LSTMKernelType.BASIC
    return layer.calls("LSTM", "LSTM", shapes, fusedActivationFunction=_act("TANH"), kernelType=kernel)


def both_lstm(*, merge: bool = True, time_major: bool = False, projection: bool = False) -> Calls:
    """A layer of LSTM cells in both directions."""
    shape = [STEPS, BATCH] if time_major else [BATCH, STEPS]
    layer, width = _Layer([*shape, WIDTH]), OUTPUTS if projection else UNITS
    for _ in range(2):
        _lstm_weights(layer, cifg=False, peepholes=False, projection=projection, projected=width)
    for size in (width, UNITS) * 2:
        layer.state(size)
    layer.nothing(9)
    shapes = [[*shape, 2 * width]] if merge else [[*shape, width]] * 2
    options = dict(fusedActivationFunction=_act("TANH"), mergeOutputs=merge, timeMajor=time_major)
    kind = "BIDIRECTIONAL_SEQUENCE_LSTM", "BidirectionalSequenceLSTM"
    return layer.calls(*kind, shapes, **options)


def rnn(*, steps: bool = True, time_major: bool = False, activation: str = "TANH") -> Calls:
    """A layer of plain cells, or one step."""
    shape = ([STEPS, BATCH] if time_major else [BATCH, STEPS]) if steps else [BATCH]
    layer = _Layer([*shape, WIDTH])
    _plain(layer)
    options = dict(fusedActivationFunction=_act(activation))
    if not steps:
        return layer.calls("RNN", "RNN", [[BATCH, UNITS]], **options)
    kind = "UNIDIRECTIONAL_SEQUENCE_RNN", "SequenceRNN"
    return layer.calls(*kind, [[*shape, UNITS]], timeMajor=time_major, **options)


def _plain(layer: _Layer) -> None:
    """The weights and the state of a plain cell."""
    layer.weight(UNITS, WIDTH)
    layer.weight(UNITS, UNITS)
    layer.weight(UNITS)
    layer.state(UNITS)


def both_rnn(*, merge: bool = False, activation: str = "RELU6") -> Calls:
    """A layer of plain cells in both directions."""
    layer = _Layer([BATCH, STEPS, WIDTH])
    _plain(layer)
    _plain(layer)
    layer.nothing(3)
    shapes = [[BATCH, STEPS, 2 * UNITS]] if merge else [[BATCH, STEPS, UNITS]] * 2
    options = dict(fusedActivationFunction=_act(activation), mergeOutputs=merge, timeMajor=False)
    return layer.calls("BIDIRECTIONAL_SEQUENCE_RNN", "BidirectionalSequenceRNN", shapes, **options)


def svdf(*, rank: int = 1, bias: bool = True) -> Calls:
    """A filter over the last three inputs."""
    layer, filters = _Layer([BATCH, WIDTH]), 4
    layer.weight(filters, WIDTH)
    layer.weight(filters, 3)
    layer.weight(filters // rank) if bias else layer.nothing()
    layer.state(filters * 3)
    options = dict(rank=rank, fusedActivationFunction=_act("RELU"))
    return layer.calls("SVDF", "SVDF", [[BATCH, filters // rank]], **options)


LAYERS: dict[str, Callable[[], Calls]] = {
    "lstm-sequence": lstm,
    "lstm-batch": partial(lstm, time_major=False, peepholes=True),
    "lstm-coupled": partial(lstm, cifg=True, peepholes=True),
    "lstm-projected": partial(lstm, projection=True, cell_clip=0.4, proj_clip=0.3),
    "lstm-normalized": partial(lstm, norm=True, projection=True, peepholes=True, time_major=False),
    "lstm-coupled-normalized": partial(lstm, norm=True, cifg=True),
    "lstm-relu": partial(lstm, activation="RELU"),
    "lstm-relu6": partial(lstm, activation="RELU6"),
    "lstm-step": partial(lstm, steps=False, projection=True),
    "lstm-basic": basic_lstm,
    # LiteRT reads the states of a joined batch-major layer at wrong places.
    "lstm-both": partial(both_lstm, time_major=True),
    "lstm-both-apart": partial(both_lstm, merge=False, projection=True),
    "rnn-sequence": rnn,
    "rnn-relu1": partial(rnn, time_major=True, activation="RELU_N1_TO_1"),
    "rnn-none": partial(rnn, activation="NONE"),
    "rnn-step": partial(rnn, steps=False, activation="RELU"),
    "rnn-both": both_rnn,
    "rnn-both-joined": partial(both_rnn, merge=True, activation="TANH"),
    "svdf": svdf,
    "svdf-rank": partial(svdf, rank=2, bias=False),
}
"""Models of one layer by name."""
