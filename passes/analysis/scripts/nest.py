"""The loop nest of a stage, and the decisions about its loops; each is refused with a reason, or legal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from math import ceil, prod

from stepwell.dialects.schedule_levels import MOST
from stepwell.dialects.schedule_script import OPEN
from stepwell.dialects.schedule_script.primitives import MOST_COPIES, MOST_LOOPS
from stepwell.dialects.tensor_ir.combiners import combiner_of
from stepwell.dialects.tensor_ir.structured import Structured
from stepwell.dialects.tensor_ir.vector_values import MAX_ELEMENTS
from stepwell.passes.analysis.scripts.formula import Formula, listed


class IllegalStepError(Exception):
    """A refusal of a primitive: the reason in terms of the user's loops and tensors, and the next step."""

    def __init__(self, reason: str, help: str | None = None, loop: Loop | None = None):
        super().__init__(reason)
        self.reason, self.help, self.loop = reason, help, loop


class Kind(Enum):
    """The way in which a loop runs."""

    SERIAL = "serial"
    PARALLEL = "parallel"
    VECTOR = "vectorized"
    UNROLLED = "unrolled"
    INSIDE = "left inside"


@dataclass(frozen=True)
class Loop:
    """A loop of a nest: one of the op's, or a part of one."""

    name: str
    dim: int
    """The position of the op's loop."""
    step: int
    """The iterations of the op's loop that an iteration of this one covers."""
    extent: int | None
    """The number of its iterations, the last of which may be narrower; None: known at run time."""
    is_last: bool = True
    """Whether it is the innermost part of the op's loop."""


