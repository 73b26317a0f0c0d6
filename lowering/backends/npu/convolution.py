"""Programs of convolutions: tiles of the result, one block of input channels after the other."""

from __future__ import annotations

from dataclasses import dataclass

from stepwell.dialects import npu
from stepwell.lowering.backends.npu.tiles import PARAMETERS, ConvShape, Tile
from stepwell.lowering.backends.npu.windows import WindowTile, load_windows
from stepwell.lowering.backends.npu.writer import Writer
from stepwell.runtime.npu.config import config_of
from stepwell.runtime.npu.instructions import Uop


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
        """The program, whose instructions are in order and do not wait for each other yet."""
        shape, sizes = self.shape, config_of(self.config)
        rows, columns = shape.out(0), shape.out(1)
        arrays = {
            "x": ("inp", shape.blocks_in * shape.height * shape.width),
            "w": ("wgt", shape.blocks_out * shape.blocks_in * shape.taps),
            "p": ("acc", shape.blocks_out * PARAMETERS),
            "y": ("inp", shape.blocks_out * rows * columns),
        }
        writer = Writer(name, self.config, arrays, sizes)
        for block in range(0, shape.blocks_out, self.tile.blocks):
            for row in range(0, rows, self.tile.rows):
                for column in range(0, columns, self.tile.columns):
                    count = min(self.tile.rows, rows - row)
                    self._tile(writer, _Place(row, column, block, count))
        return writer.finish()

    def _tile(self, writer: Writer, place: _Place) -> None:
        """Compute a tile: zeros, products of each block of input channels, requantization, stores."""
        tile = self.tile
        points, blocks = tile.rows * tile.columns, range(tile.blocks)
        parameters = tile.blocks * points
        loops, along = (place.rows, tile.columns), (tile.columns, 1)
        count = tile.blocks * PARAMETERS
        writer.load("acc", "p", place.block * PARAMETERS, parameters, (1, count), count)
        for out in blocks:
            writer.gemm([Uop(out * points, 0)], loops, along, reset=True)
        for block in range(self.shape.blocks_in):
            self._products(writer, place, block)
        numbers = [(out * points, parameters + out * PARAMETERS) for out in blocks]
        for sums, bias in numbers:
            writer.alu("add", [Uop(sums, bias)], loops, along)
        for sums, bias in numbers:
            writer.alu("mulshift", [Uop(sums, bias + 1, bias + 2)], loops, along)
        for sums, _ in numbers:
            writer.alu("add", [Uop(sums, 0)], loops, along, immediate=self.point)
        columns = self.shape.out(1)
        for out, (sums, _) in enumerate(numbers):
            at = ((place.block + out) * self.shape.out(0) + place.row) * columns + place.column
            writer.store("y", at, sums, loops, columns)

    def _products(self, writer: Writer, place: _Place, block: int) -> None:
        """Load a block of input channels with its weights, and add the products."""
        shape, tile = self.shape, self.tile
        read = WindowTile(block, place.row, place.column, place.rows, tile.columns)
        load_windows(writer, shape, read, self.border)
        taps, apart = shape.taps, shape.blocks_in * shape.taps
        at = (place.block * shape.blocks_in + block) * taps
        writer.load("wgt", "w", at, 0, (tile.blocks, taps), apart)
        width, points = shape.read(1, tile.columns), tile.rows * tile.columns
        steps = (shape.strides[0] * width, shape.strides[1])
        for out in range(tile.blocks):
            uops = [
                Uop(
                    out * points,
                    y * shape.dilations[0] * width + x * shape.dilations[1],
                    out * taps + y * shape.kernel[1] + x,
                )
                for y in range(shape.kernel[0])
                for x in range(shape.kernel[1])
            ]
            writer.gemm(uops, (place.rows, tile.columns), (tile.columns, 1), steps)
