"""Random nodes whose results have a size or numbers that data decides."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from onnx import numpy_helper

from tests.fuzz.builder import GraphBuilder
from tests.fuzz.operators import Adder, ranked


def compress(g: GraphBuilder) -> None:
    """What a condition keeps, of all elements or along an axis."""
    value = g.pick(ranked)
    axis = g.choice([None, g.integer(0, len(value.shape) - 1)])
    size = value.array.size if axis is None else value.shape[axis]
    kept = g.constant(g.rng.integers(0, 2, size).astype(bool))
    g.node("Compress", [value, kept], exact=True, **({} if axis is None else {"axis": axis}))


def nonzero(g: GraphBuilder) -> None:
    """Where a value is not zero."""
    g.node("NonZero", [g.pick(lambda v: v.exact and ranked(v))], exact=True)


def unique(g: GraphBuilder) -> None:
    """Each number once, with its places and counts."""
    value = g.pick(lambda v: v.exact and ranked(v) and v.dtype in ("float32", "int64"))
    g.node("Unique", [value], exact=True, outputs=4, sorted=1)


def count(g: GraphBuilder) -> None:
    """Numbers up to a size."""
    value = g.pick(lambda v: ranked(v) and v.shape[0] <= 32)
    g.node("Shape", [value], exact=True)
    g.node("Gather", [g.values[-1], g.constant(np.array(0))], exact=True, axis=0)
    start, step = (g.constant(np.array(n)) for n in (g.integer(-2, 0), g.integer(1, 2)))
    g.node("Range", [start, g.values[-1], step], exact=True)


def identity_matrix(g: GraphBuilder) -> None:
    """Ones on a diagonal, as large as a value."""
    value = g.pick(lambda v: len(v.shape) == 2 and v.dtype in ("float32", "int64", "int32", "float64"))
    g.node("EyeLike", [value], exact=True, k=g.integer(-1, 2))


def constant(g: GraphBuilder) -> None:
    """A node in place of an initializer."""
    kind = g.choice(["float32", "int64", "bool"])
    array = g.draw(kind, [g.integer(1, 4) for _ in range(g.integer(0, 3))])
    g.node("Constant", [], exact=True, value=numpy_helper.from_array(array))


SIZED_BY_DATA: Mapping[Adder, float] = {
    compress: 0.6,
    nonzero: 0.5,
    unique: 0.5,
    count: 0.5,
    identity_matrix: 0.5,
    constant: 0.4,
}
"""How often each is tried."""
