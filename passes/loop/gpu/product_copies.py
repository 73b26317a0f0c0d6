"""Copies of a product's operands to memory of the block, tile by tile."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from math import gcd

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import DYNAMIC_INDEX, NoneAttr, f32
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr

from stepwell.dialects.gpu.tensor_cores import takes_ldmatrix
from stepwell.dialects.ir_builder import Index, IRBuilder
from stepwell.dialects.sched import TOGETHER
from stepwell.dialects.schedule_device import WARP_THREADS
from stepwell.dialects.types import element_bytes, int_attr
from stepwell.passes.loop.gpu.nests import buffer_type, load_element, root_of, shared_array
from stepwell.passes.loop.gpu.product_frame import Frame, clamped, only_where
from stepwell.passes.loop.gpu.products import Product

_BANKS = 32
WIDEST_BYTES = 16
"""The most bytes that a thread copies to memory of the block at once."""


class StagedOperand:
    """
    An operand of which a block has a tile in its memory, `[sums, rows or columns]`.

    Where its neighbours along the sums are copied together, the tile is `[rows or columns, sums]`.
    """

    def __init__(self, frame: Frame, operand: int, at: IRBuilder):
        """Allocate the memory, and compute what does not depend on the sums."""
        product, tile = frame.product, frame.tile
        is_left = operand == product.left
        self.frame, self.operand = frame, operand
        self.loops = product.rows if is_left else product.columns
        self.width = tile.rows if is_left else tile.columns
        self.total = frame.totals.rows if is_left else frame.totals.columns
        self.first = frame.first_row if is_left else frame.first_column
        self.sums_first = has_sums_first(product, operand)
        source = frame.nest.op.operands[operand]
        type = buffer_type(source)
        most = frame.copy_bytes // element_bytes(type.element_type)
        extent = tile.sums if self.sums_first else self.width
        self.together = copied_elems(min(most, neighbours(product, operand)), extent)
        """The neighbouring elements that a thread copies."""
        self.is_transposed = self.sums_first and self.together > 1
        shape = tile_shape(tile.sums, self.width, self.sums_first, self.together, frame.has_fragments)
        self.memory = shared_array(at, type.element_type, shape, f"{source.name_hint or 'operand'}_tile")
        count = self.width * tile.sums // self.together
        self._parts = [_Neighbours(self, at, first, count) for first in range(0, count, frame.threads)]

    def copy(self, at: IRBuilder, begin: SSAValue) -> None:
        """Copy the tile of some sums, each thread its elements: all loads before the stores."""
        for store in [each.load(at, begin) for each in self._parts]:
            store()

    def element(self, at: IRBuilder, k: Index, place: Index) -> SSAValue:
        """An element of the tile."""
        return at.value(memref.LoadOp.get(self.memory, self.indices(at, k, place)))

    @property
    def takes_ldmatrix(self) -> bool:
        """Whether warps load eight rows or columns by four sums together, without conflicts of banks."""
        type = buffer_type(self.memory)
        return self.is_transposed and type.element_type == f32 and takes_ldmatrix(type.get_shape()[-1])

    def indices(self, at: IRBuilder, k: Index, place: Index) -> list[SSAValue]:
        """The indices of an element of the tile."""
        both = at.materialize(k), at.materialize(place)
        return [both[1], both[0]] if self.is_transposed else [*both]


class _Neighbours:
    """Elements of each tile that a thread copies together, one or more neighbours."""

    def __init__(self, staged: StagedOperand, at: IRBuilder, first: int, count: int):
        frame, together = staged.frame, staged.together
        self._staged = staged
        number = at.plus(frame.thread, first)
        if staged.sums_first:
            parts = frame.tile.sums // together
            self._k: Index = at.times(at.remainder(number, parts), together)
            self._place: Index = at.quotient(number, parts)
        else:
            parts = staged.width // together
            self._k, self._place = at.quotient(number, parts), at.times(at.remainder(number, parts), together)
        self._exists: SSAValue | None = None
        place = at.plus(staged.first, self._place)
        beyond = 1 if staged.sums_first else together
        if first + frame.threads > count:
            self._exists = at.compare("ult", at.materialize(number), at.materialize(count))
            # of threads without an element
            place = at.binary(arith.MinUIOp, place, at.minus(staged.total, beyond))
        else:
            place = clamped(at, place, staged.total, staged.width, beyond)
        self._indices = frame.split(at, staged.loops, place)

    def load(self, at: IRBuilder, begin: SSAValue) -> Callable[[], None]:
        """Load the elements of a tile; returns what stores them."""
        staged, frame = self._staged, self._staged.frame
        number = at.plus(begin, self._k)
        bounded = number
        has_whole_sums = frame.has_whole_sums()
        if not has_whole_sums or self._exists is not None:
            beyond = staged.together if staged.sums_first else 1
            bounded = at.binary(arith.MinUIOp, number, at.minus(frame.totals.sums, beyond))
        values = self._loaded(at, frame.split(at, frame.product.sums, bounded))
        if not has_whole_sums and frame.product.is_multiply_add:
            # Of neighbours along the sums all exist or none, since their number divides that of the sums.
            exists = at.compare("ult", at.materialize(number), at.materialize(frame.totals.sums))
            zero = at.number(0, values[0].type)
            values = [at.value(arith.SelectOp(exists, value, zero)) for value in values]
        return lambda: self._store(at, values)

    def _loaded(self, at: IRBuilder, sums: dict[int, Index]) -> list[SSAValue]:
        """The elements, along the last loop of the sums, or of the rows or columns."""
        staged, frame = self._staged, self._staged.frame
        source = frame.nest.op.operands[staged.operand]
        found: list[SSAValue] = []
        for step in range(staged.together):
            along = frame.product.sums[-1] if staged.sums_first else staged.loops[-1]
            indices = {**self._indices, **sums}
            indices[along] = at.plus(indices[along], step)
            point = frame.point(indices)
            found.append(load_element(at, source, frame.nest.maps[staged.operand], point))
        return found

    def _store(self, at: IRBuilder, values: Sequence[SSAValue]) -> None:
        """Store the elements where the thread has some."""
        staged = self._staged
        with only_where(at, [self._exists]) as inside:
            for step, value in enumerate(values):
                along_k, along_place = (step, 0) if staged.sums_first else (0, step)
                k, place = inside.plus(self._k, along_k), inside.plus(self._place, along_place)
                indices = staged.indices(inside, k, place)
                store = inside.insert(memref.StoreOp.get(value, staged.memory, indices))
                if staged.together > 1:
                    store.attributes[TOGETHER] = int_attr(staged.together)


def tile_shape(sums: int, width: int, sums_first: bool, together: int, has_fragments: bool) -> list[int]:
    """
    The shape of an operand's tile in memory of a block.

    Args: `together` are the neighbouring elements that a thread copies, which begin at multiples of them.
    """
    if sums_first and together > 1:
        # Four elements of f32 between rows: those that a warp reads together are in different banks.
        return [width, sums + together]
    if has_fragments:
        return [sums, fragment_row(width)]
    return [sums, row_elems(width, sums) if sums_first else width]


def copied_elems(neighbours: int, extent: int) -> int:
    """The neighbouring elements that a thread copies, of a tile with some: two copies a row at least."""
    return gcd(neighbours, extent // 2) if neighbours > 1 and extent > 1 else 1


def neighbours(product: Product, operand: int) -> int:
    """
    The elements of an operand, at most 16 bytes, that follow one another from each multiple of them on.

    That needs a loop along the last dimension, extents of both that they divide, and a whole buffer.
    """
    source = product.nest.op.operands[operand]
    type, map = buffer_type(source), product.nest.maps[operand]
    loops = product.sums if has_sums_first(product, operand) else _outer_loops(product, operand)
    if not map.results or type.layout != NoneAttr() or source is not root_of(source):
        return 1
    *others, last = map.results
    extent, size = product.nest.extents[loops[-1]], type.get_shape()[-1]
    if last != AffineExpr.dimension(loops[-1]) or any(loops[-1] in each.used_dims() for each in others):
        return 1
    if extent is None or size == DYNAMIC_INDEX:
        return 1
    return gcd(extent, size, WIDEST_BYTES // min(WIDEST_BYTES, element_bytes(type.element_type)))


def _outer_loops(product: Product, operand: int) -> tuple[int, ...]:
    """The loops of an operand that are not sums: rows or columns."""
    return product.rows if operand == product.left else product.columns


@cache
def row_elems(width: int, sums: int) -> int:
    """
    The elements of memory of a block between those of two sums, where neighbours are copied along the sums.

    The shortest row by which those that a warp stores together are in different ones of 32 banks of 4 bytes.
    """
    stored = [divmod(number, sums) for number in range(min(WARP_THREADS, sums * width))]
    for row in range(width, width + _BANKS):
        if len({(k * row + place) % _BANKS for place, k in stored}) == len(stored):
            return row
    return width + 1


def fragment_row(width: int) -> int:
    """
    The elements of memory of a block between those of two sums, for fragments of tensor cores.

    The four sums by eight places that a warp reads together are in 32 different banks.
    """
    return width + (8 - width) % 16


def has_sums_first(product: Product, operand: int) -> bool:
    """Whether neighbours of an operand in the device's memory are those along the sums."""
    map = product.nest.maps[operand]
    return bool(map.results) and map.results[-1].used_dims() <= set(product.sums)
