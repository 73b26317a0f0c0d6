"""
The cheapest choices for the nodes of a graph, whose costs and those of their pairs are known.

Source: partitioned Boolean quadratic programming, as in register allocation (Scholz and Eckstein, 2002).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Costs: TypeAlias = npt.NDArray[np.float64]
BEAM = 16
"""The assignments that are kept from node to node where every node has three neighbours or more."""


class Assignment:
    """A problem under way: nodes with three neighbours at least stay, the others are eliminated."""

    def __init__(
        self, costs: Mapping[str, Sequence[float]], pairs: Mapping[tuple[str, str], Sequence[Sequence[float]]]
    ):
        """Args: `costs` of each choice of a node; `pairs` of each choice of one node with each of another."""
        self._costs: dict[str, Costs] = {node: np.array(each, np.float64) for node, each in costs.items()}
        self._pairs: dict[str, dict[str, Costs]] = {node: {} for node in costs}
        for (a, b), matrix in pairs.items():
            self._add(a, b, np.array(matrix, np.float64))
        self._eliminated: list[tuple[str, Costs, dict[str, Costs]]] = []

    def _add(self, a: str, b: str, matrix: Costs) -> None:
        """Add the costs of a pair of nodes, which may be one node with itself."""
        if a == b:
            self._costs[a] = self._costs[a] + np.diagonal(matrix)
            return
        self._pairs[a][b] = self._pairs[a].get(b, np.zeros_like(matrix)) + matrix
        self._pairs[b][a] = self._pairs[a][b].T

    def solved(self) -> dict[str, int]:
        """The number of the choice of each node: the cheapest ones, unless a beam was needed."""
        while (node := min(self._pairs, key=lambda n: len(self._pairs[n]), default=None)) is not None:
            if len(self._pairs[node]) > 2:
                break
            self._eliminate(node)
        chosen = self._by_beam()
        for node, costs, near in reversed(self._eliminated):
            total = costs + sum(
                (matrix[:, chosen[other]] for other, matrix in near.items()), np.zeros(len(costs))
            )
            chosen[node] = int(np.argmin(total))
        return chosen

    def _eliminate(self, node: str) -> None:
        """Take out a node with two neighbours at most, whose costs these get."""
        costs, near = self._costs.pop(node), self._pairs.pop(node)
        self._eliminated.append((node, costs, near))
        for other in near:
            del self._pairs[other][node]
        match list(near.items()):
            case [(a, matrix)]:
                self._costs[a] = self._costs[a] + np.min(costs[:, None] + matrix, axis=0)
            case [(a, first), (b, second)]:
                self._add(a, b, np.min(costs[:, None, None] + first[:, :, None] + second[:, None, :], axis=0))
            case _:
                pass

    def _by_beam(self) -> dict[str, int]:
        """The choices of the nodes that are left, by a beam over them in order."""
        beam: list[tuple[float, dict[str, int]]] = [(0.0, {})]
        for node, costs in self._costs.items():
            longer = [
                (total + float(own), {**chosen, node: choice})
                for total, chosen in beam
                for choice, own in enumerate(self._with_neighbours(node, costs, chosen))
            ]
            beam = sorted(longer, key=lambda each: each[0])[:BEAM]
        return beam[0][1]

    def _with_neighbours(self, node: str, costs: Costs, chosen: Mapping[str, int]) -> Costs:
        for other, matrix in self._pairs[node].items():
            if other in chosen:
                costs = costs + matrix[:, chosen[other]]
        return costs


def total_of(
    chosen: Mapping[str, int],
    costs: Mapping[str, Sequence[float]],
    pairs: Mapping[tuple[str, str], Sequence[Sequence[float]]],
) -> float:
    """The cost of some choices."""
    own = sum(costs[node][choice] for node, choice in chosen.items())
    return own + sum(matrix[chosen[a]][chosen[b]] for (a, b), matrix in pairs.items())


def cheapest_choices(
    costs: Mapping[str, Sequence[float]],
    pairs: Mapping[tuple[str, str], Sequence[Sequence[float]]],
    count: int,
) -> list[dict[str, int]]:
    """The cheapest choices, and the next ones: each of these has another choice at a node of the cheapest."""
    best = Assignment(costs, pairs).solved()
    others: list[dict[str, int]] = []
    for node, choice in best.items() if count > 1 else ():
        without = [float("inf") if n == choice else cost for n, cost in enumerate(costs[node])]
        if min(without, default=float("inf")) < float("inf"):
            others.append(Assignment({**costs, node: without}, pairs).solved())
    others.sort(key=lambda chosen: total_of(chosen, costs, pairs))
    unique = {tuple(sorted(each.items())): each for each in (best, *others)}
    return list(unique.values())[:count]
