"""Tiles of a convolution that fit the buffers and move the fewest bytes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from stepwell.runtime.npu.config import Config

HALVES = 2
"""Loads fill one half of a buffer while products read the other."""
PARAMETERS = 3
"""Elements of `acc` for each block of channels: biases, multipliers, shifts."""


@dataclass(frozen=True)
class ConvShape:
    """A convolution of one image, in blocks of channels."""

    blocks_in: int
    blocks_out: int
    height: int
    width: int
    kernel: tuple[int, int]
    strides: tuple[int, int]
    dilations: tuple[int, int]
    pads: tuple[int, int, int, int]
    """Rows above, columns left, rows below, columns right, as of `graph.conv`."""

    @property
    def taps(self) -> int:
        """The elements of weights for a pair of blocks."""
        return self.kernel[0] * self.kernel[1]

    def out(self, axis: int) -> int:
        """Rows, or columns, of the result."""
        size = (self.height, self.width)[axis] + self.pads[axis] + self.pads[axis + 2]
        return (size - self.reach(axis)) // self.strides[axis] + 1

    def reach(self, axis: int) -> int:
        """The rows, or columns, that a window covers."""
        return (self.kernel[axis] - 1) * self.dilations[axis] + 1

    def read(self, axis: int, count: int) -> int:
        """The rows, or columns, that so many of the result read."""
        return (count - 1) * self.strides[axis] + self.reach(axis)


@dataclass(frozen=True)
class Tile:
    """Rows and columns of the result, and blocks of its channels, that are computed together."""

    rows: int
    columns: int
    blocks: int
    halves: int = HALVES

    def fits(self, shape: ConvShape, config: Config) -> bool:
        """Whether a tile and all that it reads are in the buffers."""
        inputs = shape.read(0, self.rows) * shape.read(1, self.columns)
        sums = self.blocks * (self.rows * self.columns + PARAMETERS)
        return (
            inputs <= config.inp // self.halves
            and self.blocks * shape.taps <= config.wgt // self.halves
            and sums <= config.acc // self.halves
        )

    def moved_bytes(self, shape: ConvShape, config: Config) -> int:
        """The bytes that all tiles of a convolution move."""
        tiles = -(-shape.out(0) // self.rows) * -(-shape.out(1) // self.columns)
        groups = -(-shape.blocks_out // self.blocks)
        element = config.batch * config.block_in
        inputs = shape.read(0, self.rows) * shape.read(1, self.columns) * element
        weights = self.blocks * shape.taps * config.block_in * config.block_out
        parameters = self.blocks * PARAMETERS * config.batch * config.block_out * 4
        return tiles * groups * (shape.blocks_in * (inputs + weights) + parameters)


def chosen_tile(shape: ConvShape, config: Config) -> Tile | None:
    """The tile that fits and moves the fewest bytes, the larger one of two; None where none fits."""
    for halves in (HALVES, 1):
        fitting = [tile for tile in _tiles(shape, halves) if tile.fits(shape, config)]
        if fitting:
            return min(fitting, key=lambda t: (t.moved_bytes(shape, config), -t.rows * t.columns * t.blocks))
    return None


def _tiles(shape: ConvShape, halves: int) -> Iterator[Tile]:
    """Tiles of any number of rows; columns and blocks of channels divide those of the result."""
    for blocks in divisors(shape.blocks_out):
        for columns in divisors(shape.out(1)):
            for rows in range(1, shape.out(0) + 1):
                yield Tile(rows, columns, blocks, halves)


def divisors(number: int) -> list[int]:
    """The numbers that divide another."""
    return [each for each in range(1, number + 1) if number % each == 0]
