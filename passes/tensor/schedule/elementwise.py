"""Schedules of elementwise ops: vectors along the last dimension of results, parallel loops outside."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, prod

from xdsl.dialects.linalg import ops as linalg
from xdsl.ir import Operation
from xdsl.ir.affine import AffineExpr

from stepwell.dialects.costs.schedules import ELEMENTWISE, TILES
from stepwell.dialects.sched import Schedule
from stepwell.dialects.tensor_ir.element_reads import is_element_read, positions_in_data
from stepwell.dialects.tensor_ir.groups import Member, fused_group
from stepwell.dialects.tensor_ir.register_file import RegisterFile, register_file
from stepwell.dialects.tensor_ir.structured import Structured, projected_permutation
from stepwell.dialects.tensor_ir.vector_values import MAX_ELEMENTS, MAX_STEPS, has_vector_form
from stepwell.passes.tensor.schedule.transpose import schedule_blocks, transposed_read
from stepwell.runtime.machine.target import TargetDescription

# The functions that `expand-math` replaces by polynomials, and the approximate instructions of each.
_NAMES = "acos asin atan atan2 cos cosh erf exp exp2 expm1 log log10 log1p log2 powf sin sinh tan tanh"
FUNCTIONS = frozenset(f"math.{name}" for name in _NAMES.split())
_FREE = frozenset(("arith.constant", "linalg.yield"))


def schedule_elementwise(view: Structured, target: TargetDescription) -> Schedule | None:
    """
    The schedule of an op whose loops are all parallel.

    A tile is some registers along the last dimension of the result, or a few short rows of it; the dimensions
    outside are parallel loops. A body that has no form on vectors gets the loops alone.
    """
    if not all(view.parallel) or not view.rank:
        return None
    out = projected_permutation(view.init_maps[0])
    if out is None or len(out) != view.rank:
        return None
    registers = register_file(view, target)
    reads = [op for op in view.body.ops if is_element_read(op)]
    vectors = _reads_apart(view, reads, out[-1]) and all(
        isinstance(op, linalg.IndexOp | linalg.YieldOp) or op in reads or has_vector_form(op)
        for op in view.body.ops
    )
    if vectors and (read := transposed_read(view, out[-1])) is not None:
        return schedule_blocks(view, out, read, target, body_length(view))
    if vectors and reads:
        return _by_lanes(view, out, registers)
    # Rows shorter than a register share registers: how many is free, as it is along a long row.
    joins = 1 < (view.extents[out[-1]] or registers.lanes) <= registers.lanes // 2
    budget = registers.lanes * _registers_of_tile(view, target, registers)
    tile = [0] * view.rank
    left = budget
    copies = [] if joins else _copies(view, out)
    # Tiles of loops outside would differ by the number of blocks, and `share-kernels` joins equal schedules.
    near = [d for d in out if view.extents[d] != 1][-2:]
    for dim in reversed(out):
        extent = view.extents[dim]
        if dim in copies or (dim == out[-1] and not vectors):
            continue
        if dim == out[-1]:
            step = _row_step(extent, budget, registers.lanes)
        elif joins and dim == out[-2]:
            step = _joined_step(extent, left)
        else:
            step = _step(extent, left if dim in near else 1)
        tile[dim] = 0 if step == extent else step
        left //= step
    loops = tuple(d for d in out if tile[d])
    if not view.can_slice(set(loops)):
        return None
    return Schedule(tuple(tile), parallel=loops, vectorize=out[-1] if vectors else None)


def _registers_of_tile(view: Structured, target: TargetDescription, registers: RegisterFile) -> int:
    """
    The number of registers of a tile: more of them hide latencies, and share the work that is done once for
    each tile.

    This work is the control of the loop, which for copies of short rows takes as long as the moves, and for
    functions the loads of a polynomial's coefficients, which do not fit into the registers. Tiles of long
    bodies, including ops in the same loops, are bounded, since they are unrolled and spill. For targets with
    addresses of 32 bits (browsers, microcontrollers), and for small ops, code must be small.
    """
    if target.pointer_bytes < 8:
        fit = ELEMENTWISE.small_tile_ops // max(1, body_length(view))
        return max(1, min(ELEMENTWISE.registers // 2, fit))
    bodies = _bodies_of_tile(view)
    length = sum(map(body_length, bodies))
    if _is_small(view, registers):
        return max(1, min(ELEMENTWISE.small_registers, ELEMENTWISE.tile_ops // max(1, length)))
    if not length:
        return ELEMENTWISE.copy_registers
    has_function = any(op.name in FUNCTIONS for each in bodies for op in each.body.ops)
    most = ELEMENTWISE.function_registers if has_function else ELEMENTWISE.registers
    return max(1, min(most, ELEMENTWISE.tile_ops // length))


def _is_small(view: Structured, registers: RegisterFile) -> bool:
    """Whether an op has few elements, or is a fill of padding whose rows are shorter than a register."""
    if isinstance(view.op, linalg.FillOp) and (view.extents[-1] or registers.lanes) <= registers.lanes // 2:
        return True
    elements = prod(n or TILES.typical_extent for n in view.extents)
    return elements <= ELEMENTWISE.small_vectors * registers.lanes


def _bodies_of_tile(view: Structured) -> Sequence[Structured]:
    """An op and the ops fused into its loops."""
    if not any(isinstance(value.owner, linalg.GenericOp) for value in view.inputs):
        return [view]
    return [member.view for member in fused_group(view, range(view.rank))]


def _copies(view: Structured, out: Sequence[int]) -> list[int]:
    """
    The short outer loops of a pure copy that move no input: repetitions, stored from one load.

    A fill has nothing to load: its repetitions would be code alone, 9 x 15 stores for 3 x 3 rows of padding.
    """
    if body_length(view) or isinstance(view.op, linalg.FillOp):
        return []
    used = {dim for map in view.maps[: len(view.inputs)] for dim in map.used_dims()}
    return [d for d in out[:-1] if d not in used and 1 < (view.extents[d] or 1) <= ELEMENTWISE.most_copies]


def _reads_apart(view: Structured, reads: Sequence[Operation], lanes: int) -> bool:
    """
    Whether a body reads nothing at computed positions, or one element whose position differs by lane.

    The position then costs more than the read, and registers compute it for many lanes; neighbours, and
    several elements for a lane, are read by loops.
    """
    if len(reads) != 1:
        return not reads
    numbers = {arg.index for arg in positions_in_data(reads[0])}
    return any(AffineExpr.dimension(lanes) in view.maps[number].results for number in numbers)


def _by_lanes(view: Structured, out: Sequence[int], registers: RegisterFile) -> Schedule | None:
    """A schedule for reads lane by lane: one register along the last dimension, at most 16 lanes."""
    tile = [0 if n == 1 else 1 for n in view.extents]
    extent, width = view.extents[out[-1]], min(registers.lanes, ELEMENTWISE.largest_block)
    tile[out[-1]] = 0 if extent is not None and extent <= width else width
    loops = tuple(d for d in out if tile[d])
    return Schedule(tuple(tile), parallel=loops, vectorize=out[-1]) if view.can_slice(set(loops)) else None


def schedule_by_rows(
    member: Member, anchor: Structured, schedule: Schedule, target: TargetDescription
) -> Schedule | None:
    """
    The schedule of an op that reads a register tile of its anchor; None when it is unrolled over the tile.

    Long bodies, and tiles of more than `MAX_ELEMENTS`, get loops of their own.

    A body such as that of `erf` on all registers of a tile would be more code than all the rest. A reduction
    of its own, such as the search for the index of a maximum, is a loop unless it has few steps.
    """
    lanes = schedule.vectorize
    assert lanes is not None
    extents, serial = member.view.extents, [d for d, p in enumerate(member.view.parallel) if not p]
    # Its own loops come from the reduction before it; after other ops, accesses are less regular.
    own = [1 if all(anchor.parallel) else n or ELEMENTWISE.epilogue_ops for n in extents]
    sizes = [
        n if d is None else schedule.tile[d] or anchor.extents[d] or 1
        for n, d in zip(own, member.loop_of, strict=True)
    ]
    along = member.loop_of.index(lanes)
    width = register_file(member.view, target).lanes
    vectors = prod(ceil(n / width) if d == along else n for d, n in enumerate(sizes))
    is_short = prod(extents[d] or ELEMENTWISE.epilogue_ops for d in serial) <= MAX_STEPS
    steps = [1 if d in serial and extents[d] != 1 and not is_short else 0 for d in range(member.view.rank)]
    if vectors * body_length(member.view) > ELEMENTWISE.epilogue_ops or prod(sizes) > MAX_ELEMENTS:
        steps = [
            step if d == along or n == 1 else 1 for d, (n, step) in enumerate(zip(sizes, steps, strict=True))
        ]
        if target.pointer_bytes >= 8:  # code for browsers and microcontrollers is to be small
            _take_together(steps, sizes, member.view, ceil(sizes[along] / width))
    if not any(steps) or not member.view.can_slice({d for d, step in enumerate(steps) if step}):
        return None
    return Schedule(tuple(steps), vectorize=along)


def _take_together(steps: list[int], sizes: Sequence[int], view: Structured, vectors: int) -> None:
    """
    Let loops with step 1 take several rows of `vectors` vectors at once, inner loops first, to hide
    latencies.

    log(1 + exp(x)) after a convolution, 16 rows of a vector: 92 us one by one, 80 by four, 77 unrolled.
    """
    room = ELEMENTWISE.registers // vectors
    for d in reversed(range(view.rank)):
        if steps[d] == 1 and view.parallel[d] and view.extents[d] is not None and room > 1:
            step = _step(sizes[d], room)
            steps[d], room = 0 if step == sizes[d] else step, room // step


def body_length(view: Structured) -> int:
    """The approximate number of vector instructions of a body."""
    counted = [op.name for op in view.body.ops if op.name not in _FREE]
    return sum(ELEMENTWISE.function_ops if name in FUNCTIONS else 1 for name in counted)


def _row_step(extent: int | None, budget: int, lanes: int) -> int:
    """The step along the lanes: a short row whole, else the most registers that divide the row, if any do."""
    if extent is None:
        return budget
    if extent <= budget:
        return max(1, extent)
    whole = [step for step in range(budget, 0, -lanes) if extent % step == 0]
    return whole[0] if whole else budget


def _joined_step(extent: int | None, left: int) -> int:
    """The number of short rows in a tile: a divisor of the extent, unless all divisors are small."""
    step = _step(extent, left)
    return step if extent is not None and 2 * step >= min(extent, left) else max(1, left)


def _step(extent: int | None, left: int) -> int:
    """The step of an outer dimension: the largest divisor of the extent that fits the budget `left`."""
    if extent is None or left <= 1:
        return 1
    return max(step for step in range(1, max(1, min(extent, left)) + 1) if extent % step == 0)
