"""Calling conventions and attributes that make functions in LLVM IR kernels of a GPU."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import cast

from xdsl.dialects import llvm
from xdsl.dialects.builtin import DenseArrayBase, IntegerType

from stepwell.dialects.llvm import nvvm, rocdl

_NEVER_ASKED = (
    "dispatch-ptr", "queue-ptr", "dispatch-id", "lds-kernel-id", "hostcall-ptr", "heap-ptr",
    "multigrid-sync-arg", "default-queue", "completion-action",
)  # fmt: skip
"""What AMD's drivers could pass to a kernel in registers and hidden arguments, and ours do not read."""


def device_convention(op: llvm.FuncOp) -> list[str]:
    """The calling convention of a kernel; nothing for other functions."""
    if nvvm.KERNEL in op.attributes:
        return ["ptx_kernel"]
    return ["amdgpu_kernel"] if rocdl.KERNEL in op.attributes else []


def device_words(op: llvm.FuncOp) -> list[str]:
    """
    The attributes of a kernel after its signature: the threads of a block, and the arguments that it does not
    read.
    """
    words: list[str] = []
    if size := _threads(op, nvvm.REQUIRED_THREADS):
        words.append(f'"nvvm.reqntid"="{",".join(map(str, size))}"')
    if size := _threads(op, rocdl.REQUIRED_THREADS):
        words.append(f'"amdgpu-flat-work-group-size"="{prod(size)},{prod(size)}"')
        words.append('"uniform-work-group-size"="true"')
    if rocdl.KERNEL in op.attributes:
        words += [f'"amdgpu-no-{name}"' for name in _NEVER_ASKED]
        words += [] if _reads_hidden_arguments(op) else ['"amdgpu-no-implicitarg-ptr"']
    return words


def required_threads(op: llvm.FuncOp) -> str:
    """The metadata of the threads of a block for AMD's drivers; nothing where it is not known."""
    size = _threads(op, rocdl.REQUIRED_THREADS)
    return f"!{{{', '.join(f'i32 {count}' for count in size)}}}" if size else ""


def _threads(op: llvm.FuncOp, key: str) -> Sequence[int]:
    """The threads of a block along x, y and z; none where they are not known."""
    value = op.attributes.get(key)
    return (
        cast("DenseArrayBase[IntegerType]", value).get_values() if isinstance(value, DenseArrayBase) else ()
    )


def _reads_hidden_arguments(op: llvm.FuncOp) -> bool:
    """Whether a kernel reads arguments that the driver adds."""
    return any(
        isinstance(each, llvm.CallIntrinsicOp) and each.intrin.data == rocdl.HIDDEN_ARGUMENTS
        for each in op.walk()
    )
