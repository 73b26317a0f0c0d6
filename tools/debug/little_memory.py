"""Runs in little memory: window by window, of which only values that later ones read are kept."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue

from stepwell.tools.debug.program import DebugProgram
from stepwell.tools.debug.recorded import Recorded
from stepwell.tools.debug.windows import Windows
from stepwell.tools.driver.compilation import main_of


def run_in_parts(program: DebugProgram, windows: Windows, recorded: Recorded, max_memory: int) -> None:
    """
    Run all units in windows whose values fit into half of a memory; a value that was given up runs its window
    again when it is asked for.

    Raises: StepwellError of the run.
    """
    parts = list(_parts(program, recorded, max_memory // 2))
    of_unit = {unit: part for part in parts for unit in range(*part)}
    loaded: list[tuple[int, int]] = []

    def load(part: tuple[int, int]) -> None:
        for earlier in loaded:
            values = [v for unit in range(*earlier) for v in _results(program.units[unit])]
            recorded.give_up(values, keep=[v for v in values if _is_read_after(program, v, earlier[1])])
        loaded[:] = [part]
        window = windows.get(*part)
        recorded.record(window.run(recorded), window.results)

    def fetch(value: SSAValue) -> None:
        owner = value.owner
        if isinstance(owner, Operation) and loaded != [part := of_unit[program.unit_of(owner)]]:
            load(part)

    for part in parts:
        load(part)
    recorded.fetch = fetch


def _parts(program: DebugProgram, recorded: Recorded, limit: int) -> Sequence[tuple[int, int]]:
    """Windows, first and last unit, as large as fit; of a single unit where that alone does not."""
    found: list[tuple[int, int]] = []
    first = total = 0
    for number, unit in enumerate(program.units):
        size = sum(_bytes(value, recorded) for value in _results(unit))
        if total + size > limit and number > first:
            found.append((first, number))
            first, total = number, 0
        total += size
    return [*found, (first, len(program.units))]


def _bytes(value: SSAValue, recorded: Recorded) -> int:
    shape = recorded.shape(value)
    elements = 1
    for size in shape or ():
        elements *= size
    return 0 if shape is None else 8 * elements


def _results(unit: Operation) -> list[SSAValue]:
    """The results of a unit, and of the calls inside of it."""
    return [result for op in unit.walk() for result in op.results]


def _is_read_after(program: DebugProgram, value: SSAValue, unit: int) -> bool:
    """Whether a value, maybe in another shape, is read by a later unit, or returned."""
    block = main_of(program.graph).body.block
    waiting = [value]
    while waiting:
        for use in waiting.pop().uses:
            op = use.operation
            while op.parent is not block and (outer := op.parent_op()) is not None:
                op = outer
            if program.unit_numbers.get(op, unit) >= unit:
                if op in program.unit_numbers or op is block.last_op:
                    return True
                waiting += op.results
    return False
