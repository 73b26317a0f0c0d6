"""`gpu` ops inside kernels: positions, barriers, exchanges between the threads of a subgroup."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from xdsl.ir import Operation

from stepwell.dialects import gpu
from stepwell.lowering.interpret.engine import Value
from stepwell.lowering.interpret.lanes.compiler import LaneCompiler, for_lanes
from stepwell.lowering.interpret.lanes.state import DIMENSIONS, Group, LaneFrame, Lanes, as_lanes

_POSITIONS: Mapping[str, Callable[[Group, int], Value]] = {
    "gpu.thread_id": Group.thread_id,
    "gpu.block_id": Group.block_id,
    "gpu.block_dim": lambda group, axis: group.block[axis],
    "gpu.grid_dim": lambda group, axis: group.grid[axis],
    "gpu.global_id": lambda group, axis: group.block_id(axis) * group.block[axis] + group.thread_id(axis),
}
_OF_SUBGROUP: Mapping[str, Callable[[Group], Value]] = {
    "gpu.lane_id": lambda group: group.thread_number % group.warp,
    "gpu.subgroup_id": lambda group: group.thread_number // group.warp,
    "gpu.subgroup_size": lambda group: group.warp,
}
_REDUCTIONS: Mapping[str, Any] = {
    "add": np.add,
    "mul": np.multiply,
    "minsi": np.minimum,
    "maxsi": np.maximum,
    "minimumf": np.minimum,
    "maximumf": np.maximum,
    "minnumf": np.fmin,
    "maxnumf": np.fmax,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}


@for_lanes(*_POSITIONS)
def prepare_position(op: gpu.ThreadIdOp, compiler: LaneCompiler) -> Callable[..., Value]:
    """An index along a dimension."""
    axis, position = DIMENSIONS.index(str(op.dimension.data)), _POSITIONS[op.name]

    def run(frame: LaneFrame) -> Value:
        return position(frame.group, axis)

    return run


@for_lanes(*_OF_SUBGROUP)
def prepare_of_subgroup(op: Operation, compiler: LaneCompiler) -> Callable[..., Value]:
    """An index in the block's subgroups."""
    position = _OF_SUBGROUP[op.name]

    def run(frame: LaneFrame) -> Value:
        return position(frame.group)

    return run


@for_lanes("gpu.barrier")
def prepare_barrier(op: gpu.BarrierOp, compiler: LaneCompiler) -> Callable[..., tuple[()]]:
    """A barrier of each block."""

    def wait(frame: LaneFrame) -> tuple[()]:
        frame.group.pass_barrier(op, frame.mask)
        return ()

    return wait


@for_lanes("gpu.shuffle")
def prepare_shuffle(op: gpu.ShuffleOp, compiler: LaneCompiler) -> Callable[..., Any]:
    """The value of another active lane of the subgroup; the lane's own where there is none."""
    mode = op.mode.data

    def shuffle(frame: LaneFrame, value: Value, offset: Value, width: Value) -> tuple[Value, Value]:
        group: Group = frame.group
        lane = group.thread_number % group.warp
        segment = lane - lane % width
        other = {"xor": lane ^ offset, "up": lane - offset, "down": lane + offset, "idx": segment + offset}[
            mode
        ]
        inside = (other >= segment) & (other < segment + width)
        thread = group.thread_number - lane + other
        inside &= (thread >= 0) & (thread < group.threads)
        own = np.arange(group.lanes)
        source = np.where(inside, own + other - lane, own)
        valid = inside if frame.mask is None else inside & frame.mask[source]
        values = as_lanes(value, group)
        return np.where(valid, values[source], values), valid

    return shuffle


@for_lanes("gpu.subgroup_reduce")
def prepare_subgroup_reduce(op: gpu.SubgroupReduceOp, compiler: LaneCompiler) -> Callable[..., Lanes]:
    """A reduction over the active lanes of each subgroup, in their order."""
    function = _REDUCTIONS[op.op.data]

    def reduce(frame: LaneFrame, value: Value) -> Lanes:
        group: Group = frame.group
        values = as_lanes(value, group)
        a_block = -(-group.threads // group.warp)
        subgroup = (group.block_number - group.first_block) * a_block + group.thread_number // group.warp
        lanes = np.arange(group.lanes) if frame.mask is None else np.flatnonzero(frame.mask)
        used, first = np.unique(subgroup[lanes], return_index=True)
        found = np.zeros(group.blocks * a_block, values.dtype)
        found[used] = values[lanes[first]]
        rest = np.delete(lanes, first)
        function.at(found, subgroup[rest], values[rest])
        return found[subgroup]

    return reduce


@for_lanes("gpu.all_reduce")
def prepare_all_reduce(op: gpu.AllReduceOp, compiler: LaneCompiler) -> Callable[..., Lanes]:
    """A reduction over the threads of each block; stores before it are not seen after it."""
    function = _REDUCTIONS[op.op.data]

    def reduce(frame: LaneFrame, value: Value) -> Lanes:
        group: Group = frame.group
        group.blocks_at(op, frame.mask, op.name)
        values = as_lanes(value, group).reshape(group.blocks, group.threads)
        return np.repeat(function.reduce(values, axis=1, dtype=values.dtype), group.threads)

    return reduce
