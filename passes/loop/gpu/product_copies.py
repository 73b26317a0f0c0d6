"""Copies of a product's operands to memory of the block, tile by tile."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects import arith, memref, scf
from xdsl.ir import Block, SSAValue

from stepwell.dialects.gpu.attributes import WORKGROUP
from stepwell.dialects.ir_builder import Index, IRBuilder
from stepwell.passes.loop.gpu.nests import buffer_type, load_element
from stepwell.passes.loop.gpu.product_frame import Frame, clamped
from stepwell.passes.loop.gpu.products import Product


class StagedOperand:
    """An operand of which a block has a tile in its memory, `[sums, rows or columns]`."""

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
        row = fragment_row(self.width) if frame.has_fragments else row_elems(self.width, self.sums_first)
        shape = [tile.sums, row]
        self.memory = at.value(
            memref.AllocOp.get(buffer_type(source).element_type, shape=shape, memory_space=WORKGROUP)
        )
        self.memory.name_hint = f"{source.name_hint or 'operand'}_tile"
        count = self.width * tile.sums
        self._elements = [_Element(self, at, first, count) for first in range(0, count, frame.threads)]

    def copy(self, at: IRBuilder, begin: SSAValue) -> None:
        """Copy the tile of some sums, each thread its elements: all loads before the stores."""
        for store in [each.load(at, begin) for each in self._elements]:
            store()

    def element(self, at: IRBuilder, k: Index, place: Index) -> SSAValue:
        """An element of the tile."""
        return at.value(memref.LoadOp.get(self.memory, [at.materialize(k), at.materialize(place)]))


class _Element:
    """An element of each tile that a thread copies."""

    def __init__(self, staged: StagedOperand, at: IRBuilder, first: int, count: int):
        frame = staged.frame
        self._staged = staged
        number = at.plus(frame.thread, first)
        if staged.sums_first:
            self._k, self._place = at.remainder(number, frame.tile.sums), at.quotient(number, frame.tile.sums)
        else:
            self._k, self._place = at.quotient(number, staged.width), at.remainder(number, staged.width)
        self._exists: SSAValue | None = None
        place = at.plus(staged.first, self._place)
        if first + frame.threads > count:
            self._exists = at.compare("ult", at.materialize(number), at.materialize(count))
            place = at.binary(
                arith.MinUIOp, place, at.minus(staged.total, 1)
            )  # of threads without an element
        else:
            place = clamped(at, place, staged.total, staged.width)
        self._indices = frame.split(at, staged.loops, place)

    def load(self, at: IRBuilder, begin: SSAValue) -> Callable[[], None]:
        """Load the element of a tile; returns what stores it."""
        staged, frame = self._staged, self._staged.frame
        number = at.plus(begin, self._k)
        bounded = number
        if not frame.has_whole_sums() or self._exists is not None:
            bounded = at.binary(arith.MinUIOp, number, at.minus(frame.totals.sums, 1))
        point = frame.point(self._indices, frame.split(at, frame.product.sums, bounded))
        source = frame.nest.op.operands[staged.operand]
        value = load_element(at, source, frame.nest.maps[staged.operand], point)
        if not frame.has_whole_sums() and frame.product.is_multiply_add:
            exists = at.compare("ult", at.materialize(number), at.materialize(frame.totals.sums))
            value = at.value(arith.SelectOp(exists, value, at.number(0, value.type)))

        def store() -> None:
            inside = at
            if self._exists is not None:
                at.insert(scf.IfOp(self._exists, [], [branch := Block()]))
                inside = at.inside(branch)
            places = [inside.materialize(self._k), inside.materialize(self._place)]
            inside.insert(memref.StoreOp.get(value, staged.memory, places))
            if inside is not at:
                inside.insert(scf.YieldOp())

        return store


def row_elems(width: int, sums_first: bool) -> int:
    """
    The elements of memory of a block between those of two sums.

    A longer row puts neighbours along the sums in different ones of 32 banks of 4 bytes.
    """
    return width + 1 if sums_first else width


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
