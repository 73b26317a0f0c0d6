"""
The layered drawing of a directed graph: layers by longest path, few crossings, straight chains.

Source: Sugiyama, Tagawa & Toda, "Methods for visual understanding of hierarchical system structures" (1981);
x coordinates by Brandes & Köpf, "Fast and simple horizontal coordinate assignment" (2001).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from stepwell.runtime.collector import collector_paused
from stepwell.tools.explore.layers import Edge, Layers, Neighbours, back_edges, chains, in_layers, ranks

Floats: TypeAlias = npt.NDArray[np.float64]
GAP, LAYER_GAP = 24.0, 44.0
"""Pixels between neighbours of a layer, and between layers."""
WIDEST = 3.5
"""A drawing wider than this times its widest layer is given up for one of packed layers."""
SWEEPS = 8
MOST_FOR_FOUR = 30_000
"""Drawings of more nodes and bends are aligned in two ways in place of four: it halves most of their time."""


class Layout(NamedTuple):
    """
    A drawing in pixels: the centres of the nodes; for each edge its points from tail to head (none for stubs,
    self-loops and repeated edges), and whether it closes a cycle.
    """

    x: list[float]
    y: list[float]
    routes: list[list[tuple[float, float]]]
    back: list[bool]
    width: float
    height: float
    widest_layer: float


@collector_paused()
def layout(sizes: Sequence[tuple[float, float]], edges: Sequence[Edge]) -> Layout:
    """
    The drawing of a graph, in time linear in its nodes and edges.

    Args: `sizes` are the width and height of each node in pixels; `edges` are pairs of node indices, which
    may close cycles.
    """
    back = back_edges(len(sizes), edges)
    forward = [(b, a) if turned else (a, b) for (a, b), turned in zip(edges, back, strict=True)]
    rank = ranks(len(sizes), forward)
    widths = [width for width, _ in sizes]
    paths, above, below = chains(forward, rank, widths)
    layers = in_layers(rank)
    _order(layers, above, below)
    centres = _centres(layers, above, below, widths, len(sizes))
    widest = max((_packed_width(layer, widths) for layer in layers), default=0.0)
    left, right = _extent(centres, widths)
    if right - left > WIDEST * widest:
        centres = _packed(layers, above, widths)
        left, right = _extent(centres, widths)
    x: list[float] = (centres - left).tolist()
    tops, height = _layer_tops(layers, sizes)
    y = [tops[layer] for layer in rank]
    points = list(zip(x, y, strict=True))
    routes = [list(map(points.__getitem__, path)) for path in paths]
    for route, turned in zip(routes, back, strict=True):
        if turned:
            route.reverse()
    count = len(sizes)
    return Layout(x[:count], y[:count], routes, back, right - left, height, widest)


def _order(layers: Layers, above: Neighbours, below: Neighbours) -> None:
    """Order each layer by the mean position of the neighbours in the one before, down and up in turns."""
    position = [0.0] * len(above)
    for layer in layers:
        _number(layer, position)
    for _ in range(SWEEPS // 2):
        before = [layer[:] for layer in layers]
        for inputs, ordered in ((above, layers), (below, layers[::-1])):
            for layer in ordered:
                for vertex in layer:
                    near = inputs[vertex]
                    if len(near) == 1:
                        position[vertex] = position[near[0]]
                    elif near:
                        position[vertex] = sum(map(position.__getitem__, near)) / len(near)
                layer.sort(key=position.__getitem__)
                _number(layer, position)
        if layers == before:
            break  # all sweeps to come would do the same again


def _number(layer: Sequence[int], position: list[float]) -> None:
    for index, vertex in enumerate(layer):
        position[vertex] = index


def _centres(
    layers: Layers, above: Neighbours, below: Neighbours, widths: Sequence[float], real: int
) -> Floats:
    """
    The x of each vertex: the mean of the two middle ones of four extreme alignments.

    Of a large drawing it is the mean of two opposite ones: with the inputs to the left, with the users to
    the right.
    """
    found: list[Floats] = []
    is_large = len(widths) > MOST_FOR_FOUR
    position = [0.0] * len(widths)
    for layer in layers:
        _number(layer, position)
    ends = [width / 2 + GAP / 2 for width in widths]
    for before, ordered in ((above, layers), (below, layers[::-1])):
        middles = [near if len(near) < 2 else _middle(near, position) for near in before]
        bends = range(real, len(widths))
        inner = {v: before[v][0] for v in bends if before[v] and before[v][0] >= real}
        if not is_large or before is above:
            found.append(np.array(_aligned(ordered, middles, inner, ends)))
        if not is_large or before is below:
            mirrored = [layer[::-1] for layer in ordered]
            turned = [near if len(near) < 2 else near[::-1] for near in middles]
            found.append(-np.array(_aligned(mirrored, turned, inner, ends)))
    return _balanced(found, widths)


def _balanced(found: Sequence[Floats], widths: Sequence[float]) -> Floats:
    """The mean of alignments to the left and to the right in turns; of four, without the extremes."""
    extents = [_extent(xs, widths) for xs in found]
    low, high = min(extents, key=lambda extent: extent[1] - extent[0])
    shifts = [high - b if index % 2 else low - a for index, (a, b) in enumerate(extents)]
    shifted = np.stack([xs + shift for xs, shift in zip(found, shifts, strict=True)])
    if len(found) == 2:
        return shifted.mean(0)
    return (shifted.sum(0) - shifted.min(0) - shifted.max(0)) / 2


def _aligned(
    rows: Layers, middles: Neighbours, inner: Mapping[int, int], ends: Sequence[float]
) -> list[float]:
    """
    The x of each vertex in one alignment: blocks of vertices are as far left as others allow.

    Args: `middles` are the neighbours to align with, one or two; `inner` those of bends that are bends too.
    """
    position = [0.0] * len(ends)
    for row in rows:
        _number(row, position)
    root = list(range(len(ends)))
    for row in rows:
        # Bends first: the inner parts of long edges are straight, and what crosses them is not aligned.
        limits = _limits(row, inner, position)
        last = -1.0
        for vertex, limit in zip(row, limits, strict=True):
            for other in middles[vertex]:
                if last < (at := position[other]) and (at < limit or vertex in inner):
                    root[vertex], last = root[other], at
                    break
    return _compacted(rows, root, ends)


def _middle(near: list[int], position: Sequence[float]) -> list[int]:
    """The vertex in the middle, or the two."""
    return sorted(near, key=position.__getitem__)[(len(near) - 1) // 2 : len(near) // 2 + 1]


def _limits(row: Sequence[int], inner: Mapping[int, int], position: Sequence[float]) -> list[float]:
    """For each vertex of a row, the position that its neighbour must be left of, not to cross a long edge."""
    limits: list[float] = []
    limit = float("inf")
    for vertex in reversed(row):
        limits.append(limit)
        if vertex in inner and position[inner[vertex]] < limit:
            limit = position[inner[vertex]]
    return limits[::-1]


def _compacted(rows: Layers, root: Sequence[int], ends: Sequence[float]) -> list[float]:
    """The x of each vertex by the longest path between blocks; `ends` are half of widths and of a gap."""
    after: list[list[int]] = [[] for _ in root]
    missing = [0] * len(root)
    distance = [0.0] * len(root)
    for row in rows:
        block, end = root[row[0]], ends[row[0]]
        for vertex in row[1:]:
            after[block].append(vertex)
            distance[vertex] = end
            block, end = root[vertex], ends[vertex]
            distance[vertex] += end
            missing[block] += 1
    x = [0.0] * len(root)
    ready = [vertex for vertex, own in enumerate(root) if own == vertex and not missing[vertex]]
    for block in ready:
        left = x[block]
        for vertex in after[block]:
            other = root[vertex]
            if (at := left + distance[vertex]) > x[other]:
                x[other] = at
            missing[other] -= 1
            if not missing[other]:
                ready.append(other)
    return [x[block] for block in root]


def _packed(layers: Layers, above: Neighbours, widths: Sequence[float]) -> Floats:
    """The x of each vertex where each layer is packed, and near the layer above within the widest layer."""
    room = max(_packed_width(layer, widths) for layer in layers)
    x = [0.0] * len(widths)
    for layer in layers:
        at, wanted = 0.0, list[float]()
        for vertex in layer:
            x[vertex] = at + widths[vertex] / 2
            wanted += [x[other] - x[vertex] for other in above[vertex]]
            at += widths[vertex] + GAP
        free = room - (at - GAP)
        shift = min(max(sum(wanted) / len(wanted), 0.0), free) if wanted else free / 2
        for vertex in layer:
            x[vertex] += shift
    return np.array(x)


def _packed_width(layer: Sequence[int], widths: Sequence[float]) -> float:
    return sum(widths[vertex] for vertex in layer) + GAP * (len(layer) - 1)


def _extent(centres: Floats, widths: Sequence[float]) -> tuple[float, float]:
    """The leftmost and the rightmost edge of all vertices."""
    if not len(centres):
        return 0.0, 0.0
    halves = np.array(widths) / 2
    return float((centres - halves).min()), float((centres + halves).max())


def _layer_tops(layers: Layers, sizes: Sequence[tuple[float, float]]) -> tuple[list[float], float]:
    """The y of the middle of each layer, and the height of the drawing."""
    middles: list[float] = []
    top = 0.0
    for layer in layers:
        height = max((sizes[vertex][1] for vertex in layer if vertex < len(sizes)), default=0.0)
        middles.append(top + height / 2)
        top += height + LAYER_GAP
    return middles, max(top - LAYER_GAP, 0.0)
