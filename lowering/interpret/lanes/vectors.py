"""`vector` for threads: several neighbouring elements at once, an array with a row for each of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from xdsl.dialects import vector
from xdsl.ir import Operation

from stepwell.dialects.vector import alignment_of, constant_position, vector_shape
from stepwell.lowering.interpret.engine import Value
from stepwell.lowering.interpret.lanes.compiler import LaneCompiler, for_lanes
from stepwell.lowering.interpret.lanes.memory import Buffer, expect_aligned, loaded, stored
from stepwell.lowering.interpret.lanes.state import Group, LaneFrame, Lanes, as_lanes
from stepwell.runtime.errors import StepwellError


def _count(op: Operation, type: Any) -> int:
    """The elements of a vector of one dimension. Raises: StepwellError `unsupported` for others."""
    shape = vector_shape(type)
    if len(shape) != 1:
        raise StepwellError("unsupported", op, f"{type} in a kernel: threads have vectors of one dimension")
    return shape[0]


def _expect_aligned(
    op: vector.LoadOp | vector.StoreOp, frame: LaneFrame, buffer: Buffer, indices: Sequence[Value]
) -> None:
    """Require addresses to be what the op says of them. Raises: StepwellError `out-of-bounds`."""
    expect_aligned(op, frame, buffer, indices, max(1, alignment_of(op) // buffer.elements.itemsize))


def _neighbour(indices: Sequence[Value], number: int) -> tuple[Value, ...]:
    """The indices of the element so many places after another one."""
    return (*indices[:-1], indices[-1] + number)


@for_lanes("vector.load")
def prepare_load(op: vector.LoadOp, compiler: LaneCompiler) -> Callable[..., Lanes]:
    """A read of neighbouring elements by each active lane."""
    count = _count(op, op.result.type)

    def load(frame: LaneFrame, buffer: Buffer, *indices: Value) -> Lanes:
        _expect_aligned(op, frame, buffer, indices)
        rows = (loaded(op, frame, buffer, _neighbour(indices, number)) for number in range(count))
        return np.stack([as_lanes(row, frame.group) for row in rows])

    return load


@for_lanes("vector.store")
def prepare_store(op: vector.StoreOp, compiler: LaneCompiler) -> Callable[..., tuple[()]]:
    """A write of neighbouring elements by each active lane."""
    count = _count(op, op.vector.type)

    def store(frame: LaneFrame, values: Lanes, buffer: Buffer, *indices: Value) -> tuple[()]:
        _expect_aligned(op, frame, buffer, indices)
        for number in range(count):
            stored(op, frame, values[number], buffer, _neighbour(indices, number))
        return ()

    return store


@for_lanes("vector.broadcast")
def prepare_broadcast(op: vector.BroadcastOp, compiler: LaneCompiler) -> Callable[..., Lanes]:
    """A number of each lane as all elements of a vector."""
    count = _count(op, op.vector.type)

    def repeat(frame: LaneFrame, value: Value) -> Lanes:
        group: Group = frame.group
        return value if np.ndim(value) > 1 else np.stack([as_lanes(value, group)] * count)

    return repeat


@for_lanes("vector.extract")
def prepare_extract(op: vector.ExtractOp, compiler: LaneCompiler) -> Callable[..., Lanes]:
    """An element of each lane's vector."""
    position = constant_position(op)

    def extract(frame: LaneFrame, values: Lanes) -> Lanes:
        return values[position]

    return extract


@for_lanes("vector.insert")
def prepare_insert(op: vector.InsertOp, compiler: LaneCompiler) -> Callable[..., Lanes]:
    """A copy of each lane's vector with an element replaced."""
    position = constant_position(op)

    def insert(frame: LaneFrame, value: Value, values: Lanes) -> Lanes:
        made = values.copy()
        made[position] = value
        return made

    return insert
