"""The pass runs of a compilation with their numbers, by which limits name them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import count
from typing import TYPE_CHECKING

from xdsl.dialects import func

from stepwell.lowering.kernels.kernel_object import canonical_text
from stepwell.passes.pass_limit import PassRun, is_skippable, numbered
from stepwell.passes.pipelines import (
    KERNELS,
    LLVM,
    MODEL,
    OF_KERNELS_BY_LEVEL,
    ON_LLVM,
    SHARE,
    WORK,
    Level,
    Step,
    main_steps,
)
from stepwell.passes.registry import load_pass
from stepwell.runtime.image import MAIN
from stepwell.tools.driver.compilation import Compilation, is_lowered, is_on_loops, kernels_of
from stepwell.tools.driver.levels import chosen_passes, steps_of, to_level_1
from stepwell.tools.driver.model_attribute import is_on_machine
from stepwell.tools.driver.reading import start
from stepwell.tools.driver.tensor_program import to_level_2

if TYPE_CHECKING:
    from stepwell.tools.driver.options import CompileOptions, Model

Runs = Iterable[tuple[Level, str | None, Step]]


def pass_runs(model: Model, options: CompileOptions) -> list[PassRun]:
    """
    The pass runs of a compilation in the order of their numbers.

    Passes of level 1 are run, to know the kernels. Raises: StepwellError of a pass.
    """
    with numbered():
        compilation = start(model, options)
        if is_on_loops(compilation.module):
            steps = () if is_on_machine(compilation.module) else (*LLVM, *ON_LLVM)
            return list(_listed(("llvm", None, step) for step in steps))
        runs = [*_of_program(compilation, options)]
        to_level_1(compilation, options)
        to_level_2(compilation, options)
        with chosen_passes(options).active():
            compilation.run("kernels", ",".join(step.text for step in SHARE))
    for kernel in compiled_kernels(compilation):
        runs += _of_kernel(kernel.sym_name.data)
    runs += _of_main(options.profile)
    return list(_listed(runs))


def _of_program(compilation: Compilation, options: CompileOptions) -> Runs:
    """The runs on the whole program, before kernels are lowered one by one."""
    if not is_lowered(compilation.module):
        context = chosen_passes(options).at_level(options.opt_level)
        graph = steps_of(options, compilation.ctx.target, context)
        for step in (*MODEL, *graph, *(WORK if options.profile else ())):
            yield "graph", None, step
        for step in KERNELS:
            yield "tensor", None, step
    for step in SHARE:
        yield "tensor", None, step


def _of_kernel(name: str) -> Runs:
    for level, steps in OF_KERNELS_BY_LEVEL:
        for step in steps:
            yield level, name, step


def _of_main(timed: bool) -> Runs:
    for step in main_steps(timed):
        yield "llvm" if step in (*LLVM, *ON_LLVM) else "loop", MAIN, step


def compiled_kernels(compilation: Compilation) -> list[func.FuncOp]:
    """The kernels that are compiled, in the order of their pass runs: of equal ones, the first."""
    first: dict[str, func.FuncOp] = {}
    for kernel in kernels_of(compilation.module):
        first.setdefault(canonical_text(kernel), kernel)
    return list(first.values())


def _listed(runs: Runs) -> Iterator[PassRun]:
    numbers = count(1)
    for level, kernel, step in runs:
        yield PassRun(next(numbers), level, kernel, step.text, is_skippable(load_pass(step.name)))
