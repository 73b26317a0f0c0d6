"""Layouts of the accelerator: blocks of channels, and unsigned bytes as signed ones, less 128."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from stepwell.runtime.npu.config import Config

Array = npt.NDArray[Any]
OFFSET = 128
"""The number subtracted from unsigned bytes: the accelerator multiplies signed ones."""


def blocks(channels: int, block: int) -> int:
    """The blocks that channels fill."""
    return -(-channels // block)


def packed(image: Array, config: Config) -> Array:
    """An image [C, H, W] of unsigned bytes as elements of `inp` by block of channels, row and column."""
    channels, height, width = image.shape
    count = blocks(channels, config.block_in)
    padded = np.full((count * config.block_in, height, width), OFFSET, np.uint8)
    padded[:channels] = image
    signed = (padded ^ OFFSET).view(np.int8).reshape(count, config.block_in, height, width)
    return np.ascontiguousarray(signed.transpose(0, 2, 3, 1)).reshape(-1, 1, config.block_in)


def unpacked(elements: Array, shape: tuple[int, int, int], config: Config) -> Array:
    """The image [C, H, W] of unsigned bytes in elements of the result."""
    channels, height, width = shape
    count = blocks(channels, config.block_out)
    image = elements.reshape(count, height, width, config.block_out).transpose(0, 3, 1, 2)
    return (image.reshape(-1, height, width)[:channels].view(np.uint8) ^ OFFSET).astype(np.uint8)


def packed_weights(weights: Array, config: Config) -> Array:
    """Filters [O, I, kh, kw] as elements of `wgt` by blocks of outputs, of inputs, and tap."""
    outputs, inputs, height, width = weights.shape
    out_blocks, in_blocks = blocks(outputs, config.block_out), blocks(inputs, config.block_in)
    padded = np.zeros((out_blocks * config.block_out, in_blocks * config.block_in, height, width), np.int8)
    padded[:outputs, :inputs] = weights
    split = padded.reshape(out_blocks, config.block_out, in_blocks, config.block_in, height, width)
    return np.ascontiguousarray(split.transpose(0, 2, 4, 5, 1, 3)).reshape(
        -1, config.block_out, config.block_in
    )


def packed_channels(rows: tuple[Array, ...], config: Config) -> Array:
    """Numbers of channels as elements of `acc`: for each block of channels one of each row."""
    count = blocks(len(rows[0]), config.block_out)
    made = np.zeros((count, len(rows), config.batch, config.block_out), np.int32)
    for number, row in enumerate(rows):
        padded = np.zeros(count * config.block_out, np.int32)
        padded[: len(row)] = row
        made[:, number] = padded.reshape(count, 1, config.block_out)
    return made.reshape(-1, config.batch, config.block_out)
