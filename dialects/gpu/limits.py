"""Limits of a target that a kernel must keep: threads and memory of a block, and buffers."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import cast

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Attribute

from stepwell.dialects.gpu.async_copies import AsyncCopyOp, has_async_copies
from stepwell.dialects.gpu.kernel import GPUFuncOp
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
    shared = shared_bytes(kernel)
    yield from _above("needs more bytes of memory of a block", shared, attrs["shared-memory"])
    if target.kind == "cuda":
        yield from _above("declares more bytes of memory of a block", shared, STATIC_BYTES)
    buffers = sum(isinstance(argument.type, MemRefType) for argument in kernel.arguments)
    yield from _above("takes more buffers", buffers, attrs["max-buffers"])


def _above(what: str, found: int, most: object) -> Iterator[tuple[str, int, int]]:
    if isinstance(most, int) and found > most:
        yield what, found, most


def shared_bytes(kernel: GPUFuncOp) -> int:
    """The bytes of memory that the threads of a block share."""
    types = [cast("MemRefType[Attribute]", value.type) for value in kernel.workgroup]
    return sum(prod(type.get_shape()) * element_bytes(type.element_type) for type in types)