@dataclass(frozen=True)
class Nest:
    """The loops of a structured op, outer to inner, with the decisions about each."""

    view: Structured
    formula: Formula
    loops: tuple[Loop, ...]
    kinds: Mapping[Loop, Kind] = field(default_factory=dict[Loop, Kind])
    """The loops that do not run one step after the other."""
    became: Mapping[Loop, tuple[Loop, ...]] = field(default_factory=dict[Loop, tuple[Loop, ...]])
    """The parts of loops that were split."""

    @staticmethod
    def of(view: Structured, formula: Formula) -> Nest:
        """The nest of an op before any decision: loops as the formula lists them, each a step at a time."""
        order = sorted(range(view.rank), key=lambda d: not view.parallel[d])
        return Nest(view, formula, tuple(Loop(formula.loops[d], d, 1, view.extents[d]) for d in order))

    def kind(self, loop: Loop) -> Kind:
        """The way in which a loop runs."""
        return self.kinds.get(loop, Kind.SERIAL)

    def is_body(self, loop: Loop) -> bool:
        """Whether a loop is part of the body of a tile, inside of the loops that are built."""
        return self._is_inside(loop) and loop.is_last

    def _is_inside(self, loop: Loop) -> bool:
        """Whether no loop that runs step by step can be inside of a loop."""
        return self.kind(loop) not in (Kind.SERIAL, Kind.PARALLEL)

    def split(self, loop: Loop, factors: Sequence[int]) -> tuple[Nest, tuple[Loop, ...]]:
        """The nest with parts in place of a loop, and these. Raises: IllegalStepError."""
        self._expect_undecided(loop)
        self._expect_slices(loop)
        if wrong := [n for n in factors[1:] if n <= 0] or [n for n in factors[:1] if n <= 0 and n != OPEN]:
            found = "?" if wrong[0] == OPEN else wrong[0]
            raise IllegalStepError(
                f"factors are positive, and the first may be `?`; found {found}", "write [?, N]"
            )
        inner = [prod(factors[i + 1 :]) for i in range(len(factors))]
        if len(factors) < 2 or inner[0] * loop.step >= MOST:
            found = f"{inner[0] * loop.step}" if len(factors) > 1 else f"{len(factors)} factors"
            raise IllegalStepError(f"a tile has less than 2^31 iterations and an outer loop, found {found}")
        self._expect_cover(loop, factors[0], inner[0])
        self._expect_room(loop, inner[0])
        if len(self.loops) + len(factors) - 1 > MOST_LOOPS:
            raise IllegalStepError(f"a stage has at most {MOST_LOOPS} loops")
        count = len(factors)
        parts = tuple(
            Loop(f"{loop.name}.{i}", loop.dim, loop.step * step, extent, loop.is_last and i == count - 1)
            for i, (step, extent) in enumerate(zip(inner, _extents(loop, factors, inner[0]), strict=True))
        )
        at = self.loops.index(loop)
        loops = (*self.loops[:at], *parts, *self.loops[at + 1 :])
        return replace(self, loops=loops, became={**self.became, loop: parts}), parts

    def _expect_room(self, loop: Loop, tile: int) -> None:
        """Require that the steps of the loops of a dimension do not grow inwards when a loop gets a tile."""
        for outer in self.loops[: self.loops.index(loop)]:
            if outer.dim == loop.dim and outer.step < loop.step * tile:
                raise IllegalStepError(
                    f"loop {loop.name} has {outer.step // loop.step} iterations in one step of {outer.name}, "
                    f"which a tile of {tile} exceeds"
                )

    def reorder(self, loops: Sequence[Loop]) -> Nest:
        """The nest with loops in this order, at the places that they have. Raises: IllegalStepError."""
        for loop in loops:
            self.expect_present(loop)
        if len(set(loops)) < len(loops):
            raise IllegalStepError(f"each loop is named once, found {listed(loop.name for loop in loops)}")
        places = sorted(self.loops.index(loop) for loop in loops)
        order = list(self.loops)
        for place, loop in zip(places, loops, strict=True):
            order[place] = loop
        result = replace(self, loops=tuple(order))
        for outer, inner in _pairs(order):
            if outer.dim == inner.dim and outer.step < inner.step:
                raise IllegalStepError(
                    f"loop {outer.name} runs inside of one step of {inner.name}, and cannot contain it"
                )
        result._expect_kinds()
        return result

    def parallel(self, loop: Loop) -> Nest:
        """The nest with iterations that run at the same time. Raises: IllegalStepError."""
        self._expect_undecided(loop)
        self._expect_slices(loop)
        parallel = [other for other, kind in self.kinds.items() if kind is Kind.PARALLEL]
        if taken := [other.name for other in parallel if other.dim == loop.dim]:
            raise IllegalStepError(
                f"loops {loop.name} and {taken[0]} are parts of one, which is parallel already"
            )
        if not self.view.parallel[loop.dim]:
            others = [f"{o.name} ({o.extent or 'open'})" for o in self._independent()]
            raise IllegalStepError(
                f"loop {loop.name} of {self.formula.stage} is summed over: all its iterations write "
                f"{self.formula.result}",
                self._instead(loop, others),
            )
        return self._decided(loop, Kind.PARALLEL)

    def vectorize(self, loop: Loop) -> Nest:
        """The nest with a loop whose iterations are lanes. Raises: IllegalStepError."""
        self._expect_undecided(loop, Kind.INSIDE)
        self._expect_last(loop)
        if taken := [other for other, kind in self.kinds.items() if kind is Kind.VECTOR]:
            raise IllegalStepError(f"loop {taken[0].name} has the lanes already")
        if not self.view.parallel[loop.dim]:
            if combiner_of(self.view.body) is None or len(self.view.inits) != 1:
                raise IllegalStepError(
                    f"nothing combines the lanes of loop {loop.name}, which is summed over"
                )
            if loop.extent is not None and loop.extent > MAX_ELEMENTS:
                raise IllegalStepError(
                    f"loop {loop.name}, a sum, has at most {MAX_ELEMENTS} lanes, found {loop.extent}",
                    f"split it first: [?, {MAX_ELEMENTS}] or less",
                )
        return self._decided(loop, Kind.VECTOR)

    def unroll(self, loop: Loop, limit: int = MOST_COPIES) -> Nest:
        """The nest with a loop that is written out. Raises: IllegalStepError."""
        self._expect_undecided(loop, Kind.INSIDE)
        written = [other.extent for other, kind in self.kinds.items() if kind is Kind.UNROLLED]
        if loop.extent is None:
            raise IllegalStepError(f"the extent of loop {loop.name} is known at run time", "split it first")
        copies = prod(n for n in written if n is not None) * loop.extent
        if copies > limit:
            raise IllegalStepError(
                f"loop {loop.name} has {loop.extent} iterations: {copies} copies, at most {limit}",
                f"split it first, or write `limit {copies}`",
            )
        return self._decided(loop, Kind.UNROLLED)

    def inside(self, loop: Loop) -> Nest:
        """The nest with a loop that is left to the body of a tile. Raises: IllegalStepError."""
        self._expect_undecided(loop)
        self._expect_last(loop)
        return self._decided(loop, Kind.INSIDE)

    def expect_whole(self) -> None:
        """Require what the body contains to be inside of all other loops. Raises: IllegalStepError."""
        for outer, inner in _pairs(self.loops):
            stays = not (self.is_body(inner) if self.is_body(outer) else self._is_inside(inner))
            if self._is_inside(outer) and stays:
                raise self._stays(outer, inner)

    def bind(self, loop: Loop, axis: str) -> Nest:
        """No nest of a CPU has axes of grids. Raises: IllegalStepError."""
        self.expect_present(loop)
        raise IllegalStepError(
            f"a CPU has no {axis}: loops are bound to blocks and threads of devices, by choose-gpu-schedules",
            f"threads share loop {loop.name} by parallel({loop.name})",
        )

    def _independent(self) -> list[Loop]:
        """The loops that can run in parallel."""
        return [o for o in self.loops if self.view.parallel[o.dim] and self.kind(o) is Kind.SERIAL]

    def _instead(self, loop: Loop, others: Sequence[str]) -> str | None:
        """The next steps where a summed loop cannot run in parallel."""
        can_combine = combiner_of(self.view.body) is not None and len(self.view.inits) == 1
        steps = [f"rfactor {loop.name} first"] if can_combine else []
        steps += [f"run {listed(others, 'or')} in parallel"] if others else []
        return ", or ".join(steps) or None

    def _decided(self, loop: Loop, kind: Kind) -> Nest:
        result = replace(self, kinds={**self.kinds, loop: kind})
        result._expect_kinds()
        return result

    def expect_present(self, loop: Loop) -> None:
        """Require a loop that was not split. Raises: IllegalStepError."""
        if loop in self.became:
            names = listed(part.name for part in self.became[loop])
            raise IllegalStepError(f"loop {loop.name} was split: it is {names} now")

    def _expect_undecided(self, loop: Loop, allowed: Kind = Kind.SERIAL) -> None:
        """Require a loop that runs step by step, or in the allowed way. Raises: IllegalStepError."""
        self.expect_present(loop)
        if (kind := self.kind(loop)) not in (Kind.SERIAL, allowed):
            raise IllegalStepError(f"loop {loop.name} is {kind.value} already")

    def _expect_last(self, loop: Loop) -> None:
        if not loop.is_last:
            finer = [o for o in self.loops if o.dim == loop.dim and o != loop and o.step <= loop.step]
            raise IllegalStepError(
                f"each iteration of loop {loop.name} has iterations of {listed(o.name for o in finer)}",
                f"take {finer[-1].name}, the innermost part",
            )

    def _expect_slices(self, loop: Loop) -> None:
        """Require a loop to move indices of operands by a stride."""
        if moved := self.formula.unsliced(loop.dim):
            raise IllegalStepError(
                f"loop {loop.name} moves an index of {moved} other than by a stride",
                f"leave it to the body: inside({loop.name})",
            )

    @staticmethod
    def _expect_cover(loop: Loop, outer: int, inner: int) -> None:
        if outer == OPEN:
            return
        if loop.extent is None or ceil(loop.extent / inner) != outer:
            found = "an extent known at run time" if loop.extent is None else f"{loop.extent} iterations"
            raise IllegalStepError(
                f"the factors make {outer * inner} iterations, loop {loop.name} has {found}",
                "write `?` for the first factor",
            )

    def _expect_kinds(self) -> None:
        """Require parallel loops to be together, and nothing inside of the body that must stay a loop."""
        at = [i for i, loop in enumerate(self.loops) if self.kind(loop) is Kind.PARALLEL]
        if between := [i for i in range(at[0], at[-1]) if i not in at] if at else []:
            name, first, last = (self.loops[i].name for i in (between[0], at[0], at[-1]))
            raise IllegalStepError(
                f"loop {name} is between loops {first} and {last}: parallel loops are next to each other",
                f"reorder {last}, {name}",
            )
        for outer, inner in _pairs(self.loops):
            is_fixed = self.kind(inner) is Kind.PARALLEL or (self.is_body(outer) and not inner.is_last)
            if self._is_inside(outer) and is_fixed:
                raise self._stays(outer, inner)

    def _stays(self, outer: Loop, inner: Loop) -> IllegalStepError:
        return IllegalStepError(
            f"loop {inner.name} is inside of loop {outer.name}, which is {self.kind(outer).value}, "
            "and stays a loop",
            f"reorder {inner.name}, {outer.name}",
            outer,
        )


def _pairs(loops: Sequence[Loop]) -> list[tuple[Loop, Loop]]:
    """Each loop with each one inside of it."""
    return [(outer, inner) for at, outer in enumerate(loops) for inner in loops[at + 1 :]]


def _extents(loop: Loop, factors: Sequence[int], inner: int) -> list[int | None]:
    outer = None if loop.extent is None else ceil(loop.extent / inner)
    return [outer, *factors[1:]]
