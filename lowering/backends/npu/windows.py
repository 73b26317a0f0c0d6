"""The input that a tile of windows reads, of convolutions and of pools."""

from __future__ import annotations

from dataclasses import dataclass

from stepwell.lowering.backends.npu.tiles import ConvShape
from stepwell.lowering.backends.npu.writer import Writer


@dataclass(frozen=True)
class WindowTile:
    """Some rows and columns of a result in a block of channels."""

    block: int
    row: int
    column: int
    rows: int
    columns: int


def load_windows(writer: Writer, shape: ConvShape, tile: WindowTile, border: int) -> None:
    """Load the rows and columns of `x` that a tile of the result reads, with padding."""
    top, left = tile.row * shape.strides[0] - shape.pads[0], tile.column * shape.strides[1] - shape.pads[1]
    rows, columns = shape.read(0, tile.rows), shape.read(1, tile.columns)
    above, before = max(0, -top), max(0, -left)
    below, behind = max(0, top + rows - shape.height), max(0, left + columns - shape.width)
    size = rows - above - below, columns - before - behind
    at = (tile.block * shape.height + top + above) * shape.width + left + before
    pad = (above, below, before, behind)
    writer.load("inp", "x", at, 0, size, shape.width, pad=pad, value=border)
