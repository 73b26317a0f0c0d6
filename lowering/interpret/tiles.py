"""`amx`: tile registers as small arrays of packed 32-bit elements, of one machine."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from stepwell.dialects import amx
from stepwell.lowering.interpret.engine import Compiler, Frame, Step, implements_in_frame
from stepwell.lowering.interpret.grids import Array


@implements_in_frame("amx.configure")
def prepare_configure(op: amx.ConfigureOp, compiler: Compiler) -> Step:
    """New tile registers of the configured sizes, all zero."""
    sizes = list(zip(op.rows.get_values(), op.words.get_values(), strict=True))

    def configure(frame: Frame) -> None:
        frame.scope.tiles = [np.zeros(size, np.int32) for size in sizes]

    return configure


@implements_in_frame("amx.tile_zero")
def prepare_tile_zero(op: amx.TileZeroOp, compiler: Compiler) -> Step:
    """Sets a tile to zero."""

    def zero(frame: Frame) -> None:
        frame.scope.tiles[op.tile.value.data][...] = 0

    return zero


@implements_in_frame("amx.tile_load")
def prepare_tile_load(op: amx.TileLoadOp, compiler: Compiler) -> Step:
    """Loads a tile from a buffer."""

    def load(frame: Frame, array: Array, *indices: int) -> None:
        tile = frame.scope.tiles[op.tile.value.data]
        tile[...] = _window(op, array, indices, tile.shape)

    return load


@implements_in_frame("amx.tile_store")
def prepare_tile_store(op: amx.TileStoreOp, compiler: Compiler) -> Step:
    """Stores a tile to a buffer."""

    def store(frame: Frame, array: Array, *indices: int) -> None:
        tile = frame.scope.tiles[op.tile.value.data]
        _window(op, array, indices, tile.shape)[...] = tile

    return store


@implements_in_frame("amx.tile_muli")
def prepare_tile_muli(op: amx.TileMulOp, compiler: Compiler) -> Step:
    """Adds products of unsigned and signed bytes to a tile, modulo 2^32."""
    numbers = [attr.value.data for attr in (op.acc, op.lhs, op.rhs)]

    def multiply(frame: Frame) -> None:
        acc, lhs, rhs = (frame.scope.tiles[number] for number in numbers)
        rows = lhs.view(np.uint8).astype(np.int64)  # [m, 4 k]
        packed = rhs[..., None].view(np.int8).astype(np.int64)  # [k, n, 4]
        columns = packed.transpose(0, 2, 1).reshape(-1, rhs.shape[1])
        acc[...] = (acc + rows @ columns).astype(np.int32)

    return multiply


def _window(
    op: amx.TileLoadOp | amx.TileStoreOp, array: Array, indices: Sequence[int], shape: Sequence[int]
) -> Array:
    """The part of a buffer that a tile covers. Raises: IndexError if it exceeds the buffer."""
    along, step, (rows, columns) = op.along.value.data, op.step.value.data, shape
    at: list[int | slice] = [int(index) for index in indices]
    first, start = int(indices[along]), int(indices[-1])
    at[along], at[-1] = slice(first, first + rows * step, step), slice(start, start + columns)
    window = array[tuple(at)]
    if window.shape != (rows, columns):
        raise IndexError(f"a tile of {rows}x{columns} at {list(map(int, indices))} of {list(array.shape)}")
    return window
