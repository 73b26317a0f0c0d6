"""`memref` for threads: buffers of the device, of blocks and of threads, with checks of each access."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from xdsl.dialects import memref
from xdsl.dialects.builtin import MemRefType, i8
from xdsl.ir import Attribute, Operation, SSAValue

from stepwell.dialects import gpu
from stepwell.dialects.sched import TOGETHER
from stepwell.lowering.bufferize import groups_of, memref_of
from stepwell.lowering.interpret.elements import numpy_dtype
from stepwell.lowering.interpret.engine import Value
from stepwell.lowering.interpret.lanes.banks import CHECK, conflict, conflict_text
from stepwell.lowering.interpret.lanes.compiler import LaneCompiler, for_lanes
from stepwell.lowering.interpret.lanes.shadow import Conflict, Shadow
from stepwell.lowering.interpret.lanes.state import Group, LaneFrame, Lanes, active, as_lanes, first_access
from stepwell.lowering.interpret.tensors import fill_in, window
from stepwell.runtime.errors import StepwellError


@dataclass(frozen=True)
class Buffer:
    """A buffer as a kernel sees it: elements, and where in them its own are."""

    elements: Any
    """One row of elements for the device, one for each block, or one for each lane."""
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    """In elements."""
    offset: int
    name: str
    row: Value = 0
    """The row of each lane."""
    shadow: Shadow | None = None
    first_cell: int = 0
    cells_an_element: int = 1
    row_cells: int = 0
    """The number of cells in a row, if it has more than its elements."""
    written: Any = None
    """The elements that were written; None if all are known to be."""
    has_banks: bool = False
    """Whether accesses of a warp are checked for conflicts."""


def contiguous(elements: Any, shape: Sequence[int], name: str, **more: Any) -> Buffer:
    """A buffer with rows of elements in row-major order."""
    strides: list[int] = []
    step = 1
    for size in reversed(shape):
        strides.insert(0, step)
        step *= size
    return Buffer(elements, tuple(shape), tuple(strides), 0, name, **more)


def name_of(value: SSAValue) -> str:
    """The name of a value in the text, or a word for one without."""
    return f"%{value.name_hint}" if value.name_hint else "a buffer"


def memory(
    type: MemRefType[Attribute], rows: int, name: str, group: Group, row: Value, shadow: bool
) -> Buffer:
    """Memory of blocks or threads, unwritten; where it has a shadow, threads share it."""
    shape = type.get_shape()
    size = int(np.prod(shape, dtype=np.int64))
    elements = np.full((rows, size), _PATTERN, np.uint8).astype(numpy_dtype(type))
    checked = Shadow(rows * size, group.threads, is_shared_by_blocks=False) if shadow else None
    written = np.zeros((rows, size), np.bool_) if "uninitialized" in group.checks else None
    return contiguous(elements, shape, name, row=row, shadow=checked, written=written)


def shared_memory(type: MemRefType[Attribute], name: str, group: Group) -> Buffer:
    """Memory of blocks, unwritten."""
    made = memory(type, group.blocks, name, group, group.row, shadow="races" in group.checks)
    return replace(made, has_banks=CHECK in group.checks)


_SINGLE = ("memref.load", "memref.store")
"""Accesses of one element."""
_PATTERN = 0xCB
"""The contents of memory that was not written."""


@for_lanes("memref.load")
def prepare_load(op: memref.LoadOp, compiler: LaneCompiler) -> Callable[..., Value]:
    """A read of an element by each active lane."""

    def load(frame: LaneFrame, buffer: Buffer, *indices: Value) -> Value:
        return loaded(op, frame, buffer, indices)

    return load


def loaded(op: Operation, frame: LaneFrame, buffer: Buffer, indices: Sequence[Value]) -> Value:
    """The element that each active lane reads. Raises: StepwellError of a check."""
    place = _place(op, frame, buffer, indices)
    if buffer.shadow is not None:
        _check_race(op, frame, buffer, indices, buffer.shadow.load)
    if buffer.written is not None:
        _check_written(op, frame, buffer, indices, place)
    if buffer.has_banks:
        _check_banks(op, frame, buffer, indices, place)
    return buffer.elements[buffer.row, place]


@for_lanes("memref.store")
def prepare_store(op: memref.StoreOp, compiler: LaneCompiler) -> Callable[..., tuple[()]]:
    """A write of an element by each active lane."""

    def store(frame: LaneFrame, value: Value, buffer: Buffer, *indices: Value) -> tuple[()]:
        stored(op, frame, value, buffer, indices)
        return ()

    return store


def stored(op: Operation, frame: LaneFrame, value: Value, buffer: Buffer, indices: Sequence[Value]) -> None:
    """Let each active lane write an element. Raises: StepwellError of a check."""
    group: Group = frame.group
    place = _place(op, frame, buffer, indices)
    if buffer.shadow is not None:
        _check_race(op, frame, buffer, indices, buffer.shadow.store)
    if buffer.has_banks:
        _check_banks(op, frame, buffer, indices, place)
    lanes = active(frame)
    if "bounds" not in group.checks:
        lanes = lanes[_inside(buffer, indices, group)[lanes]]
    rows, places = as_lanes(buffer.row, group)[lanes], as_lanes(place, group)[lanes]
    buffer.elements[rows, places] = as_lanes(value, group)[lanes]
    if buffer.written is not None:
        buffer.written[rows, places] = True


def _check_banks(
    op: Operation, frame: LaneFrame, buffer: Buffer, indices: Sequence[Value], place: Value
) -> None:
    """Require the accesses of each warp to be in different banks. Raises: StepwellError `bank-conflict`."""
    if op.name not in _SINGLE or TOGETHER in op.attributes:
        return  # an access of several elements is served in parts
    group: Group = frame.group
    lanes = active(frame)
    pair = conflict(group, lanes, as_lanes(place, group)[lanes], buffer.elements.itemsize)
    if pair is not None:
        message = conflict_text(group, pair, buffer.name, lambda lane: _at(indices, lane), op.name)
        raise group.in_kernel(StepwellError("bank-conflict", op, message))


def forget(op: Operation, frame: LaneFrame, buffer: Buffer, indices: Sequence[Value]) -> None:
    """Let each active lane's element be unwritten, as during a copy. Raises: StepwellError of a check."""
    unknown = np.full(1, _PATTERN, np.uint8).astype(buffer.elements.dtype)[0]
    stored(op, frame, unknown, buffer, indices)
    if buffer.written is not None:
        group: Group = frame.group
        lanes, place = active(frame), _place(op, frame, buffer, indices)
        buffer.written[as_lanes(buffer.row, group)[lanes], as_lanes(place, group)[lanes]] = False


