"""Limits of targets for kernels: threads and memory of a block, buffers, registers, grids."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import cast

from xdsl.dialects.builtin import IntegerType, MemRefType
from xdsl.ir import Attribute

from stepwell.dialects.gpu.async_copies import AsyncCopyOp, has_async_copies
from stepwell.dialects.gpu.kernel import GPUFuncOp
from stepwell.dialects.gpu.launch import LaunchFuncOp
from stepwell.dialects.gpu.registers import carried_registers
from stepwell.dialects.tensor_ir.transfers import constant_index
from stepwell.dialects.types import element_bytes
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.machine.named_target import Target

STATIC_BYTES = 48 << 10
"""The most memory of a block that code of NVIDIA's GPUs may declare; more would be passed by the launch."""


def expect_within_limits(kernel: GPUFuncOp, target: Target) -> None:
    """Require a kernel to fit a target. Raises: StepwellError `exceeds-target`, with both numbers."""
    if not has_async_copies(target):
        if (copy := next((op for op in kernel.walk() if isinstance(op, AsyncCopyOp)), None)) is not None:
            message = f"@{kernel.sym_name.data} has asynchronous copies, and {target} has none"
            help = "at most 2 stages, or a target with the feature async-copy"
            raise StepwellError("exceeds-target", copy, message, help=help)
    for what, found, most in _excesses(kernel, target):
        message = f"@{kernel.sym_name.data} {what}: {found}, and {target} has {most}"
        raise StepwellError("exceeds-target", kernel, message)


def _excesses(kernel: GPUFuncOp, target: Target) -> Iterator[tuple[str, int, int]]:
    """The limits that a kernel exceeds: the name, the number of the kernel, the number of the target."""
    attrs = target.attrs
    if (size := kernel.block_size) is not None:
        yield from _above("has blocks of more threads", prod(size), attrs["max-threads"])
        along = attrs["max-block"]
        if isinstance(along, tuple):
            for axis, count, most in zip("xyz", size, along, strict=True):
                yield from _above(f"has blocks of more threads along {axis}", count, most)
    shared = shared_bytes(kernel, target)
    yield from _above("needs more bytes of memory of a block", shared, attrs["shared-memory"])
    if target.kind == "cuda":
        yield from _above("declares more bytes of memory of a block", shared, STATIC_BYTES)
    buffers = sum(isinstance(argument.type, MemRefType) for argument in kernel.arguments)
    yield from _above("takes more buffers", buffers, attrs["max-buffers"])
    if registers := attrs["registers"]:
        found = carried_registers(kernel)
        yield from _above("carries more registers of a thread through its loops", found, registers)


def expect_grid_within_limits(launch: LaunchFuncOp, target: Target) -> None:
    """Require a grid of known size to fit a target. Raises: StepwellError `exceeds-target`."""
    most = target.attrs["max-grid"]
    if not isinstance(most, tuple):
        return
    for axis, size, limit in zip("xyz", launch.grid, most, strict=True):
        # A longer grid of WebGPU is several dispatches.
        if (count := constant_index(size)) is None or (axis == "x" and target.kind == "webgpu"):
            continue
        for what, found, bound in _above(f"in more blocks along {axis}", count, limit):
            message = f"{launch.kernel} is launched {what}: {found}, and {target} has {bound}"
            raise StepwellError("exceeds-target", launch, message)


def _above(what: str, found: int, most: object) -> Iterator[tuple[str, int, int]]:
    if isinstance(most, int) and found > most:
        yield what, found, most


def shared_bytes(kernel: GPUFuncOp, target: Target) -> int:
    """The bytes of memory that the threads of a block share."""
    types = [cast("MemRefType[Attribute]", value.type) for value in kernel.workgroup]
    return sum(prod(type.get_shape()) * bytes_in_block(type.element_type, target.kind) for type in types)


def bytes_in_block(element: Attribute, kind: str) -> int:
    """The bytes of an element in memory of a block: WGSL has no integers of less than four."""
    found = element_bytes(element)
    return max(found, 4) if kind == "webgpu" and isinstance(element, IntegerType) else found
