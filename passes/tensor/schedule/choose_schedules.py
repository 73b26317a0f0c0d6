"""`choose-schedules`: annotate the structured ops of kernels with schedules, anchor by anchor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation

from stepwell.dialects._xdsl import target_of
from stepwell.dialects.sched import SCHEDULE, TUNED, Schedule, schedule_of
from stepwell.dialects.sched_kernel import is_kernel
from stepwell.dialects.tensor_ir.groups import fused_group
from stepwell.dialects.tensor_ir.structured import Structured
from stepwell.passes.context import remark
from stepwell.passes.tensor.schedule.choose_forms import choose_forms
from stepwell.passes.tensor.schedule.contraction import Product, schedule_product
from stepwell.passes.tensor.schedule.elementwise import schedule_by_rows, schedule_elementwise
from stepwell.passes.tensor.schedule.row import schedule_along, schedule_reduction
from stepwell.passes.tensor.schedule.tile_product import is_tile_product, schedule_after_tiles
from stepwell.passes.tensor.schedule.tuned import write_tuned
from stepwell.passes.tensor.scheduling_pass import SchedulingPass
from stepwell.runtime.log import logger
from stepwell.runtime.machine.target import TargetDescription, target_from

_log = logger(__name__)


@dataclass(frozen=True)
class ChooseSchedulesPass(SchedulingPass):
    """
    Give each structured op of a kernel a schedule, or a group whose anchor has one.

    Anchors are chosen by the work they do: sums of products first, then other reductions, then what is left.
    The choice depends on shapes and the target alone. Ops that have schedules keep them.
    Runs after `fill-borders`, `generalize-copies` and `collapse-loops`: without them copies get no schedule,
    and rows are shorter. A kernel with ops of `linalg_ext` gets forms for these alone, as by `choose-forms`:
    what else is to be scheduled exists after `expand-forms`. A kernel with `sched.tuned` gets the schedules
    there, or its own choice where they do not fit.
    """

    name = "choose-schedules"
    opt_level = 1  # sums in another order, fused multiply-adds: not every digit stays

    preserves = ("padded-tensors",)  # it writes attributes only

    mcpu: str = ""
    """The target, as `stepwell compile --mcpu` takes it; without it, the one of the compilation."""

    def apply_to_function(self, ctx: Context, func: FuncOp) -> None:
        if not is_kernel(func):
            return
        target = target_from(self.mcpu) if self.mcpu else target_of(ctx)
        if choose_forms(func, target):
            return
        views = _views(func)
        if TUNED in func.attributes:
            is_tuned = write_tuned(func, "tiles", [view.op for view in views])
            func.attributes.pop(TUNED, None)
            if is_tuned:
                return
            views = _views(func)
        blocks: dict[Block, list[Structured]] = {}
        for view in views:
            if view.op.parent is not None:
                blocks.setdefault(view.op.parent, []).append(view)
        # Ops share loops with others of their block only: those of a step of a recurrence with each other.
        for views in blocks.values():
            _Chooser(views, target).run()
        if _log.on(1):
            chosen = [(op.name, schedule) for op in func.walk() if (schedule := schedule_of(op)) is not None]
            texts = [f"{name} {list(schedule.tile)}" for name, schedule in chosen]
            _log(1, "schedules: {}", ", ".join(texts) or "none", node=func)


def _views(func: FuncOp) -> list[Structured]:
    """The structured ops of a function."""
    return [view for op in func.walk() if (view := Structured.of(op)) is not None]


class _Chooser:
    """Chooses schedules for the structured ops of one block."""

    def __init__(self, views: Sequence[Structured], target: TargetDescription):
        self._target = target
        self._views = views
        self._taken: set[Operation] = set()

    def run(self) -> None:
        """Choose for all ops, the heaviest families first."""
        for view in self._views:
            if (schedule := schedule_of(view.op)) is not None:
                self._take(view, schedule)
        self._choose(self._views, self._product)
        self._choose(self._views, self._reduction)
        # From the end, so that a chain is computed tile by tile from its last op.
        self._choose(self._views[::-1], lambda view: schedule_elementwise(view, self._target))

    def _choose(self, views: Sequence[Structured], family: Callable[[Structured], Schedule | None]) -> None:
        for view in views:
            if view.op in self._taken or (schedule := family(view)) is None:
                continue
            if not view.can_tile(schedule):
                remark(view.op, "no schedule: an index of an operand moves other than by a stride")
                continue
            view.op.attributes[SCHEDULE] = schedule.attr()
            self._take(view, schedule)

    def _take(self, anchor: Structured, schedule: Schedule) -> None:
        """Mark the ops that share an anchor's loops as scheduled; schedule loops of their own inside."""
        self._taken.add(anchor.op)
        if not schedule.parallel:
            return
        for member in fused_group(anchor, schedule.parallel):
            self._taken.add(member.op)
            if SCHEDULE in member.op.attributes:
                continue
            if is_tile_product(anchor, schedule, self._target):
                if (own := schedule_after_tiles(member, anchor)) is not None:
                    member.op.attributes[SCHEDULE] = own.attr()
                continue
            if schedule.vectorize is None:
                continue
            if schedule.vectorize in member.loop_of and anchor.parallel[schedule.vectorize]:
                own = schedule_by_rows(member, anchor, schedule, self._target)
            else:
                own = schedule_along(member, schedule.parallel, self._target)
            if own is not None:
                member.op.attributes[SCHEDULE] = own.attr()

    def _product(self, view: Structured) -> Schedule | None:
        product = Product.of(view)
        return schedule_product(product, self._target) if product is not None else None

    def _reduction(self, view: Structured) -> Schedule | None:
        return None if all(view.parallel) else schedule_reduction(view, self._target)
