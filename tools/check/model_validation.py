"""
Validation of the compilation of a model: level 1 as a whole, below it kernel by kernel on observed inputs.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import TYPE_CHECKING

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp

from stepwell.passes import PassContext, run_pipeline
from stepwell.passes.base import Numerics
from stepwell.passes.pipelines import OF_KERNELS_BY_LEVEL, SHARE_PIPELINE, TO_KERNELS, text_of
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.meaning import Array
from stepwell.tools.check.conversion import judged_conversion
from stepwell.tools.check.judgement import judged
from stepwell.tools.check.model_values import ModelValues
from stepwell.tools.check.observed import Observation
from stepwell.tools.check.one_kernel import run_compiled
from stepwell.tools.check.rows import LEVELS, Row, Status
from stepwell.tools.check.shared_rows import shared_rows
from stepwell.tools.check.validation import (
    Known,
    Validate,
    failed_row,
    judged_row,
    known_functions,
    roundings_of,
    validated_pipeline,
)
from stepwell.tools.check.whole_call import whole_results
from stepwell.tools.driver.compilation import Compilation, is_lowered, is_on_loops, kernels_of, main_of
from stepwell.tools.driver.compile import compile
from stepwell.tools.driver.levels import chosen_passes, steps_of, to_graph, to_kernel_functions
from stepwell.tools.driver.options import expect_chosen_schedules
from stepwell.tools.driver.partitions import compile_partitions
from stepwell.tools.driver.reading import start

if TYPE_CHECKING:
    from pathlib import Path

    from stepwell.tools.driver.image import Progress
    from stepwell.tools.driver.options import CompileOptions

MACHINE = "machine"
"""The name of all that comes after level 3: its conversion to `llvm`, and LLVM."""


def expect_above_loops(module: ModuleOp) -> None:
    """Require a program of level 2 or above. Raises: StepwellError `bad-option`."""
    if is_on_loops(module):
        message = "the program is below level 2 already"
        help = "validate single passes: stepwell validate F.mlir -p expand-math"
        raise StepwellError("bad-option", module, message, help=help)


@dataclass
class ModelValidation:
    """
    A validation under way.

    Args: `levels` are those that are judged; `full` runs all iterations of loops; `progress` is called before
    each kernel; `processes` share the kernels, where this one can be forked.
    """

    path: Path
    options: CompileOptions
    levels: Collection[str] = LEVELS
    full: bool = False
    progress: Progress | None = None
    processes: int = 1
    rows: list[Row] = field(default_factory=list[Row])

    def run(
        self, feeds: Mapping[str, Array], wanted: Mapping[str, Array] | None = None, seed: int = 0
    ) -> None:
        """
        Compile the model pass by pass and add the rows.

        Args: `wanted` are values by a reference, by name, if there is one.
        Raises: StepwellError for a file that is no valid model.
        """
        compilation = start(self.path, self.options)
        if is_lowered(compilation.module):
            self._below(compilation, self._made_up(compilation, seed))
            return
        context = chosen_passes(self.options).at_level(self.options.opt_level)
        try:
            with context.active():
                quantized = self._graph(compilation, feeds, wanted, context)
                compile_partitions(compilation, self.options)
        except StepwellError as error:
            if not self.rows or self.rows[-1].status is not Status.FAILED:
                self.rows.append(failed_row(error, "graph", None))
            return
        if not {*self.levels} - {"graph"}:
            return
        try:
            observation = Observation(compilation, list(feeds.values()))
        except StepwellError as error:
            note = f"level 1 does not run on these inputs ({error.message}): give --inputs or --input-shape"
            self.rows.append(Row("tensor", TO_KERNELS, None, Status.UNJUDGED, note=note))
            return
        self._to_kernels(compilation, observation, seed)
        if "llvm" in self.levels:
            self._machine_of_model(feeds, observation, quantized)

    def _graph(
        self,
        compilation: Compilation,
        feeds: Mapping[str, Array],
        wanted: Mapping[str, Array] | None,
        context: PassContext,
    ) -> Numerics:
        """
        The passes of level 1, on the whole model, from the conversion on.

        Returns: the class of this model's own roundings.
        """
        module, ctx = compilation.module, compilation.ctx
        if "graph" not in self.levels:
            to_graph(compilation)
            numerics = roundings_of(module)
            compilation.run("graph", text_of(steps_of(self.options, ctx.target, context)))
            return numerics
        values = ModelValues(main_of(module))
        row, main = judged_conversion(compilation, values, list(feeds.values()), wanted)
        known, rows = known_functions(module, ctx, but=["main"])
        self.rows += [*filter(None, [row]), *(replace(row, level="graph", kernel=None) for row in rows)]
        known |= {} if main is None else {"main": main}
        least = roundings_of(module)
        instrument = Validate(ctx, known, level="graph", least=least, values=values, full=True)
        found = validated_pipeline(
            module, text_of(steps_of(self.options, ctx.target, context)), ctx, instrument
        )
        self.rows += [replace(row, kernel=None) for row in found]
        if found and found[-1].status is Status.FAILED and "broken IR" not in found[-1].note:
            raise StepwellError("pass-failed", None, found[-1].note)
        return least

    def _to_kernels(self, compilation: Compilation, observation: Observation, seed: int) -> None:
        """Kernels as functions on tensors; kernels that differ in extents only are one."""
        expect_chosen_schedules(self.options, "validation")
        to_kernel_functions(compilation, self.options)
        known = self._judge_calls(compilation, observation, TO_KERNELS, set(), seed)
        before = {f.sym_name.data: str(f) for f in kernels_of(compilation.module)}
        with chosen_passes(self.options).active():
            compilation.run("kernels", SHARE_PIPELINE)
        after = {f.sym_name.data: str(f) for f in kernels_of(compilation.module)}
        same = {name for name, text in after.items() if before.get(name) == text}
        known |= self._judge_calls(compilation, observation, SHARE_PIPELINE, same, seed)
        self._below(compilation, known, seed)

    def _judge_calls(
        self, compilation: Compilation, observation: Observation, name: str, same: set[str], seed: int
    ) -> dict[str, tuple[Known, Numerics]]:
        """
        The rows of a pass on the whole program, a row for each kernel and set of inputs that it has.

        Args: `same` are kernels that the pass did not change.
        Returns: for each kernel, the results that it must have.
        """
        found: dict[str, tuple[Known, Numerics]] = {}
        for kernel, call, observed in observation.calls(compilation.module):
            symbol = kernel.sym_name.data
            known = observed.known(call, kernel)
            if symbol in same or known is None:
                continue
            if symbol in found and name == TO_KERNELS:
                continue  # a kernel of several calls is the same op for each
            if "tensor" in self.levels:
                instrument = self._instrument(compilation, symbol, known, observed.numerics, seed)
                self.rows += instrument.judge(ModuleOp([kernel.clone()]), name, observed.numerics)
                known = instrument.known[symbol]
            found.setdefault(symbol, (known, observed.numerics))
        return found

    def _instrument(
        self, compilation: Compilation, symbol: str, known: Known, least: Numerics, seed: int
    ) -> Validate:
        return Validate(
            compilation.ctx,
            {symbol: known},
            level="tensor",
            kernel=symbol,
            least=least,
            full=self.full,
            seed=seed,
        )

    def _made_up(self, compilation: Compilation, seed: int) -> dict[str, tuple[Known, Numerics]]:
        """Made-up inputs of the kernels of a program as text, with their results."""
        kernels = ModuleOp([f.clone() for f in kernels_of(compilation.module)])
        known, rows = known_functions(kernels, compilation.ctx, seed=seed)
        self.rows += [replace(row, level="tensor") for row in rows]
        return {name: (each, Numerics.ROUNDING) for name, each in known.items()}

    def _below(
        self, compilation: Compilation, known: Mapping[str, tuple[Known, Numerics]], seed: int = 0
    ) -> None:
        """Levels 2 and 3, and machine code, of each kernel alone."""
        kernels = kernels_of(compilation.module)

        def rows_of(number: int) -> list[Row]:
            if self.progress is not None:
                self.progress("kernels", number, len(kernels))
            symbol = kernels[number].sym_name.data
            if symbol not in known:
                return [Row("tensor", "", symbol, Status.UNJUDGED, note="it did not run")]
            return self._rows_of_kernel(compilation, kernels[number], known[symbol], seed)

        self.rows += shared_rows(rows_of, len(kernels), self.processes)

    def _rows_of_kernel(
        self, compilation: Compilation, kernel: func.FuncOp, known: tuple[Known, Numerics], seed: int
    ) -> list[Row]:
        """The rows of a kernel with its inputs and the results of level 1: levels 2 and 3, machine code."""
        each, least = known
        symbol = kernel.sym_name.data
        module = ModuleOp([kernel.clone()])
        instrument = self._instrument(compilation, symbol, each, least, seed)
        rows: list[Row] = []
        for level, steps in OF_KERNELS_BY_LEVEL[:2]:
            pipeline = text_of(steps)
            if level in self.levels:
                instrument.level, instrument.rows = level, []
                rows += validated_pipeline(module, pipeline, compilation.ctx, instrument)
                each = instrument.known[symbol]
                if rows[-1].status is Status.FAILED:
                    break
            elif "loop" in self.levels:
                try:
                    run_pipeline(module, pipeline, compilation.ctx)
                except StepwellError as error:
                    rows.append(failed_row(error, level, symbol))
                    break
        if "llvm" in self.levels:
            rows.append(self._machine(compilation, kernel, each, least))
        return rows

    def _machine(
        self, compilation: Compilation, kernel: func.FuncOp, known: Known, numerics: Numerics
    ) -> Row:
        """The row of a kernel as machine code, against level 1."""
        begin = perf_counter()
        row = Row("llvm", MACHINE, kernel.sym_name.data, Status.UNJUDGED)
        try:
            found = run_compiled(kernel, compilation.ctx, known.inputs)
        except StepwellError as error:
            note = f"{error.code}: {error.message}"
            status = Status.FAILED if error.code == "internal" else Status.UNJUDGED
            return replace(row, status=status, note=note)
        row = judged_row(row, judged(known.results, found, numerics, slack=known.slack))
        return replace(row, seconds=perf_counter() - begin)

    def _machine_of_model(
        self, feeds: Mapping[str, Array], observation: Observation, numerics: Numerics
    ) -> None:
        """The row of the whole model as machine code: its `@main`, memory plan, and kernels together."""
        begin = perf_counter()
        row = Row("llvm", MACHINE, None, Status.UNJUDGED)
        try:
            found = whole_results(compile(self.path, self.options), feeds)
            wanted, slack = observation.results, observation.slack
            row = judged_row(row, judged(wanted, found, numerics, of_model=True, slack=slack))
        except StepwellError as error:
            row = replace(row, status=Status.FAILED, note=f"{error.code}: {error.message}")
        self.rows.append(replace(row, seconds=perf_counter() - begin))