def expect_aligned(
    op: Operation, frame: LaneFrame, buffer: Buffer, indices: Sequence[Value], count: int
) -> None:
    """Require each active lane's first of some elements to be at a multiple. Raises: `out-of-bounds`."""
    if count == 1:
        return
    group: Group = frame.group
    place: Value = buffer.offset
    for index, stride in zip(indices, buffer.strides, strict=True):
        place = place + index * stride
    lanes = active(frame)
    if (wrong := as_lanes(place, group)[lanes] % count != 0).any():
        lane = int(lanes[int(np.argmax(wrong))])
        where = f"thread {group.thread_text(lane)} of block {group.block_text(lane)}"
        at = f"{buffer.name}{_at(indices, lane)}"
        message = (
            f"{where} accesses {count} elements from {at} on, which is at no multiple of them: {op.name}"
        )
        raise group.in_kernel(StepwellError("out-of-bounds", op, message))


def _inside(buffer: Buffer, indices: Sequence[Value], group: Group) -> Lanes:
    """The lanes whose indices are in bounds."""
    found = np.ones(group.lanes, np.bool_)
    for index, size in zip(indices, buffer.shape, strict=True):
        found &= (np.asarray(index) >= 0) & (np.asarray(index) < size)
    return found


def _place(op: Operation, frame: LaneFrame, buffer: Buffer, indices: Sequence[Value]) -> Value:
    """The position of each lane's element; 0 in lanes that are not active. Raises: `out-of-bounds`."""
    group: Group = frame.group
    place: Value = buffer.offset
    is_outside = False
    for index, size, stride in zip(indices, buffer.shape, buffer.strides, strict=True):
        is_outside = is_outside | (index < 0) | (index >= size)
        place = place + index * stride
    if frame.mask is not None and np.ndim(is_outside):
        is_outside = is_outside & frame.mask
    if np.any(is_outside):
        if "bounds" in group.checks:
            lane = int(active(frame)[0]) if not np.ndim(is_outside) else int(np.argmax(is_outside))
            raise _outside(op, group, buffer, indices, lane)
        place = np.where(is_outside, 0, place)
    if frame.mask is not None and np.ndim(place):
        place = np.where(frame.mask, place, 0)
    return place


