"""The grid of elementwise ops that read an operand across: its tiles go through memory of the block."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects import memref, scf
from xdsl.ir import SSAValue

from stepwell.dialects.ir_builder import Index, IRBuilder
from stepwell.dialects.sched import Schedule
from stepwell.dialects.schedule_device import block_threads
from stepwell.dialects.tensor_ir.structured import projected_permutation
from stepwell.passes.loop.gpu.chains import Chain
from stepwell.passes.loop.gpu.mapped_loops import open_grid
from stepwell.passes.loop.gpu.nests import (
    Nest,
    buffer_type,
    is_buffer,
    load_element,
    product_of,
    root_of,
    shared_array,
    split_number,
)
from stepwell.passes.loop.gpu.product_frame import inside_condition, only_where
from stepwell.runtime.errors import StepwellError


def crossed_loops(nest: Nest, operand: int) -> tuple[int, int] | None:
    """
    The loop along which an input is dense, and the loop of the output.

    Returns: None where both are the same loop; for an operand that is no input, lacks a loop, or is accessed
    in another way too.
    """
    if operand >= len(nest.inputs) or not is_buffer(source := nest.inputs[operand]):
        return None
    inward, outward = projected_permutation(nest.maps[operand]), projected_permutation(nest.output_maps[0])
    if inward is None or outward is None or {len(inward), len(outward)} != {len(nest.parallel)}:
        return None
    roots = [root_of(value) for value in nest.op.operands if is_buffer(value)]
    if not inward or inward[-1] == outward[-1] or roots.count(root_of(source)) > 1:
        return None
    return inward[-1], outward[-1]


def crossed_operand(nest: Nest) -> tuple[int, tuple[int, int]] | None:
    """The first input that is dense along another loop than the output, with both; None without one."""
    for operand in range(len(nest.inputs)):
        if (loops := crossed_loops(nest, operand)) is not None:
            return operand, loops
    return None


def build_transpose(before: IRBuilder, nest: Nest, schedule: Schedule, chain: Chain) -> None:
    """
    Insert the grid of an op whose operand `stage` is dense along another loop than its output.

    A block has a square of both: its threads load rows of the operand, and store rows of the output.
    Raises: StepwellError `unsupported` for a schedule with other tiles.
    """
    operand, size, loops = _square(nest, schedule)
    threads = block_threads(schedule.levels())
    extents = [nest.extent(before, loop) for loop in range(len(nest.parallel))]
    rest = [loop for loop in range(len(extents)) if loop not in loops]
    of_rest = [extents[loop] for loop in rest]
    counts = [product_of(before, of_rest), *(before.ceildiv(extents[loop], size) for loop in loops)]
    outer, at = open_grid(before, product_of(before, counts), threads)
    number, *squares = split_number(at, outer.args[0], counts)
    point = dict(zip(rest, split_number(at, number, of_rest), strict=True))
    thread = at.insertion_point.block.args[0]
    firsts = [at.times(square, size) for square in squares]
    square = _Square(nest, chain, operand, loops, extents, point, firsts, size)
    square.build(at, thread, threads)
    at.insert(scf.ReduceOp())


def _square(nest: Nest, schedule: Schedule) -> tuple[int, int, tuple[int, int]]:
    """
    The operand, the size of a block's square, and its loops: dense in the operand, dense in the output.

    Raises: StepwellError `unsupported`.
    """
    operand, *others = schedule.on_device.stage
    loops = None if others else crossed_loops(nest, operand)
    tile, threads = schedule.levels()[0].tile, block_threads(schedule.levels())
    size = max(tile)
    wanted = [size if loops is not None and loop in loops else 0 for loop in range(len(tile))]
    if loops is None or [*tile] != wanted or threads % size or size * size % threads:
        message = f"stage = {[*schedule.on_device.stage]} of an elementwise op with tiles of {[*tile]}"
        help = "squares along the loops by which one input and the output are dense, of whole rows of threads"
        raise StepwellError("unsupported", nest.op, message, help=help)
    return operand, size, loops


class _Square:
    """A square of an operand and of the output, in one block."""

    def __init__(
        self,
        nest: Nest,
        chain: Chain,
        operand: int,
        loops: tuple[int, int],
        extents: Sequence[Index],
        point: dict[int, Index],
        firsts: Sequence[Index],
        size: int,
    ):
        """Args: `point` has the indices of other loops; `firsts` are the first ones of both loops."""
        self._nest, self._chain, self._operand, self._size = nest, chain, operand, size
        self._loops, self._extents, self._point, self._firsts = loops, extents, point, firsts

    def build(self, at: IRBuilder, thread: SSAValue, threads: int) -> None:
        """Load and store, an element of each of some rows for each of the block's threads."""
        source = self._nest.op.operands[self._operand]
        element = buffer_type(source).element_type
        # An element more in each row: those that a warp reads of a column are in different banks.
        shape = [self._size, self._size + 1]
        memory = shared_array(at, element, shape, f"{source.name_hint or 'operand'}_tile")

        def load(inside: IRBuilder, place: tuple[Index, Index], point: Sequence[Index]) -> None:
            value = load_element(inside, source, self._nest.maps[self._operand], point)
            places = [inside.materialize(index) for index in place[::-1]]
            inside.insert(memref.StoreOp.get(value, memory, places))

        def store(inside: IRBuilder, place: tuple[Index, Index], point: Sequence[Index]) -> None:
            places = [inside.materialize(index) for index in place[::-1]]
            value = inside.value(memref.LoadOp.get(memory, places))
            self._chain.points(inside, {}, point, {source: value})

        numbers = [at.plus(thread, first) for first in range(0, self._size**2, threads)]
        # As quotients and remainders: so `insert-gpu-barriers` knows that no two threads store to one place.
        places = [(at.remainder(number, self._size), at.quotient(number, self._size)) for number in numbers]
        for across, down in places:
            self._checked(at, (across, down), load)
        for across, down in places:
            self._checked(at, (down, across), store)

    def _checked(
        self,
        at: IRBuilder,
        place: tuple[Index, Index],
        build: Callable[[IRBuilder, tuple[Index, Index], Sequence[Index]], None],
    ) -> None:
        """Build the access of an element at a place along both loops of the square, unless past the end."""
        indices = [at.plus(first, index) for first, index in zip(self._firsts, place, strict=True)]
        known = {**self._point, **dict(zip(self._loops, indices, strict=True))}
        point = [known[loop] for loop in range(len(self._extents))]
        checks = [
            inside_condition(at, index, self._extents[loop], self._size)
            for loop, index in zip(self._loops, indices, strict=True)
        ]
        with only_where(at, checks) as inside:
            build(inside, place, point)
