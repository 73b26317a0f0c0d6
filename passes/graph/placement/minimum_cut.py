"""The cheapest division of things in two, by network flow."""

from __future__ import annotations

from collections import deque

ENDLESS = 1 << 62
"""The capacity of an edge that no cheapest cut has."""
SOURCE, SINK = 0, 1


class Network:
    """
    Directed edges with capacities between a source and a sink.

    Source: Dinic, Algorithm for solution of a problem of maximum flow in networks, 1970.
    """

    def __init__(self) -> None:
        self._edges: list[list[int]] = [[], []]
        """The edges of each node; an edge's number with its last bit changed is the way back."""
        self._to: list[int] = []
        self._left: list[int] = []

    def node(self) -> int:
        """A new node."""
        self._edges.append([])
        return len(self._edges) - 1

    def edge(self, start: int, end: int, capacity: int) -> None:
        """An edge, whose capacity a cut costs with the start on the source's side and the end not."""
        for at, to, left in ((start, end, capacity), (end, start, 0)):
            self._edges[at].append(len(self._to))
            self._to.append(to)
            self._left.append(left)

    def source_side(self) -> list[bool]:
        """Whether each node is on the source's side of the cheapest cut."""
        while (levels := self._levels())[SINK] is not None:
            following = [0] * len(self._edges)
            while self._push(levels, following):
                pass
        return [level is not None for level in levels]

    def _levels(self) -> list[int | None]:
        """The distance of each node from the source by edges with capacity left."""
        levels: list[int | None] = [None] * len(self._edges)
        levels[SOURCE], waiting = 0, deque([SOURCE])
        while waiting:
            node = waiting.popleft()
            for edge in self._edges[node]:
                if self._left[edge] and levels[self._to[edge]] is None:
                    levels[self._to[edge]] = (levels[node] or 0) + 1
                    waiting.append(self._to[edge])
        return levels

    def _push(self, levels: list[int | None], following: list[int]) -> bool:
        """Use up the capacity of a path of growing levels. Returns: whether there was such a path."""
        path: list[int] = []
        node = SOURCE
        while node != SINK:
            if following[node] == len(self._edges[node]):
                if not path:
                    return False
                node = self._to[path.pop() ^ 1]
                following[node] += 1
                continue
            edge = self._edges[node][following[node]]
            if self._left[edge] and levels[self._to[edge]] == (levels[node] or 0) + 1:
                path.append(edge)
                node = self._to[edge]
            else:
                following[node] += 1
        amount = min(self._left[edge] for edge in path)
        for edge in path:
            self._left[edge] -= amount
            self._left[edge ^ 1] += amount
        return True
