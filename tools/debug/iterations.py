"""Values of an iteration of a loop, by a run of the loop up to the iteration."""

from __future__ import annotations

import numpy as np
from xdsl.ir import SSAValue

from stepwell.dialects import graph
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.interface import Array
from stepwell.tools.debug.program import DebugProgram
from stepwell.tools.debug.recorded import Recorded
from stepwell.tools.debug.windows import Windows


def loop_arguments(
    program: DebugProgram, windows: Windows, recorded: Recorded, loop: graph.ForOp, iteration: int
) -> dict[SSAValue, Array]:
    """
    The arguments of a loop's body in an iteration: the number, and the results of earlier iterations.

    Raises: StepwellError of the run.
    """
    unit = program.unit_of(loop)
    arguments: dict[SSAValue, Array] = {loop.body.block.args[0]: np.asarray(iteration, np.int64)}
    if not iteration:
        started = zip(loop.carried, map(recorded.array, loop.inits), strict=True)
        return arguments | {arg: array for arg, array in started if array is not None}
    window = windows.get(unit, unit + 1, iteration)
    run = window.run(recorded)
    numbers = {value: number for number, value in enumerate(window.results)}
    for arg, result in zip(loop.carried, loop.values, strict=True):
        if (array := run.array(numbers[result], recorded.size)) is not None:
            arguments[arg] = array
    return arguments


def go_to_iteration(program: DebugProgram, windows: Windows, recorded: Recorded, iteration: int) -> None:
    """
    Record the values inside of all loops as they are in an iteration, the last one of shorter loops.

    Raises: StepwellError `unsupported` for a program whose loops all end by a condition; of the run.
    """
    loops = [op for op in program.units if isinstance(op, graph.ForOp)]
    if not loops:
        message = "the program has no loop of which a run could end with an iteration"
        raise StepwellError("unsupported", None, message)
    for loop in loops:
        unit = program.unit_of(loop)
        last = recorded.iterations(loop) - 1
        if last < 0:
            continue
        window = windows.get(unit, unit + 1, min(iteration, last) + 1)
        run = window.run(recorded)
        outcome = set(loop.results)
        recorded.record(run, window.results, but=outcome)
        for value, array in loop_arguments(program, windows, recorded, loop, min(iteration, last)).items():
            recorded.give(value, array)
    recorded.inside.clear()
