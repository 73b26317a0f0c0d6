"""
Tensor layouts as text: `NCHW`, `NHWC`, `OIHW16i16o`; the meaning of each dimension of an array.

An upper-case letter is an axis, outermost first; a number with a lower-case letter is a block of it, stored
further inside: `NCHW16c` is the array [N, C/16, H, W, 16]. Zeros fill the last block of a blocked axis.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from stepwell.runtime.dims import Dim

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

MAX_LAYOUT_CHARS = 64
_AXIS = re.compile(r"([A-Z])|([1-9][0-9]{0,5})([a-z])")
_SPATIAL = (
    "UVDHW"  # of the innermost dimensions, by their usual names; two more for the rare 4-d and 5-d windows
)


@dataclass(frozen=True)
class Layout:
    """A parsed layout: a (letter, block) pair for each dimension; block is 0 for the (outer) axis itself."""

    axes: tuple[tuple[str, int], ...]

    @property
    def rank(self) -> int:
        """The number of dimensions of an array in this layout."""
        return len(self.axes)

    @property
    def letters(self) -> tuple[str, ...]:
        """The axes' letters in order, blocks left out."""
        return tuple(letter for letter, block in self.axes if not block)

    @property
    def spatial(self) -> tuple[str, ...]:
        """The letters that name no batch or channel axis (N, C, O, I), in order."""
        return tuple(letter for letter in self.letters if letter not in "NCOI")

    def axis(self, letter: str) -> int:
        """The dimension of an axis (its outer one when blocked). Raises: ValueError when there is none."""
        return self.axes.index((letter, 0))

    def block(self, letter: str) -> int:
        """The block size of an axis, 1 when it is not blocked."""
        return next((block for name, block in self.axes if name == letter and block), 1)

    def block_axis(self, letter: str) -> int | None:
        """The dimension of an axis' block, None when it is not blocked."""
        return next((i for i, (name, block) in enumerate(self.axes) if name == letter and block), None)

    def logical(self, shape: Sequence[Dim]) -> dict[str, Dim]:
        """Extents by letter of an array of this shape; a blocked axis counts its padding."""
        return {letter: shape[self.axis(letter)] * self.block(letter) for letter in self.letters}

    def physical(self, extents: Mapping[str, Dim]) -> list[Dim]:
        """The shape of an array with these extents by letter, blocked axes rounded up."""
        return [
            Dim.of(block) if block else extents[letter].ceildiv(self.block(letter))
            for letter, block in self.axes
        ]

    def __str__(self) -> str:
        return "".join(f"{block}{letter.lower()}" if block else letter for letter, block in self.axes)


@lru_cache(maxsize=1024)
def parse_layout(text: str) -> Layout:
    """
    A layout from its text.

    Raises: ValueError for other characters, an axis twice, a block of no axis, two blocks of one.
    """
    axes: list[tuple[str, int]] = []
    position = 0
    while position < len(text) and len(text) <= MAX_LAYOUT_CHARS:
        part = _AXIS.match(text, position)
        if part is None:
            break
        axes.append((part[1], 0) if part[1] else (part[3].upper(), int(part[2])))
        position = part.end()
    outer = [letter for letter, block in axes if not block]
    inner = [letter for letter, block in axes if block]
    unique = len({*outer}) == len(outer) and len({*inner}) == len(inner)
    if not axes or position < len(text) or not unique or not {*inner} <= {*outer}:
        raise ValueError(f'"{text}" is no layout (such as "NCHW", "NHWC" or "NCHW16c")')
    return Layout(tuple(axes))


def plain_layout(prefix: str, spatial_rank: int) -> str:
    """The layout `prefix` (`NC`, `OI`, `IO`) followed by so many spatial axes: `NCW`, `NCHW`, `NCDHW`."""
    return prefix + _SPATIAL[len(_SPATIAL) - spatial_rank :]


def to_layout(x: npt.NDArray[np.generic], source: Layout, target: Layout) -> npt.NDArray[np.generic]:
    """
    Rearrange an array from one layout to another over the same letters; new blocks are padded with zeros.

    Returns: a view where that is possible. The padding of a removed block stays in its axis.
    """
    if source == target:
        return x
    import numpy as np

    # Blocks of the source join their axis: [N, C/16, H, W, 16] -> [N, C/16, 16, H, W] -> [N, C, H, W].
    order: list[int] = []
    for letter in source.letters:
        block = source.block_axis(letter)
        order += [source.axis(letter)] + ([] if block is None else [block])
    extents = [x.shape[source.axis(letter)] * source.block(letter) for letter in source.letters]
    x = x.transpose(order).reshape(extents)
    x = x.transpose([source.letters.index(letter) for letter in target.letters])
    padding = [
        (0, -extent % target.block(letter)) for letter, extent in zip(target.letters, x.shape, strict=True)
    ]
    if any(after for _, after in padding):
        x = np.pad(x, padding)
    # Axes of the target split: [N, C, H, W] -> [N, C/16, 16, H, W] -> [N, C/16, H, W, 16].
    split: list[int] = []
    position: dict[tuple[str, int], int] = {}
    for letter, extent in zip(target.letters, x.shape, strict=True):
        block = target.block(letter)
        position[letter, 0] = len(split)
        split.append(extent // block)
        if target.block_axis(letter) is not None:
            position[letter, block] = len(split)
            split.append(block)
    return x.reshape(split).transpose([position[axis] for axis in target.axes])
