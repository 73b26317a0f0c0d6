"""Copies to memory of the block beside the threads: `cp.async`, its groups and waits."""

from __future__ import annotations

import numpy as np

from stepwell.lowering.interpret.lanes.state import expect_all_threads
from stepwell.lowering.interpret.ptx.accesses import address_of, checked_access
from stepwell.lowering.interpret.ptx.code import Code, Frame, Step, makes
from stepwell.lowering.interpret.ptx.memory import Access
from stepwell.lowering.interpret.ptx.reader import Instruction
from stepwell.lowering.interpret.ptx.values import BITS, Mask, Value, per_lane

_COPY = (("cp", "async", "ca", "shared", "global"), ("cp", "async", "cg", "shared", "global"))
_I32 = np.dtype(np.int32)
_PIECE = 8
"""The bytes of the largest type of numpy; 16 bytes are two."""


@makes("cp")
def make_copy(code: Code, instruction: Instruction) -> Step:
    """A copy, or the end of a group, or a wait. Raises: ValueError for others."""
    if instruction.parts == ("cp", "async", "commit_group"):
        return _commit(instruction)
    if instruction.parts == ("cp", "async", "wait_group"):
        return _wait(instruction, int(instruction.operands[0]))
    if instruction.parts not in _COPY:
        raise ValueError(instruction.text)
    to, source, nbytes, *size = instruction.operands
    target, origin = (address_of(code, each) for each in (to, source))
    count = max(1, int(nbytes) // _PIECE)
    dtype, sizes = BITS[int(nbytes) // count], [code.get(each, _I32) for each in size]
    load = checked_access("global", instruction, dtype, count, is_store=False)
    store = checked_access("shared", instruction, dtype, count, is_store=True)

    def run(frame: Frame) -> None:
        mask, place, lanes = frame.mask, target(frame), frame.group.lanes
        exists = None if not sizes else per_lane(sizes[0](frame), lanes) > 0
        values: Value = np.zeros((count, lanes), dtype)
        reads = mask if exists is None else exists if mask is None else exists & mask
        if reads is None or reads.any():
            frame.mask = reads
            found = load(frame, origin(frame))
            view, index = found.region.view(dtype), found.index(dtype.itemsize)
            for piece in range(count):
                values[piece, found.active_lanes()] = view.take(index + piece)
            frame.mask = mask
        _forget(store(frame, place))

        def finish() -> None:
            now: Mask = frame.mask
            frame.mask = mask
            end = store(frame, place)
            active = end.active_lanes()
            places = np.broadcast_to(end.index(dtype.itemsize), active.shape)
            for piece in range(count):
                end.region.view(dtype)[places + piece] = values[piece, active]
            frame.mask = now

        frame.group.async_groups.add(finish)

    return run


def _forget(access: Access) -> None:
    """Let bytes be unwritten, as they are during a copy."""
    if access.region.written is not None:
        for byte in range(access.bytes_each):
            access.region.written[access.offsets + byte] = False


def _commit(instruction: Instruction) -> Step:
    def run(frame: Frame) -> None:
        expect_all_threads(frame.group, frame.mask, instruction)
        frame.group.async_groups.commit()

    return run


def _wait(instruction: Instruction, pending: int) -> Step:
    def run(frame: Frame) -> None:
        expect_all_threads(frame.group, frame.mask, instruction)
        frame.group.async_groups.wait(pending)

    return run
