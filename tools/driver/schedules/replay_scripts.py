"""Replay of a file of scripts on the kernels of a program."""

from __future__ import annotations

from pathlib import Path

from xdsl.dialects.builtin import StringAttr

from stepwell.dialects.schedule_script import ScriptOp
from stepwell.dialects.schedule_script.files import read_scripts
from stepwell.lowering.kernels.fingerprint import kernel_key
from stepwell.lowering.kernels.kernel_object import canonical_text
from stepwell.passes.pipelines import SHARE, schedule_steps, text_of
from stepwell.tools.driver.compilation import Compilation, kernels_of
from stepwell.tools.driver.image import options_text
from stepwell.tools.driver.levels import chosen_passes
from stepwell.tools.driver.options import CompileOptions
from stepwell.tools.records.apply import task_of


def apply_schedules(compilation: Compilation, options: CompileOptions, file: str | Path) -> None:
    """
    Replay the scripts of a file on the kernels of level 2, at their place in the order of passes.

    Kernels have been through the passes before `choose-schedules` then, as in a dump; the choosers decide
    what no script names. Raises: StepwellError `no-file`, `syntax`, `illegal-schedule`.
    """
    scripts = read_scripts(str(file), compilation.ctx)
    _name_by_symbol(compilation, scripts)
    for script in scripts:
        script.detach()
        compilation.module.body.block.add_op(script)
    before = schedule_steps(until="choose-schedules")[:-1]
    first, rest = text_of([*SHARE]), text_of(before)
    with chosen_passes(options).active():
        compilation.run(
            "kernels", f"{first},apply-schedule{{part=forms}},{rest},apply-schedule{{part=loops}}"
        )


def _name_by_symbol(compilation: Compilation, scripts: list[ScriptOp]) -> None:
    """Let scripts name kernels by symbol, in place of a digest as in dumps, or as in tuning databases."""
    text = options_text(compilation.ctx.target)
    symbols: dict[str, StringAttr] = {}
    for kernel in kernels_of(compilation.module):
        symbols[f"k_{kernel_key(canonical_text(kernel), text)}"] = kernel.sym_name
        symbols.setdefault(task_of(kernel)[0], kernel.sym_name)
    for script in scripts:
        script.properties["target"] = StringAttr(symbols.get(script.target.data, script.target).data)
