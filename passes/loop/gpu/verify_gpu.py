"""`verify-gpu`: kernels against the limits of their target."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from stepwell.dialects.gpu import GPUFuncOp, GPUModuleOp
from stepwell.dialects.gpu.limits import expect_within_limits
from stepwell.dialects.sched import TARGET
from stepwell.dialects.target import SpecAttr
from stepwell.runtime.machine.named_target import Target


@dataclass(frozen=True)
class VerifyGpuPass(ModulePass):
    """
    Refuse kernels with more threads, more memory of a block or more buffers than their target has.

    The target is that of the kernel's module (`sched.target`), or the option's. Changes nothing.
    """

    name = "verify-gpu"

    target: str = ""
    """A target as `--target` takes it, for modules without one."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Check each kernel."""
        default = Target(self.target) if self.target else None
        for module in [each for each in op.body.block.ops if isinstance(each, GPUModuleOp)]:
            spec = module.attributes.get(TARGET)
            target = spec.target() if isinstance(spec, SpecAttr) else default
            for kernel in module.body.block.ops:
                if target is not None and isinstance(kernel, GPUFuncOp):
                    expect_within_limits(kernel, target)
