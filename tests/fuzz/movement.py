"""Random nodes that move elements: reshapes, slices, joins, reads at indices, and shapes as data."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tests.fuzz.builder import GraphBuilder, Refused, Value
from tests.fuzz.operators import Adder, is_float, ranked


def axis_of(g: GraphBuilder, value: Value) -> int:
    """One of its axes, some of the time counted from the end."""
    rank = len(value.shape)
    return g.integer(-rank if g.chance(0.3) else 0, rank - 1)


def transpose(g: GraphBuilder) -> None:
    """Any permutation."""
    value = g.pick(ranked)
    g.node("Transpose", [value], exact=True, perm=[int(n) for n in g.rng.permutation(len(value.shape))])


def reshape(g: GraphBuilder) -> None:
    """Merged or split dimensions, with 0 and -1."""
    value = g.pick(ranked)
    shape = list(value.shape)
    at = g.integer(0, len(shape) - 1)
    even = [n for n in (2, 3, 4) if shape[at] % n == 0]
    if len(shape) > 1 and (not even or g.chance(0.6)):
        at = min(at, len(shape) - 2)
        shape[at : at + 2] = [shape[at] * shape[at + 1]]
    else:
        factor = g.choice(even)
        shape[at : at + 1] = [factor, shape[at] // factor]
    shape = [
        0 if i < len(value.shape) and n == value.shape[i] and g.chance(0.3) else n
        for i, n in enumerate(shape)
    ]
    if g.chance(0.5):
        shape[g.integer(0, len(shape) - 1)] = -1
    g.node("Reshape", [value, g.ints(*shape)], exact=True)


def flatten(g: GraphBuilder) -> None:
    """Into a matrix."""
    value = g.pick(ranked)
    g.node("Flatten", [value], exact=True, axis=g.integer(0, len(value.shape)))


def ones(g: GraphBuilder) -> None:
    """Dimensions of 1 added or taken away."""
    value = g.pick()
    units = [i for i, n in enumerate(value.shape) if n == 1]
    if units and g.chance(0.6):
        g.node("Squeeze", [value, g.ints(g.choice(units))], exact=True)
    elif len(value.shape) < 5:
        g.node("Unsqueeze", [value, g.ints(g.integer(0, len(value.shape)))], exact=True)


def concat(g: GraphBuilder) -> None:
    """Two or three values that differ along one axis at most."""
    value = g.pick(ranked)
    axis = axis_of(g, value) % len(value.shape)

    def fits(v: Value) -> bool:
        same = v.dtype == value.dtype and len(v.shape) == len(value.shape)
        return same and all(
            a == b or i == axis for i, (a, b) in enumerate(zip(v.shape, value.shape, strict=True))
        )

    g.node("Concat", [value, *(g.pick(fits) for _ in range(g.integer(1, 2)))], exact=True, axis=axis)


def split(g: GraphBuilder) -> None:
    """In parts of chosen or of equal sizes."""
    value = g.pick(lambda v: ranked(v) and max(v.shape) > 1)
    axis = g.choice([i for i, n in enumerate(value.shape) if n > 1])
    size = value.shape[axis]
    if g.chance(0.3):
        g.node("Split", [value], exact=True, outputs=2, axis=axis, num_outputs=2)
    else:
        first = g.integer(1, size - 1)
        g.node("Split", [value, g.ints(first, size - first)], exact=True, outputs=2, axis=axis)


def slice_(g: GraphBuilder) -> None:
    """Any steps, counted from either end, beyond the end too."""
    value = g.pick(ranked)
    axes = [i for i in range(len(value.shape)) if g.chance(0.6)] or [0]
    starts, ends, steps = [], [], []
    for axis in axes:
        size = value.shape[axis]
        low = g.integer(0, size - 1)
        step = g.choice([1, 1, 1, 2, 3])
        high = g.integer(low + 1, size)
        if g.chance(0.2):
            starts, ends, steps = [*starts, -1], [*ends, -size - 1], [*steps, -step]
        else:
            high = high - size if g.chance(0.3) and high < size else g.choice([high, 2**31 - 1])
            starts, ends, steps = [*starts, low], [*ends, high], [*steps, step]
    g.node("Slice", [value, g.ints(*starts), g.ints(*ends), g.ints(*axes), g.ints(*steps)], exact=True)


def pad(g: GraphBuilder) -> None:
    """All modes; constants of the value's type; negative pads cut."""
    value = g.pick(lambda v: ranked(v) and v.dtype != "bool")
    rank = len(value.shape)
    mode = g.choice(["constant", "constant", "reflect", "edge", "wrap"])
    most = min(value.shape) - 1 if mode in ("reflect", "wrap") else 3
    pads = [g.integer(0, max(0, most)) if g.chance(0.5) else 0 for _ in range(2 * rank)]
    fill = g.constant(np.array(2, value.dtype)) if mode == "constant" and g.chance(0.5) else None
    g.node("Pad", [value, g.ints(*pads), fill], exact=True, mode=mode)


def expand(g: GraphBuilder) -> None:
    """To a larger shape."""
    value = g.pick(lambda v: len(v.shape) < 4)
    shape = [g.integer(2, 3) if n == 1 else n for n in value.shape]
    g.node("Expand", [value, g.ints(g.integer(1, 3), *shape)], exact=True)


def tile(g: GraphBuilder) -> None:
    """Once or twice along each axis."""
    value = g.pick(ranked)
    g.node("Tile", [value, g.ints(*(g.integer(1, 2) for _ in value.shape))], exact=True)


