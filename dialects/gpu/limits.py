"""Limits of targets for kernels: threads and memory of a block, buffers, registers, grids."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import cast

from xdsl.dialects import memref
from xdsl.dialects.builtin import IntegerType, MemRefType
from xdsl.ir import Attribute

from stepwell.dialects.gpu.async_copies import AsyncCopyOp, has_async_copies
from stepwell.dialects.gpu.dynamic_memory import DynamicSharedMemoryOp
from stepwell.dialects.gpu.kernel import GPUFuncOp
from stepwell.dialects.gpu.launch import LaunchFuncOp
from stepwell.dialects.gpu.registers import carried_registers
from stepwell.dialects.tensor_ir.sizes import constant_index
from stepwell.dialects.types import element_bytes
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.machine.named_target import Target

STATIC_BYTES = 48 << 10
"""The most memory of a block that code for NVIDIA's GPUs can declare; launches can pass more."""
_TILES_BYTES, _TILES_THREADS = 16 << 10, 64
"""The memory and the threads of a block that the smallest tiles of attention need."""


def expect_within_limits(kernel: GPUFuncOp, target: Target) -> None:
    """Require a kernel to fit a target. Raises: StepwellError `exceeds-target`, with both numbers."""
    if not has_async_copies(target):
        if (copy := next((op for op in kernel.walk() if isinstance(op, AsyncCopyOp)), None)) is not None:
            message = f"@{kernel.sym_name.data} has asynchronous copies, and {target} has none"
            help = "use at most 2 stages, or a target with the feature async-copy"
            raise StepwellError("exceeds-target", copy, message, help=help)
    for what, found, most in _excesses(kernel, target):
        message = f"@{kernel.sym_name.data} {what}: {found}, and {target} has {most}"
        raise StepwellError("exceeds-target", kernel, message)


def _excesses(kernel: GPUFuncOp, target: Target) -> Iterator[tuple[str, int, int]]:
    """The limits that a kernel exceeds: a description, the kernel's number, the target's number."""
    attrs = target.attrs
    if (size := kernel.block_size) is not None:
        yield from _above("has blocks of more threads", prod(size), attrs["max-threads"])
        along = attrs["max-block"]
        if isinstance(along, tuple):
            for axis, count, most in zip("xyz", size, along, strict=True):
                yield from _above(f"has blocks of more threads along {axis}", count, most)
    shared = shared_bytes(kernel, target.kind)
    both = shared + dynamic_bytes(kernel, target.kind)
    yield from _above("needs more bytes of memory of a block", both, attrs["shared-memory"])
    if target.kind == "cuda":
        yield from _above("declares more bytes of memory of a block", shared, STATIC_BYTES)
    buffers = sum(isinstance(argument.type, MemRefType) for argument in kernel.arguments)
    yield from _above("takes more buffers", buffers, attrs["max-buffers"])
    if registers := attrs["registers"]:
        found = carried_registers(kernel)
        yield from _above("carries more registers of a thread through its loops", found, registers)


def fits_attention(target: Target) -> bool:
    """Whether a target's blocks have enough memory and threads for tiles of attention."""
    found = target.attrs["shared-memory"], target.attrs["max-threads"]
    wanted = _TILES_BYTES, _TILES_THREADS
    return all(isinstance(a, int) and a >= b for a, b in zip(found, wanted, strict=True))


def expect_launch_within_limits(launch: LaunchFuncOp, target: Target) -> None:
    """Require the known numbers of a launch to fit a target. Raises: StepwellError `exceeds-target`."""
    passed = 0 if launch.shared_bytes is None else constant_index(launch.shared_bytes)
    if passed is not None:
        _expect_memory(launch, passed, target)
    most = target.attrs["max-grid"]
    if not isinstance(most, tuple):
        return
    for axis, size, limit in zip("xyz", launch.grid, most, strict=True):
        # A longer grid of WebGPU is several dispatches.
        if (count := constant_index(size)) is None or (axis == "x" and target.kind == "webgpu"):
            continue
        _expect_at_most(launch, target, f"in more blocks along {axis}", count, limit)


def _expect_memory(launch: LaunchFuncOp, passed: int, target: Target) -> None:
    """Require the bytes that a launch passes to be enough, and not too many. Raises: StepwellError."""
    kernel = launch.function()
    needed, total = dynamic_bytes(kernel, target.kind), shared_bytes(kernel, target.kind) + passed
    if passed < needed:
        message = (
            f"{launch.kernel} accesses {needed} bytes of dynamic memory of a block, and is passed {passed}"
        )
        raise StepwellError("exceeds-target", launch, message)
    most = target.attrs["shared-memory"]
    _expect_at_most(launch, target, "with more bytes of memory of a block", total, most)


def _expect_at_most(launch: LaunchFuncOp, target: Target, what: str, found: int, most: object) -> None:
    """Require a number of a launch to be no larger than the target's. Raises: StepwellError."""
    for _, count, bound in _above(what, found, most):
        message = f"{launch.kernel} is launched {what}: {count}, and {target} has {bound}"
        raise StepwellError("exceeds-target", launch, message)


def _above(what: str, found: int, most: object) -> Iterator[tuple[str, int, int]]:
    if isinstance(most, int) and found > most:
        yield what, found, most


def shared_bytes(kernel: GPUFuncOp, kind: str = "") -> int:
    """The bytes of memory that the threads of a block share, as the kernel declares it."""
    return sum(array_bytes(value.type, kind) for value in kernel.workgroup)


def dynamic_bytes(kernel: GPUFuncOp, kind: str = "") -> int:
    """The bytes of a block's memory that a launch must pass, according to the kernel's static views of it."""
    views = (
        op
        for op in kernel.walk()
        if isinstance(op, memref.ViewOp) and isinstance(op.source.owner, DynamicSharedMemoryOp)
    )
    return max((_end_of(view, kind) for view in views), default=0)


def _end_of(view: memref.ViewOp, kind: str) -> int:
    """A lower bound of the byte at which a view ends."""
    first = constant_index(view.byte_shift) or 0
    return first + (0 if view.sizes else array_bytes(view.result.type, kind))


def array_bytes(type: Attribute, kind: str = "") -> int:
    """The bytes of a buffer of static shape in memory of a block, on targets of a kind."""
    buffer = cast("MemRefType[Attribute]", type)
    return prod(buffer.get_shape()) * bytes_in_block(buffer.element_type, kind)


def bytes_in_block(element: Attribute, kind: str) -> int:
    """The bytes of an element in memory of a block; WGSL has no integers below four bytes."""
    found = element_bytes(element)
    return max(found, 4) if kind == "webgpu" and isinstance(element, IntegerType) else found
