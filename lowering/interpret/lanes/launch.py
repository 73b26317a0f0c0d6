"""`gpu.launch_func` and `gpu.launch`: the blocks of a grid, as many at a time as make 65,536 lanes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from xdsl.dialects import memref, vector
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Operation, OpResult, SSAValue

from stepwell.dialects import gpu
from stepwell.dialects.gpu.kernel import MAX_THREADS
from stepwell.dialects.sched import TARGET
from stepwell.dialects.target import SpecAttr
from stepwell.lowering.bufferize import memref_of
from stepwell.lowering.interpret.engine import Compiler, Frame, Scope, Steps, Value, implements_in_frame
from stepwell.lowering.interpret.lanes import async_copies, control_flow, tensor_cores, thread_ops, vectors
from stepwell.lowering.interpret.lanes.compiler import LaneCompiler
from stepwell.lowering.interpret.lanes.memory import Buffer, memory, name_of, shared_memory
from stepwell.lowering.interpret.lanes.shadow import Shadow
from stepwell.lowering.interpret.lanes.state import Group, LaneFrame, Triple, blocks_of, expect_dynamic_bytes
from stepwell.runtime.errors import StepwellError

LOADED = (async_copies, control_flow, tensor_cores, thread_ops, vectors)
"""The files with handlers of ops inside kernels."""
MOST_LANES = 1 << 16
_WARP = 32


class _Kernel:
    """A kernel whose body is prepared."""

    def __init__(
        self, body: gpu.GPUFuncOp | gpu.LaunchOp, name: str, captured: Sequence[SSAValue], machine: Any
    ):
        self.name = name
        self.checks: frozenset[str] = machine.checks
        self.is_function = isinstance(body, gpu.GPUFuncOp)
        self.arguments = [*(body.arguments if isinstance(body, gpu.GPUFuncOp) else captured)]
        self.workgroup = [*body.workgroup] if isinstance(body, gpu.GPUFuncOp) else []
        self.private = [*body.private] if isinstance(body, gpu.GPUFuncOp) else []
        self.known = body.block_size if isinstance(body, gpu.GPUFuncOp) else None
        self.warp = _warp_of(body)
        self._compiler = LaneCompiler(machine)
        self._captured = [] if self.is_function else [self._compiler.slot(value) for value in captured]
        self._steps: Steps = self._compiler.steps(body.body.block)
        stores = (op.operands[1] for op in body.walk() if isinstance(op, memref.StoreOp | vector.StoreOp))
        copies = (op.target for op in body.walk() if isinstance(op, gpu.AsyncCopyOp))
        self._stored = {_root(buffer) for buffer in (*stores, *copies)}

    def run(
        self, op: Operation, grid: Triple, block: Triple, values: Sequence[Value], dynamic_bytes: int = 0
    ) -> None:
        """
        Run all blocks.

        Args: `dynamic_bytes` is the memory of each block that the launch passes.
        Raises: StepwellError `bad-launch`; of a check.
        """
        expect_dynamic_bytes(self.name, dynamic_bytes, op)
        threads = block[0] * block[1] * block[2]
        if threads < 1 or threads > MAX_THREADS or (self.known is not None and block != self.known):
            wanted = f"1 to {MAX_THREADS}" if self.known is None else "x".join(map(str, self.known))
            found = "x".join(map(str, block))
            raise StepwellError(
                "bad-launch", op, f"blocks of @{self.name} have {wanted} threads, found {found}"
            )
        if len(values) != len(self.arguments) or not all(map(_fits, self.arguments, values)):
            wanted = ", ".join(str(argument.type) for argument in self.arguments)
            raise StepwellError("bad-launch", op, f"@{self.name} takes other arguments: {wanted}")
        blocks = blocks_of(self.name, grid, block, op)
        buffers = self._buffers(values, threads)
        a_group = max(1, MOST_LANES // threads)
        for first in range(0, blocks, a_group):
            count = min(a_group, blocks - first)
            group = Group(self.name, grid, block, first, count, self.checks, self.warp, dynamic_bytes)
            self._run(group, buffers)

    def _run(self, group: Group, values: Sequence[Value]) -> None:
        """Run consecutive blocks."""
        slots: list[Value] = self._compiler.frame(Scope({})).slots
        frame = LaneFrame(slots, Scope({}), group=group)
        if not self.is_function:
            for slot, value in zip(self._captured, values, strict=True):
                slots[slot] = value
            ids = [*map(group.block_id, range(3)), *map(group.thread_id, range(3)), *group.grid, *group.block]
            self._steps.run(frame, ids)
            return
        shared = [shared_memory(memref_of(value), name_of(value), group) for value in self.workgroup]
        own = [
            memory(memref_of(v), group.lanes, name_of(v), group, np.arange(group.lanes), shadow=False)
            for v in self.private
        ]
        self._steps.run(frame, [*values, *shared, *own])

    def _buffers(self, values: Sequence[Value], threads: int) -> list[Value]:
        """The arguments, arrays as buffers; those that overlap have one shadow."""
        arrays: list[tuple[SSAValue, Any]] = [
            (argument, value)
            for argument, value in zip(self.arguments, values, strict=True)
            if isinstance(argument.type, MemRefType) and value.nbytes
        ]
        spans = _spans([array for _, array in arrays])
        shadows: dict[tuple[int, int], tuple[Shadow | None, int]] = {}
        for low, high in spans:
            inside = [(argument, array) for argument, array in arrays if low <= _span(array)[0] < high]
            unit = min(value.itemsize for _, value in inside)
            is_written = "races" in self.checks and any(argument in self._stored for argument, _ in inside)
            shadow = Shadow((high - low) // unit, threads, is_shared_by_blocks=True) if is_written else None
            shadows[low, high] = shadow, unit
        return [
            _as_buffer(argument, value, spans, shadows) if isinstance(argument.type, MemRefType) else value
            for argument, value in zip(self.arguments, values, strict=True)
        ]


def _fits(argument: SSAValue, value: Value) -> bool:
    """Whether a value is an array of an argument's rank, or a number for one that is no buffer."""
    type = argument.type
    rank = len(type.get_shape()) if isinstance(type, MemRefType) else 0
    return np.ndim(value) == rank and (
        rank > 0 or not isinstance(type, MemRefType) or hasattr(value, "nbytes")
    )


