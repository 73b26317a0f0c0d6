"""The grid of elementwise ops: a thread an element, or neighbouring ones that it loads and stores at once."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from xdsl.dialects import scf, vector
from xdsl.dialects.builtin import VectorType
from xdsl.dialects.linalg.ops import IndexOp
from xdsl.ir import Attribute, Block, SSAValue
from xdsl.ir.affine import AffineMap

from stepwell.dialects.ir_builder import Index, IRBuilder
from stepwell.dialects.sched import Schedule
from stepwell.dialects.schedule_device import block_threads
from stepwell.dialects.types import element_bytes, int_attr
from stepwell.dialects.vector import ALIGNMENT
from stepwell.passes.analysis.dead_ops import erase_dead_ops
from stepwell.passes.loop.gpu.chains import Chain, Coordinates, Link
from stepwell.passes.loop.gpu.mapped_loops import open_grid
from stepwell.passes.loop.gpu.nests import (
    Nest,
    buffer_type,
    flat_view,
    has_aligned_rows,
    is_buffer,
    is_dense,
    load_element,
    product_of,
    split_number,
)
from stepwell.passes.loop.gpu.product_copies import WIDEST_BYTES
from stepwell.passes.loop.gpu.product_frame import inside_condition, only_where
from stepwell.passes.loop.gpu.transpose_grid import build_transpose
from stepwell.runtime.errors import StepwellError


def build_elementwise(before: IRBuilder, nest: Nest, schedule: Schedule, chain: Chain) -> None:
    """
    Insert the grid of an op with parallel loops alone, and of the ops after it.

    Raises: StepwellError `unsupported` for a staged operand without squares, and for vectors of an op whose
    output is not dense along the last loop.
    """
    if schedule.on_device.stage:
        build_transpose(before, nest, schedule, chain)
        return
    if schedule.vectorize is not None:
        _expect_neighbours(nest, schedule)
    threads, per_block, lanes = block_threads(schedule.levels()), schedule.tile[-1], _lanes(schedule)
    extents = [nest.extent(before, loop) for loop in range(len(nest.parallel))]
    total = product_of(before, extents)
    outer, at = open_grid(before, before.ceildiv(total, per_block), threads)
    thread = at.insertion_point.block.args[0]
    first = at.plus(at.times(outer.args[0], per_block), at.times(thread, lanes))
    points = _Points(chain, extents, total, lanes)
    for step in range(0, per_block, threads * lanes):
        points.build(at, at.plus(first, step), per_block)
    at.insert(scf.ReduceOp())


def _lanes(schedule: Schedule) -> int:
    """The neighbouring elements that a thread accesses at once."""
    return 1 if schedule.vectorize is None else schedule.levels()[-1].tile[-1]


def _expect_neighbours(nest: Nest, schedule: Schedule) -> None:
    """Require vectors of up to 16 bytes along the last loop. Raises: StepwellError `unsupported`."""
    output = nest.outputs[0]
    lanes, nbytes = _lanes(schedule), element_bytes(buffer_type(output).element_type)
    is_last = schedule.vectorize == len(nest.parallel) - 1
    is_whole = lanes in (2, 4, 8, 16) and lanes * nbytes <= WIDEST_BYTES
    is_identity = nest.output_maps[0] == AffineMap.identity(len(nest.parallel))
    if is_last and is_whole and is_identity and is_dense(output):
        return
    message = f"vectorize = {schedule.vectorize} with {lanes} elements a thread of an elementwise op"
    help = f"2, 4, 8 or 16 elements along the last loop, of {WIDEST_BYTES} bytes at most, of a dense output"
    raise StepwellError("unsupported", nest.op, message, help=help)


def has_neighbours(chain: Chain, extents: Sequence[int | None], lanes: int) -> bool:
    """
    Whether vectors save accesses of the points of a chain, and no point needs divisions by unknown sizes.

    A point needs its indices for operands that are no vectors, and for ops that ask for them.
    """
    loaded: list[bool] = []
    needs_indices = False
    written: set[SSAValue] = set()
    for link in chain.links:
        body = link.nest.op.body.block
        needs_indices |= any(isinstance(op, IndexOp) or op.regions for op in body.ops)
        for value, map, argument in zip(link.nest.op.operands, link.nest.maps, body.args, strict=True):
            if is_buffer(value) and argument.uses and value not in written:
                loaded.append(_is_vector(chain, extents[-1], lanes, value, link.coordinates(map)))
        written |= set(link.nest.outputs)
    has_rows = extents[-1] is not None and extents[-1] % lanes == 0
    needs_indices |= not all(loaded)
    is_known = has_rows or None not in extents or not needs_indices
    return is_known and (any(loaded) or not loaded)


def _is_vector(
    chain: Chain, last: Index | None, lanes: int, value: SSAValue, place: Coordinates | None
) -> bool:
    """Whether the elements of neighbouring points of an operand are neighbours themselves."""
    if place is None:
        return False
    if place == chain.every_dimension and is_dense(value):
        return True
    is_row = place[-1:] == (chain.rank - 1,)
    return is_row and last is not None and has_aligned_rows(value, last, lanes)


class _Points:
    """Neighbouring points of a chain, which a thread computes."""

    def __init__(self, chain: Chain, extents: Sequence[Index], total: Index, lanes: int):
        self._chain, self._extents, self._total, self._lanes = chain, extents, total, lanes

    def build(self, at: IRBuilder, number: Index, per_block: int) -> None:
        """Compute the existing points from a number on, in blocks with any."""
        total, lanes = self._total, self._lanes
        if lanes == 1 or (isinstance(total, int) and total % lanes == 0):
            with only_where(at, [inside_condition(at, number, total, per_block)]) as inside:
                self._build_all(inside, number)
            return
        end = at.materialize(at.plus(number, lanes))
        condition = at.compare("ule", end, at.materialize(total))
        at.insert(scf.IfOp(condition, [], [whole := Block()], [rest := Block()]))
        inside = at.inside(whole)
        self._build_all(inside, number)
        inside.insert(scf.YieldOp())
        self._build_rest(at.inside(rest), number)

    def _build_rest(self, at: IRBuilder, number: Index) -> None:
        """Compute the points that exist, one after the other."""

        def step(inside: IRBuilder, lane: SSAValue, _: Sequence[SSAValue]) -> Sequence[SSAValue]:
            each = inside.plus(number, lane)
            with only_where(inside, [inside_condition(inside, each, self._total, self._lanes)]) as exists:
                self._chain.points(exists, {}, split_number(exists, each, self._extents))
            return []

        at.loop(0, self._lanes, 1, [], step)
        at.insert(scf.YieldOp())

    def _build_all(self, at: IRBuilder, number: Index) -> None:
        """Compute all points: a single one, or all loads of neighbours before the stores."""
        if self._lanes == 1:
            self._chain.points(at, {}, split_number(at, number, self._extents))
            return
        _Neighbours(self._chain, self._extents, self._lanes, at, number).build()
        erase_dead_ops(at.insertion_point.block)  # indices that vectors do not need


class _Neighbours:
    """Points with numbers in a row, the first one a multiple of their count."""

    def __init__(self, chain: Chain, extents: Sequence[Index], lanes: int, at: IRBuilder, number: Index):
        self._chain, self._extents, self._lanes, self._at, self._number = chain, extents, lanes, at, number
        self._points = self._points_of(split_number(at, number, extents))
        self._loaded: dict[tuple[SSAValue, Sequence[int]], SSAValue] = {}

    def _points_of(self, first: Sequence[Index]) -> list[Sequence[Index]]:
        """The indices of each point; those of a row differ in the last one."""
        at, last = self._at, self._extents[-1]
        if isinstance(last, int) and last % self._lanes == 0:
            return [[*first[:-1], at.plus(first[-1], lane)] for lane in range(self._lanes)]
        numbers = (at.plus(self._number, lane) for lane in range(1, self._lanes))
        return [first, *(split_number(at, number, self._extents) for number in numbers)]

    def build(self) -> None:
        """Compute the points, then store their elements."""
        results = [
            self._chain.results(self._at, {}, point, load=partial(self._element, lane))
            for lane, point in enumerate(self._points)
        ]
        for value in results[0]:
            self._store(value, [each[value] for each in results])

    def _element(
        self, lane: int, at: IRBuilder, link: Link, value: SSAValue, map: AffineMap, indices: Sequence[Index]
    ) -> SSAValue:
        """An element of an operand at a point: of a vector, where its neighbours are the points' own."""
        place = link.coordinates(map)
        if place is None or not self._is_vector(value, place):
            return load_element(at, value, map, indices)
        if (loaded := self._loaded.get((value, place))) is None:
            loaded = self._loaded[value, place] = self._load(value, place)
        return at.value(vector.ExtractOp(loaded, [lane], buffer_type(value).element_type))

    def _is_vector(self, value: SSAValue, place: Coordinates) -> bool:
        """Whether all points' elements of an operand are accessed at once."""
        return _is_vector(self._chain, self._extents[-1], self._lanes, value, place)

    def _load(self, value: SSAValue, place: Coordinates) -> SSAValue:
        """The elements of an operand, as a vector."""
        base, indices = self._vector_at(value, place)
        load = vector.LoadOp(base, indices, self._type(value))
        return self._at.value(self._aligned(load, value))

    def _vector_at(self, value: SSAValue, place: Coordinates) -> tuple[SSAValue, list[SSAValue]]:
        """The buffer, or a flat view of it, and the indices of the first element."""
        if place == self._chain.every_dimension and is_dense(value):
            return flat_view(self._at, value), [self._at.materialize(self._number)]
        return value, [self._at.materialize(self._points[0][dim]) for dim in place]

    def _type(self, value: SSAValue) -> VectorType[Attribute]:
        return VectorType(buffer_type(value).element_type, [self._lanes])

    def _aligned(self, op: vector.LoadOp | vector.StoreOp, value: SSAValue) -> vector.LoadOp | vector.StoreOp:
        """An access at a multiple of its bytes: buffers begin at multiples of 256."""
        nbytes = self._lanes * element_bytes(buffer_type(value).element_type)
        op.attributes[ALIGNMENT] = int_attr(nbytes)
        return op

    def _store(self, value: SSAValue, elements: Sequence[SSAValue]) -> None:
        """Store the elements of a buffer, at once where they are neighbours."""
        at, place = self._at, self._chain.own[value]
        if not self._is_vector(value, place):
            for element, point in zip(elements, self._points, strict=True):
                self._chain.store(at, value, element, point)
            return
        made = at.value(vector.BroadcastOp(elements[0], self._type(value)))
        for lane, element in enumerate(elements[1:], 1):
            made = at.value(vector.InsertOp(element, made, [lane]))
        base, indices = self._vector_at(value, place)
        at.insert(self._aligned(vector.StoreOp(made, base, indices), value))
