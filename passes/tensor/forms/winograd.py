"""
Winograd convolutions by blocks of tiles: transform the input, a product for each point, transform back.

The tiles of a feature map are numbered row by row and cut into blocks of one size, whatever its own size.

The transforms are code on vectors of channels, inside loops over tiles: straight-line code, or loops over
columns and rows where it is a small part of the work. The products are one
`linalg.generic` over points, panels of filters, tiles and lanes, which gets a schedule like any other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TypeAlias

from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import TensorType, f32, i1, i32
from xdsl.dialects.tensor import ExpandShapeOp
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from stepwell.dialects.arith import PackBfloatsOp, SelectOp
from stepwell.dialects.costs.layouts import WINOGRAD
from stepwell.dialects.ir_builder import Index, IRBuilder
from stepwell.dialects.linalg_ext.winograd import WinogradConvOp
from stepwell.dialects.tensor_ir.reshapes import consecutive_groups
from stepwell.dialects.tensor_ir.structured import tensor_element, tensor_shape
from stepwell.dialects.tensor_ir.transfers import Vector, read, vector_type, write
from stepwell.passes.tensor.forms.bfloat_pairs import plus_pair
from stepwell.passes.tensor.forms.extents import Extents
from stepwell.passes.tensor.forms.linear_forms import apply_matrix
from stepwell.passes.tensor.forms.structured_ops import plus_product, sum_of_products
from stepwell.runtime.dims import Dim
from stepwell.runtime.winograd import FILTER, Matrix, transforms

Carried: TypeAlias = Sequence[SSAValue]
"""Tensors carried by loops."""


def winograd_by_blocks(op: WinogradConvOp, sizes: Mapping[str, int], emit: IRBuilder) -> SSAValue:
    """
    `scf.for` over samples and blocks of tiles, with the three steps inside.

    ```mlir
    %y = scf.for %n … { scf.for %group … { scf.for %block … {
      %v = scf.for %c … { scf.for %tile … { reads of %x, 0 in its padding, B d Bᵀ, writes } }
      %m = linalg.generic … ins(%v, %u) …              // [points, panels, tiles, panel]
      %z = scf.for %panel … { scf.for %tile … { reads of %m, A m Aᵀ, writes } }
    } } }
    ```
    Without a size `groups` the loops over channels are the parallel ones.
    """
    extents = Extents(op, emit)
    tiling = _Tiling.of(op, sizes, extents)
    return _Emission(tiling, op.x, _in_blocks(extents.emit, op.u, tiling), extents.emit).run(op.init)


def _in_blocks(emit: IRBuilder, u: SSAValue, tiling: _Tiling) -> SSAValue:
    """
    The transformed filters with channels, or pairs of them, in blocks: [points, panels, C / b, b, panel].
    """
    points, panels, channels, panel = tensor_shape(u)
    shape = [points, panels, tiling.blocks, channels // tiling.blocks, panel]
    groups = consecutive_groups([1, 1, 2, 1])
    return emit.value(ExpandShapeOp(u, [], groups, shape, TensorType(tensor_element(u), shape)))


@dataclass(frozen=True)
class _Axis:
    """The extents along the rows or the columns of a feature map, and its number of tiles."""

    read: Dim
    """Extent of the input."""
    written: Dim
    """Extent of the result."""
    before: int
    """Padding before the input."""
    tiles: Dim

    def may_leave(self, step: int, tile: int) -> bool:
        """Whether the cell `step` after the first of some tile may be after the end of the input."""
        last = (self.tiles - 1) * tile + (step - self.before)
        return not (self.read - 1 - last).is_nonnegative


@dataclass(frozen=True)
class _Tiling:
    """The tile sizes of a convolution: tiles of a feature map, tiles of a block, blocks of channels."""

    tile: int
    samples: Dim
    rows: _Axis
    columns: _Axis
    blocks: int
    """Blocks of input channels, `lanes` each."""
    lanes: int
    panels: int
    panel: int
    tiles: int
    """Tiles of a block."""
    count: Dim
    """Blocks of tiles in a sample."""

    groups: int | None
    """The number of groups of blocks, some of which may be empty; None where threads share channels."""

    @staticmethod
    def of(op: WinogradConvOp, sizes: Mapping[str, int], extents: Extents) -> _Tiling:
        """The tiles of an op, in blocks of some size."""
        _, blocks, *_, lanes = tensor_shape(op.x)
        _, panels, _, panel = tensor_shape(op.u)
        tile, pads, tiles = op.tile.value.data, op.pads.get_values(), sizes["tiles"]
        written = [extents.of(op.init, d) for d in (2, 3)]
        rows, columns = (
            _Axis(extents.of(op.x, 2 + d), result, pads[d], result.ceildiv(tile))
            for d, result in enumerate(written)
        )
        count = (rows.tiles * columns.tiles).ceildiv(tiles)
        samples, widths = extents.of(op.init, 0), (blocks, lanes, panels, panel)
        return _Tiling(tile, samples, rows, columns, *widths, tiles, count, sizes.get("groups"))

    @property
    def size(self) -> int:
        """Points of a tile along an axis, outputs plus filter size minus 1."""
        return self.tile + FILTER - 1

    @property
    def total(self) -> Dim:
        """Tiles of a sample's feature map."""
        return self.rows.tiles * self.columns.tiles


