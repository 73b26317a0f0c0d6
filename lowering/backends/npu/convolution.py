"""Programs of convolutions: tiles of the result, one block of input channels after the other."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import SSAValue

from stepwell.dialects import npu
from stepwell.lowering.backends.npu.tiles import PARAMETERS, ConvShape, Tile
from stepwell.lowering.backends.npu.windows import WindowTile, load_windows
from stepwell.lowering.backends.npu.writer import Writer
from stepwell.runtime.npu.config import Config, config_of
from stepwell.runtime.npu.instructions import Uop


@dataclass
class _Progress:
    """Tokens for the next instructions, by half of a buffer."""

    tile: int = 0
    step: int = 0
    """The blocks of input channels that were loaded so far."""

    def __post_init__(self) -> None:
        self.products: dict[int, SSAValue] = {}
        self.stores: dict[int, SSAValue] = {}


@dataclass(frozen=True)
class _Place:
    """The first row, column and block of channels of a tile, with the rows that it has."""

    row: int
    column: int
    block: int
    rows: int


@dataclass(frozen=True)
class ConvProgram:
    """
    The program of a convolution of bytes, with bias and requantization.

    `x` has elements of `inp` by block of channels, row and column, `w` of `wgt` by block of the result, block
    of the input and tap, `p` of `acc`: biases, multipliers and shifts for each block of the result.
    """

    shape: ConvShape
    tile: Tile
    config: str
    border: int
    """The value of padding."""
    point: int
    """The number added to each element of the result."""

    def program(self, name: str) -> npu.ProgramOp:
        """The program, whose tokens are still values."""
        shape, sizes = self.shape, config_of(self.config)
        rows, columns = shape.out(0), shape.out(1)
        arrays = {
            "x": ("inp", shape.blocks_in * shape.height * shape.width),
            "w": ("wgt", shape.blocks_out * shape.blocks_in * shape.taps),
            "p": ("acc", shape.blocks_out * PARAMETERS),
            "y": ("inp", shape.blocks_out * rows * columns),
        }
        writer, progress = Writer(name, self.config, arrays, sizes), _Progress()
        for block in range(0, shape.blocks_out, self.tile.blocks):
            for row in range(0, rows, self.tile.rows):
                for column in range(0, columns, self.tile.columns):
                    count = min(self.tile.rows, rows - row)
                    self._tile(writer, progress, _Place(row, column, block, count), sizes)
        return writer.finish(list(progress.stores.values()))

    def _tile(self, writer: Writer, progress: _Progress, place: _Place, sizes: Config) -> None:
        """Compute a tile: zeros, products of each block of input channels, requantization, stores."""
        tile, half = self.tile, progress.tile % self.tile.halves
        first = half * (sizes.acc // tile.halves)
        points = tile.rows * tile.columns
        parameters = first + tile.blocks * points
        progress.tile += 1
        loops, along = (place.rows, tile.columns), (tile.columns, 1)
        count = tile.blocks * PARAMETERS
        writer.load("acc", "p", place.block * PARAMETERS, parameters, (1, count), count)
        sums = [Uop(first + block * points, 0) for block in range(tile.blocks)]
        earlier = [progress.stores[half]] if half in progress.stores else []
        writer.gemm(sums, loops, along, reset=True, after=earlier)
        for block in range(self.shape.blocks_in):
            self._products(writer, progress, place, block, first, sizes)
        offsets = [parameters + block * PARAMETERS for block in range(tile.blocks)]
        pairs = list(zip(sums, offsets, strict=True))
        writer.alu("add", [Uop(s.dst, at) for s, at in pairs], loops, along)
        writer.alu("mulshift", [Uop(s.dst, at + 1, at + 2) for s, at in pairs], loops, along)
        done = writer.alu("add", sums, loops, along, immediate=self.point)
        columns = self.shape.out(1)
        for number, each in enumerate(sums):
            at = ((place.block + number) * self.shape.out(0) + place.row) * columns + place.column
            progress.stores[half] = writer.store("y", at, each.dst, loops, columns, after=[done])

    def _products(
        self, writer: Writer, progress: _Progress, place: _Place, block: int, first: int, sizes: Config
    ) -> None:
        """Load a block of input channels with its weights, and add the products."""
        shape, tile = self.shape, self.tile
        half = progress.step % tile.halves
        progress.step += 1
        inputs, weights = half * (sizes.inp // tile.halves), half * (sizes.wgt // tile.halves)
        wait = [progress.products[half]] if half in progress.products else []
        read = WindowTile(block, place.row, place.column, place.rows, tile.columns)
        loaded = load_windows(writer, shape, read, inputs, self.border, wait)
        taps, apart = shape.taps, shape.blocks_in * shape.taps
        at = (place.block * shape.blocks_in + block) * taps
        packed = writer.load("wgt", "w", at, weights, (tile.blocks, taps), apart, after=wait)
        width, points = shape.read(1, tile.columns), tile.rows * tile.columns
        uops = [
            Uop(
                first + out * points,
                inputs + y * shape.dilations[0] * width + x * shape.dilations[1],
                weights + out * taps + y * shape.kernel[1] + x,
            )
            for out in range(tile.blocks)
            for y in range(shape.kernel[0])
            for x in range(shape.kernel[1])
        ]
        steps = (shape.strides[0] * width, shape.strides[1])
        loops = (place.rows, tile.columns)
        progress.products[half] = writer.gemm(uops, loops, (tile.columns, 1), steps, after=[loaded, packed])
