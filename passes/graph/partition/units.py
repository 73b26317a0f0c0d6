"""Units: sets of a block's ops that are merged for partitions, and the dependence graph between them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from heapq import heapify, heappop, heappush

from xdsl.ir import Block, Operation
from xdsl.traits import is_side_effect_free

from stepwell.dialects.graph.symbols import symbol_sources
from stepwell.runtime.errors import StepwellError, describe_location


class Units:
    """
    A union-find of a block's ops with dependence edges; a unit's number is the position of its first op.

    At first each op is a unit. Edges go from an op to the users of its results, in regions too, from an op
    that defines a symbol to the ops that reference it, and from each op with an effect to the next one.
    """

    def __init__(self, block: Block):
        self.ops: Sequence[Operation] = [op for op in block.ops if op is not block.last_op]
        self._position = {op: i for i, op in enumerate(self.ops)}
        self._parent = list(range(len(self.ops)))
        self.users: list[set[int]] = [set() for _ in self.ops]
        self.sources: list[set[int]] = [set() for _ in self.ops]
        definers = symbol_sources(block)
        last_effect: int | None = None
        for i, op in enumerate(self.ops):
            for inner in op.walk():
                for value in inner.operands:
                    if isinstance(owner := value.owner, Operation):
                        self._connect(self._position.get(owner), i)
            for definer in definers.get(op, ()):
                self._connect(self._position.get(definer), i)
            if not is_side_effect_free(op):
                self._connect(last_effect, i)
                last_effect = i

    def _connect(self, source: int | None, user: int) -> None:
        if source is not None and source != user:
            self.users[source].add(user)
            self.sources[user].add(source)

    def find(self, unit: int) -> int:
        """The unit of the op at a position; shortens paths of the union-find."""
        root = unit
        while self._parent[root] != root:
            root = self._parent[root]
        while self._parent[unit] != root:
            self._parent[unit], unit = root, self._parent[unit]
        return root

    def union(self, a: int, b: int) -> int:
        """Merge two units; returns the merged one. Edges are updated later, by `contract`."""
        a, b = sorted((self.find(a), self.find(b)))
        self._parent[b] = a
        return a

    def contract(self) -> None:
        """Recompute the edges between units after unions, without edges inside a unit."""
        users: list[set[int]] = [set() for _ in self.ops]
        sources: list[set[int]] = [set() for _ in self.ops]
        for i, after in enumerate(self.users):
            mine = self.find(i)
            users[mine].update(found for j in after if (found := self.find(j)) != mine)
        for i, after in enumerate(users):
            for j in after:
                sources[j].add(i)
        self.users, self.sources = users, sources

    def roots(self) -> list[int]:
        """The numbers of all units, ascending."""
        return [i for i in range(len(self.ops)) if self.find(i) == i]

    def order(self) -> list[int]:
        """
        The units in topological order, otherwise by their first op.

        Raises: StepwellError `cycle`, with the ops of a cycle.
        """
        units = self.roots()
        waiting = {unit: len(self.sources[unit]) for unit in units}
        ready = [unit for unit in units if not waiting[unit]]
        heapify(ready)
        found: list[int] = []
        while ready:
            unit = heappop(ready)
            found.append(unit)
            for user in self.users[unit]:
                waiting[user] -= 1
                if not waiting[user]:
                    heappush(ready, user)
        if len(found) < len(units):
            raise self._cycle({unit for unit in units if waiting[unit]})
        return found

    def members(self) -> dict[int, list[Operation]]:
        """Maps each unit to its ops, in program order."""
        found: dict[int, list[Operation]] = {}
        for i, op in enumerate(self.ops):
            found.setdefault(self.find(i), []).append(op)
        return found

    def _cycle(self, left: set[int]) -> StepwellError:
        """The error for units that depend on each other, with the ops of one cycle."""
        path = [min(left)]
        while path[-1] not in path[:-1]:  # backwards: each unit that is left depends on another of them
            path.append(min(self.sources[path[-1]] & left))
        path = path[path.index(path[-1]) :][::-1]
        members = self.members()
        names = [_described(members[unit]) for unit in path]
        several = next(members[unit] for unit in path if len(members[unit]) > 1)
        return StepwellError(
            "cycle",
            several[0],
            f"partitions would wait for each other: {' -> '.join(names)}",
            note=[f"{op.name} at {describe_location(op) or 'unknown place'}" for op in several],
            help="let them be different regions, or give the ops between the same target",
        )


def _described(ops: Iterable[Operation]) -> str:
    names = [op.name.partition(".")[2] for op in ops]
    return names[0] if len(names) == 1 else f"{{{', '.join(names)}}}"
