"""A model as a program of `emitc`, from which its C is written."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from stepwell.lowering.export import CProgram
from stepwell.passes.pipelines import C_PIPELINE
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.machine.target import C_TARGET
from stepwell.tools.driver.emit import lower_to
from stepwell.tools.driver.model_attribute import described_entry
from stepwell.tools.driver.options import CompileOptions

if TYPE_CHECKING:
    from stepwell.tools.driver.options import ModelFile
    from stepwell.tools.driver.program import Program


def c_program(model: ModelFile | Program, options: CompileOptions) -> CProgram:
    """The program of a model. Raises: StepwellError of the pass that failed, `bad-option`."""
    if options.profile:
        raise StepwellError("bad-option", None, "C source has no clock: profile does not go with it")
    options = for_c(options)
    compilation = lower_to(model, options, "loops")
    entry, arrays = described_entry(compilation)
    compilation.run("C", C_PIPELINE)
    count = len(entry.weights)
    return CProgram(
        compilation.module,
        compilation.ctx.weights,
        entry,
        arrays[:count],
        compilation.ctx.target.triple,
        dict(compilation.counts),
    )


def for_c(options: CompileOptions) -> CompileOptions:
    """Options with C as their target. Raises: StepwellError `bad-option` where they name another one."""
    if options.mcpu == "host" and options.target is None:
        return replace(options, mcpu=C_TARGET)
    if options.mcpu != C_TARGET or options.target is not None:
        message = f"C source is for no CPU, and the target is {options.target or options.mcpu}"
        raise StepwellError("bad-option", None, message, help=f"--target {C_TARGET}, or leave it out")
    return options
