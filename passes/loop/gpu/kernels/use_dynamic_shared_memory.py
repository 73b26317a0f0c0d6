"""`use-dynamic-shared-memory`: memory of blocks that code may not declare → memory that launches pass."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects import memref
from xdsl.dialects.builtin import MemRefType, ModuleOp, i32
from xdsl.ir import Attribute
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from stepwell.dialects import gpu
from stepwell.dialects.gpu.limits import STATIC_BYTES, array_bytes, shared_bytes
from stepwell.dialects.ir_builder import IRBuilder
from stepwell.dialects.tensor_ir.gpu_modules import target_of_module

_ALIGNMENT = 16
"""The bytes of which each array begins at a multiple: as many are copied at once."""


@dataclass(frozen=True)
class UseDynamicSharedMemoryPass(ModulePass):
    """
    Let launches pass the memory of blocks where a kernel for NVIDIA's GPUs has more than 48 KiB of it.

    Code can declare 48 KiB; a launch must request more. All shared arrays of the kernel become views of the
    requested memory. Other kernels, and targets of other kinds than `cuda`, are left alone.
    `insert-gpu-barriers` runs before, since it must tell the arrays apart.

    ```mlir
    gpu.func @k() workgroup(%s: memref<128x128xf32, #gpu.address_space<workgroup>>) kernel { … }
    gpu.launch_func @m::@k blocks in (…) threads in (…)
    // ->
    gpu.func @k() kernel {
      %m = gpu.dynamic_shared_memory : memref<?xi8, #gpu.address_space<workgroup>>
      %s = memref.view %m[%c0][] : memref<?xi8, …> to memref<128x128xf32, …>
      …
    }
    gpu.launch_func @m::@k blocks in (…) threads in (…) dynamic_shared_memory_size %c65536
    ```
    """

    name = "use-dynamic-shared-memory"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Change kernels with much memory, and their launches."""
        launches = [each for each in op.walk() if isinstance(each, gpu.LaunchFuncOp)]
        kernels = {launch.function(): None for launch in launches}
        passed = {kernel: _passed(kernel) for kernel in kernels if _has_too_much(kernel)}
        for launch in launches:
            if (nbytes := passed.get(launch.function())) is not None:
                _pass_memory(launch, nbytes)


def _has_too_much(kernel: gpu.GPUFuncOp) -> bool:
    """Whether the code of a kernel may not declare its memory, which is of arrays alone."""
    target = target_of_module(kernel.parent_op())
    if target is None or target.kind != "cuda":
        return False
    has_dynamic = any(isinstance(op, gpu.DynamicSharedMemoryOp) for op in kernel.walk())
    return shared_bytes(kernel) > STATIC_BYTES and not has_dynamic


def _passed(kernel: gpu.GPUFuncOp) -> int:
    """Make views of a kernel's arrays in memory of the block; returns the bytes that a launch passes."""
    block, arrays = kernel.body.block, list(kernel.workgroup)
    build = IRBuilder(InsertPoint.at_start(block), kernel.location)
    memory, end = build.value(gpu.DynamicSharedMemoryOp()), 0
    for array in arrays:
        view = build.value(
            memref.ViewOp(memory, build.materialize(end), [], cast("MemRefType[Attribute]", array.type))
        )
        view.name_hint = array.name_hint
        array.replace_all_uses_with(view)
        end += -(-array_bytes(array.type) // _ALIGNMENT) * _ALIGNMENT
    for array in arrays:
        block.erase_arg(array)  # pyright: ignore[reportArgumentType]
    del kernel.properties["workgroup_attributions"]
    return end


def _pass_memory(launch: gpu.LaunchFuncOp, nbytes: int) -> None:
    """Let a launch pass so many bytes."""
    build = IRBuilder.before(launch)
    size = build.number(nbytes, i32)
    build.insert(
        gpu.LaunchFuncOp(launch.kernel, list(launch.grid), list(launch.block), list(launch.arguments), size)
    )
    Rewriter.erase_op(launch)
