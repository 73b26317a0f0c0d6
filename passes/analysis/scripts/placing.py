"""Stages during a replay, and their places: in the loops of another stage, in its own, or in its readers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.ir import Operation, SSAValue

from stepwell.dialects.linalg_ext import FormsOp
from stepwell.dialects.sched import Schedule, schedule_of
from stepwell.dialects.schedule_script import (
    INLINE,
    ROOT,
    ComputeAtOp,
    ComputeInlineOp,
    ComputeRootOp,
    SamplePlaceOp,
)
from stepwell.dialects.tensor_ir.gaps import has_gaps
from stepwell.dialects.tensor_ir.groups import fused_group
from stepwell.dialects.tensor_ir.structured import Structured
from stepwell.passes.analysis.scripts.nest import Loop, Nest
from stepwell.passes.analysis.scripts.stages import refused
from stepwell.passes.context import remark

PlacingOp: TypeAlias = ComputeAtOp | ComputeRootOp | SamplePlaceOp
Stages: TypeAlias = "Mapping[SSAValue, Stage]"


@dataclass
class Stage:
    """A stage of a script during replay: the op, and the decisions so far."""

    name: str
    op: Operation
    nest: Nest | None = None
    schedule: Schedule | None = None
    """That of an op of `linalg_ext`."""
    placed: Placed | None = None
    is_named: bool = False
    """Whether another stage is computed in its loops."""


@dataclass(frozen=True)
class Placed:
    """The step that says where a stage is computed, and the stage around; None: in loops of its own."""

    step: PlacingOp
    consumer: Stage | None

    def among(self, name: str, stages: Stages) -> str:
        """
        The place of a stage of some name as the attribute `sched.at` has it.

        Raises: StepwellError `illegal-schedule` where a later step has removed the stage around.
        """
        if self.consumer is None:
            return ROOT
        if not any(self.consumer is stage for stage in stages.values()):
            message = f"compute_at({name}): a later step has removed stage {self.consumer.name}"
            raise refused(self.step, message)
        return self.consumer.name


def place(op: PlacingOp, stages: Stages) -> None:
    """Note the place of a stage; whether it fits is known when all steps are taken. Raises: StepwellError."""
    stage = stages[op.stage]
    if isinstance(stage.op, FormsOp):
        raise refused(op, f"stage {stage.name} is {stage.op.name}, which is in no loops of others")
    consumer = None
    if isinstance(op, ComputeAtOp):
        consumer = stages.get(op.consumer)
    elif isinstance(op, SamplePlaceOp) and op.place.data != ROOT:
        consumer = stages[_consumer_of(op, stages)]
    is_root = isinstance(op, ComputeRootOp) or (isinstance(op, SamplePlaceOp) and op.place.data == ROOT)
    if consumer is stage or (consumer is None and not is_root):
        raise refused(op, f"stage {stage.name} is computed in the loops of another stage")
    if consumer is not None:
        consumer.is_named = True
    stage.placed = Placed(op, consumer)


def _consumer_of(op: SamplePlaceOp, stages: Stages) -> SSAValue:
    """The value of the stage that a sampled place names. Raises: StepwellError `illegal-schedule`."""
    name = op.place.data
    found = next((value for value, stage in stages.items() if stage.name == name), None)
    if found is None:
        message = f"sample_place({stages[op.stage].name}): no step before it has named stage {name}"
        raise refused(op, message, help=f'%c = sched.stage "{name}"')
    return found


def step_of_place(
    op: SamplePlaceOp, stages: Stages, loops: Mapping[SSAValue, tuple[Stage, Loop]]
) -> ComputeInlineOp | ComputeAtOp:
    """
    The rewrite that puts a stage into its sampled place.

    Returns: a new op outside of the script, which has uses of the script's values until it drops them.
    Raises: StepwellError `illegal-schedule`.
    """
    if op.place.data == INLINE:
        step: ComputeInlineOp | ComputeAtOp = ComputeInlineOp(op.stage)
    else:
        value = _consumer_of(op, stages)
        step = ComputeAtOp(op.stage, value, _loop_at(op, stages[value], loops))
    step.location = op.location
    return step


def _loop_at(op: SamplePlaceOp, consumer: Stage, loops: Mapping[SSAValue, tuple[Stage, Loop]]) -> SSAValue:
    """The value of the innermost loop around a sampled place; a depth beyond all loops is clamped."""
    assert op.depth is not None
    depth = op.depth.value.data
    if consumer.nest is None:
        message = f"sample_place: the loops of stage {consumer.name} have no names yet"
        raise refused(op, message, help=f"sched.loops of {consumer.name} comes before it")
    count = len(consumer.nest.loops)
    if depth > count:
        remark(op, f"sample_place: depth {depth} is {count}, since {consumer.name} has {count} loops")
    loop = consumer.nest.loops[min(depth, count) - 1]
    return next(value for value, (of, each) in loops.items() if of is consumer and each == loop)


def expect_placed(stage: Stage) -> None:
    """Require a stage to be where a step says, once ops have the attributes. Raises: StepwellError."""
    placed = stage.placed
    if placed is None or placed.consumer is None:
        return
    consumer = placed.consumer
    view, schedule = Structured.of(consumer.op), schedule_of(consumer.op)
    shared = () if schedule is None else schedule.parallel
    members = fused_group(view, shared) if view is not None and shared else []
    if not any(member.op is stage.op for member in members):
        step = f"compute_at({stage.name}, {consumer.name})"
        why = "its tiles are not those that they need" if shared else "none of them is parallel"
        why = "storage_align stores all of it" if has_gaps(stage.op) else why
        message = f"{step}: {stage.name} cannot be in the loops of {consumer.name}: {why}"
        raise refused(placed.step, message, help=f"compute_root({stage.name})")
