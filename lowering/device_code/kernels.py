"""The kernels of a module as LLVM IR, what a launch passes to each, and errors about all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.llvm import CallOp, FuncOp
from xdsl.rewriter import Rewriter

from stepwell.dialects import gpu
from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.gpu.limits import expect_within_limits
from stepwell.dialects.gpu.nodes import node_lines
from stepwell.dialects.sched import TARGET
from stepwell.dialects.target import SpecAttr
from stepwell.lowering.c_math import MATH_FUNCTIONS, math_code
from stepwell.lowering.emit_llvm import emit_llvm
from stepwell.lowering.gpu_functions import kernel_names, parameters_of
from stepwell.passes.manager import run_pipeline
from stepwell.passes.pipelines import NVVM_PIPELINE, ROCDL_PIPELINE
from stepwell.runtime.devices.signatures import Parameter, signature_line
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.machine.named_target import Target

Refuse: TypeAlias = Callable[[StepwellError], None]
"""What is called with an error about an op that a GPU lacks."""
_PIPELINES: Mapping[str, str] = {"cuda": NVVM_PIPELINE, "rocm": ROCDL_PIPELINE}
"""From kernels of the gpu level to level 4, by the kind of target."""


@dataclass(frozen=True)
class DeviceKernel:
    """A kernel in the code of a device, and what a launch passes to it."""

    name: str
    block: tuple[int, ...]
    parameters: tuple[Parameter, ...]


@dataclass(frozen=True)
class DeviceCode:
    """Kernels as LLVM IR, for the code generator of a device."""

    text: str
    functions: str
    """The IR of functions of `math.h` that the text calls."""
    kernels: Mapping[gpu.GPUFuncOp, DeviceKernel]

    def comments(self) -> Mapping[str, Sequence[str]]:
        """The lines about each kernel, by its name: nodes of the model, and parameters."""
        return {
            kernel.name: [*node_lines(op), signature_line(kernel.parameters)]
            for op, kernel in self.kernels.items()
        }


def device_code(module: ModuleOp, target: Target, refuse: Refuse | None = None) -> DeviceCode | None:
    """
    The kernels of a module as LLVM IR for a target; the module stays as it is.

    Args: `refuse` gets the errors about what has no code, all of them; the result is None then.
    Raises: StepwellError `exceeds-target`; without `refuse` also `unsupported`, `unsupported-op`.
    """
    try:
        kernels = {each: _described(each, name, target) for each, name in kernel_names(module).items()}
        lowered = lowered_kernels(module, target, refuse)
    except StepwellError as error:
        if refuse is None:
            raise
        _refuse_each(module, target, error, refuse)
        return None
    called = _math_calls(lowered)
    return DeviceCode(emit_llvm(lowered), math_code(called) if called else "", kernels)


def lowered_kernels(module: ModuleOp, target: Target, refuse: Refuse | None = None) -> ModuleOp:
    """
    A new module with the kernels of another one on level 4, without what the host does.

    Args: `refuse` gets the errors about functions that a GPU lacks.
    Raises: StepwellError `unsupported`, `unsupported-op` for what a GPU of the target's kind has no code for.
    """
    lowered = module.clone()
    for op in lowered.body.block.ops:
        if isinstance(op, gpu.GPUModuleOp):
            op.attributes.setdefault(TARGET, SpecAttr.of(target.with_host(None)))
    run_pipeline(lowered, _PIPELINES[target.kind], StepwellContext())
    for error in _library_calls(lowered):
        if refuse is None:
            raise error
        refuse(error)
    return lowered


def _refuse_each(module: ModuleOp, target: Target, first: StepwellError, refuse: Refuse) -> None:
    """Refuse the kernels one after the other, since a pass ends at the first op without a conversion."""
    found = 0
    for position, kernel in enumerate(kernel_names(module)):
        alone = module.clone()
        for number, other in enumerate(list(kernel_names(alone))):
            if number != position:
                Rewriter.erase_op(other, safe_erase=False)
        try:
            _described(kernel, kernel.sym_name.data, target)
            lowered_kernels(alone, target, refuse)
        except StepwellError as error:
            refuse(error)
            found += 1
    if not found:
        raise first


def _described(kernel: gpu.GPUFuncOp, name: str, target: Target) -> DeviceKernel:
    """The launch's side of a kernel. Raises: StepwellError `unsupported`, `exceeds-target`."""
    expect_within_limits(kernel, target)
    if (block := kernel.block_size) is None:
        message = f"@{name} has blocks of unknown size"
        raise StepwellError("unsupported", kernel, message, help="add gpu.known_block_size")
    return DeviceKernel(name, block, tuple(parameters_of(kernel)))


def _library_calls(module: ModuleOp) -> Iterator[StepwellError]:
    """The errors about calls of functions of the C library that are not ours: a GPU has none of them."""
    defined = {op.sym_name.data for op in module.ops if isinstance(op, FuncOp) and op.body.blocks}
    for op, name in _calls(module):
        if name not in defined and name not in MATH_FUNCTIONS:
            message = f"{name} is a function of the C library, which a GPU does not have"
            yield StepwellError("unsupported-op", op, message, help="compute it on the host")


def _calls(module: ModuleOp) -> Iterator[tuple[CallOp, str]]:
    """The calls, with the names of what they call."""
    for op in module.walk():
        if isinstance(op, CallOp):
            yield op, "a pointer" if op.callee is None else op.callee.root_reference.data


def _math_calls(module: ModuleOp) -> set[str]:
    """The functions of `math.h` that are called."""
    return {name for _, name in _calls(module) if name in MATH_FUNCTIONS}
