"""
Winograd convolutions → blocks of tiles: transform the input, a product a point, transform the results back.

The transforms are straight-line code on vectors of channels, inside loops over tiles. The products are one
`linalg.generic` over points, panels of filters, tiles and lanes, which gets a schedule like any other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil
from typing import TypeAlias

from xdsl.dialects import arith
from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from stepwell.dialects import graph
from stepwell.dialects.graph.relations import shape_text
from stepwell.dialects.types import dims_of
from stepwell.lowering.graph_to_linalg.contraction import sum_of_products
from stepwell.lowering.graph_to_linalg.linear_forms import apply_matrix
from stepwell.lowering.graph_to_linalg.support import empty_like, enclosing_kernel, extent
from stepwell.lowering.graph_to_linalg.views import bordered, split_dims
from stepwell.passes.tensor.emit import Constants, Emitter, Index
from stepwell.passes.tensor.transfers import read, vector_type, write
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.target import F32_BYTES
from stepwell.runtime.winograd import FILTER, Matrix, transforms

# What a block of tiles may take of the second-level cache: its transformed input, and its products.
_BLOCK_BYTES = 600 << 10
# Products of fewer tiles leave registers idle.
_ENOUGH_TILES = 24
# Threads share groups of blocks when an image has so many blocks, else the parts of each block. A group has
# memory of its own for one block, which stays in the cache from block to block.
_ENOUGH_BLOCKS = 4
_MAX_GROUPS = 8

Carried: TypeAlias = Sequence[SSAValue]
"""The tensors that loops carry."""


class WinogradLowering(RewritePattern):
    """
    `graph.winograd_conv` → `scf.for` over images and blocks of rows of tiles, with the three steps inside.

    ```mlir
    %y = scf.for %n … { scf.for %group … { scf.for %block … {
      %v = scf.for %c … { scf.for %i … { scf.for %j … { reads of %x, B d Bᵀ, writes } } }
      %m = linalg.generic … ins(%v, %u) …              // [points, panels, tiles, panel]
      %z = scf.for %panel … { scf.for %i … { scf.for %j … { reads of %m, A m Aᵀ, writes } } }
    } } }
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.WinogradConvOp, rewriter: PatternRewriter) -> None:
        form = _Form.of(op)
        top, left = op.pads.get_values()[:2]
        height, width = (dim.value for dim in dims_of(op.x.type)[2:4])
        below, beside = form.rows_read - height - top, form.columns_read - width - left
        x = bordered(op.x, [0, 0, top, left, 0], [0, 0, below, beside, 0], 0, rewriter)
        points, panels, _, panel = dims_of(op.u.type)
        channels = [Dim.of(form.blocks), Dim.of(form.lanes)]
        u = split_dims(op.u, [[points], [panels], channels, [panel]], rewriter)
        emit = Emitter.before(op, Constants(enclosing_kernel(rewriter)))
        y = empty_like(op.result, rewriter)
        rewriter.replace(op, [], [_Emission(form, x, u, emit).run(y, rewriter)])


@dataclass(frozen=True)
class _Form:
    """The sizes of a convolution in tiles, and how its rows of tiles are grouped to blocks."""

    tile: int
    images: Dim
    height: int
    """Of the results, and their width."""
    width: int
    blocks: int
    """Of input channels, `lanes` each."""
    lanes: int
    panels: int
    panel: int
    down: int
    """Rows of tiles, and the tiles in a row."""
    across: int
    rows: int
    """Rows of tiles in a block."""
    count: int
    """Blocks of rows in an image."""

    @staticmethod
    def of(op: graph.WinogradConvOp) -> _Form:
        """The form of an op. Raises: StepwellError `unsupported` for images of unknown size."""
        images, blocks, height, width, lanes = dims_of(op.x.type)
        if not (blocks.is_static and height.is_static and width.is_static):
            raise StepwellError(
                "unsupported",
                op,
                f"graph.winograd_conv needs images of known size, found {shape_text(dims_of(op.x.type))}",
            )
        tile = op.tile.value.data
        out = [dim.value for dim in dims_of(op.result.type)[2:4]]
        down, across = (ceil(n / tile) for n in out)
        _, panels, channels, panel = (dim.value for dim in dims_of(op.u.type))
        row_bytes = (tile + FILTER - 1) ** 2 * across * (channels + panels * panel) * F32_BYTES
        rows = _rows_of_block(down, across, row_bytes)
        widths = {"blocks": blocks.value, "lanes": lanes.value, "panels": panels, "panel": panel}
        return _Form(
            tile, images, *out, down=down, across=across, rows=rows, count=ceil(down / rows), **widths
        )

    @property
    def size(self) -> int:
        """Points of a tile along an axis."""
        return self.tile + FILTER - 1

    @property
    def tiles(self) -> int:
        """Tiles of a block."""
        return self.rows * self.across

    @property
    def rows_read(self) -> int:
        """Rows of the input, with borders, that all blocks see."""
        return self.down * self.tile + FILTER - 1

    @property
    def columns_read(self) -> int:
        """Columns of the input, with borders."""
        return self.across * self.tile + FILTER - 1

    @property
    def shares_blocks(self) -> bool:
        """Whether threads share groups of blocks, and not what is in one block."""
        return self.count >= _ENOUGH_BLOCKS

    @property
    def group(self) -> int:
        """Blocks in a group."""
        return ceil(self.count / _MAX_GROUPS)


def _rows_of_block(down: int, across: int, row_bytes: int) -> int:
    """The most rows that stay in the cache; all of them, when those would be too few tiles for a product."""
    most = min(down, max(1, _BLOCK_BYTES // row_bytes))
    # Of those as many blocks, the least rows: the last block is as full as can be.
    rows = ceil(down / ceil(down / most))
    return rows if rows * across >= _ENOUGH_TILES or rows * row_bytes > 4 * _BLOCK_BYTES else down


@dataclass
class _Emission:
    """Emits the loops of one op."""

    form: _Form
    x: SSAValue
    """[N, C / b, H, W, b] with its borders."""
    u: SSAValue
    """[points, panels, C / b, b, panel]."""
    emit: Emitter

    def run(self, y: SSAValue, rewriter: PatternRewriter) -> SSAValue:
        """All images, written into `y`: [N, O / b, H, W, b]."""
        form = self.form
        images: Index = form.images.value if form.images.is_static else extent(form.images, rewriter)

        def one_image(emit: Emitter, image: SSAValue, carried: Carried) -> Carried:
            def one_block(emit: Emitter, block: SSAValue, carried: Carried) -> Carried:
                return [self._block(emit, image, block, carried[0], rewriter)]

            def one_group(emit: Emitter, group: SSAValue, carried: Carried) -> Carried:
                start = emit.times(group, form.group)
                last = emit.constants.index(form.count)
                stop = emit.value(arith.MinSIOp(emit.materialize(emit.plus(start, form.group)), last))
                return emit.loop(start, stop, 1, carried, one_block)

            if form.shares_blocks:
                return emit.loop(0, ceil(form.count / form.group), 1, carried, one_group, parallel=True)
            return _loop(emit, form.count, carried, one_block)

        return _loop(self.emit, images, [y], one_image)[0]

    def _block(
        self, emit: Emitter, image: SSAValue, block: SSAValue, y: SSAValue, rewriter: PatternRewriter
    ) -> SSAValue:
        """The results of one block of rows of tiles, written into `y`."""
        form = self.form
        first = emit.times(block, form.rows)  # row of tiles
        v = self._transformed(emit, image, first)
        outside, rewriter.insertion_point = rewriter.insertion_point, emit.place
        m = self._products(v, rewriter)
        rewriter.insertion_point = outside
        return self._results(emit, m, image, first, y)

    def _transformed(self, emit: Emitter, image: SSAValue, first: Index) -> SSAValue:
        """The tiles of a block after `B d Bᵀ`: [points, C / b, tiles, b]."""
        form = self.form
        matrix = transforms(form.tile).input
        type = vector_type(f32, (form.lanes,))
        zero = emit.constants.index(0)

        def one_tile(emit: Emitter, at: _Tile, channels: SSAValue, v: SSAValue) -> SSAValue:
            rows = [emit.materialize(emit.plus(at.row, i)) for i in range(form.size)]
            columns = [emit.materialize(emit.plus(at.column, j)) for j in range(form.size)]
            seen = [
                [read(emit, self.x, [image, channels, i, j, zero], type, (4,)) for j in columns] for i in rows
            ]
            for point, value in enumerate(_both_ways(emit, matrix, seen)):
                place = [emit.constants.index(point), channels, at.number, zero]
                v = write(emit, value, v, place, (3,))
            return v

        v = emit.empty(f32, [form.size**2, form.blocks, form.tiles, form.lanes])
        return self._over_tiles(emit, form.blocks, first, v, one_tile)

    def _products(self, v: SSAValue, rewriter: PatternRewriter) -> SSAValue:
        """For each point the sum over channels: [points, panels, tiles, panel]."""
        form = self.form
        p, q, t, lane, c, ci = (AffineExpr.dimension(i) for i in range(6))
        reads = (v, AffineMap(6, 0, (p, c, t, ci))), (self.u, AffineMap(6, 0, (p, q, c, ci, lane)))
        dims = [Dim.of(n) for n in (form.size**2, form.panels, form.tiles, form.panel)]
        return sum_of_products(reads, f32, dims, 2, rewriter)

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
            seen = [
                [
                    read(
                        emit, m, [emit.constants.index(i * form.size + j), panel, at.number, lane], type, (3,)
                    )
                    for j in range(form.size)
                ]
                for i in range(form.size)
            ]
            rows = [_inside(emit, emit.plus(at.row, i), form.height, form.tile) for i in range(form.tile)]
            columns = [
                _inside(emit, emit.plus(at.column, j), form.width, form.tile) for j in range(form.tile)
            ]
            # Backwards: what lies beyond the border is written on its last row or column, and then these are.
            for point, value in reversed(list(enumerate(_both_ways(emit, matrix, seen)))):
                i, j = divmod(point, form.tile)
                y = write(emit, value, y, [image, channels, rows[i], columns[j], zero], (4,))
            return y

        return self._over_tiles(emit, form.panels * parts, first, y, one_tile)

    def _over_tiles(
        self,
        emit: Emitter,
        channels: int,
        first: Index,
        into: SSAValue,
        one_tile: Callable[[Emitter, _Tile, SSAValue, SSAValue], SSAValue],
    ) -> SSAValue:
        """Loops over blocks of channels, rows of tiles from `first` on, and tiles, that write `into`."""
        form = self.form

        def over_channels(emit: Emitter, c: SSAValue, carried: Carried) -> Carried:
            def over_rows(emit: Emitter, i: SSAValue, carried: Carried) -> Carried:
                row = emit.times(emit.plus(first, i), form.tile)
                start = emit.times(i, form.across)

                def over_columns(emit: Emitter, j: SSAValue, carried: Carried) -> Carried:
                    number = emit.materialize(emit.plus(start, j))
                    at = _Tile(row, emit.times(j, form.tile), number)
                    return [one_tile(emit, at, c, carried[0])]

                return _loop(emit, form.across, carried, over_columns)

            return _loop(emit, rows, carried, over_rows)

        rows: Index = form.rows
        if form.down % form.rows:  # the last block has fewer
            left = emit.materialize(emit.minus(form.down, first))
            rows = emit.value(arith.MinSIOp(left, emit.constants.index(rows)))
        return _loop(emit, channels, [into], over_channels, parallel=not form.shares_blocks)[0]


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


def _inside(emit: Emitter, place: Index, size: int, tile: int) -> SSAValue:
    """A row or column of results, or the last one for those beyond the border."""
    index = emit.materialize(place)
    return index if size % tile == 0 else emit.value(arith.MinSIOp(index, emit.constants.index(size - 1)))


def _both_ways(emit: Emitter, matrix: Matrix, values: Sequence[Sequence[SSAValue]]) -> list[SSAValue]:
    """`M d Mᵀ` of a square of values, row by row."""
    columns = [apply_matrix(emit, matrix, column) for column in zip(*values, strict=True)]
    return [value for row in zip(*columns, strict=True) for value in apply_matrix(emit, matrix, row)]


PATTERNS: list[RewritePattern] = [WinogradLowering()]
