"""LLVM's code generation for GPUs of AMD: kernels to assembly or to an object."""

from __future__ import annotations

from typing import NamedTuple

import llvmlite.binding as llvm
from xdsl.dialects.builtin import ModuleOp

from stepwell.lowering.device_code import DeviceCode, Refuse, device_code, machine_for, module_for
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.machine.named_target import Target

TRIPLE = "amdgcn-amd-amdhsa"
_KIND = "rocm"
_VERSION = 500
"""The version of code objects, 5: the lowest with three numbers of blocks among the hidden arguments."""
_NODE = 1 << 20  # a number that no node of the text has
_FLAGS = f"""
!llvm.module.flags = !{{!{_NODE}}}
!{_NODE} = !{{i32 1, !"amdhsa_code_object_version", i32 {_VERSION}}}
"""


class MachineModule(NamedTuple):
    """Kernels in LLVM's memory, before code is generated."""

    machine: llvm.TargetMachine
    module: llvm.ModuleRef
    code: DeviceCode


def machine_module(module: ModuleOp, target: Target, refuse: Refuse | None = None) -> MachineModule | None:
    """
    The kernels of a module for LLVM's code generator; None after errors, all of which `refuse` got.

    Raises: StepwellError `unsupported-target`; `exceeds-target`; without `refuse` also `unsupported`,
    `unsupported-op` for what has no code.
    """
    if target.kind != _KIND:
        message = f"there is no AMDGCN for {target.kind}"
        raise StepwellError("unsupported-target", None, message, help="--target rocm")
    if (code := device_code(module, target, refuse)) is None:
        return None
    machine = machine_for(TRIPLE, str(target["arch"]))
    made = module_for(machine, code.text + _FLAGS, code.functions)
    _find_address_spaces(made, machine)
    return MachineModule(machine, made, code)


def _find_address_spaces(module: llvm.ModuleRef, machine: llvm.TargetMachine) -> None:
    """
    Run LLVM's passes of level 1, which find the address spaces of generic pointers.

    Without them each access tests at run time whether its address is in a block's memory. The passes do not
    unroll loops.
    """
    tuning = llvm.create_pipeline_tuning_options(speed_level=1)
    tuning.loop_unrolling = tuning.loop_vectorization = tuning.slp_vectorization = False
    builder = llvm.create_pass_builder(machine, tuning)
    builder.getModulePassManager().run(module, builder)