def _outside(op: Operation, group: Group, buffer: Buffer, indices: Sequence[Value], lane: int) -> Exception:
    where = f"thread {group.thread_text(lane)} of block {group.block_text(lane)}"
    shape = "x".join(map(str, buffer.shape))
    message = f"{where} accesses {buffer.name}{_at(indices, lane)}, of shape {shape}: {op.name}"
    return group.in_kernel(StepwellError("out-of-bounds", op, message))


def _at(indices: Sequence[Value], lane: int) -> str:
    """The indices of a lane, as text."""
    numbers = (int(index[lane]) if np.ndim(index) else int(index) for index in indices)
    return f"[{', '.join(map(str, numbers))}]"


def _check_race(
    op: Operation,
    frame: LaneFrame,
    buffer: Buffer,
    indices: Sequence[Value],
    note: Callable[[Operation, Lanes, Lanes, Lanes], Conflict | None],
) -> None:
    """Note the access of each active lane. Raises: StepwellError `data-race`."""
    group: Group = frame.group
    place: Value = buffer.offset
    for index, stride in zip(indices, buffer.strides, strict=True):
        place = place + index * stride
    lanes = active(frame)
    if "bounds" not in group.checks:
        lanes = lanes[_inside(buffer, indices, group)[lanes]]
    has_rows = np.ndim(buffer.row) or buffer.elements.shape[0] > 1
    row_cells = (buffer.row_cells or buffer.elements.shape[1]) if has_rows else 0
    cells = as_lanes(place, group)[lanes] * buffer.cells_an_element + buffer.first_cell
    cells = cells + as_lanes(buffer.row, group)[lanes] * row_cells
    threads, tags = group.lane_numbers[lanes], group.epochs[lanes]
    for part in range(buffer.cells_an_element):
        if (found := note(op, cells + part, threads, tags)) is not None:
            pair = group.pair_text(found.first, found.second)
            at = _at(indices, int(lanes[found.position]))
            ops = f"{found.op.name}, then {op.name}"
            between = "without a barrier between" if "threads" in pair[:7] else "in one launch"
            message = f"{pair} access {buffer.name}{at} {between}: {ops}"
            raise group.in_kernel(StepwellError("data-race", op, message, note=first_access(found.op)))


def _check_written(
    op: Operation, frame: LaneFrame, buffer: Buffer, indices: Sequence[Value], place: Value
) -> None:
    """Require each active lane's element to be written. Raises: StepwellError `uninitialized-read`."""
    group: Group = frame.group
    missing = as_lanes(~buffer.written[buffer.row, place], group)
    if frame.mask is not None:
        missing = missing & frame.mask
    if missing.any():
        lane = int(np.argmax(missing))
        where = f"thread {group.thread_text(lane)} of block {group.block_text(lane)}"
        message = f"{where} reads {buffer.name}{_at(indices, lane)}, which no thread has written"
        raise group.in_kernel(StepwellError("uninitialized-read", op, message))


@for_lanes("memref.alloca", "memref.alloc")
def prepare_alloca(op: memref.AllocaOp | memref.AllocOp, compiler: LaneCompiler) -> Callable[..., Buffer]:
    """Memory of each thread."""
    type = memref_of(op.memref)

    def allocate(frame: LaneFrame, *sizes: int) -> Buffer:
        group: Group = frame.group
        shape = fill_in(type.get_shape(), (int(np.max(size)) for size in sizes))
        static = MemRefType(type.element_type, shape)
        rows = np.arange(group.lanes)
        return memory(static, group.lanes, name_of(op.memref), group, rows, shadow=False)

    return allocate


@for_lanes("memref.dim")
def prepare_dim(op: memref.DimOp, compiler: LaneCompiler) -> Callable[..., int]:
    """The extent of a buffer."""

    def extent(frame: LaneFrame, buffer: Buffer, dim: int) -> int:
        return buffer.shape[dim]

    return extent


@for_lanes("memref.cast", "memref.assume_alignment")
def prepare_cast(op: Operation, compiler: LaneCompiler) -> Callable[..., Any]:
    """The same buffer."""

    def same(frame: LaneFrame, buffer: Buffer) -> Any:
        return buffer if op.results else ()

    return same


