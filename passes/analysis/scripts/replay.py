"""Replay of a script: each primitive in its order, on the stages of a kernel; then the attributes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from xdsl.dialects.builtin import AnyFloat, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, SSAValue

from stepwell.dialects.linalg_ext import FormsOp
from stepwell.dialects.linalg_ext.forms import checked_form
from stepwell.dialects.sched import AT, LOOPS, NAME, SCHEDULE, Schedule, loop_names_of
from stepwell.dialects.schedule_script import (
    ComputeAtOp,
    ComputeRootOp,
    LoopsOp,
    PrefetchOp,
    PrimitiveOp,
    RfactorOp,
    SamplePlaceOp,
    SampleTileOp,
    ScriptOp,
    SetFormOp,
    SetSizeOp,
    StageOp,
    StorageAlignOp,
    StreamOp,
    TensorizeOp,
)
from stepwell.dialects.tensor_ir.dead import erase_dead
from stepwell.dialects.tensor_ir.structured import Structured, tensor_element
from stepwell.passes.analysis.scripts.attribute import schedule_of_nest
from stepwell.passes.analysis.scripts.formula import Formula, default_names, listed
from stepwell.passes.analysis.scripts.nest import IllegalStepError, Loop, Nest
from stepwell.passes.analysis.scripts.placing import Stage, expect_placed, place, step_of_place
from stepwell.passes.analysis.scripts.prefetching import prefetched, write_prefetched
from stepwell.passes.analysis.scripts.rewrites import Target
from stepwell.passes.analysis.scripts.stages import refused, stages_by_op, stages_of
from stepwell.passes.analysis.scripts.steps import (
    adopt_body,
    changes_kernel,
    is_rewrite,
    sampled_factors,
    take_on_loops,
    take_rewrite,
)
from stepwell.passes.analysis.scripts.streaming import streamed, write_streamed
from stepwell.runtime.errors import StepwellError, did_you_mean

Decisions: TypeAlias = "dict[Operation, dict[str, Attribute]]"
"""The attributes that a script gives to ops."""

MOST_STEPS = 4096
"""A script has at most so many steps."""


class Replay:
    """Replays a script on a function; the function is unchanged until all steps are legal."""

    def __init__(self, script: ScriptOp, func: FuncOp):
        self._script = script
        self.func = func.clone() if changes_kernel(script) else func
        """The function that the steps are about: a copy, where a step changes the kernel."""
        self.adds_in_order = True
        """Whether no step has made partial results of floats."""
        self.streamed: list[int] = []
        """The numbers of results that are written past the caches."""
        self.prefetched: dict[int, int] = {}
        """The numbers of inputs that are fetched ahead, with the distance in elements."""
        self._aligned: str | None = None
        """The last stage that `storage_align` has given gaps."""
        self._tiles: dict[SSAValue, list[int]] = {}
        """The factors that a search has chosen."""
        self._gone: dict[SSAValue, str] = {}
        """Maps stages and loops that a step has replaced to the reason."""
        self._stages: dict[SSAValue, Stage] = {}
        self._loops: dict[SSAValue, tuple[Stage, Loop]] = {}
        self._step_of: dict[tuple[str, Loop], Operation] = {}

    def decisions(self, skip: Callable[[StageOp], bool] = lambda stage: False) -> Decisions:
        """
        The attributes that the script decides.

        Args: `skip` names stages whose steps are left out.
        Raises: StepwellError `illegal-schedule` at the step, with the reason.
        """
        steps = self._script.steps
        if len(steps) > MOST_STEPS:
            raise refused(self._script, f"a script has at most {MOST_STEPS} steps, found {len(steps)}")
        for op in steps:
            if isinstance(op, StageOp):
                if not skip(op):
                    self._stages[op.result] = self._stage(op, stages_of(self.func))
            elif op.operands and (op.operands[0] in self._stages or op.operands[0] in self._loops):
                self._expect_there(op)
                self._take(op)
            elif op.operands and op.operands[0] in self._gone:
                self._expect_there(op)
        return self._finished()

    def nest_of(self, name: str) -> tuple[Nest, Mapping[Loop, SSAValue]] | None:
        """The nest of a stage after the steps, with the values of its loops; None where it has no names."""
        stage = next((stage for stage in self._stages.values() if stage.name == name), None)
        if stage is None or stage.nest is None:
            return None
        return stage.nest, {loop: value for value, (of, loop) in self._loops.items() if of is stage}

    def stage_names(self) -> dict[str, str]:
        """Maps the values of stages to the names of the stages after the steps."""
        return {value.name_hint or "": stage.name for value, stage in self._stages.items()}

    def _stage(self, op: StageOp, known: Mapping[str, Operation]) -> Stage:
        name = op.stage.data
        if name not in known and (by_op := stages_by_op(self.func).get(name)) is not None:
            name = next(each for each, found in known.items() if found is by_op)
        if name not in known:
            help = f"{did_you_mean(name, known)}the stages are {listed(list(known)[:20]) or 'none'}"
            where = f"kernel {self.func.sym_name.data}"
            raise refused(op, f"{where} has no stage {name}", help=help)
        for stage in self._stages.values():
            if stage.op is known[name] and (stage.nest or stage.schedule or stage.placed):
                raise refused(op, f"stage {name} is named twice", help="go on with the first one")
            if stage.op is known[name]:
                return stage  # a step that changes the kernel has named it
        return Stage(name, known[name])

    def _take(self, op: Operation) -> None:
        """A step. Raises: StepwellError `illegal-schedule`, `bad-schedule`."""
        match op:
            case LoopsOp():
                self._open(op)
            case SetFormOp():
                self._set(op, Schedule(form=op.chosen_form or ""))
            case SetSizeOp():
                given = self._stages[op.stage].schedule or Schedule(form=self._first_form(op))
                sizes = {**dict(given.sizes), op.size.data: op.chosen_value or 0}
                self._set(op, replace(given, sizes=tuple(sizes.items())))
            case SamplePlaceOp() if op.changes_kernel:
                self._put_sampled(op)
            case _ if is_rewrite(op):
                self._rewrite(op)
            case ComputeAtOp() | ComputeRootOp() | SamplePlaceOp():
                place(op, self._stages)
            case StreamOp():
                self.streamed.append(streamed(op, self._stages[op.stage].name, stages_of(self.func)))
            case PrefetchOp():
                stage, loop = self._loops[op.loop]
                assert stage.nest is not None
                self.prefetched.update([prefetched(op, stage.nest, loop)])
            case SampleTileOp():
                self._tiles[op.result] = sampled_factors(op, self._loops[op.loop][1])
            case PrimitiveOp():
                self._decide(op)
            case _:
                raise refused(op, f"{op.name} is no step of a script")

    def _expect_there(self, op: Operation) -> None:
        """Require stages and loops that no step has replaced. Raises: StepwellError."""
        for value in op.operands:
            if (reason := self._gone.get(value)) is not None:
                raise refused(op, f"{op.name.partition('.')[2]}: {reason}")

    def _rewrite(self, op: Operation) -> None:
        """A step that changes the kernel; the loops of stages that it has replaced are named anew."""
        if self._aligned is not None and not isinstance(op, StorageAlignOp):
            word = op.name.partition(".")[2]
            help = f"storage_align({self._aligned}) after it"
            raise refused(op, f"{word}: the rows of {self._aligned} in memory are decided already", help=help)
        before = stages_of(self.func)
        loops = [self._loops[value] for value in op.operands if value in self._loops]
        stages = [self._stages[value] for value in op.operands if value in self._stages]
        if isinstance(op, TensorizeOp) and isinstance(tensor_element(loops[0][0].op.results[0]), AnyFloat):
            self.adds_in_order = False
        try:
            name = take_rewrite(op, self._target, {v: loop for v, (_, loop) in self._loops.items()}, before)
        except IllegalStepError as error:
            about = [loop for _, loop in loops] if not stages else []
            raise self._illegal(op, (stages or [loops[0][0]])[0], about, error) from None
        erase_dead(self.func)
        if isinstance(op, StorageAlignOp):
            self._aligned = self._stages[op.stage].name
        word = op.name.partition(".")[2]
        known = stages_of(self.func)
        if isinstance(op, RfactorOp) and name is not None:
            self.adds_in_order &= not isinstance(tensor_element(known[name].results[0]), AnyFloat)
        for value, stage in list(self._stages.items()):
            if (now := known.get(stage.name)) is not stage.op:
                self._replaced(value, stage, now, word)
        if name is not None:
            self._stages[op.results[0]] = Stage(name, known[name])

    def _replaced(self, value: SSAValue, stage: Stage, now: Operation | None, word: str) -> None:
        """Note that a step has replaced the op of a stage, by another one or by none."""
        if now is None:
            self._gone[value] = f"{word} has removed stage {stage.name}"
            del self._stages[value]
        else:
            stage.op = now
            for key in (SCHEDULE, LOOPS):
                now.attributes.pop(key, None)
        for loop_value, (of, loop) in list(self._loops.items()):
            if of is stage:
                del self._loops[loop_value]
                after = f"loop {loop.name} was one of {stage.name} before: sched.loops names those of now"
                self._gone[loop_value] = after if now is not None else f"{word} has removed loop {loop.name}"
        stage.nest = None

    def _target(self, value: SSAValue) -> Target:
        """The stage of a value, or of a loop. Raises: IllegalStepError for an op without loops."""
        stage = self._stages[value] if value in self._stages else self._loops[value][0]
        view = Structured.of(stage.op)
        if view is None:
            raise IllegalStepError(f"stage {stage.name} is {stage.op.name}, which has forms and no loops")
        return Target(stage.name, view, stage.nest)

    def _open(self, op: LoopsOp) -> None:
        """Name the loops of a stage."""
        stage = self._stages[op.stage]
        view = Structured.of(stage.op)
        if view is None:
            raise refused(
                op, f"stage {stage.name} is {stage.op.name}, which has forms", help="set_form chooses one"
            )
        if stage.nest is not None:
            raise refused(op, f"the loops of stage {stage.name} are named twice")
        if len(op.loops) != view.rank:
            text = str(Formula.of(view, stage.name))
            message = f"stage {stage.name} has {view.rank} loops, found {len(op.loops)} names"
            raise refused(op, message, note=text)
        in_order = Nest.of(view, Formula.of(view, stage.name)).loops
        names = names_of_loops(view)
        for loop, value in zip(in_order, op.loops, strict=True):
            names[loop.dim] = value.name_hint or names[loop.dim]
        stage.nest = Nest.of(view, Formula.of(view, stage.name, names))
        for loop, value in zip(stage.nest.loops, op.loops, strict=True):
            self._loops[value] = (stage, loop)

    def _first_form(self, op: SetSizeOp) -> str:
        stage = self._stages[op.stage]
        return next(iter(stage.op.forms())) if isinstance(stage.op, FormsOp) else ""

    def _set(self, op: SetFormOp | SetSizeOp, schedule: Schedule) -> None:
        """Take a form or a size, if the stage can have it."""
        stage = self._stages[op.stage]
        if not isinstance(stage.op, FormsOp):
            help = "name its loops: sched.loops"
            raise refused(
                op, f"stage {stage.name} is {stage.op.name}, which has loops and no forms", help=help
            )
        if wrong := [f"{name} = {size}" for name, size in schedule.sizes if size <= 0]:
            raise refused(op, f"sizes of forms are positive, found {wrong[0]}")
        try:
            checked_form(stage.op, schedule)
        except StepwellError as error:
            raise refused(op, error.message, note=f"the form would be {schedule.attr()}") from None
        stage.schedule = schedule

    def expect_places(self) -> None:
        """Require ops to be where steps say, once they have the attributes. Raises: StepwellError."""
        for stage in self._stages.values():
            expect_placed(stage)

    def _put_sampled(self, op: SamplePlaceOp) -> None:
        """Take the step that changes the kernel for a sampled place."""
        step = step_of_place(op, self._stages, self._loops)
        try:
            self._rewrite(step)
        finally:
            step.drop_all_references()

    def _decide(self, op: PrimitiveOp) -> None:
        """A primitive on loops of a stage."""
        operands = [value for value in op.operands if value in self._loops]
        stages = {self._loops[value][0].name: self._loops[value][0] for value in operands}
        (stage, *others) = stages.values()
        if others:
            raise refused(op, f"{op.word} takes loops of one stage, found those of {listed(stages)}")
        assert stage.nest is not None
        loops = [self._loops[value][1] for value in operands]
        try:
            stage.nest, parts = take_on_loops(op, stage.nest, loops, self._tiles)
        except IllegalStepError as error:
            raise self._illegal(op, stage, loops, error) from None
        for value, part in zip(op.results, parts, strict=True):
            self._loops[value] = (stage, part)
        self._step_of.update({(stage.name, loop): op for loop in loops})

    def _illegal(
        self, op: Operation, stage: Stage, loops: Sequence[Loop], error: IllegalStepError
    ) -> StepwellError:
        word = op.word if isinstance(op, PrimitiveOp) else op.name
        about = ", ".join(loop.name for loop in loops) or stage.name
        note = str(stage.nest.formula) if stage.nest is not None else ()
        return refused(op, f"{word}({about}): {error.reason}", note=note, help=error.help)

    def _finished(self) -> Decisions:
        """The attributes of the stages, once all steps are taken."""
        found: Decisions = {}
        for value, stage in self._stages.items():
            given = found[stage.op] = dict[str, Attribute]()
            if stage.is_named:
                given[NAME] = StringAttr(stage.name)
            if (placed := stage.placed) is not None:
                given[AT] = StringAttr(placed.among(stage.name, self._stages))
            if stage.schedule is not None:
                given[SCHEDULE] = stage.schedule.attr()
            elif stage.nest is not None:
                try:
                    given[SCHEDULE] = schedule_of_nest(stage.nest).attr()
                except IllegalStepError as error:
                    step = self._step_of.get((stage.name, error.loop)) if error.loop is not None else None
                    loops = [error.loop] if error.loop is not None else []
                    assert isinstance(value.owner, Operation)
                    raise self._illegal(step or value.owner, stage, loops, error) from None
        return found


def names_of_loops(view: Structured) -> list[str]:
    """The names of the loops that an op has as an attribute, else default ones."""
    given = loop_names_of(view.op)
    return list(given) if len(given) == view.rank else default_names(view)


def apply_script(
    script: ScriptOp, func: FuncOp, skip: Callable[[StageOp], bool] = lambda stage: False
) -> None:
    """
    Give the ops of a function the schedules that a script decides.

    Raises: StepwellError `illegal-schedule`; the function is unchanged then.
    """
    replay = Replay(script, func)
    decisions = replay.decisions(skip)
    before = {op: dict(op.attributes) for op in decisions}
    for op, given in decisions.items():
        op.attributes.update(given)
    try:
        replay.expect_places()
    except StepwellError:
        for op, attributes in before.items():
            op.attributes = attributes
        raise
    if replay.func is not func:
        adopt_body(func, replay.func)
    write_streamed(func, replay.streamed)
    write_prefetched(func, replay.prefetched)