@dataclass
class _Emission:
    """The loops of one op, emitted by `run`."""

    tiling: _Tiling
    x: SSAValue
    """[N, C / b, H, W, b]."""
    u: SSAValue
    """[points, panels, C / b, b, panel], with pairs of channels half as many in a block."""
    emit: IRBuilder

    @property
    def _in_pairs(self) -> bool:
        """Whether neighbouring channels of transformed tiles are packed in pairs of bf16."""
        return tensor_element(self.u) == i32

    @property
    def _at_once(self) -> int:
        """The products of one lane that an instruction adds."""
        return 2 if self._in_pairs else 1

    def run(self, y: SSAValue) -> SSAValue:
        """The tensor `y` [N, O / b, H, W, b] with the results of all samples written into it."""
        tiling = self.tiling
        # Sizes are computed before all loops.
        group = tiling.count.ceildiv(tiling.groups or 1)
        size, axes = self.emit.size, (tiling.rows, tiling.columns)
        count, group, samples = (size(n) for n in (tiling.count, group, tiling.samples))
        self._total, self._across = size(tiling.total), size(tiling.columns.tiles)
        self._read, self._last = [size(a.read) for a in axes], [size(a.written - 1) for a in axes]

        def one_sample(emit: IRBuilder, sample: SSAValue, carried: Carried) -> Carried:
            def one_block(emit: IRBuilder, block: SSAValue, carried: Carried) -> Carried:
                return [self._block(emit, sample, block, carried[0])]

            def one_group(emit: IRBuilder, number: SSAValue, carried: Carried) -> Carried:
                start = emit.times(number, group)
                stop = emit.least(emit.plus(start, group), count)
                return emit.loop(start, stop, 1, carried, one_block)

            if tiling.groups is not None:
                return emit.loop(0, tiling.groups, 1, carried, one_group, parallel=True)
            return _loop(emit, count, carried, one_block)

        return _loop(self.emit, samples, [y], one_sample)[0]

    def _block(self, emit: IRBuilder, sample: SSAValue, block: SSAValue, y: SSAValue) -> SSAValue:
        """
        The tensor `y` with the results of one block of tiles: input transform, products, output transform.
        """
        first = emit.times(block, self.tiling.tiles)
        v = self._transformed(emit, sample, first)
        return self._results(emit, self._products(emit, v), sample, first, y)

    def _transformed(self, emit: IRBuilder, sample: SSAValue, first: Index) -> SSAValue:
        """The tiles of a block after `B d Bᵀ`: [points, C / b, tiles, b], as pairs where filters are."""
        tiling = self.tiling
        matrix = transforms(tiling.tile).input
        type = vector_type(f32, (tiling.lanes,))
        zero, padding = emit.materialize(0), emit.number(0.0, type)

        def one_tile(emit: IRBuilder, at: _Tile, channels: SSAValue, v: SSAValue) -> SSAValue:
            rows = self._coordinates(emit, at.row, tiling.rows, self._read[0])

            def column(emit: IRBuilder, number: Index) -> list[SSAValue]:
                steps = range(number, number + 1) if isinstance(number, int) else range(tiling.size)
                first = emit.plus(at.column, emit.minus(number, tiling.columns.before))
                column = self._coordinate(emit, first, tiling.columns, self._read[1], steps)

                def seen(row: _Coordinate) -> SSAValue:
                    value = read(emit, self.x, [sample, channels, row.index, column.index, zero], type, (4,))
                    inside = _all(emit, [c.inside for c in (row, column) if c.inside is not None])
                    if inside is not None and not isinstance(number, int):  # else nearly each read branches
                        inside = _mask(emit, inside, tiling.lanes)
                    return value if inside is None else emit.value(SelectOp(inside, value, padding))

                return [seen(row) for row in rows]

            def store(emit: IRBuilder, row: Index, values: Sequence[SSAValue], v: SSAValue) -> SSAValue:
                point = emit.times(row, tiling.size)
                for j, value in enumerate(values):
                    value = emit.value(PackBfloatsOp(value)) if self._in_pairs else value
                    position = [emit.materialize(emit.plus(point, j)), channels, at.number, zero]
                    v = write(emit, value, v, position, (3,))
                return v

            uses = tiling.panels * tiling.panel // self._at_once
            return _BothWays(matrix, type, column, store).into(emit, v, uses)

        lanes = tensor_shape(self.u)[3]
        v = emit.empty(tensor_element(self.u), [tiling.size**2, tiling.blocks, tiling.tiles, lanes])
        return self._over_tiles(emit, tiling.blocks, first, v, one_tile)

    def _coordinates(self, emit: IRBuilder, first: Index, axis: _Axis, size: Index) -> list[_Coordinate]:
        """The input rows of a tile; 0 for those in the padding, which are masked."""
        return [
            self._coordinate(emit, emit.plus(first, step - axis.before), axis, size, range(step, step + 1))
            for step in range(self.tiling.size)
        ]

    def _coordinate(self, emit: IRBuilder, at: Index, axis: _Axis, size: Index, steps: range) -> _Coordinate:
        """The input row or column `at`, at one of some steps in its tile; 0 for those in the padding."""
        index, zero, tests = emit.materialize(at), emit.materialize(0), list[SSAValue]()
        if steps[0] < axis.before:
            tests.append(emit.value(arith.CmpiOp(index, zero, "sge")))
        if axis.may_leave(steps[-1], self.tiling.tile):
            tests.append(emit.value(arith.CmpiOp(index, emit.materialize(size), "slt")))
        inside = _all(emit, tests)
        if inside is not None:
            index = emit.value(SelectOp(inside, index, zero))
        return _Coordinate(index, inside)

    def _products(self, emit: IRBuilder, v: SSAValue) -> SSAValue:
        """
        The products of input and filters at each point, summed over channels: [points, panels, tiles, panel].
        """
        tiling = self.tiling
        p, q, t, lane, c, ci = (AffineExpr.dimension(i) for i in range(6))
        reads = (v, AffineMap(6, 0, (p, c, t, ci))), (self.u, AffineMap(6, 0, (p, q, c, ci, lane)))
        sizes = [tiling.size**2, tiling.panels, tiling.tiles, tiling.panel]
        return sum_of_products(emit, reads, f32, sizes, 2, plus_pair if self._in_pairs else plus_product)

    def _results(self, emit: IRBuilder, m: SSAValue, sample: SSAValue, first: Index, y: SSAValue) -> SSAValue:
        """The tensor `y` with `A m Aᵀ` of the tiles of a block written into it."""
        tiling = self.tiling
        matrix = transforms(tiling.tile).output
        type = vector_type(f32, (tiling.lanes,))
        zero = emit.materialize(0)
        parts = tiling.panel // tiling.lanes

        def one_tile(emit: IRBuilder, at: _Tile, channels: SSAValue, y: SSAValue) -> SSAValue:
            panel = emit.value(arith.DivUIOp(channels, emit.materialize(parts)))
            part = emit.value(arith.RemUIOp(channels, emit.materialize(parts)))
            lane = emit.materialize(emit.times(part, tiling.lanes))

            def column(emit: IRBuilder, number: Index) -> list[SSAValue]:
                points = (emit.plus(number, i * tiling.size) for i in range(tiling.size))
                return [
                    read(emit, m, [emit.materialize(point), panel, at.number, lane], type, (3,))
                    for point in points
                ]

            columns = self._written(emit, at.column, tiling.columns, self._last[1], range(tiling.tile))

            def store(emit: IRBuilder, number: Index, values: Sequence[SSAValue], y: SSAValue) -> SSAValue:
                (row,) = self._written(emit, emit.plus(at.row, number), tiling.rows, self._last[0], range(1))
                # In reverse order: results beyond the end go to the last column, and are then overwritten.
                for column, value in reversed(list(zip(columns, values, strict=True))):
                    y = write(emit, value, y, [sample, channels, row, column, zero], (4,))
                return y

            uses = tiling.blocks * tiling.lanes // self._at_once
            return _BothWays(matrix, type, column, store).into(emit, y, uses)

        return self._over_tiles(emit, tiling.panels * parts, first, y, one_tile)

    def _written(
        self, emit: IRBuilder, first: Index, axis: _Axis, last: Index, steps: range
    ) -> list[SSAValue]:
        """The result rows or columns at some steps after `first`; those beyond the end are the last one."""
        coordinates = [emit.plus(first, step) for step in steps]
        if not (axis.written - axis.tiles * self.tiling.tile).is_nonnegative:
            coordinates = [emit.least(index, last) for index in coordinates]
        return [emit.materialize(index) for index in coordinates]

    def _over_tiles(
        self,
        emit: IRBuilder,
        channels: int,
        first: Index,
        into: SSAValue,
        one_tile: Callable[[IRBuilder, _Tile, SSAValue, SSAValue], SSAValue],
    ) -> SSAValue:
        """The tensor `into` after loops over blocks of channels and over a block's tiles, from `first` on."""
        tiling = self.tiling

        def over_channels(emit: IRBuilder, c: SSAValue, carried: Carried) -> Carried:
            def over_tiles(emit: IRBuilder, number: SSAValue, carried: Carried) -> Carried:
                tile = emit.materialize(emit.plus(first, number))
                across = emit.materialize(self._across)
                row, column = (emit.value(op(tile, across)) for op in (arith.DivUIOp, arith.RemUIOp))
                at = _Tile(emit.times(row, tiling.tile), emit.times(column, tiling.tile), number)
                return [one_tile(emit, at, c, carried[0])]

            return _loop(emit, tiles, carried, over_tiles)

        tiles: Index = tiling.tiles
        if not tiling.total.is_static or tiling.total.value % tiles:  # the last block has fewer
            tiles = emit.least(emit.minus(self._total, first), tiles)
        return _loop(emit, channels, [into], over_channels, parallel=tiling.groups is None)[0]


