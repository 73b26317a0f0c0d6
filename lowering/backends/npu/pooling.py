"""Programs of maxima over windows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from stepwell.dialects import npu
from stepwell.lowering.backends.npu.tiles import HALVES, ConvShape, divisors
from stepwell.lowering.backends.npu.windows import WindowTile, load_windows
from stepwell.lowering.backends.npu.writer import Writer
from stepwell.runtime.npu.config import Config, config_of
from stepwell.runtime.npu.instructions import Uop

_LOWEST = -128
"""The least signed byte, with which a maximum begins."""
_PLACES = 2
"""The accumulators of a tile: the maxima, and the bytes to compare them with."""


@dataclass(frozen=True)
class PoolProgram:
    """
    The program of maxima: `x` of `inp` by block of channels, row and column, `w` the identity of `wgt`.

    A product with the identity gives the bytes of a place in each window as sums of 32 bits to compare.
    """

    shape: ConvShape
    tile: tuple[int, int]
    """Rows and columns of the result that are computed together."""
    config: str

    def program(self, name: str) -> npu.ProgramOp:
        """The program, whose instructions are in order and do not wait for each other yet."""
        shape, sizes = self.shape, config_of(self.config)
        rows, columns = shape.out(0), shape.out(1)
        arrays = {
            "x": ("inp", shape.blocks_in * shape.height * shape.width),
            "w": ("wgt", 1),
            "y": ("inp", shape.blocks_in * rows * columns),
        }
        writer = Writer(name, self.config, arrays, sizes)
        writer.load("wgt", "w", 0, 0, (1, 1), 1)
        for place in self._places(rows, columns):
            load_windows(writer, shape, place, _LOWEST)
            self._maxima(writer, place)
            at = (place.block * rows + place.row) * columns + place.column
            writer.store("y", at, 0, (place.rows, place.columns), columns)
        return writer.finish()

    def _places(self, rows: int, columns: int) -> Iterator[WindowTile]:
        """The tiles of the result."""
        for block in range(self.shape.blocks_in):
            for row in range(0, rows, self.tile[0]):
                for column in range(0, columns, self.tile[1]):
                    yield WindowTile(block, row, column, min(self.tile[0], rows - row), self.tile[1])

    def _maxima(self, writer: Writer, place: WindowTile) -> None:
        """Compare the places of all windows of a tile, one after the other."""
        shape, (height, width) = self.shape, self.shape.kernel
        read, loops, along = shape.read(1, place.columns), (place.rows, place.columns), (place.columns, 1)
        steps = (shape.strides[0] * read, shape.strides[1])
        others = self.tile[0] * self.tile[1]
        for tap in range(height * width):
            to = others if tap else 0
            row, column = tap // width * shape.dilations[0], tap % width * shape.dilations[1]
            writer.gemm([Uop(to, 0)], loops, along, reset=True)
            writer.gemm([Uop(to, row * read + column)], loops, along, steps)
            if tap:
                writer.alu("max", [Uop(0, others)], loops, along, along)


def pool_tile(shape: ConvShape, config: Config) -> tuple[int, int] | None:
    """The rows and columns of the largest tile that the buffers have room for; None where none fits."""
    fitting = [
        (rows, columns)
        for columns in divisors(shape.out(1))
        for rows in range(1, shape.out(0) + 1)
        if shape.read(0, rows) * shape.read(1, columns) <= config.inp // HALVES
        and _PLACES * rows * columns <= config.acc // HALVES
    ]
    return max(fitting, key=lambda tile: (tile[0] * tile[1], tile[1]), default=None)
