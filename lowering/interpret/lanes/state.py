"""The threads of a launch: positions, passed barriers, names in errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

import numpy as np
import numpy.typing as npt
from xdsl.ir import Operation

from stepwell.lowering.interpret.engine import Frame, Value
from stepwell.lowering.interpret.lanes.async_groups import AsyncGroups
from stepwell.lowering.interpret.lanes.iterations import Iterations
from stepwell.runtime.errors import StepwellError, describe_location

Mask: TypeAlias = npt.NDArray[np.bool_]
"""The lanes that are active."""
Lanes: TypeAlias = npt.NDArray[Any]
"""A value of each lane."""
Triple: TypeAlias = tuple[int, int, int]

_EPOCH_BITS = 24
DIMENSIONS = ("x", "y", "z")


@dataclass
class Group:
    """The threads of consecutive blocks of a launch, which run together; lanes are ordered by block."""

    kernel: str
    grid: Triple
    block: Triple
    first_block: int
    blocks: int
    checks: frozenset[str]
    warp: int
    dynamic_bytes: int = 0
    """The memory of each block that the launch passes."""
    dynamic: Any = None
    """That memory as a buffer, from its first use on."""

    def __post_init__(self) -> None:
        self.threads = self.block[0] * self.block[1] * self.block[2]
        self.lanes = self.threads * self.blocks
        self.thread_number = np.tile(np.arange(self.threads), self.blocks)
        self.block_number = np.repeat(np.arange(self.blocks), self.threads) + self.first_block
        self.lane_numbers = self.block_number * self.threads + self.thread_number
        self._barriers = np.zeros(self.blocks, np.int64)
        self.async_groups = AsyncGroups()
        self.iterations = Iterations(self.kernel)
        self._set_epochs()

    def thread_id(self, axis: int) -> Value:
        """The position of each thread in the block; a number if there is a single thread."""
        return _position(self.thread_number, self.block, axis)

    def block_id(self, axis: int) -> Value:
        """The position of each block; one number where all lanes agree."""
        if self.blocks == 1:
            return _at(self.first_block, self.grid)[axis]
        return _position(self.block_number, self.grid, axis)

    @property
    def row(self) -> Value:
        """The number of each lane's block in the group."""
        return 0 if self.blocks == 1 else self.block_number - self.first_block

    def pass_barrier(self, op: Operation | str, mask: Mask | None) -> None:
        """Let blocks wait for their threads. Raises: StepwellError `divergent-barrier`."""
        self._barriers += self.blocks_at(op, mask, "a barrier")
        self._set_epochs()

    def blocks_at(self, op: Operation | str, mask: Mask | None, what: str) -> Any:
        """
        Whether each block is at an op that all of its threads run together.

        Raises: StepwellError `divergent-barrier`.
        """
        if mask is None:
            return True
        arrived = mask.reshape(self.blocks, self.threads)
        counts = arrived.sum(axis=1)
        odd = np.flatnonzero((counts > 0) & (counts < self.threads))
        if "barriers" in self.checks and odd.size:
            first = int(odd[0]) * self.threads
            lanes = [first + int(np.argmax(arrived[odd[0]])), first + int(np.argmin(arrived[odd[0]]))]
            here, absent = (self.thread_text(lane) for lane in lanes)
            block = self.block_text(lanes[0])
            message = f"thread {here} of block {block} reaches {what}, and thread {absent} does not"
            raise self.in_kernel(StepwellError("divergent-barrier", op, message))
        return counts > 0

    def _set_epochs(self) -> None:
        blocks = np.arange(self.first_block, self.first_block + self.blocks)
        self.epochs = np.repeat((blocks << _EPOCH_BITS) + self._barriers + 1, self.threads)

    def thread_text(self, lane: int) -> str:
        """The position of a lane in its block."""
        return _text(_at(lane % self.threads, self.block))

    def block_text(self, lane: int) -> str:
        """The position of a lane's block in the grid."""
        return _text(_at(lane // self.threads + self.first_block, self.grid))

    def pair_text(self, one: int, other: int) -> str:
        """
        Two threads by their numbers in the launch.

        Returns: `threads (0,0,0) and (1,0,0) of block (0,0,0)`, or each with its block.
        """
        blocks = [number // self.threads for number in (one, other)]
        threads = [_text(_at(number % self.threads, self.block)) for number in (one, other)]
        places = [_text(_at(number, self.grid)) for number in blocks]
        if blocks[0] == blocks[1]:
            return f"threads {threads[0]} and {threads[1]} of block {places[0]}"
        return f"thread {threads[0]} of block {places[0]} and thread {threads[1]} of block {places[1]}"

    def in_kernel(self, error: StepwellError) -> StepwellError:
        """An error with a note that names the kernel."""
        return error.with_note(f"in the kernel @{self.kernel}")


@dataclass
class LaneFrame(Frame):
    """The values of a group of threads; `mask` has the lanes that are active, None for all."""

    group: Any = None


_MOST_DYNAMIC_BYTES = 1 << 20
"""More than any device has: what a file claims is no reason to allocate it."""


def expect_dynamic_bytes(name: str, nbytes: int, op: Operation | None = None) -> None:
    """Require a size of memory that a launch may pass. Raises: StepwellError `bad-launch`."""
    if not 0 <= nbytes <= _MOST_DYNAMIC_BYTES:
        message = f"@{name} is launched with {nbytes} bytes of memory of a block"
        raise StepwellError("bad-launch", op, f"{message}; 0 to {_MOST_DYNAMIC_BYTES} are possible")


def blocks_of(name: str, grid: Triple, block: Triple, op: Operation | None = None) -> int:
    """The number of blocks of a launch. Raises: StepwellError `bad-launch` for sizes below 0."""
    if min(*grid, *block) < 0:
        shown = " and ".join("x".join(map(str, sizes)) for sizes in (grid, block))
        raise StepwellError("bad-launch", op, f"@{name} is launched with sizes below 0: {shown}")
    return grid[0] * grid[1] * grid[2]


def as_lanes(value: Value, group: Group) -> Lanes:
    """A value of each lane."""
    return cast(Lanes, value) if np.ndim(value) else np.full(group.lanes, value)


def active(frame: LaneFrame) -> Lanes:
    """The positions of the active lanes."""
    lanes: int = frame.group.lanes
    return np.arange(lanes) if frame.mask is None else np.flatnonzero(frame.mask)


def expect_whole_warps(group: Group, mask: Mask | None, what: object) -> None:
    """Require all threads of each warp that has one here. Raises: StepwellError `divergent-barrier`."""
    if mask is None:
        return
    warps = group.block_number * group.threads + group.thread_number // group.warp
    missing = np.isin(warps, warps[mask]) & ~mask
    if missing.any():
        absent = int(np.argmax(missing))
        where = f"thread {group.thread_text(absent)} of block {group.block_text(absent)}"
        message = f"{where} does not reach {what}, and another thread of its warp does"
        raise group.in_kernel(StepwellError("divergent-barrier", None, message))


def expect_all_threads(group: Group, mask: Mask | None, what: object) -> None:
    """Require all threads, which count groups of copies together. Raises: StepwellError `unsupported`."""
    if mask is not None and not mask.all():
        absent = int(np.argmin(mask))
        where = f"thread {group.thread_text(absent)} of block {group.block_text(absent)}"
        message = f"{where} does not reach {what}, and other threads do"
        raise group.in_kernel(StepwellError("unsupported", None, message))


def first_access(op: Operation) -> str:
    """A note with the location of the earlier one of two accesses."""
    return f"the first access is at {describe_location(op) or 'an unknown place'}"


def _position(numbers: Lanes, sizes: Triple, axis: int) -> Value:
    if sizes[axis] == 1:
        return 0
    inner = 1
    for size in sizes[:axis]:
        inner *= size
    return numbers // inner % sizes[axis]


def _at(number: int, sizes: Triple) -> Triple:
    x, y, _ = sizes
    return number % x, number // x % y, number // (x * y)


def _text(position: Sequence[int]) -> str:
    return f"({','.join(map(str, position))})"
