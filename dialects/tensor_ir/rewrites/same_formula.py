"""Comparison of structured ops: the loops and operands of a tile paired with those of a formula."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import permutations

from xdsl.dialects import arith
from xdsl.dialects.linalg import ops as linalg
from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue

from stepwell.dialects.tensor_ir.structured import Linear, Structured, linear, tensor_shape

_COMMUTATIVE = (
    arith.AddfOp, arith.MulfOp, arith.AddiOp, arith.MuliOp, arith.AndIOp, arith.OrIOp, arith.XOrIOp,
    arith.MaxSIOp, arith.MinSIOp, arith.MaxUIOp, arith.MinUIOp, arith.MaximumfOp, arith.MinimumfOp,
)  # fmt: skip
MOST_STEPS = 1 << 14
"""The pairs of values that are compared at most; a body of sums can be paired in exponentially many ways."""

Pairs = Mapping[BlockArgument, BlockArgument]
"""Maps arguments of a body to those of another one."""


@dataclass(frozen=True)
class Difference:
    """The first thing in which a tile is not a formula; the further the comparison came, the better."""

    progress: int
    message: str
    depth: int = 0
    """The ops of the bodies that agree on the way to it."""


@dataclass(frozen=True)
class Paired:
    """A tile that is a formula."""

    operands: tuple[int, ...]
    """For each operand of the formula the position of the tile's operand."""


