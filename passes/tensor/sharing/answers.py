"""The answers of `choose-schedules` for kernels, by which they are compared."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property

from xdsl.context import Context
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute

from stepwell.dialects.sched import SCHEDULE, ScheduleAttr
from stepwell.dialects.tensor_ir.structured import Structured
from stepwell.passes.context import PassContext
from stepwell.passes.elsewhere import run_on_copies
from stepwell.passes.pipelines import schedule_steps, text_of

_UNTIL_SCHEDULED = text_of(schedule_steps(until="choose-schedules"))


@dataclass(frozen=True)
class Answer:
    """A copy of a kernel just before it is tiled: its structured ops, with their schedules."""

    kernel: FuncOp

    @cached_property
    def views(self) -> list[Structured]:
        """The structured ops, in order."""
        found = (Structured.of(op) for op in self.kernel.body.walk())
        return [view for view in found if view is not None]

    @property
    def loops(self) -> Hashable:
        """The loops of all ops, without extents."""
        return tuple((view.op.name, view.maps, view.parallel) for view in self.views)

    @property
    def schedules(self) -> tuple[Attribute | None, ...]:
        """The schedules of the ops; None for one without."""
        return tuple(view.op.attributes.get(SCHEDULE) for view in self.views)

    @property
    def key(self) -> Hashable:
        """The loops and schedules, and which loops end in a smaller tile: equal for kernels to join."""
        cuts = [
            extent is None or extent % step != 0
            for view, schedule in zip(self.views, self.schedules, strict=True)
            if isinstance(schedule, ScheduleAttr)
            for extent, step in zip(view.extents, schedule.get().tile, strict=True)
            if step > 1
        ]
        return self.loops, self.schedules, tuple(cuts)

    def open_tiles(self, schedules: Sequence[Attribute | None]) -> list[tuple[int, int, int]]:
        """The open loops in tiles of other steps than 1, as op, loop and step, if ops have some schedules."""
        return [
            (number, loop, step)
            for number, (view, schedule) in enumerate(zip(self.views, schedules, strict=True))
            if isinstance(schedule, ScheduleAttr)
            for loop, (extent, step) in enumerate(zip(view.extents, schedule.get().tile, strict=True))
            if extent is None and step != 1
        ]

    def is_whole(self, number: int, loop: int, step: int) -> bool:
        """Whether a loop over results of an op is cut in tiles without a rest."""
        view = self.views[number]
        extent = view.extents[loop]
        return view.parallel[loop] and step > 1 and extent is not None and extent % step == 0

    def erase(self) -> None:
        """Free the copy: those of densenet121 are 170 kernels."""
        self.kernel.detach()
        self.kernel.erase()

    def adopt(self, schedules: Sequence[Attribute | None]) -> None:
        """Give the ops the schedules of another kernel with equal loops."""
        for view, schedule in zip(self.views, schedules, strict=True):
            view.op.attributes.pop(SCHEDULE, None)
            if schedule is not None:
                view.op.attributes[SCHEDULE] = schedule


def answers(kernels: Sequence[FuncOp], ctx: Context) -> list[Answer]:
    """The answers for copies of kernels; no instrument watches these, and their remarks are dropped."""
    unwatched = PassContext.current().with_own_remarks()
    unwatched.instruments, unwatched.reproducers = [], False
    with unwatched.active():
        return [Answer(copy) for copy in run_on_copies(kernels, _UNTIL_SCHEDULED, ctx)]