def indices(g: GraphBuilder, size: int, shape: list[int]) -> Value:
    """Constant indices into a dimension, some from the end."""
    kind = g.choice(["int64", "int64", "int32"])
    return g.constant(g.rng.integers(-size, size, shape).astype(kind))


def gather(g: GraphBuilder) -> None:
    """Rows at constant indices, of any rank."""
    value = g.pick(ranked)
    axis = axis_of(g, value)
    at = indices(g, value.shape[axis], [g.integer(1, 3) for _ in range(g.integer(0, 2))])
    g.node("Gather", [value, at], exact=True, axis=axis)


def gather_elements(g: GraphBuilder) -> None:
    """An index for each element."""
    value = g.pick(ranked)
    axis = axis_of(g, value)
    shape = list(value.shape)
    shape[axis] = g.integer(1, 3)
    g.node("GatherElements", [value, indices(g, value.shape[axis], shape)], exact=True, axis=axis)


def gather_nd(g: GraphBuilder) -> None:
    """Positions along the first axes."""
    value = g.pick(ranked)
    depth = g.integer(1, len(value.shape))
    at = np.stack([g.rng.integers(0, n, (2,)) for n in value.shape[:depth]], axis=-1)
    g.node("GatherND", [value, g.constant(at.astype(np.int64))], exact=True)


def scatter(g: GraphBuilder) -> None:
    """Rows, or elements, written at different places."""
    value = g.pick(lambda v: ranked(v) and v.dtype in ("float32", "int64", "int32"))
    count = g.integer(1, value.shape[0])
    rows = g.rng.permutation(value.shape[0])[:count].astype(np.int64)
    if g.chance(0.5):
        updates = g.constant(g.draw(value.dtype, [count, *value.shape[1:]]))
        g.node("ScatterND", [value, g.constant(rows[:, None]), updates], exact=True)
    else:
        at = np.broadcast_to(rows.reshape(-1, *[1] * (len(value.shape) - 1)), [count, *value.shape[1:]])
        updates = g.constant(g.draw(value.dtype, at.shape))
        op = "Scatter" if g.opset <= 10 else "ScatterElements"
        g.node(op, [value, g.constant(np.ascontiguousarray(at)), updates], exact=True, axis=0)


def blocks(g: GraphBuilder) -> None:
    """Space to depth and back."""
    value = g.pick(lambda v: len(v.shape) == 4 and is_float(v))
    if g.chance(0.5):
        g.node("DepthToSpace", [value], exact=True, blocksize=2, mode=g.choice(["DCR", "CRD"]))
    else:
        g.node("SpaceToDepth", [value], exact=True, blocksize=2)


def shapes(g: GraphBuilder) -> None:
    """The shape as data: read, cut, and used to fill, to reshape, to count."""
    value = g.pick(ranked)
    match g.integer(0, 4):
        case 0:
            g.node("Shape", [value], exact=True)
        case 1:
            g.node("Size", [value], exact=True)
        case 2:
            g.node("Shape", [value], exact=True)
            g.node("ConstantOfShape", [g.values[-1]], exact=True)
        case 3:
            g.node("Shape", [value], exact=True, start=0, end=1)
            like = g.values[-1]
            g.node("Concat", [like, g.ints(-1)], exact=True, axis=0)
            g.node("Reshape", [value, g.values[-1]], exact=True)
        case _:
            g.node("Shape", [g.pick(ranked)], exact=True)
            g.node("Expand", [g.constant(g.draw("float32", [])), g.values[-1]], exact=True)


def triangle(g: GraphBuilder) -> None:
    """The upper or lower part of matrices."""
    value = g.pick(lambda v: len(v.shape) >= 2 and v.dtype in ("float32", "float64", "int64", "int32"))
    g.node(
        "Trilu", [value, g.constant(np.array(g.integer(-2, 2), np.int64))], exact=True, upper=g.integer(0, 1)
    )


def top_k(g: GraphBuilder) -> None:
    """Of different values, so that the order is one."""
    value = g.pick(lambda v: ranked(v) and v.exact and v.dtype == "float32")
    axis = axis_of(g, value)
    if any(
        len(set(row.tolist())) < row.size
        for row in np.moveaxis(value.array, axis, -1).reshape(-1, value.shape[axis])
    ):
        raise Refused
    k = g.integer(1, value.shape[axis])
    g.node("TopK", [value, g.ints(k)], exact=True, outputs=2, axis=axis, largest=g.integer(0, 1), sorted=1)


def one_hot(g: GraphBuilder) -> None:
    """Indices as vectors."""
    value = g.pick(lambda v: v.dtype in ("int64", "int32") and ranked(v))
    on_off = g.constant(np.array([0.5, 2.5], np.float32))
    g.node("OneHot", [value, g.constant(np.array(5, np.int64)), on_off], exact=True, axis=-1)


MOVEMENT: Mapping[Adder, float] = {
    transpose: 3,
    reshape: 3,
    flatten: 0.7,
    ones: 2,
    concat: 2,
    split: 1.5,
    slice_: 2.5,
    pad: 1.5,
    expand: 1,
    tile: 0.7,
    gather: 1.5,
    gather_elements: 0.7,
    gather_nd: 0.7,
    scatter: 1,
    blocks: 0.5,
    shapes: 1.5,
    triangle: 0.5,
    top_k: 0.7,
    one_hot: 0.4,
}
"""How often each is tried."""
