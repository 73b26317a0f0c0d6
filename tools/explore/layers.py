"""The layers of a directed graph by longest path, the bends of its edges, and what closes its cycles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

Edge: TypeAlias = tuple[int, int]
Layers: TypeAlias = list[list[int]]
Neighbours: TypeAlias = list[list[int]]

LONGEST_EDGE = 64
"""Edges over more layers are drawn as a stub at both ends: their bends would widen every layer between."""


def back_edges(count: int, edges: Sequence[Edge]) -> list[bool]:
    """For each edge, whether a depth-first search meets its head while it is being visited."""
    outgoing: list[list[int]] = [[] for _ in range(count)]
    for index, (a, _) in enumerate(edges):
        outgoing[a].append(index)
    back = [False] * len(edges)
    open_, done = [False] * count, [False] * count
    for start in range(count):
        stack = [] if done[start] else [(start, iter(outgoing[start]))]
        open_[start] = bool(stack)
        while stack:
            node, rest = stack[-1]
            index = next(rest, None)
            if index is None:
                stack.pop()
                open_[node], done[node] = False, True
            elif open_[head := edges[index][1]]:
                back[index] = True
            elif not done[head]:
                open_[head] = True
                stack.append((head, iter(outgoing[head])))
    return back


def ranks(count: int, edges: Sequence[Edge]) -> list[int]:
    """The layer of each node by longest path; a node without inputs is just above its first user."""
    users: list[list[int]] = [[] for _ in range(count)]
    missing = [0] * count
    for a, b in edges:
        if a != b:
            users[a].append(b)
            missing[b] += 1
    sources = [node for node in range(count) if not missing[node]]
    rank, ready = [0] * count, list(sources)
    for node in ready:
        for user in users[node]:
            rank[user] = max(rank[user], rank[node] + 1)
            missing[user] -= 1
            if not missing[user]:
                ready.append(user)
    for node in sources:
        if users[node]:
            rank[node] = min(rank[user] for user in users[node]) - 1
    return rank


def chains(
    edges: Sequence[Edge], rank: list[int], widths: list[float]
) -> tuple[list[list[int]], Neighbours, Neighbours]:
    """
    The vertices of each edge, with a bend on every layer between, added to `rank` and `widths`; and the
    neighbours of each vertex in the layer above, and below.

    The edges of one tail share their bends.
    """
    heads: set[Edge] = set()
    bends: Neighbours = [[] for _ in rank]
    above: Neighbours = [[] for _ in rank]
    below: Neighbours = [[] for _ in rank]
    found: list[list[int]] = []
    for edge in edges:
        a, b = edge
        span = rank[b] - rank[a]
        if a == b or span > LONGEST_EDGE or edge in heads:
            found.append([])
            continue
        heads.add(edge)
        own = bends[a]
        last = own[-1] if own else a
        for layer in range(rank[a] + len(own) + 1, rank[b]):
            below[last].append(len(rank))
            above.append([last])
            below.append([])
            last = len(rank)
            own.append(last)
            rank.append(layer)
        found.append([a, *own[: span - 1], b])
        last = own[span - 2] if span > 1 else a
        below[last].append(b)
        above[b].append(last)
    widths.extend([0.0] * (len(rank) - len(widths)))
    return found, above, below


def in_layers(rank: Sequence[int]) -> Layers:
    layers: Layers = [[] for _ in range(max(rank, default=-1) + 1)]
    for vertex, layer in enumerate(rank):
        layers[layer].append(vertex)
    return layers
