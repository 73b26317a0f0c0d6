"""`verify-gpu`: kernels against the limits of their target."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from stepwell.dialects.gpu import GPUFuncOp, GPUModuleOp, LaunchFuncOp
from stepwell.dialects.gpu.limits import expect_launch_within_limits, expect_within_limits
from stepwell.dialects.tensor_ir.gpu_modules import target_of_module
from stepwell.runtime.machine.named_target import Target


@dataclass(frozen=True)
class VerifyGpuPass(ModulePass):
    """
    Refuse kernels and grids with more threads, memory, buffers, registers or blocks than their target has.

    It counts registers for the values that loops carry, the least that a kernel needs: other values can be
    computed again. The target is the kernel module's (`sched.target`), or the option's. Changes nothing.
    """

    name = "verify-gpu"

    target: str = ""
    """A target as `--target` takes it, for modules without one."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Check each kernel, and each launch. Raises: StepwellError `exceeds-target`."""
        for module in [each for each in op.body.block.ops if isinstance(each, GPUModuleOp)]:
            if (target := self._target(module)) is None:
                continue
            for kernel in module.body.block.ops:
                if isinstance(kernel, GPUFuncOp):
                    expect_within_limits(kernel, target)
        for launch in [each for each in op.walk() if isinstance(each, LaunchFuncOp)]:
            module = launch.function().parent_op()
            if isinstance(module, GPUModuleOp) and (target := self._target(module)) is not None:
                expect_launch_within_limits(launch, target)

    def _target(self, module: GPUModuleOp) -> Target | None:
        """The target of a module of kernels; None without one."""
        return target_of_module(module) or (Target(self.target) if self.target else None)
