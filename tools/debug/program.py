"""The program of a debugger: a model compiled with kept values, and its text on levels 1 and 2."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, OpResult, SSAValue

from stepwell.dialects import graph
from stepwell.dialects._xdsl import StepwellContext
from stepwell.lowering.main_to_buffers import CALLS
from stepwell.passes.context import PassContext
from stepwell.passes.pass_limit import numbered, skip_numbers
from stepwell.passes.pipelines import SHARE, SHARE_PIPELINE
from stepwell.runtime.collector import collector_paused
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.cache import KernelCache
from stepwell.runtime.image import ModelImage
from stepwell.runtime.interface import Interface
from stepwell.runtime.layout import Layout
from stepwell.tools.check.layouts import layouts_of
from stepwell.tools.check.origins import NodeValue, Origins, before_views
from stepwell.tools.debug.same_values import SameValues
from stepwell.tools.debug.text_names import name_by_text
from stepwell.tools.driver.compilation import Compilation, is_lowered, main_of
from stepwell.tools.driver.compile import TURN
from stepwell.tools.driver.image import compile_image, deduplicate
from stepwell.tools.driver.levels import chosen_passes, to_kernel_functions, to_level_1
from stepwell.tools.driver.model_interface import read_interface
from stepwell.tools.driver.options import expect_chosen_schedules
from stepwell.tools.driver.partitions import compile_partitions
from stepwell.tools.driver.reading import start

if TYPE_CHECKING:
    from stepwell.tools.driver.options import CompileOptions, Model

_AT_LEVEL_1 = (graph.FusedOp, graph.HostCallOp, graph.ControlFlowOp)
"""The ops that become those of `CALLS`, one each."""


@dataclass(frozen=True)
class DebugProgram:
    """A model on levels 1 and 2, compiled with kept values."""

    origins: Origins
    graph: ModuleOp
    """Level 1."""
    functions: ModuleOp
    """Level 2: kernels, each for its own sizes, and `@main` that calls them."""
    shared: ModuleOp
    """Level 2 as it is compiled: kernels that differ in sizes only are one."""
    ctx: StepwellContext
    interface: Interface
    image: ModelImage
    same: SameValues
    """Equal values of the model, and constants among them."""

    @cached_property
    def calls(self) -> list[Operation]:
        """The kernels, host calls, branches and loops of level 1, in order."""
        return [op for op in main_of(self.graph).walk() if isinstance(op, _AT_LEVEL_1)]

    @cached_property
    def kernel_names(self) -> dict[Operation, str]:
        """The names of the kernels, as in `model.kernels`."""
        kernels = [op for op in self.calls if isinstance(op, graph.FusedOp)]
        called = [op for op in main_of(self.functions).walk() if isinstance(op, func.CallOp)]
        return {k: c.callee.string_value() for k, c in zip(kernels, called, strict=True)}

    @cached_property
    def results(self) -> list[SSAValue]:
        """The values of level 1 whose memory `image.buffers` describes, in its order."""
        return [result for op in self.calls for result in op.results]

    @cached_property
    def located(self) -> Mapping[NodeValue, SSAValue]:
        """The values of the model that level 1 still has."""
        return self.origins.located(self.graph)

    @cached_property
    def layouts(self) -> Mapping[SSAValue, Layout]:
        """The layouts of values that are not stored as in the model."""
        return layouts_of(self.graph)

    @cached_property
    def units(self) -> list[Operation]:
        """The calls of `@main` that are in no branch or loop: what a step runs."""
        block = main_of(self.graph).body.block
        return [op for op in self.calls if op.parent is block]

    def unit_of(self, op: Operation) -> int:
        """The number of the unit that is, or contains, a call."""
        while op not in self.unit_numbers:
            outer = op.parent_op()
            assert outer is not None
            op = outer
        return self.unit_numbers[op]

    @cached_property
    def unit_numbers(self) -> dict[Operation, int]:
        """The numbers of units by op."""
        return {op: number for number, op in enumerate(self.units)}

    def name_of(self, op: Operation) -> str:
        """The kernel's name of a call, or the node of another one."""
        return self.kernel_names.get(op) or self.origins.last_node(op) or op.name

    def hash_of(self, op: Operation) -> str:
        """The key of the compiled kernel of a call; empty for a host call, branch or loop."""
        return self._hashes.get(op, "")

    @cached_property
    def _hashes(self) -> dict[Operation, str]:
        module = self.shared.clone()
        deduplicate(module, self.ctx.target)
        called = [op for op in main_of(module).walk() if isinstance(op, func.CallOp)]
        kernels = [op for op in self.calls if isinstance(op, graph.FusedOp)]
        return {k: c.callee.string_value().removeprefix("k_") for k, c in zip(kernels, called, strict=True)}

    def kernel_of(self, value: SSAValue) -> Operation | None:
        """The kernel, or other call, that computes a value; None for an input or constant of `@main`."""
        *_, source = before_views(value)
        owner = source.owner
        while isinstance(owner, Operation) and not isinstance(owner, _AT_LEVEL_1):
            owner = owner.parent_op()
        return owner if isinstance(owner, Operation) else None


def debug_program(model: Model, options: CompileOptions) -> DebugProgram:
    """
    Compile a model with kept values; the kernels are those of any compilation, and may be in the cache.

    Raises: StepwellError of the step that failed; `bad-option` for a program below level 1.
    """
    with collector_paused(), TURN, numbered():
        compilation = start(model, options)
        compilation.owns_weights = False  # the interpreter needs them afterwards
        if is_lowered(compilation.module):
            message = "the program is below level 1, where it has no nodes any more"
            raise StepwellError("bad-option", compilation.module, message, help="debug the model itself")
        name_by_text(compilation.module)
        origins = Origins(main_of(compilation.module))
        same = SameValues(compilation.module, compilation.ctx)
        with PassContext.current().watched_by([origins]):
            to_level_1(compilation, options)
        interface = read_interface(main_of(compilation.module))
        compile_partitions(compilation, options)
        level_1 = compilation.module.clone()
        expect_chosen_schedules(options, "debugging")
        to_kernel_functions(compilation, options)
        functions = compilation.module.clone()
        with chosen_passes(options).active():
            compilation.run("kernels", SHARE_PIPELINE)
        shared = compilation.module.clone()
        skip_numbers(-len(SHARE))  # the image counts them again, although they do not run
        image = compiled_as_it_is(compilation, interface, options)
        return DebugProgram(origins, level_1, functions, shared, compilation.ctx, interface, image, same)


def compiled_as_it_is(compilation: Compilation, interface: Interface, options: CompileOptions) -> ModelImage:
    """Compile a module of level 2 with kept values, without sharing kernels again."""
    unshared = PassContext.current().choosing((), ["share-kernels"])
    cache = KernelCache() if options.use_cache else None
    return compile_image(
        compilation, interface, cache, passes=unshared, keep=True, processes=options.processes
    )


def result_number(value: SSAValue) -> int:
    """The number of a value among the results of its op."""
    assert isinstance(value, OpResult)
    return value.index


def calls_of(module: ModuleOp) -> Iterator[Operation]:
    """The calls, branches and loops of `@main` at level 2, in order."""
    return (op for op in main_of(module).walk() if isinstance(op, CALLS))