@dataclass
class Comparison:
    """
    A tile of an op, beside the op of a formula.

    Args: `sizes` are those of the tile, for each loop; `names` are the loops' and `label` the formula's;
    `accesses` are the operands of both as text, those of the tile first.
    """

    tile: Structured
    sizes: Sequence[int]
    formula: Structured
    names: Sequence[str]
    label: str
    accesses: tuple[Sequence[str], Sequence[str]]
    _found: list[Difference] = field(default_factory=list[Difference])
    _steps: int = 0

    def paired(self) -> Paired | Difference:
        """The pairing of operands, or the difference that is worth telling."""
        if (difference := self._of_loops()) is not None:
            return difference
        for loops in self._pairs_of_loops():
            for arguments in self._same_bodies():
                positions = self._positions(arguments)
                if positions is not None and self._has_same_maps(loops, positions):
                    return Paired(positions)
        return max(self._found, key=lambda each: (each.progress, each.depth))

    def _moving(self, view: Structured, sizes: Sequence[int | None]) -> list[int]:
        """The loops of more than one iteration, those of sums last."""
        return sorted((d for d in range(view.rank) if sizes[d] != 1), key=lambda d: not view.parallel[d])

    def _of_loops(self) -> Difference | None:
        """The difference of numbers and extents of loops."""
        own, theirs = self._moving(self.tile, self.sizes), self._moving(self.formula, self.formula.extents)
        kinds = [self.tile.parallel[d] for d in own], [self.formula.parallel[d] for d in theirs]
        if kinds[0] != kinds[1]:
            text = [self._loop(self.names[d], self.sizes[d], self.tile.parallel[d]) for d in own]
            wanted = [
                self._loop("one", self.formula.extents[d] or 0, self.formula.parallel[d]) for d in theirs
            ]
            found = ", ".join(text) or "no loop of more than one iteration"
            return Difference(0, f"the tile has {found}; {self.label} has {', '.join(wanted) or 'none'}")
        if not any(True for _ in self._pairs_of_loops()):
            at = next(n for n in range(len(own)) if self.sizes[own[n]] != self.formula.extents[theirs[n]])
            loop, extent = own[at], self.formula.extents[theirs[at]]
            verb = "computes" if kinds[0][at] else "sums"
            return Difference(
                1, f"loop {self.names[loop]} is {self.sizes[loop]} long, {self.label} {verb} {extent}"
            )
        return None

    @staticmethod
    def _loop(name: str, extent: int, is_parallel: bool) -> str:
        return f"{name} of {extent}{'' if is_parallel else ', summed'}"

    def _pairs_of_loops(self) -> Iterator[dict[int, int]]:
        """The ways to pair loops of the formula with loops of the tile that have the same kind and extent."""
        own, theirs = self._moving(self.tile, self.sizes), self._moving(self.formula, self.formula.extents)
        for order in permutations(own):
            pairs = list(zip(theirs, order, strict=True))
            if all(
                self.formula.extents[f] == self.sizes[t] and self.formula.parallel[f] == self.tile.parallel[t]
                for f, t in pairs
            ):
                yield dict(pairs)

    def _same_bodies(self) -> Iterator[Pairs]:
        """The ways to pair arguments of the bodies in which both compute the same."""
        bodies = self.formula.body.last_op, self.tile.body.last_op
        assert bodies[0] is not None and bodies[1] is not None
        yield from self._all_same(bodies[0].operands, bodies[1].operands, {}, 0)

    def _all_same(
        self, theirs: Sequence[SSAValue], own: Sequence[SSAValue], pairs: Pairs, depth: int
    ) -> Iterator[Pairs]:
        if len(theirs) != len(own):
            self._differ(2, f"the stage computes {len(own)} tensors, {self.label} {len(theirs)}")
        elif not theirs:
            yield pairs
        else:
            for found in self._same(theirs[0], own[0], pairs, depth):
                yield from self._all_same(theirs[1:], own[1:], found, depth + 1)

    def _same(self, theirs: SSAValue, own: SSAValue, pairs: Pairs, depth: int) -> Iterator[Pairs]:
        self._steps += 1
        if self._steps > MOST_STEPS:
            self._differ(2, f"the body has too many orders of operands to compare it with {self.label}")
            return
        if isinstance(theirs, BlockArgument):
            is_argument = isinstance(own, BlockArgument) and own.block is self.tile.body
            if not is_argument or theirs.type != own.type:
                self._differ(
                    2, f"the body has {_described(own)} where {self.label} has {_described(theirs)}", depth
                )
            elif theirs in pairs or own in pairs.values():
                if pairs.get(theirs) is own:
                    yield pairs
                else:
                    self._differ(3, f"the body uses other operands twice than {self.label}")
            else:
                assert isinstance(own, BlockArgument)
                yield {**pairs, theirs: own}
            return
        assert isinstance(theirs, OpResult)
        if not isinstance(own, OpResult) or not _is_same_op(theirs.op, own.op):
            is_near = isinstance(own, OpResult) and own.op.name == theirs.op.name
            self._differ(
                2 + is_near,
                f"the body has {_described(own)} where {self.label} has {_described(theirs)}",
                depth,
            )
            return
        yield from self._all_same(theirs.op.operands, own.op.operands, pairs, depth + 1)
        if isinstance(theirs.op, _COMMUTATIVE) and len(own.op.operands) == 2:
            yield from self._all_same(theirs.op.operands, own.op.operands[::-1], pairs, depth + 1)

    def _positions(self, pairs: Pairs) -> tuple[int, ...] | None:
        """For each operand of the formula the tile's; None where an input is an init of the other op."""
        count, own_count = len(self.formula.inputs), len(self.tile.inputs)
        found: list[int] = []
        for argument in self.formula.body.args:
            at, own = argument.index, pairs.get(argument)
            position = own.index if own is not None else own_count + at - count
            if (at < count) != (position < own_count) or (at >= count and position - own_count != at - count):
                self._differ(4, f"the body starts from an operand that {self.label} only reads")
                return None
            found.append(position)
        return tuple(found)

    def _has_same_maps(self, loops: Mapping[int, int], positions: Sequence[int]) -> bool:
        """Whether operands of a pair are indexed alike; the types of elements are those of the bodies."""
        for at, position in enumerate(positions):
            value, own = self.formula.op.operands[at], self.tile.op.operands[position]
            indices = self._indices(self.formula, at, self.formula.extents)
            theirs = [_renamed(index, loops) for index in indices]
            ours = self._indices(self.tile, position, self.sizes)
            if None in ours or theirs != ours or (tensor_shape(value) and not tensor_shape(own)):
                names = self.accesses[0][position], self.accesses[1][at]
                self._differ(5, f"the tile has {names[0]} where {self.label} has {names[1]}")
                return False
        return True

    def _indices(
        self, view: Structured, position: int, sizes: Sequence[int | None]
    ) -> list[tuple[tuple[int, int], ...] | None]:
        """
        The indices of an operand that move in a tile, as (loop, factor) pairs; None: no sum of loops.

        A single loop has factor 1: its elements are a strided slice.
        """
        found: list[tuple[tuple[int, int], ...] | None] = []
        for expr in view.maps[position].results:
            index: Linear | None = linear(expr)
            if index is None:
                found.append(None)
                continue
            terms = tuple((d, c) for d, c in index.terms if sizes[d] != 1)
            if terms:
                found.append(((terms[0][0], 1),) if len(terms) == 1 else terms)
        return found

    def _differ(self, progress: int, message: str, depth: int = 0) -> None:
        self._found.append(Difference(progress, message, depth))


def _renamed(
    index: tuple[tuple[int, int], ...] | None, loops: Mapping[int, int]
) -> tuple[tuple[int, int], ...] | None:
    return None if index is None else tuple(sorted((loops[d], c) for d, c in index))


def _described(value: SSAValue) -> str:
    if not isinstance(value, OpResult):
        return f"an operand of {value.type}"
    if isinstance(value.op, arith.ConstantOp):
        return f"the number {value.op.value}"
    return f"{value.op.name} of {value.type}"


def _is_same_op(a: Operation, b: Operation) -> bool:
    """Whether ops without regions compute the same of the same operands."""
    if a.regions or b.regions or isinstance(a, linalg.IndexOp):
        return False
    same = a.name == b.name and list(a.result_types) == list(b.result_types)
    drop = {"fastmath"}
    left, right = ({k: v for k, v in op.properties.items() if k not in drop} for op in (a, b))
    return same and left == right
