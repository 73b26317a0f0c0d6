"""The layers of a directed graph by longest path, and the edges that close its cycles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

Edge: TypeAlias = tuple[int, int]


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
