"""
The layered drawing of a directed graph: layers by longest path, few crossings, straight chains.

Source: Sugiyama, Tagawa & Toda, "Methods for visual understanding of hierarchical system structures" (1981);
x coordinates by Brandes & Köpf, "Fast and simple horizontal coordinate assignment" (2001).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from stepwell.tools.explore.layers import Edge, back_edges, ranks

GAP, LAYER_GAP = 24.0, 44.0
"""Pixels between neighbours of a layer, and between layers."""
LONGEST_EDGE = 64
"""Edges over more layers are drawn as a stub at both ends: their bends would widen every layer between."""
WIDEST = 3.5
"""A drawing wider than this times its widest layer is given up for one of packed layers."""
SWEEPS = 8

Layers: TypeAlias = list[list[int]]
Neighbours: TypeAlias = list[list[int]]


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
    chains = _chains(forward, rank, widths)
    layers = _in_layers(rank)
    above, below = _segments(chains, len(rank))
    _order(layers, above, below)
    centres = _centres(layers, above, below, widths, len(sizes))
    widest = max((_packed_width(layer, widths) for layer in layers), default=0.0)
    left, right = _extent(centres, widths)
    if right - left > WIDEST * widest:
        centres = _packed(layers, above, widths)
        left, right = _extent(centres, widths)
    x = [centre - left for centre in centres]
    tops, height = _layer_tops(layers, sizes)
    y = [tops[layer] for layer in rank]
    routes = [[(x[v], y[v]) for v in chain] for chain in chains]
    for route, turned in zip(routes, back, strict=True):
        if turned:
            route.reverse()
    count = len(sizes)
    return Layout(x[:count], y[:count], routes, back, right - left, height, widest)


def _chains(edges: Sequence[Edge], rank: list[int], widths: list[float]) -> list[list[int]]:
    """
    The vertices of each edge, with a bend on every layer between, added to `rank` and `widths`.

    The edges of one tail share their bends.
    """
    heads: set[Edge] = set()
    bends: dict[int, list[int]] = {}
    chains: list[list[int]] = []
    for a, b in edges:
        span = rank[b] - rank[a]
        if a == b or span > LONGEST_EDGE or (a, b) in heads:
            chains.append([])
            continue
        heads.add((a, b))
        own = bends.setdefault(a, [])
        while len(own) < span - 1:
            own.append(len(rank))
            rank.append(rank[a] + len(own))
            widths.append(0.0)
        chains.append([a, *own[: span - 1], b])
    return chains


def _in_layers(rank: Sequence[int]) -> Layers:
    layers: Layers = [[] for _ in range(max(rank, default=-1) + 1)]
    for vertex, layer in enumerate(rank):
        layers[layer].append(vertex)
    return layers


def _segments(chains: Sequence[Sequence[int]], count: int) -> tuple[Neighbours, Neighbours]:
    """The neighbours of each vertex in the layer above, and below."""
    pairs = dict.fromkeys(pair for chain in chains for pair in zip(chain, chain[1:], strict=False))
    above: Neighbours = [[] for _ in range(count)]
    below: Neighbours = [[] for _ in range(count)]
    for a, b in pairs:
        below[a].append(b)
        above[b].append(a)
    return above, below


def _order(layers: Layers, above: Neighbours, below: Neighbours) -> None:
    """Order each layer by the mean position of the neighbours in the one before, down and up in turns."""
    position = [0.0] * len(above)
    for layer in layers:
        _number(layer, position)
    for sweep in range(SWEEPS):
        neighbours = below if sweep % 2 else above
        for layer in reversed(layers) if sweep % 2 else layers:
            for vertex in layer:
                if near := neighbours[vertex]:
                    position[vertex] = sum([position[other] for other in near]) / len(near)
            layer.sort(key=position.__getitem__)
            _number(layer, position)


def _number(layer: Sequence[int], position: list[float]) -> None:
    for index, vertex in enumerate(layer):
        position[vertex] = index


def _centres(
    layers: Layers, above: Neighbours, below: Neighbours, widths: Sequence[float], real: int
) -> list[float]:
    """The x of each vertex: the mean of the two middle ones of four extreme alignments."""
    found: list[list[float]] = []
    for upwards in (False, True):
        for mirrored in (False, True):
            rows = [layer[::-1] if mirrored else layer for layer in (layers[::-1] if upwards else layers)]
            xs = _aligned(rows, below if upwards else above, widths, real)
            found.append([-x for x in xs] if mirrored else xs)
    extents = [_extent(xs, widths) for xs in found]
    low, high = min(extents, key=lambda extent: extent[1] - extent[0])
    shifts = [high - b if index % 2 else low - a for index, (a, b) in enumerate(extents)]
    shifted = ([x + shift for x in xs] for xs, shift in zip(found, shifts, strict=True))
    return [sum(sorted(four)[1:3]) / 2 for four in zip(*shifted, strict=True)]


def _aligned(rows: Layers, before: Neighbours, widths: Sequence[float], real: int) -> list[float]:
    """The x of each vertex in one alignment: blocks of vertices are as far left as others allow."""
    position = [0.0] * len(widths)
    for row in rows:
        _number(row, position)
    root = list(range(len(widths)))
    for row in rows:
        # Bends first: the inner parts of long edges are straight, and what crosses them is not aligned.
        inner = {v: before[v][0] for v in row if v >= real and before[v] and before[v][0] >= real}
        limits = _limits(row, inner, position)
        last = -1.0
        for vertex, limit in zip(row, limits, strict=True):
            near = sorted(before[vertex], key=position.__getitem__)
            middle = near[(len(near) - 1) // 2 : len(near) // 2 + 1]
            for other in middle:
                if last < position[other] and (vertex in inner or position[other] < limit):
                    root[vertex], last = root[other], position[other]
                    break
    return _compacted(rows, root, widths)


def _limits(row: Sequence[int], inner: dict[int, int], position: Sequence[float]) -> list[float]:
    """For each vertex of a row, the position that its neighbour must be left of, not to cross a long edge."""
    limits: list[float] = []
    limit = float("inf")
    for vertex in reversed(row):
        limits.append(limit)
        if vertex in inner:
            limit = min(limit, position[inner[vertex]])
    return limits[::-1]


def _compacted(rows: Layers, root: Sequence[int], widths: Sequence[float]) -> list[float]:
    """The x of each vertex by the longest path between blocks."""
    after: list[list[tuple[int, float]]] = [[] for _ in root]
    missing = [0] * len(root)
    for row in rows:
        for a, b in zip(row, row[1:], strict=False):
            after[root[a]].append((root[b], (widths[a] + widths[b]) / 2 + GAP))
            missing[root[b]] += 1
    x = [0.0] * len(root)
    ready = [vertex for vertex, own in enumerate(root) if own == vertex and not missing[vertex]]
    for block in ready:
        for other, distance in after[block]:
            x[other] = max(x[other], x[block] + distance)
            missing[other] -= 1
            if not missing[other]:
                ready.append(other)
    return [x[block] for block in root]


def _packed(layers: Layers, above: Neighbours, widths: Sequence[float]) -> list[float]:
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
    return x


def _packed_width(layer: Sequence[int], widths: Sequence[float]) -> float:
    return sum(widths[vertex] for vertex in layer) + GAP * (len(layer) - 1)


def _extent(centres: Sequence[float], widths: Sequence[float]) -> tuple[float, float]:
    """The leftmost and the rightmost edge of all vertices."""
    both = list(zip(centres, widths, strict=True))
    return min((c - w / 2 for c, w in both), default=0.0), max((c + w / 2 for c, w in both), default=0.0)


def _layer_tops(layers: Layers, sizes: Sequence[tuple[float, float]]) -> tuple[list[float], float]:
    """The y of the middle of each layer, and the height of the drawing."""
    middles: list[float] = []
    top = 0.0
    for layer in layers:
        height = max((sizes[vertex][1] for vertex in layer if vertex < len(sizes)), default=0.0)
        middles.append(top + height / 2)
        top += height + LAYER_GAP
    return middles, max(top - LAYER_GAP, 0.0)
