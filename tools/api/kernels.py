"""Kernels of a compiled model: each compiled again, from the program, when one of its texts is asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, StringAttr, SymbolRefAttr
from xdsl.ir import Operation

from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.linalg_ext import scheduled_ops
from stepwell.dialects.locations import node_names
from stepwell.dialects.sched import SCHEDULE
from stepwell.dialects.sched_kernel import is_kernel
from stepwell.lowering.emit_llvm import emit_llvm
from stepwell.lowering.kernels.kernel import has_vectors
from stepwell.lowering.kernels.machine import emit_assembly
from stepwell.passes import run_pipeline
from stepwell.passes.instruments import module_text
from stepwell.passes.pipelines import (
    LEVELS,
    LLVM_PIPELINE,
    LOOP_PIPELINE,
    SCHEDULE_PIPELINE,
    schedule_steps,
    text_of,
)
from stepwell.runtime.errors import StepwellError, did_you_mean
from stepwell.runtime.model_source import Level
from stepwell.tools.api.levels import functions_in, level_of
from stepwell.tools.driver.compilation import Compilation
from stepwell.tools.driver.levels import to_level_1
from stepwell.tools.driver.reading import start
from stepwell.tools.driver.tensor_program import to_level_2

if TYPE_CHECKING:
    from stepwell.tools.driver.options import CompileOptions, Model

Work = Callable[[], AbstractContextManager[None]]
KERNEL_LEVELS = LEVELS[LEVELS.index("linalg") :]
_STEPS = (("vector", SCHEDULE_PIPELINE), ("loops", LOOP_PIPELINE), ("llvm", LLVM_PIPELINE))
"""The pipelines that lead a kernel to a level from the one above it."""


@dataclass(frozen=True)
class ProgramKernel:
    """A kernel of a program: its function at the level of the program, and the functions called there."""

    name: str
    """The name in the program of level 2, such as `k3`."""
    nodes: tuple[str, ...]
    """The names of the model's nodes that it computes."""
    parts: Sequence[Operation]
    """The kernel's function and the functions that it refers to; do not change them, clone them."""
    context: StepwellContext
    working: Work
    """The scope in which passes run: the lock of the compiler, and the pass context of the compilation."""

    def __repr__(self) -> str:
        return f"<Kernel {self.name} ({', '.join(self.nodes)})>"

    @property
    def schedule(self) -> str:
        """The schedules of its ops as text, a line each; empty when they have been carried out."""
        module, found, last = self._alone(), list[Operation](), None
        is_chosen = level_of(module) != "linalg"
        for chooser in ("choose-forms", "choose-schedules"):
            if not is_chosen:
                self._run(module, text_of(schedule_steps(last, chooser)))
            found += scheduled_ops(module, chooser)
            last = chooser
        return "\n".join(str(op.attributes[SCHEDULE]) for op in found)

    def ir(self, level: Level = "vector") -> str:
        """
        The text at a level: `linalg`, `vector`, `loops`, `llvm`, `ll` (LLVM IR) or `asm`.

        Raises: StepwellError `bad-option` for another level, or one above the program's.
        """
        if level not in KERNEL_LEVELS:
            help = f"{did_you_mean(str(level), KERNEL_LEVELS)}the levels are {', '.join(KERNEL_LEVELS)}"
            raise StepwellError("bad-option", None, f"a kernel has no level {level!r}", help=help)
        module = self._alone()
        wanted, at = KERNEL_LEVELS.index(level), KERNEL_LEVELS.index(level_of(module))
        if wanted < at:
            message = f"the program is on level {KERNEL_LEVELS[at]} already: nothing leads back up to {level}"
            raise StepwellError("bad-option", None, message)
        for reached, pipeline in _STEPS:
            if at < KERNEL_LEVELS.index(reached) <= wanted:
                self._run(module, pipeline)
        if level not in ("ll", "asm"):
            return module_text(module).removesuffix("\n")
        text = emit_llvm(module)
        if level == "ll":
            return text
        return emit_assembly(text, self.context.target, optimize=not has_vectors(module))

    @property
    def asm(self) -> str:
        """The assembly."""
        return self.ir("asm")

    def _alone(self) -> ModuleOp:
        return ModuleOp([op.clone() for op in self.parts])

    def _run(self, module: ModuleOp, pipeline: str) -> None:
        with self.working():
            run_pipeline(module, pipeline, self.context)


class Kernels(dict[str, ProgramKernel]):
    """Kernels by name."""

    def __missing__(self, name: str) -> ProgramKernel:
        help = f"{did_you_mean(str(name), self)}the kernels are {', '.join(self) or 'none'}"
        raise StepwellError("unknown-function", None, f"no kernel is named {name!r}", help=help)


def kernels_of(model: Model, options: CompileOptions, working: Work) -> Kernels:
    """The kernels of a model by name. Raises: StepwellError of the step that failed."""
    compilation = start(model, options)
    to_level_1(compilation, options)
    to_level_2(compilation, options)
    return kernels_in(compilation, working)


def kernels_in(compilation: Compilation, working: Work) -> Kernels:
    """The kernels of a program of level 2 or below by name."""
    nodes: dict[str, tuple[str, ...]] = {}
    for op in compilation.module.walk():
        if isinstance(op, func.CallOp):
            nodes.setdefault(op.callee.string_value(), tuple(node_names(op.location)))
    kernels = Kernels()
    symbols = {
        name.data: op
        for op in compilation.module.ops
        if isinstance(name := op.properties.get("sym_name"), StringAttr)
    }
    for name, op in functions_in(compilation.module).items():
        if is_kernel(op):
            of_nodes = nodes.get(name) or tuple(node_names(op.location))
            parts = list(_with_called(op, symbols))
            kernels[name] = ProgramKernel(name, of_nodes, parts, compilation.ctx, working)
    return kernels


def _with_called(function: Operation, symbols: Mapping[str, Operation]) -> dict[Operation, None]:
    """A function, and the functions and globals that it refers to, directly or not."""
    found = {function: None}
    waiting = [function]
    while waiting:
        for op in waiting.pop().walk():
            for value in (*op.properties.values(), *op.attributes.values()):
                name = value.string_value() if isinstance(value, SymbolRefAttr) else ""
                if (used := symbols.get(name)) is not None and used not in found:
                    found[used] = None
                    waiting.append(used)
    return found
