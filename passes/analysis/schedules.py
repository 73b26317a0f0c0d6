"""Analyses of level 2: the schedules of structured ops, and the groups of ops that are tiled together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from stepwell.dialects.sched import SCHEDULE, Schedule, schedule_of
from stepwell.dialects.tensor_ir.groups import Member, fused_group
from stepwell.dialects.tensor_ir.structured import Structured
from stepwell.passes.base import functions_of
from stepwell.runtime.errors import describe_location


@dataclass(frozen=True)
class Schedules:
    """The structured ops of each function with their schedules, in order; None for an op that has none."""

    name: ClassVar[str] = "schedules"

    of_function: Mapping[FuncOp, Sequence[tuple[Structured, Schedule | None]]]

    @classmethod
    def of(cls, op: Operation) -> Schedules:
        """The schedules of a module, or of a function."""
        return cls({f: [(view, schedule_of(view.op)) for view in _views(f)] for f in _functions(op)})

    def __str__(self) -> str:
        return "".join(self._lines())

    def _lines(self) -> Iterator[str]:
        for function, ops in self.of_function.items():
            yield f"@{function.sym_name.data}\n"
            for view, schedule in ops:
                said = "no schedule" if schedule is None else str(schedule.attr())
                yield f"  {_title(view)}: loops {_loops(view)}; {said}\n"


@dataclass(frozen=True)
class TileMaps:
    """The groups of each function: ops that are computed tile by tile in the parallel loops of an anchor."""

    name: ClassVar[str] = "tile-maps"

    of_function: Mapping[FuncOp, Sequence[tuple[Structured, Sequence[Member]]]]

    @classmethod
    def of(cls, op: Operation) -> TileMaps:
        """The groups of a module, or of a function, with the anchors that `tile-and-fuse` would find."""
        return cls({function: list(_groups(function)) for function in _functions(op)})

    def __str__(self) -> str:
        return "".join(self._lines())

    def _lines(self) -> Iterator[str]:
        for function, groups in self.of_function.items():
            yield f"@{function.sym_name.data}\n"
            for anchor, members in groups:
                yield f"  anchor {_title(anchor)}: loops {_loops(anchor)}; {anchor.op.attributes[SCHEDULE]}\n"
                for member in members:
                    if member.op is not anchor.op:
                        loops = ("its own" if loop is None else str(loop) for loop in member.loop_of)
                        yield f"    {_title(member.view)}: loops {', '.join(loops)} of the anchor\n"


def _functions(op: Operation) -> Sequence[FuncOp]:
    if isinstance(op, FuncOp):
        return [op]
    return functions_of(op) if isinstance(op, ModuleOp) else []


def _views(function: FuncOp) -> Iterator[Structured]:
    return (view for op in function.walk() if (view := Structured.of(op)) is not None)


def _groups(function: FuncOp) -> Iterator[tuple[Structured, Sequence[Member]]]:
    tiled: set[Operation] = set()
    for view in _views(function):
        schedule = schedule_of(view.op)
        if schedule is not None and schedule.parallel and view.op not in tiled:
            members = fused_group(view, [d for d in schedule.loops() if d in schedule.parallel])
            tiled.update(member.op for member in members)
            yield view, members


def _title(view: Structured) -> str:
    return f"{view.op.name} at {describe_location(view.op) or 'an unknown location'}"


def _loops(view: Structured) -> str:
    """The extents of the loops of an op: `4, ?, sum 16`."""
    pairs = zip(view.extents, view.parallel, strict=True)
    return ", ".join(f"{'' if each else 'sum '}{'?' if n is None else n}" for n, each in pairs)
