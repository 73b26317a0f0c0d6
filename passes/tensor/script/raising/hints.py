"""Attributes of loops as the schedule of the structured op in their place."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation

from stepwell.dialects.sched import LANES, NAME, PARALLEL, SCHEDULE, UNROLL
from stepwell.dialects.tensor_ir.structured import Structured
from stepwell.passes.analysis.scripts.attribute import schedule_of_nest
from stepwell.passes.analysis.scripts.formula import Formula
from stepwell.passes.analysis.scripts.nest import IllegalStepError, Nest
from stepwell.passes.tensor.script.raising.nests import LoopNode
from stepwell.runtime.errors import StepwellError


def schedule_by_hints(op: Operation, loops: Sequence[LoopNode]) -> None:
    """
    Give an op the schedule of its loops' attributes; without lanes and copies the choosers decide.

    Raises: StepwellError `illegal-schedule`.
    """
    words = {at: loop.op.attributes for at, loop in enumerate(loops)}
    if (view := Structured.of(op)) is None or view.rank != len(loops):
        return
    if not any(key in given for given in words.values() for key in (LANES, UNROLL)):
        return
    name = getattr(op.attributes.get(NAME), "data", None) or op.results[0].name_hint or op.name
    nest = Nest.of(view, Formula.of(view, name, [loop.name for loop in loops]))
    by_dim = {loop.dim: loop for loop in nest.loops}
    try:
        lanes = [by_dim[at] for at, given in words.items() if LANES in given]
        unrolled = [by_dim[at] for at, given in words.items() if UNROLL in given]
        rest = [loop for loop in nest.loops if loop not in (*lanes, *unrolled)]
        nest = nest.reorder([*rest, *unrolled, *lanes])
        for loop in (by_dim[at] for at, given in words.items() if PARALLEL in given):
            nest = nest.parallel(loop)
        for loop in lanes:
            nest = nest.vectorize(loop)
        for loop in unrolled:
            nest = nest.unroll(loop)
        op.attributes[SCHEDULE] = schedule_of_nest(nest).attr()
    except IllegalStepError as error:
        raise StepwellError(
            "illegal-schedule", op, error.reason, note=str(nest.formula), help=error.help
        ) from None
