"""Kernels as text of the gpu level, without the host's functions."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from stepwell.dialects.gpu import GPUModuleOp
from stepwell.dialects.gpu.attributes import CONTAINER
from stepwell.dialects.sched import TARGET
from stepwell.dialects.target import SpecAttr
from stepwell.passes.instruments import module_text
from stepwell.runtime.machine.named_target import Target


def gpu_text(module: ModuleOp, target: Target) -> bytes:
    """The text of the kernels, each module with its target."""
    kernels: list[GPUModuleOp] = []
    for op in module.body.block.ops:
        if isinstance(op, GPUModuleOp):
            kernels.append(copy := op.clone())
            copy.attributes[TARGET] = SpecAttr.of(target.with_host(None))
    text = module_text(ModuleOp(list(kernels), {CONTAINER: module.attributes[CONTAINER]} if kernels else {}))
    return text.encode()
