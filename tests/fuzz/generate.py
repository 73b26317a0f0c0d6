"""Random ONNX models by seed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from onnx import ModelProto

from tests.fuzz.builder import Array, GraphBuilder, Refused, Value
from tests.fuzz.control import CONTROL
from tests.fuzz.groups import GROUPS
from tests.fuzz.images import IMAGES
from tests.fuzz.layers import LAYERS
from tests.fuzz.movement import MOVEMENT
from tests.fuzz.operators import ELEMENTWISE, FLOATS, Adder
from tests.fuzz.quantized import QUANTIZED
from tests.fuzz.sequences import SEQUENCES
from tests.fuzz.sized_by_data import SIZED_BY_DATA
from tests.fuzz.tables import TABLES

OPSETS = (9, 13, 17, 18, 18, 20, 21, 22, 23, 24, 26, 28, 28)
_ADDERS = {
    **ELEMENTWISE,
    **MOVEMENT,
    **SIZED_BY_DATA,
    **LAYERS,
    **QUANTIZED,
    **IMAGES,
    **SEQUENCES,
    **CONTROL,
    **TABLES,
}
_AMONG = {
    **GROUPS,
    **{adder: 0.1 * share for adder, share in {**ELEMENTWISE, **MOVEMENT, **QUANTIZED}.items()},
}
_WIDE_SHAPES = ((1, 24, 6, 6), (2, 3, 12, 12), (1, 8, 8, 8), (2, 40, 8), (1, 16, 32), (4, 20), (1, 6, 9, 7))
_SHAPES = ((3, 4), (4,), (2, 3, 4), (1, 4, 6, 6), (2, 8, 5), (), (5, 1), (1, 1, 7), (1, 16, 4, 4), (2, 20))


@dataclass(frozen=True)
class Program:
    """A model, inputs for it, and what the reference gives for them."""

    model: ModelProto
    inputs: dict[str, Array]
    outputs: list[Value]
    values: Mapping[str, Value]
    """Inputs and results of all nodes, by name."""


def random_program(seed: int, nodes: tuple[int, int] = (5, 40)) -> Program:
    """A model of that many nodes; for every second seed some of its dimensions are dynamic."""
    return _grown(seed, nodes, _ADDERS, _SHAPES)


def random_groups(seed: int) -> Program:
    """A model of groups of nodes that passes look for, and a few nodes among them."""
    return _grown(seed, (4, 30), _AMONG, _WIDE_SHAPES)


def _grown(
    seed: int, nodes: tuple[int, int], among: Mapping[Adder, float], shapes: Sequence[tuple[int, ...]]
) -> Program:
    """A model whose nodes are chosen by their shares, on inputs of some shapes."""
    rng = np.random.default_rng(seed)
    g = GraphBuilder(seed, int(rng.choice(OPSETS)))
    dynamic = seed % 2 == 1
    for _ in range(g.integer(1, 4)):
        dtype = g.choice(["float32"] * 5 + [*FLOATS, "int64", "int32", "uint8", "bool"])
        g.add_input(dtype, g.choice(shapes), dynamic)
    wanted = g.integer(*nodes)
    adders, weights = list(among), np.array(list(among.values()))
    shares = weights / weights.sum()
    for _ in range(60 * wanted):
        if len(g.nodes) >= wanted:
            break
        try:
            adders[int(g.rng.choice(len(adders), p=shares))](g)
        except Refused:
            continue
    while not g.nodes:  # nothing fitted the inputs
        g.node("Identity", [g.values[0]], exact=True)
    return Program(*g.model(), {value.name: value for value in g.values})
