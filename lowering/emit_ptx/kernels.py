"""The PTX of a module of kernels, and what a launch of each of them passes."""

from __future__ import annotations

import re
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
from stepwell.lowering.c_math import MATH_FUNCTIONS, math_code
from stepwell.lowering.emit_llvm import emit_llvm
from stepwell.lowering.emit_ptx.code import ptx_of
from stepwell.lowering.gpu_to_nvvm import kernel_names, parameters_of
from stepwell.passes.manager import run_pipeline
from stepwell.passes.pipelines import NVVM_PIPELINE
from stepwell.runtime.devices.cuda.signatures import Parameter, signature_line
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.machine.named_target import Target

Refuse: TypeAlias = Callable[[StepwellError], None]
"""What is called with an error about an op that a GPU lacks."""
_KIND = "cuda"
_ENTRY = re.compile(
    r"^[ \t]*// \.globl\s+(\S+).*\n(?:\s*// \S+ has been demoted\n)*\s*((?:\.global .*\n\s*)*)", re.MULTILINE
)
"""The lines before each function: its name, that memory of the block is inside, tables of constants."""


@dataclass(frozen=True)
class PtxKernel:
    """A kernel in PTX, and what a launch passes to it."""

    name: str
    block: tuple[int, ...]
    parameters: tuple[Parameter, ...]


@dataclass(frozen=True)
class PtxModule:
    """The PTX of kernels, in one text."""

    text: str
    kernels: Mapping[gpu.GPUFuncOp, PtxKernel]


def emit_ptx(module: ModuleOp, target: Target, *, refuse: Refuse | None = None) -> PtxModule:
    """
    The kernels of a module as PTX for a target of the kind `cuda`; the module stays as it is.

    Args: `refuse` gets the errors about what has no PTX, all of them; there is no text then.
    Raises: StepwellError `unsupported-target`; `exceeds-target`; without `refuse` also `unsupported`,
    `unsupported-op` for what has no PTX.
    """
    if target.kind != _KIND:
        message = f"there is no PTX for {target.kind}"
        raise StepwellError("unsupported-target", None, message, help="--target cuda")
    try:
        kernels = {each: _described(each, name, target) for each, name in kernel_names(module).items()}
        lowered = lowered_kernels(module, refuse)
    except StepwellError as error:
        if refuse is None:
            raise
        _refuse_each(module, target, error, refuse)
        return PtxModule("", {})
    comments = {k.name: [*node_lines(each), signature_line(k.parameters)] for each, k in kernels.items()}
    called = _math_calls(lowered)
    functions = math_code(called) if called else ""
    text = ptx_of(emit_llvm(lowered), target, functions) if kernels else ""
    return PtxModule(_with_comments(text, comments), kernels)


def lowered_kernels(module: ModuleOp, refuse: Refuse | None = None) -> ModuleOp:
    """
    A new module with the kernels of another one on level 4, without what the host does.

    Args: `refuse` gets the errors about functions that a GPU lacks.
    Raises: StepwellError `unsupported`, `unsupported-op` for what has no PTX.
    """
    lowered = module.clone()
    run_pipeline(lowered, NVVM_PIPELINE, StepwellContext())
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
            lowered_kernels(alone, refuse)
        except StepwellError as error:
            refuse(error)
            found += 1
    if not found:
        raise first


def _described(kernel: gpu.GPUFuncOp, name: str, target: Target) -> PtxKernel:
    """The launch's side of a kernel. Raises: StepwellError `unsupported`, `exceeds-target`."""
    expect_within_limits(kernel, target)
    if (block := kernel.block_size) is None:
        message = f"@{name} has blocks of unknown size"
        raise StepwellError("unsupported", kernel, message, help="add gpu.known_block_size")
    return PtxKernel(name, block, tuple(parameters_of(kernel)))


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


def _with_comments(text: str, comments: Mapping[str, Sequence[str]]) -> str:
    """The text with the nodes of each kernel above it."""

    def lines(found: re.Match[str]) -> str:
        return found[2] + "".join(f"// {line}\n" for line in comments[found[1]])

    return _ENTRY.sub(lines, text)
