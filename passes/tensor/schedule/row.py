"""Schedules of reductions: rows that several ops share, as in softmax, and windows, as in pools."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, prod

from xdsl.dialects.builtin import TensorType
from xdsl.dialects.linalg import ops as linalg

from stepwell.dialects.costs.schedules import ROWS
from stepwell.dialects.sched import Schedule
from stepwell.dialects.tensor_ir.combiners import combiner_of
from stepwell.dialects.tensor_ir.groups import Member
from stepwell.dialects.tensor_ir.register_file import register_file
from stepwell.dialects.tensor_ir.structured import (
    Structured,
    projected_permutation,
    single_dim,
    tensor_element,
)
from stepwell.dialects.tensor_ir.vector_values import has_vector_form
from stepwell.dialects.types import element_bytes
from stepwell.passes.tensor.schedule.elementwise import FUNCTIONS
from stepwell.runtime.machine.target import TargetDescription


def schedule_reduction(view: Structured, target: TargetDescription) -> Schedule | None:
    """
    The schedule of a reduction: the anchor of a group that shares its parallel loops.

    Lanes run along the reduction when the elements it combines are neighbours in memory, else along results.
    """
    if (lanes := _reduced_lanes(view)) is not None:
        return _along_the_row(view, lanes, target)
    return _along_results(view, target)


def _reduced_lanes(view: Structured) -> int | None:
    """The reduction loop along the last dimension of a read operand, if a combiner exists; else None."""
    if len(view.inits) != 1 or combiner_of(view.body) is None:
        return None
    for value, map, arg in zip(view.inputs, view.maps, view.body.args, strict=False):
        # An operand that is never read, such as the kernel of a pool, only gives loops their extents.
        if arg.first_use is not None and isinstance(value.type, TensorType) and map.results:
            dim = single_dim(map.results[-1])
            if dim is not None and not view.parallel[dim]:
                return dim
    return None


def _along_the_row(view: Structured, lanes: int, target: TargetDescription) -> Schedule | None:
    rows = [d for d, p in enumerate(view.parallel) if p]
    steps = dict.fromkeys((d for d in range(view.rank) if view.extents[d] != 1), 1)
    steps[lanes] = _lane_step(view, lanes, target)
    shared = [d for d in rows if d in steps]
    if shared:
        steps[shared[-1]] = _rows_together(view, shared[-1], lanes, steps[lanes], target)
    return _schedule(view, steps, shared, lanes)


def _rows_together(view: Structured, row: int, lanes: int, step: int, target: TargetDescription) -> int:
    """
    The rows of a tile: a divisor of their number; whole ones, of step 0, in `ROWS.together` of the registers.

    One where their number is open, since the rows that are left over would be code of their own, and where
    addresses have 32 bits: code for browsers and microcontrollers is to be small.
    """
    registers, extent, width = register_file(view, target), view.extents[row], view.extents[lanes] or 1
    if extent is None or target.pointer_bytes < 8:
        return 1
    has_functions = _has_functions(view)
    if step:
        most = ROWS.long_rows if _reads_again(view) and not has_functions else 1
    else:
        room = int(ROWS.together * registers.count)
        room = min(room, ROWS.function_registers) if has_functions else room
        most = max(1, min(room // ceil(width / registers.lanes), ROWS.most_rows))
    return max(n for n in range(1, most + 1) if extent % n == 0 and (n < extent or n == 1))


def _has_functions(view: Structured) -> bool:
    """Whether the kernel of a reduction evaluates polynomials, as softmax does."""
    kernel = view.op.parent_op()
    return kernel is not None and any(op.name in FUNCTIONS for op in kernel.walk())


def _reads_again(view: Structured) -> bool:
    """Whether another op reads the rows that a reduction reads, as in a normalization."""
    return any(value.has_more_than_one_use() for value in view.inputs if isinstance(value.type, TensorType))


def _lane_step(view: Structured, lanes: int, target: TargetDescription) -> int:
    """The step along a row; 0 for a row that fits `ROWS.whole_row` of the registers."""
    registers, extent = register_file(view, target), view.extents[lanes]
    if extent is not None and extent <= int(ROWS.whole_row * registers.count) * registers.lanes:
        return 0
    return ROWS.registers * registers.lanes


def _along_results(view: Structured, target: TargetDescription) -> Schedule | None:
    """The schedule of windows and reductions of leading dimensions: reduced loops inside result tiles."""
    out = projected_permutation(view.init_maps[0])
    if not out or not _is_elementwise(view):
        return None
    registers = register_file(view, target)
    left, wide = (registers.lanes * n for n in (ROWS.registers, registers.count // 2))
    left = wide if _has_long_rows(view, out, wide) else left
    steps = dict.fromkeys((d for d in range(view.rank) if view.extents[d] != 1), 1)
    for dim in reversed(out):
        extent = view.extents[dim]
        if dim == out[-1]:
            steps[dim] = left if extent is None or extent > left else 0
        elif extent is not None and left > registers.lanes // 2:
            steps[dim] = max(n for n in range(1, max(1, min(extent, left)) + 1) if extent % n == 0)
        left //= max(1, steps.get(dim) or extent or 1)
    return _schedule(view, steps, [d for d in out if steps.get(d)], out[-1])


def _has_long_rows(view: Structured, out: Sequence[int], width: int) -> bool:
    """Whether a reduction combines enough long rows elementwise, and no user iterates over the rows again."""
    columns = view.extents[out[-1]]
    read = projected_permutation(view.maps[0]) if len(view.inputs) == 1 else None
    if columns is None or not read or read[-1] != out[-1]:
        return False
    users = [use.operation for result in view.op.results for use in result.uses]
    if any(isinstance(op, linalg.GenericOp) and op.get_num_loops() > len(out) for op in users):
        return False
    tiles = prod(view.extents[d] or 1 for d in out[:-1]) * ceil(columns / width)
    rows = prod(n or ROWS.least_rows for n, kept in zip(view.extents, view.parallel, strict=True) if not kept)
    row_bytes = columns * element_bytes(tensor_element(view.inputs[0]))
    return row_bytes >= ROWS.long_row_bytes and rows >= ROWS.least_rows and tiles >= ROWS.least_tiles


def _schedule(view: Structured, steps: dict[int, int], shared: Sequence[int], lanes: int) -> Schedule | None:
    tile = tuple(0 if steps.get(d, 0) == view.extents[d] else steps.get(d, 0) for d in range(view.rank))
    parallel = tuple(d for d in shared if tile[d])
    if not view.can_slice({d for d, t in enumerate(tile) if t}):
        return None
    return Schedule(tile, parallel=parallel, vectorize=lanes)


def schedule_along(member: Member, shared: Sequence[int], target: TargetDescription) -> Schedule | None:
    """The schedule of another op of a group of row-wise ops: a loop of its own along the row."""
    view = member.view
    own = [d for d in range(view.rank) if member.loop_of[d] not in shared]
    lanes = _reduced_lanes(view)
    if lanes is None:
        out = projected_permutation(view.init_maps[0])
        lanes = out[-1] if out else None
    if lanes is None or not own or not _is_elementwise(view):
        return None
    steps = dict.fromkeys((d for d in own if view.extents[d] != 1), 1)
    if lanes in own:
        steps[lanes] = _lane_step(view, lanes, target)
    tile = tuple(0 if steps.get(d, 0) == view.extents[d] else steps.get(d, 0) for d in range(view.rank))
    if not view.can_slice({d for d, t in enumerate(tile) if t}):
        return None
    return Schedule(tile, vectorize=lanes)


def _is_elementwise(view: Structured) -> bool:
    return all(isinstance(op, linalg.IndexOp | linalg.YieldOp) or has_vector_form(op) for op in view.body.ops)