@dataclass(frozen=True)
class _Coordinate:
    """An input row or column, and a test whether it is inside the input; None where it always is."""

    index: SSAValue
    inside: SSAValue | None


@dataclass(frozen=True)
class _Tile:
    """The position of a tile: its first row and column of results, and its number in the block."""

    row: Index
    column: Index
    number: SSAValue


def _loop(
    emit: IRBuilder,
    count: Index,
    carried: Carried,
    body: Callable[[IRBuilder, SSAValue, Carried], Carried],
    *,
    parallel: bool = False,
) -> Carried:
    """Values carried through a loop from 0 to `count`; a single iteration is emitted without a loop."""
    if count == 1:
        return body(emit, emit.materialize(0), carried)
    return emit.loop(0, count, 1, carried, body, parallel=parallel)


def _mask(emit: IRBuilder, test: SSAValue, lanes: int) -> SSAValue:
    """A test as a vector, made once."""
    type = vector_type(i1, (lanes,))
    return emit.once((vector.BroadcastOp, test), lambda: emit.value(vector.BroadcastOp(test, type)))


def _all(emit: IRBuilder, tests: Sequence[SSAValue]) -> SSAValue | None:
    """The conjunction of tests; None without any."""
    return reduce(lambda a, b: emit.value(arith.AndIOp(a, b)), tests) if tests else None


