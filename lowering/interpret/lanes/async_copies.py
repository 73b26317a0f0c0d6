"""Asynchronous copies of the `gpu` level, with the checks of a store at the start and at the end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from stepwell.dialects import gpu
from stepwell.lowering.interpret.engine import Value
from stepwell.lowering.interpret.lanes.compiler import LaneCompiler, for_lanes
from stepwell.lowering.interpret.lanes.memory import Buffer, expect_aligned, forget, loaded, stored
from stepwell.lowering.interpret.lanes.state import Group, LaneFrame, Lanes, as_lanes, expect_all_threads


@for_lanes("gpu.async_copy")
def prepare_copy(op: gpu.AsyncCopyOp, compiler: LaneCompiler) -> Callable[..., tuple[()]]:
    """The start of a copy: until the wait, the target counts as not written."""
    begin, end = 1 + len(op.source_indices), 2 + len(op.source_indices) + len(op.target_indices)

    def start(frame: LaneFrame, *operands: Any) -> tuple[()]:
        source, target = operands[0], operands[begin]
        places, first = operands[1:begin], operands[begin + 1 : end]
        exists = operands[end] if op.exists is not None else np.True_
        for buffer, indices in ((source, places), (target, first)):
            expect_aligned(op, frame, buffer, indices, op.count)
        rows = [(_after(places, number), _after(first, number)) for number in range(op.count)]
        values = [_read(op, frame, source, place, exists) for place, _ in rows]
        for _, to in rows:
            forget(op, frame, target, to)
        mask = frame.mask

        def finish() -> None:
            for value, (_, to) in zip(values, rows, strict=True):
                stored(op, replace(frame, mask=mask), value, target, to)

        frame.group.async_groups.add(finish)
        return ()

    return start


def _after(indices: tuple[Value, ...], number: int) -> tuple[Value, ...]:
    """The indices of an element some places after another one."""
    return (*indices[:-1], indices[-1] + number)


def _read(
    op: gpu.AsyncCopyOp, frame: LaneFrame, source: Buffer, indices: tuple[Value, ...], exists: Value
) -> Value:
    """The elements of the source, 0 in lanes that have none."""
    group: Group = frame.group
    here = as_lanes(exists, group).astype(np.bool_)
    active = here if frame.mask is None else here & frame.mask
    values: Lanes = np.zeros(group.lanes, source.elements.dtype)
    if not active.any():
        return values
    reads = replace(frame, mask=None if active.all() else active)
    values[active] = as_lanes(loaded(op, reads, source, indices), group)[active]
    return values


@for_lanes("gpu.async_commit")
def prepare_commit(op: gpu.AsyncCommitOp, compiler: LaneCompiler) -> Callable[..., tuple[()]]:
    """The end of a group."""

    def commit(frame: LaneFrame) -> tuple[()]:
        expect_all_threads(frame.group, frame.mask, op.name)
        frame.group.async_groups.commit()
        return ()

    return commit


@for_lanes("gpu.async_wait")
def prepare_wait(op: gpu.AsyncWaitOp, compiler: LaneCompiler) -> Callable[..., tuple[()]]:
    """The end of the copies of all groups but the last ones."""

    def wait(frame: LaneFrame) -> tuple[()]:
        expect_all_threads(frame.group, frame.mask, op.name)
        frame.group.async_groups.wait(op.pending.value.data)
        return ()

    return wait
