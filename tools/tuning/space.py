"""The space of a kernel: schedules that differ from a known one in a decision."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import ceil, prod

from stepwell.dialects.sched import Schedule
from stepwell.dialects.schedule_levels import Level
from stepwell.dialects.tensor_ir.vector_values import MAX_ELEMENTS, MAX_STEPS
from stepwell.tools.tuning.candidate import Candidate, FormedOp, Schedules, TiledOp, is_shared, register_level
from stepwell.tools.tuning.rewrites import changes_of, prefetches_of
from stepwell.tools.tuning.sketches import sketched

_SMALL = (1, 2, 3, 4, 6, 8, 12, 16, 24, 28, 32)
_LANE_REGISTERS = (1, 2, 3, 4, 6, 8)
_UNROLLED = (1, 2, 4, 8)
_CACHE_BLOCKS = (128, 192, 256, 384, 512, 768)
"""Steps of a sum: a panel of 4 to 64 KiB."""
_MOST_SUMS = 1.5
"""A tile of sums may need so many times the registers: a bound for the search, spills are measured."""
_MOST_VECTORS = 96
"""The most registers of results in a tile without sums."""


@dataclass(frozen=True)
class Space:
    """The ops of a kernel with the chooser's schedules, and the moves from a candidate to others."""

    forms: Sequence[FormedOp]
    tiles: Sequence[TiledOp]

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to decide."""
        return not any(True for _ in self.neighbours(self.default))

    @property
    def default(self) -> Candidate:
        """The chooser's own candidate."""
        forms = tuple(op.chosen for op in self.forms) or None
        return Candidate(forms, tuple(op.chosen for op in self.tiles))

    def neighbours(self, candidate: Candidate) -> Iterator[Candidate]:
        """The candidates that differ from one in a decision."""
        if candidate.rewrite:
            return  # the choosers schedule what is changed
        yield from self._other_forms(candidate)
        tiles = candidate.tiles or ()
        if len(tiles) != len(self.tiles) or candidate.forms not in (None, self.default.forms):
            return  # other forms have other ops, which this space does not know
        yield from self._changes(candidate)
        for index, (op, schedule) in enumerate(zip(self.tiles, tiles, strict=True)):
            if schedule is None or schedule.form:
                continue
            for sketch, changed in schedules_near(op, schedule):
                yield Candidate(candidate.forms, self._with(tiles, index, changed), sketch)

    def _changes(self, candidate: Candidate) -> Iterator[Candidate]:
        """The kernel changed, which the choosers schedule; or with a candidate's schedules and a prefetch."""
        if candidate.key == self.default.key:
            for kind, script in changes_of(self.tiles):
                yield Candidate(candidate.forms, None, kind, rewrite=script)
        for kind, script in prefetches_of(self.tiles):
            yield Candidate(candidate.forms, candidate.tiles, kind, rewrite=script)

    def _with(self, tiles: Schedules, index: int, changed: Schedule) -> Schedules:
        """The schedules with one changed; those of ops in the loops of an anchor are left to the chooser."""
        is_anchor = is_shared(changed)
        return tuple(
            changed if n == index else each if not is_anchor or is_shared(each) else None
            for n, each in enumerate(tiles)
        )

    def _other_forms(self, candidate: Candidate) -> Iterator[Candidate]:
        forms = candidate.forms or ()
        for index, (op, chosen) in enumerate(zip(self.forms, forms, strict=False)):
            for changed in _forms_near(op, chosen or op.chosen):
                others = tuple(changed if n == index else each for n, each in enumerate(forms))
                yield Candidate(others, None, "form")


