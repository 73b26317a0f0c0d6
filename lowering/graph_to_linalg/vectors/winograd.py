"""
Winograd convolutions → blocks of tiles: transform the input, a product a point, transform the results back.

The tiles of an image are numbered row by row and cut into blocks of one size, so that images may have any.

The transforms are straight-line code on vectors of channels, inside loops over tiles. The products are one
`linalg.generic` over points, panels of filters, tiles and lanes, which gets a schedule like any other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from math import ceil
from typing import TypeAlias

from xdsl.dialects import arith
from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from stepwell.dialects import graph
from stepwell.dialects.graph.relations import shape_text
from stepwell.dialects.tensor_ir.emit import Constants, Emitter, Index, dense_attr
from stepwell.dialects.tensor_ir.transfers import read, vector_type, write
from stepwell.dialects.types import dims_of
from stepwell.lowering.graph_to_linalg.contraction import sum_of_products
from stepwell.lowering.graph_to_linalg.support import empty_like, enclosing_kernel, extent
from stepwell.lowering.graph_to_linalg.vectors.linear_forms import apply_matrix
from stepwell.lowering.graph_to_linalg.views import split_dims
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.machine.target import F32_BYTES
from stepwell.runtime.winograd import FILTER, Matrix, transforms

# What a block of tiles may take of the second-level cache: its transformed input, and its products.
_BLOCK_BYTES = 600 << 10
# Products of fewer tiles leave registers idle.
_ENOUGH_TILES = 24
# What an image of open size has in a block at most: small ones would fill no more.
_OPEN_TILES = 48
# Threads share groups of blocks when an image has so many blocks, else the parts of each block. A group has
# memory of its own for one block, which stays in the cache from block to block.
_ENOUGH_BLOCKS = 4
_MAX_GROUPS = 8

Carried: TypeAlias = Sequence[SSAValue]
"""The tensors that loops carry."""


class WinogradLowering(RewritePattern):
    """
    `graph.winograd_conv` → `scf.for` over images and blocks of tiles, with the three steps inside.

    ```mlir
    %y = scf.for %n … { scf.for %group … { scf.for %block … {
      %v = scf.for %c … { scf.for %tile … { reads of %x, 0 beyond its borders, B d Bᵀ, writes } }
      %m = linalg.generic … ins(%v, %u) …              // [points, panels, tiles, panel]
      %z = scf.for %panel … { scf.for %tile … { reads of %m, A m Aᵀ, writes } }
    } } }
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.WinogradConvOp, rewriter: PatternRewriter) -> None:
        form = _Form.of(op)
        points, panels, _, panel = dims_of(op.u.type)
        channels = [Dim.of(form.blocks), Dim.of(form.lanes)]
        u = split_dims(op.u, [[points], [panels], channels, [panel]], rewriter)
        emit = Emitter.before(op, Constants(enclosing_kernel(rewriter)))
        y = empty_like(op.result, rewriter)
        rewriter.replace(op, [], [_Emission(form, op.x, u, emit, rewriter).run(y)])


@dataclass(frozen=True)
class _Axis:
    """Rows or columns of an image, and of tiles."""

    read: Dim
    """Of the image that is read."""
    written: Dim
    """Of the result."""
    before: int
    """The border in front."""
    tiles: Dim

    def may_leave(self, step: int, tile: int) -> bool:
        """Whether the place `step` behind the first of a tile may lie behind the image."""
        last = (self.tiles - 1) * tile + (step - self.before)
        return not (self.read - 1 - last).is_nonnegative


@dataclass(frozen=True)
class _Form:
    """The sizes of a convolution in tiles, and how many of them are a block."""

    tile: int
    images: Dim
    rows: _Axis
    columns: _Axis
    blocks: int
    """Of input channels, `lanes` each."""
    lanes: int
    panels: int
    panel: int
    tiles: int
    """Of a block."""
    count: Dim
    """Blocks in an image."""

    @staticmethod
    def of(op: graph.WinogradConvOp) -> _Form:
        """The form of an op. Raises: StepwellError `unsupported` where the number of channels is open."""
        images, blocks, *read, lanes = dims_of(op.x.type)
        _, panels, channels, panel = dims_of(op.u.type)
        if not (blocks.is_static and panels.is_static):
            raise StepwellError(
                "unsupported",
                op,
                f"graph.winograd_conv needs known channels, found {shape_text(dims_of(op.x.type))}",
            )
        tile, pads = op.tile.value.data, op.pads.get_values()
        rows, columns = (
            _Axis(n, result, pad, result.ceildiv(tile))
            for n, result, pad in zip(read, dims_of(op.result.type)[2:4], pads, strict=False)
        )
        tile_bytes = (tile + FILTER - 1) ** 2 * (channels.value + panels.value * panel.value) * F32_BYTES
        total = rows.tiles * columns.tiles
        tiles = _tiles_of_block(total, max(_ENOUGH_TILES, _BLOCK_BYTES // tile_bytes))
        widths = blocks.value, lanes.value, panels.value, panel.value
        return _Form(tile, images, rows, columns, *widths, tiles, total.ceildiv(tiles))

    @property
    def size(self) -> int:
        """Points of a tile along an axis."""
        return self.tile + FILTER - 1

    @property
    def total(self) -> Dim:
        """Tiles of an image."""
        return self.rows.tiles * self.columns.tiles

    @property
    def shares_blocks(self) -> bool:
        """Whether threads share groups of blocks, and not what is in one block."""
        return not self.count.is_static or self.count.value >= _ENOUGH_BLOCKS

    @property
    def group(self) -> Dim:
        """Blocks in a group."""
        return self.count.ceildiv(_MAX_GROUPS)

    @property
    def groups(self) -> int:
        """How many groups there are, of which some may be empty where the size of images is open."""
        return self.count.ceildiv(self.group).value if self.count.is_static else _MAX_GROUPS


def _tiles_of_block(total: Dim, most: int) -> int:
    """As many as stay in the cache; an image's blocks are equally full, and two threads get as many."""
    if not total.is_static:
        return min(most, _OPEN_TILES)
    count = ceil(total.value / most)
    return ceil(total.value / (count + count % 2 if count >= _ENOUGH_BLOCKS else count))


@dataclass
class _Emission:
    """Emits the loops of one op."""

    form: _Form
    x: SSAValue
    """[N, C / b, H, W, b]."""
    u: SSAValue
    """[points, panels, C / b, b, panel]."""
    emit: Emitter
    rewriter: PatternRewriter

    def run(self, y: SSAValue) -> SSAValue:
        """All images, written into `y`: [N, O / b, H, W, b]."""
        form = self.form
        # Sizes stand before all loops.
        count, group, images = (self._size(n) for n in (form.count, form.group, form.images))
        self._total, self._across = self._size(form.total), self._size(form.columns.tiles)
        self._read, self._last = (
            [self._size(n) for n in sizes]
            for sizes in (
                (form.rows.read, form.columns.read),
                (form.rows.written - 1, form.columns.written - 1),
            )
        )

        def one_image(emit: Emitter, image: SSAValue, carried: Carried) -> Carried:
            def one_block(emit: Emitter, block: SSAValue, carried: Carried) -> Carried:
                return [self._block(emit, image, block, carried[0])]

            def one_group(emit: Emitter, number: SSAValue, carried: Carried) -> Carried:
                start = _times(emit, number, group)
                stop = _minimum(emit, emit.plus(start, group), count)
                return emit.loop(start, stop, 1, carried, one_block)

            if form.shares_blocks:
                return emit.loop(0, form.groups, 1, carried, one_group, parallel=True)
            return _loop(emit, count, carried, one_block)

        return _loop(self.emit, images, [y], one_image)[0]

    def _size(self, dim: Dim) -> Index:
        return dim.value if dim.is_static else extent(dim, self.rewriter)

    def _block(self, emit: Emitter, image: SSAValue, block: SSAValue, y: SSAValue) -> SSAValue:
        """The results of one block of tiles, written into `y`."""
        first = emit.times(block, self.form.tiles)
        v = self._transformed(emit, image, first)
        rewriter = self.rewriter
        outside, rewriter.insertion_point = rewriter.insertion_point, emit.place
        m = self._products(v)
        rewriter.insertion_point = outside
        return self._results(emit, m, image, first, y)

    def _transformed(self, emit: Emitter, image: SSAValue, first: Index) -> SSAValue:
        """The tiles of a block after `B d Bᵀ`: [points, C / b, tiles, b]."""
        form = self.form
        matrix = transforms(form.tile).input
        type = vector_type(f32, (form.lanes,))
        zero, border = emit.constants.index(0), emit.constants.of(dense_attr(type, [0.0]), type)

        def one_tile(emit: Emitter, at: _Tile, channels: SSAValue, v: SSAValue) -> SSAValue:
            rows = self._places(emit, at.row, form.rows, self._read[0])
            columns = self._places(emit, at.column, form.columns, self._read[1])

            def seen(row: _Place, column: _Place) -> SSAValue:
                value = read(emit, self.x, [image, channels, row.index, column.index, zero], type, (4,))
                inside = _all(emit, [place.inside for place in (row, column) if place.inside is not None])
                return value if inside is None else emit.value(arith.SelectOp(inside, value, border))

            tile = [[seen(row, column) for column in columns] for row in rows]
            for point, value in enumerate(_both_ways(emit, matrix, tile)):
                place = [emit.constants.index(point), channels, at.number, zero]
                v = write(emit, value, v, place, (3,))
            return v

        v = emit.empty(f32, [form.size**2, form.blocks, form.tiles, form.lanes])
        return self._over_tiles(emit, form.blocks, first, v, one_tile)

    def _places(self, emit: Emitter, first: Index, axis: _Axis, size: Index) -> list[_Place]:
        """The rows or columns that a tile reads; 0 for those beyond the border."""
        places: list[_Place] = []
        for step in range(self.form.size):
            index = emit.materialize(emit.plus(first, step - axis.before))
            zero, tests = emit.constants.index(0), list[SSAValue]()
            if step < axis.before:
                tests.append(emit.value(arith.CmpiOp(index, zero, "sge")))
            if axis.may_leave(step, self.form.tile):
                tests.append(emit.value(arith.CmpiOp(index, emit.materialize(size), "slt")))
            inside = _all(emit, tests)
            if inside is not None:
                index = emit.value(arith.SelectOp(inside, index, zero))
            places.append(_Place(index, inside))
        return places

    def _products(self, v: SSAValue) -> SSAValue:
        """For each point the sum over channels: [points, panels, tiles, panel]."""
        form = self.form
        p, q, t, lane, c, ci = (AffineExpr.dimension(i) for i in range(6))
        reads = (v, AffineMap(6, 0, (p, c, t, ci))), (self.u, AffineMap(6, 0, (p, q, c, ci, lane)))
        dims = [Dim.of(n) for n in (form.size**2, form.panels, form.tiles, form.panel)]
        return sum_of_products(reads, f32, dims, 2, self.rewriter)

    def _results(self, emit: Emitter, m: SSAValue, image: SSAValue, first: Index, y: SSAValue) -> SSAValue:
        """`A m Aᵀ` of the tiles of a block, written into `y`."""
        form = self.form
        matrix = transforms(form.tile).output
        type = vector_type(f32, (form.lanes,))
        zero = emit.constants.index(0)
        parts = form.panel // form.lanes

        def one_tile(emit: Emitter, at: _Tile, channels: SSAValue, y: SSAValue) -> SSAValue:
            panel = emit.value(arith.DivUIOp(channels, emit.constants.index(parts)))
            part = emit.value(arith.RemUIOp(channels, emit.constants.index(parts)))
            lane = emit.materialize(emit.times(part, form.lanes))

            def seen(point: int) -> SSAValue:
                return read(emit, m, [emit.constants.index(point), panel, at.number, lane], type, (3,))

            tile = [[seen(i * form.size + j) for j in range(form.size)] for i in range(form.size)]
            rows = self._written(emit, at.row, form.rows, self._last[0])
            columns = self._written(emit, at.column, form.columns, self._last[1])
            # Backwards: what lies beyond the border is written on its last row or column, and then these are.
            for point, value in reversed(list(enumerate(_both_ways(emit, matrix, tile)))):
                i, j = divmod(point, form.tile)
                y = write(emit, value, y, [image, channels, rows[i], columns[j], zero], (4,))
            return y

        return self._over_tiles(emit, form.panels * parts, first, y, one_tile)

    def _written(self, emit: Emitter, first: Index, axis: _Axis, last: Index) -> list[SSAValue]:
        """The rows or columns that a tile writes, the last one for those beyond the border."""
        places = [emit.plus(first, step) for step in range(self.form.tile)]
        if not (axis.written - axis.tiles * self.form.tile).is_nonnegative:
            places = [_minimum(emit, place, last) for place in places]
        return [emit.materialize(place) for place in places]

    def _over_tiles(
        self,
        emit: Emitter,
        channels: int,
        first: Index,
        into: SSAValue,
        one_tile: Callable[[Emitter, _Tile, SSAValue, SSAValue], SSAValue],
    ) -> SSAValue:
        """Loops over blocks of channels and the tiles of a block, from `first` on, that write `into`."""
        form = self.form

        def over_channels(emit: Emitter, c: SSAValue, carried: Carried) -> Carried:
            def over_tiles(emit: Emitter, number: SSAValue, carried: Carried) -> Carried:
                tile = emit.materialize(emit.plus(first, number))
                across = emit.materialize(self._across)
                row, column = (emit.value(op(tile, across)) for op in (arith.DivUIOp, arith.RemUIOp))
                at = _Tile(emit.times(row, form.tile), emit.times(column, form.tile), number)
                return [one_tile(emit, at, c, carried[0])]

            return _loop(emit, tiles, carried, over_tiles)

        tiles: Index = form.tiles
        if not form.total.is_static or form.total.value % tiles:  # the last block has fewer
            tiles = _minimum(emit, emit.minus(self._total, first), tiles)
        return _loop(emit, channels, [into], over_channels, parallel=not form.shares_blocks)[0]


@dataclass(frozen=True)
class _Place:
    """A row or column that is read, and whether it lies inside the image; None where it always does."""

    index: SSAValue
    inside: SSAValue | None


@dataclass(frozen=True)
class _Tile:
    """Where a tile is: its first row and column of results, and its number in the block."""

    row: Index
    column: Index
    number: SSAValue


def _loop(
    emit: Emitter,
    count: Index,
    carried: Carried,
    body: Callable[[Emitter, SSAValue, Carried], Carried],
    *,
    parallel: bool = False,
) -> Carried:
    """A loop from 0, left out where there is one iteration."""
    if count == 1:
        return body(emit, emit.constants.index(0), carried)
    return emit.loop(0, count, 1, carried, body, parallel=parallel)


def _all(emit: Emitter, tests: Sequence[SSAValue]) -> SSAValue | None:
    """Whether all of the tests hold; None of none."""
    return reduce(lambda a, b: emit.value(arith.AndIOp(a, b)), tests) if tests else None


def _minimum(emit: Emitter, a: Index, b: Index) -> Index:
    if isinstance(a, int) and isinstance(b, int):
        return min(a, b)
    return emit.value(arith.MinSIOp(emit.materialize(a), emit.materialize(b)))


def _times(emit: Emitter, a: SSAValue, b: Index) -> Index:
    return emit.times(a, b) if isinstance(b, int) else emit.value(arith.MuliOp(a, b))


def _both_ways(emit: Emitter, matrix: Matrix, values: Sequence[Sequence[SSAValue]]) -> list[SSAValue]:
    """`M d Mᵀ` of a square of values, row by row."""
    columns = [apply_matrix(emit, matrix, column) for column in zip(*values, strict=True)]
    return [value for row in zip(*columns, strict=True) for value in apply_matrix(emit, matrix, row)]


PATTERNS: list[RewritePattern] = [WinogradLowering()]
