"""Candidates of a kernel: schedules for the ops, and facts about these ops."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from typing import Any, NamedTuple, TypeAlias, cast

from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.sched import Schedule
from stepwell.dialects.sched_attributes import is_script
from stepwell.dialects.schedule_levels import Level
from stepwell.tools.records.apply import schedules_in, tuned_lists

Schedules: TypeAlias = tuple[Schedule | None, ...]


@dataclass(frozen=True)
class Candidate:
    """
    Schedules to try: forms of ops of `linalg_ext`, and tiles of the structured ops after them.

    None leaves an op, or all of them, to the chooser.
    """

    forms: Schedules | None = None
    tiles: Schedules | None = None
    sketch: str = ""
    """The rule that made it, for reports."""
    script: str = ""
    """A script of a database in place of the schedules; a process that builds candidates reads it."""
    rewrite: str = ""
    """A script that changes the kernel before the choosers schedule it."""

    @property
    def key(self) -> object:
        """Equal for candidates of equal schedules."""
        return self.forms, self.tiles, self.script, self.rewrite

    def to_json(self) -> dict[str, object]:
        """The candidate as values of JSON."""
        rows: dict[str, object] = {"forms": _rows(self.forms), "tiles": _rows(self.tiles)}
        return rows | {"script": self.script, "rewrite": self.rewrite}


def _rows(schedules: Schedules | None) -> object:
    return None if schedules is None else [None if s is None else asdict(s) for s in schedules]


def schedules_from(rows: object) -> Schedules | None:
    """The schedules that `Candidate.to_json` wrote."""
    if rows is None:
        return None
    each = cast("Sequence[Mapping[str, Any] | None]", rows)
    return tuple(None if row is None else _schedule_from(row) for row in each)


def candidate_from(row: Mapping[str, Any]) -> Candidate:
    """The candidate that `Candidate.to_json` wrote."""
    return Candidate(schedules_from(row["forms"]), schedules_from(row["tiles"]))


def _schedule_from(row: Mapping[str, Any]) -> Schedule:
    sizes = tuple((str(name), int(size)) for name, size in row["sizes"])
    first, *inner = (
        Level(*(tuple(map(int, level[key])) for key in ("tile", "order", "parallel")))
        for level in (row, *row["inner"])
    )
    return Schedule(
        first.tile, first.order, first.parallel, row["vectorize"], row["form"], sizes,
        inner=tuple(inner), unroll=tuple(row["unroll"]),
    )  # fmt: skip


def is_shared(schedule: Schedule | None) -> bool:
    """Whether a schedule has loops over results that other ops may share."""
    return schedule is not None and any(level.parallel for level in schedule.levels())


def register_level(schedule: Schedule) -> Schedule:
    """A schedule without its blocks for caches: the loops of the register tile."""
    *_, last = schedule.levels()
    return replace(schedule, tile=last.tile, order=last.order, parallel=last.parallel, inner=())


@cache
def _context() -> StepwellContext:
    return StepwellContext()


def candidate_of(script: str) -> Candidate:
    """
    The candidate of a script, which may not be legal; or of lists of schedules, as in records of before.

    Raises: StepwellError `bad-schedule` for lists that are none.
    """
    if is_script(script):
        return Candidate(script=script)
    attr = tuned_lists(script, _context())
    forms, tiles = (
        tuple([None if s is None else s.get() for s in schedules_in(attr, kind)])
        for kind in ("forms", "tiles")
    )
    return Candidate(forms or None, tiles if "tiles" in attr.data else None)


class Access(NamedTuple):
    """An operand of a structured op: the stride of each loop in elements, the bytes of an element."""

    strides: tuple[int, ...]
    element_bytes: int
    is_result: bool
    input: int = -1
    """The number of the kernel's input that it is; -1 for another tensor."""


@dataclass(frozen=True)
class TiledOp:
    """A structured op as a search sees it."""

    extents: tuple[int, ...]
    """0 where it is open."""
    parallel: tuple[bool, ...]
    lanes: int
    """The elements of a vector register."""
    chosen: Schedule | None
    """The chooser's schedule."""
    body: int
    """The instructions of the body."""
    accesses: tuple[Access, ...] = ()
    registers: int = 16
    name: str = "linalg.generic"

    @property
    def rank(self) -> int:
        """The number of loops."""
        return len(self.extents)

    @property
    def is_anchor(self) -> bool:
        """Whether there are loops over results that other ops may share."""
        return self.chosen is not None and bool(self.chosen.parallel)

    def to_json(self) -> dict[str, object]:
        """The facts as values of JSON."""
        return asdict(self)


def tiled_op_from(row: Mapping[str, Any]) -> TiledOp:
    """The op that `TiledOp.to_json` wrote."""
    chosen = None if row["chosen"] is None else _schedule_from(row["chosen"])
    accesses = tuple(Access(tuple(strides), *others) for strides, *others in row["accesses"])
    return TiledOp(
        tuple(row["extents"]),
        tuple(row["parallel"]),
        row["lanes"],
        chosen,
        row["body"],
        accesses,
        row["registers"],
        row["name"],
    )


@dataclass(frozen=True)
class FormedOp:
    """An op that has forms: the chosen one, and the sizes of each legal form, as default, most and step."""

    chosen: Schedule
    forms: Mapping[str, Mapping[str, tuple[int, int, int, bool]]]


def formed_op_from(row: Mapping[str, Any]) -> FormedOp:
    """The op that values of JSON describe."""
    forms = {
        str(name): {str(size): tuple(values) for size, values in sizes.items()}
        for name, sizes in row["forms"].items()
    }
    return FormedOp(_schedule_from(row["chosen"]), cast(Any, forms))


@dataclass(frozen=True)
class Tried:
    """A candidate that was tried, with all decisions taken; the ratio is None for one that failed."""

    candidate: Candidate
    ratio: float | None