def _as_buffer(argument: SSAValue, array: Any, spans: Any, shadows: Any) -> Buffer:
    """An array of the host as a buffer of the device."""
    item = array.itemsize
    strides = tuple(stride // item for stride in array.strides)
    if not array.size:
        return Buffer(np.zeros((1, 1), array.dtype), array.shape, strides, 0, name_of(argument))
    low, high = _span(array)
    begin = int(array.ctypes.data)
    whole = np.lib.stride_tricks.as_strided(array, [(high - begin) // item], [item])
    span = next(span for span in spans if span[0] <= low < span[1])
    shadow, unit = shadows[span]
    return Buffer(
        whole[None],
        array.shape,
        strides,
        0,
        name_of(argument),
        shadow=shadow,
        first_cell=(begin - span[0]) // unit,
        cells_an_element=item // unit,
    )


def _span(array: Any) -> tuple[int, int]:
    """The addresses of the first byte of an array, and after its last one."""
    return np.lib.array_utils.byte_bounds(array)


def _spans(arrays: Sequence[Any]) -> list[tuple[int, int]]:
    """Ranges of addresses, those of overlapping arrays merged."""
    found: list[tuple[int, int]] = []
    for low, high in sorted(map(_span, arrays)):
        if found and low < found[-1][1]:
            found[-1] = found[-1][0], max(high, found[-1][1])
        else:
            found.append((low, high))
    return found


def _root(value: SSAValue) -> SSAValue:
    """The buffer that a view is of."""
    while (
        isinstance(value, OpResult)
        and value.op.operands
        and isinstance(value.op.operands[0].type, MemRefType)
    ):
        value = value.op.operands[0]
    return value


def _warp_of(op: Operation) -> int:
    """The threads of a subgroup, by the target of the kernel's module."""
    parent: Operation | None = op
    while parent is not None:
        if isinstance(target := parent.attributes.get(TARGET), SpecAttr):
            warp = target.target().attrs.get("warp")
            return warp if isinstance(warp, int) and warp else _WARP
        parent = parent.parent_op()
    return _WARP


@implements_in_frame("gpu.launch_func")
def prepare_launch_func(op: gpu.LaunchFuncOp, compiler: Compiler) -> Callable[..., tuple[()]]:
    """The threads of a grid, each of which runs a kernel."""
    function, first = op.function(), 6 + (op.shared_bytes is not None)
    if (launcher := compiler.machine.launcher) is not None:

        def launch(frame: Frame, *values: Value) -> tuple[()]:
            if 0 not in (grid := _triple(values[:3])):
                launcher(function, grid, values[first:])
            return ()

        return launch
    kernel = _Kernel(function, function.sym_name.data, [], compiler.machine)

    def run(frame: Frame, *values: Value) -> tuple[()]:
        passed = int(values[6]) if first > 6 else 0
        kernel.run(op, _triple(values[:3]), _triple(values[3:6]), values[first:], passed)
        return ()

    return run


@implements_in_frame("gpu.work")
def prepare_work(op: gpu.WorkOp, compiler: Compiler) -> Callable[..., tuple[()]]:
    """A count for profiles, which computes nothing."""

    def run(frame: Frame, operations: Value) -> tuple[()]:
        return ()

    return run


@implements_in_frame("gpu.launch")
def prepare_launch(op: gpu.LaunchOp, compiler: Compiler) -> Callable[..., tuple[()]]:
    """The threads of a grid, each of which runs the body; it sees the values around it."""
    inner = {result for each in op.walk() for result in each.results}
    inner |= {
        argument
        for each in op.walk()
        for region in each.regions
        for b in region.blocks
        for argument in b.args
    }
    used = (value for each in op.body.block.walk() for value in each.operands if value not in inner)
    captured = list(dict.fromkeys(used))
    kernel = _Kernel(op, "launch", captured, compiler.machine)
    slots = [compiler.slot(value) for value in captured]

    def run(frame: Frame, *values: Value) -> tuple[()]:
        kernel.run(op, _triple(values[:3]), _triple(values[3:]), [frame.slots[slot] for slot in slots])
        return ()

    return run


def _triple(sizes: Sequence[Value]) -> Triple:
    x, y, z = map(int, sizes)
    return x, y, z


def prepared_kernel(
    function: Operation, machine: Any
) -> Callable[[Sequence[int], Sequence[int], Sequence[Value], int], None]:
    """A `gpu.func` as a function of the grid, the size of blocks, the arguments, the dynamic bytes."""
    assert isinstance(function, gpu.GPUFuncOp)
    kernel = _Kernel(function, function.sym_name.data, [], machine)

    def run(grid: Sequence[int], block: Sequence[int], values: Sequence[Value], dynamic_bytes: int) -> None:
        kernel.run(function, _triple(grid), _triple(block), values, dynamic_bytes)

    return run