@dataclass(frozen=True)
class _BothWays:
    """The product `M d Mᵀ` of a square `d` of vectors, by code for its columns and for rows of results."""

    matrix: Matrix
    type: Vector
    column: Callable[[IRBuilder, Index], list[SSAValue]]
    """Reads a column of `d`."""
    store: Callable[[IRBuilder, Index, Sequence[SSAValue], SSAValue], SSAValue]
    """
    Writes a row of the result into a tensor. The last row is first: an output tile's results beyond the end
    go to the last row of the feature map, and are then overwritten.
    """

    def into(self, emit: IRBuilder, written: SSAValue, uses: int) -> SSAValue:
        """The tensor `written` with the result written into it; `uses` is the products of each element."""
        return (self._looped if uses >= WINOGRAD.looped_uses else self._straight)(emit, written)

    def _straight(self, emit: IRBuilder, written: SSAValue) -> SSAValue:
        """Straight-line code, which has all of the square in registers, or spills it."""
        size = len(self.matrix[0])
        columns = [apply_matrix(emit, self.matrix, self.column(emit, j)) for j in range(size)]
        for i, row in reversed(list(enumerate(zip(*columns, strict=True)))):
            written = self.store(emit, i, apply_matrix(emit, self.matrix, row), written)
        return written

    def _looped(self, emit: IRBuilder, written: SSAValue) -> SSAValue:
        """A loop over columns of `d`, then one over rows of the result: a third of the code, more cycles."""
        rows, size, zero = len(self.matrix), len(self.matrix[0]), emit.materialize(0)

        def one_column(emit: IRBuilder, number: SSAValue, carried: Carried) -> Carried:
            (made,) = carried
            for i, value in enumerate(apply_matrix(emit, self.matrix, self.column(emit, number))):
                made = write(emit, value, made, [emit.materialize(i), number, zero], (2,))
            return [made]

        def one_row(emit: IRBuilder, number: SSAValue, carried: Carried) -> Carried:
            number = emit.materialize(emit.minus(rows - 1, number))
            positions = ([number, emit.materialize(j), zero] for j in range(size))
            row = [read(emit, between, position, self.type, (2,)) for position in positions]
            return [self.store(emit, number, apply_matrix(emit, self.matrix, row), carried[0])]

        scratch = emit.empty(f32, [rows, size, *self.type.get_shape()])
        (between,) = emit.loop(0, size, 1, [scratch], one_column)
        return emit.loop(0, rows, 1, [written], one_row)[0]