@for_lanes("gpu.dynamic_shared_memory")
def prepare_dynamic_memory(op: gpu.DynamicSharedMemoryOp, compiler: LaneCompiler) -> Callable[..., Buffer]:
    """The bytes of each block that the launch passes, unwritten."""

    def made(frame: LaneFrame) -> Buffer:
        group: Group = frame.group
        if group.dynamic is None:
            group.dynamic = shared_memory(MemRefType(i8, [group.dynamic_bytes]), name_of(op.result), group)
        return group.dynamic

    return made


@for_lanes("memref.view")
def prepare_view(op: memref.ViewOp, compiler: LaneCompiler) -> Callable[..., Buffer]:
    """An array in bytes. Raises: StepwellError `out-of-bounds` where it is not inside of them."""
    type = memref_of(op.result)
    item = int(numpy_dtype(type).itemsize)

    def view(frame: LaneFrame, buffer: Buffer, shift: Value, *sizes: int) -> Buffer:
        shape = fill_in(type.get_shape(), sizes)
        begin, nbytes = int(np.max(shift)), int(np.prod(shape, dtype=np.int64)) * item
        if begin % item or begin < 0 or begin + nbytes > buffer.shape[0]:
            message = f"{name_of(op.result)} is bytes {begin} to {begin + nbytes} of {buffer.shape[0]}"
            raise frame.group.in_kernel(StepwellError("out-of-bounds", op, message))
        inside = slice(begin, begin + nbytes)
        written = buffer.written[:, begin : begin + nbytes : item] if buffer.written is not None else None
        return contiguous(
            buffer.elements[:, inside].view(numpy_dtype(type)),
            shape,
            name_of(op.result),
            row=buffer.row,
            shadow=buffer.shadow,
            first_cell=begin,
            cells_an_element=item,
            row_cells=buffer.shape[0],
            written=written,
            has_banks=buffer.has_banks,
        )

    return view


@for_lanes("memref.subview")
def prepare_subview(op: memref.SubviewOp, compiler: LaneCompiler) -> Callable[..., Buffer]:
    """A window of a buffer; its offset may differ between lanes."""
    dropped = len(memref_of(op.source).get_shape()) - len(memref_of(op.result).get_shape())
    kept_shape = memref_of(op.result).get_shape()

    def view(frame: LaneFrame, buffer: Buffer, *dynamic: Value) -> Buffer:
        offsets, sizes, strides = window(op, dynamic)
        offset = buffer.offset + sum(o * s for o, s in zip(offsets, buffer.strides, strict=True))
        steps = [a * b for a, b in zip(strides, buffer.strides, strict=True)]
        pairs = list(zip(sizes, steps, strict=True))
        if dropped:
            pairs = _kept(pairs, len(kept_shape))
        shape, steps = [size for size, _ in pairs], [step for _, step in pairs]
        return replace(buffer, shape=tuple(shape), strides=tuple(steps), offset=offset)

    return view


def _kept(pairs: list[tuple[int, int]], rank: int) -> list[tuple[int, int]]:
    """Sizes and strides without as many dimensions of extent 1 as a result lacks, the first ones."""
    found = list(pairs)
    for pair in pairs:
        if len(found) > rank and pair[0] == 1:
            found.remove(pair)
    return found


@for_lanes("memref.expand_shape")
def prepare_expand_shape(op: memref.ExpandShapeOp, compiler: LaneCompiler) -> Callable[..., Buffer]:
    """A buffer with dimensions split into groups."""
    shape, groups = op.static_output_shape.get_values(), groups_of(op.reassociation)

    def expand(frame: LaneFrame, buffer: Buffer, *sizes: int) -> Buffer:
        full = fill_in(shape, sizes)
        strides = [0] * len(full)
        for group, stride in zip(groups, buffer.strides, strict=True):
            for dim in reversed(group):
                strides[dim] = stride
                stride *= full[dim]
        return replace(buffer, shape=full, strides=tuple(strides))

    return expand


@for_lanes("memref.collapse_shape")
def prepare_collapse_shape(op: memref.CollapseShapeOp, compiler: LaneCompiler) -> Callable[..., Buffer]:
    """A buffer with groups of dimensions merged."""
    groups = groups_of(op.reassociation)

    def collapse(frame: LaneFrame, buffer: Buffer) -> Buffer:
        shape = [int(np.prod([buffer.shape[d] for d in group], dtype=np.int64)) for group in groups]
        strides = [buffer.strides[group[-1]] if group else 1 for group in groups]
        return replace(buffer, shape=tuple(shape), strides=tuple(strides))

    return collapse