def _forms_near(op: FormedOp, chosen: Schedule) -> Iterator[Schedule]:
    """The forms of an op with default sizes, and the chosen one with one size changed."""
    for name, sizes in op.forms.items():
        if name != chosen.form:
            yield Schedule(form=name, sizes=tuple((size, values[0]) for size, values in sizes.items()))
    legal = op.forms.get(chosen.form, {})
    for name, size in chosen.sizes:
        if name not in legal:
            continue
        _, most, step, is_power = legal[name]
        numbers = {2 * size, size // 2} if is_power else {2 * size, size // 2, size + step, size - step, most}
        for number in sorted(numbers - {size}):
            if step <= number <= most and number % step == 0:
                changed = tuple((n, number if n == name else s) for n, s in chosen.sizes)
                yield Schedule(form=chosen.form, sizes=changed)


def schedules_near(op: TiledOp, schedule: Schedule) -> tuple[tuple[str, Schedule], ...]:
    """
    The schedules of an op that differ in a decision, with its kind: order, tile, lanes, cache; and those of
    the rules of users.
    """
    return (*_own_near(op, schedule), *sketched(op, schedule))


@lru_cache(maxsize=4096)
def _own_near(op: TiledOp, schedule: Schedule) -> tuple[tuple[str, Schedule], ...]:
    return tuple(_schedules_near(op, schedule))


def _schedules_near(op: TiledOp, schedule: Schedule) -> Iterator[tuple[str, Schedule]]:
    if len(schedule.inner) > 1 or (schedule.inner and len(schedule.loops()) > 1):
        return  # blocks as no move makes them: from a database
    own, block = register_level(schedule), _block_of(schedule)
    for kind, changed in _tiles_near(op, own):
        if (found := in_blocks(changed, block)) is not None:
            yield kind, found
    for other in _blocks(op, own):
        if other != block and (found := in_blocks(own, other)) is not None:
            yield "cache", found


def _block_of(schedule: Schedule) -> tuple[int, int] | None:
    """The loop and the step of the blocks of a sum around a tile; None without blocks."""
    if not schedule.inner:
        return None
    loop = schedule.loops()[0]
    return loop, schedule.tile[loop]


def _blocks(op: TiledOp, schedule: Schedule) -> Iterator[tuple[int, int] | None]:
    """The blocks of the longest sum: none, or such that panels and results stay in a cache."""
    yield None
    sums = [
        d for d in schedule.loops() if not op.parallel[d] and schedule.tile[d] and d != schedule.vectorize
    ]
    if is_shared(schedule) and sums:
        loop = max(sums, key=lambda d: op.extents[d])
        yield from ((loop, size) for size in _CACHE_BLOCKS if size < op.extents[loop])


def in_blocks(schedule: Schedule, block: tuple[int, int] | None) -> Schedule | None:
    """A schedule of one level inside blocks of a sum; None if its tile does not fit into such a block."""
    if block is None:
        return schedule
    loop, size = block
    if not 0 < schedule.tile[loop] <= size or not is_shared(schedule):
        return None
    outer = Level(tuple(size if d == loop else 0 for d in range(len(schedule.tile))))
    own = Level(schedule.tile, schedule.order, schedule.parallel)
    return Schedule.of_levels((outer, own), schedule.vectorize)


def _tiles_near(op: TiledOp, schedule: Schedule) -> Iterator[tuple[str, Schedule]]:
    for changed in _orders(schedule):
        yield "order", changed
    for loop in range(op.rank):
        for step in steps_of(op, schedule, loop):
            changed = with_step(op, schedule, loop, step)
            if changed is not None and is_small(op, changed):
                yield "lanes" if loop == schedule.vectorize else "tile", changed


def _orders(schedule: Schedule) -> Iterator[Schedule]:
    """The orders in which two adjacent loops have changed places: both parallel, or neither."""
    loops, shared = list(schedule.loops()), set(schedule.parallel)
    for at in range(len(loops) - 1):
        a, b = loops[at : at + 2]
        if (a in shared) == (b in shared):
            order = (*loops[:at], b, a, *loops[at + 2 :])
            yield _ordered(schedule.tile, order, shared, schedule.vectorize)


def _ordered(tile: Sequence[int], order: Sequence[int], shared: set[int], lanes: int | None) -> Schedule:
    parallel = tuple(loop for loop in order if loop in shared)
    rest = tuple(loop for loop in order if loop not in shared)
    return Schedule(tuple(tile), (*parallel, *rest), parallel, lanes)


def steps_of(op: TiledOp, schedule: Schedule, loop: int) -> Sequence[int]:
    """The steps to try for a loop; 0 for its whole extent."""
    extent, now = op.extents[loop], schedule.tile[loop]
    if extent == 1:
        return ()
    near = {2 * now, now // 2}
    if loop == schedule.vectorize:
        steps = {op.lanes * n for n in _LANE_REGISTERS} | {op.lanes // 2}
        near |= {now - op.lanes, now + op.lanes}
    elif op.parallel[loop]:
        steps = {*_SMALL}
        near |= {now - 1, now + 1}
    else:
        steps = {*_UNROLLED}
    if now:
        steps |= near
    legal = {0 if extent and step >= extent else step for step in steps if step > 0}
    if extent and extent <= MAX_ELEMENTS:
        legal.add(0)
    return sorted(legal - {now})


def with_step(op: TiledOp, schedule: Schedule, loop: int, step: int) -> Schedule | None:
    """The schedule with another step of a loop, which joins the order or leaves it."""
    tile = [step if d == loop else t for d, t in enumerate(schedule.tile)]
    shared, order = set(schedule.parallel), [d for d in schedule.loops() if tile[d]]
    shared &= set(order)
    if step and loop not in order:
        # An op without shared loops is in those of another one: the loop is its own.
        if op.parallel[loop] and schedule.parallel:
            order.insert(len(shared), loop)
            shared.add(loop)
        else:
            order.append(loop)
    if schedule.parallel and not shared:
        return None
    return _ordered(tile, order, shared, schedule.vectorize)


def is_small(op: TiledOp, schedule: Schedule) -> bool:
    """Whether the tile of a schedule may fit the registers."""
    sizes = [
        step or extent or MAX_ELEMENTS + 1 for step, extent in zip(schedule.tile, op.extents, strict=True)
    ]
    results = [d for d, each in enumerate(op.parallel) if each]
    elements = prod(sizes[d] for d in results)
    unrolled = prod(sizes[d] for d, each in enumerate(op.parallel) if not each and d != schedule.vectorize)
    if schedule.vectorize is None:
        return True
    if elements > MAX_ELEMENTS or unrolled > MAX_STEPS:
        return False
    vectors = prod(ceil(sizes[d] / op.lanes) if d == schedule.vectorize else sizes[d] for d in results)
    has_sum = not all(op.parallel)
    return vectors <= (_MOST_SUMS * op.registers if has_sum else _MOST_VECTORS)
