"""`bisect` without a test command: level 1 by the interpreter, then the kernels that are wrong as code."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp

from stepwell.dialects.locations import node_names
from stepwell.lowering.interpret import interpret
from stepwell.lowering.kernels.kernel_object import canonical_text
from stepwell.passes.base import Numerics
from stepwell.passes.context import PassContext
from stepwell.passes.instruments import module_text
from stepwell.passes.pass_limit import PassLimit, PassRun, RewriteLimit, numbered
from stepwell.passes.pipelines import KERNEL_RUNS, KERNELS, MAIN, SHARE, SHARE_PIPELINE, TO_KERNELS
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.image import MAIN as MAIN_NAME
from stepwell.runtime.interface import Array
from stepwell.tools.bisect.finding import Finding
from stepwell.tools.bisect.graph_search import GraphSearch
from stepwell.tools.bisect.kernel_search import KernelSearch
from stepwell.tools.check.judgement import judged
from stepwell.tools.check.observed import Observation
from stepwell.tools.check.rows import LEVELS, WRONG
from stepwell.tools.check.validation import Known, Validate
from stepwell.tools.check.whole_call import whole_results
from stepwell.tools.driver.compilation import Compilation, is_lowered, main_of
from stepwell.tools.driver.compile import build_image, compile
from stepwell.tools.driver.levels import chosen_passes, to_kernel_functions, to_level_1
from stepwell.tools.driver.model_interface import read_interface
from stepwell.tools.driver.options import expect_chosen_schedules
from stepwell.tools.driver.partitions import compile_partitions
from stepwell.tools.driver.pass_runs import compiled_kernels
from stepwell.tools.driver.reading import start

if TYPE_CHECKING:
    from stepwell.tools.driver.options import CompileOptions


@dataclass(frozen=True)
class _Called:
    """A kernel function in a call of the model, and the results that it must have there."""

    kernel: func.FuncOp
    known: Known
    numerics: Numerics


@dataclass
class Search:
    """
    A search for the first pass run that makes a model wrong.

    Args: `levels` are those whose passes are judged. `runs` counts interpretations and runs of code.
    """

    path: Path
    options: CompileOptions
    levels: Collection[str] = LEVELS
    runs: int = 0
    kernel: ModuleOp | None = field(default=None, init=False)
    """The kernel that is wrong, as it is on level 2."""
    compilation: Compilation = field(init=False)
    _numerics: Numerics = Numerics.ROUNDING

    def run(self, feeds: Mapping[str, Array], wanted: Mapping[str, Array] | None) -> Finding | None:
        """
        The first pass run after which the model is wrong; None where it is right.

        Args: `wanted` has a reference's values by name; None without a reference.
        Raises: StepwellError of a file that is no valid model; `bad-option` for a program below level 1.
        """
        self.compilation = start(self.path, self.options)
        if is_lowered(self.compilation.module):
            message = "the program is below level 1: there is no model to compare its kernels with"
            help = f"stepwell validate {self.path.name} judges each pass"
            raise StepwellError("bad-option", str(self.path), message, help=help)
        inputs = list(feeds.values())
        graph = GraphSearch(self.compilation, self.options, inputs)
        context = chosen_passes(self.options).at_level(self.options.opt_level)
        found = None
        with context.active():
            if "graph" in self.levels:
                found = graph.to_graph(wanted) or graph.passes(context)
            else:
                graph.unjudged(context)
        self.runs += graph.runs
        self._numerics = graph.numerics
        if found is not None:
            return found
        if not {*self.levels} - {"graph"}:
            return None
        compile_partitions(self.compilation, self.options)
        self._numerics = graph.numerics
        observation = Observation(self.compilation, inputs)
        self.runs += 1
        return self._kernels(observation, graph.last) or self._main(observation, feeds)

    def counted(self, finding: Finding) -> Finding:
        """A finding whose rewrite in a kernel is numbered over all kernels, as limits count."""
        run, rewrite = finding.run, finding.rewrite
        if rewrite is None or run.kernel is None:
            return finding
        name = run.name.partition("{")[0]
        earlier = RewriteLimit({}, recorded=[name])
        with PassContext.current().watched_by([PassLimit(run.number - 1), earlier]):
            build_image(self.path, self.options)
        return replace(finding, rewrite=rewrite.after(earlier.counts[name]))

    def confirmed(self, finding: Finding, feeds: Mapping[str, Array], wanted: Mapping[str, Array]) -> Finding:
        """A finding, with a note unless outputs are right without the run and wrong with it."""
        names = [spec.name for spec in read_interface(main_of(self.compilation.module)).outputs]
        if not finding.run.skippable or not wanted.keys() >= {*names}:
            return finding
        wrong: list[bool] = []
        for limit in (finding.run.number - 1, finding.run.number):
            try:
                outputs = self._limited(limit, finding.run.level == "graph", feeds)
            except StepwellError:
                wrong.append(True)
                continue
            judgement = judged([wanted[name] for name in names], outputs, self._numerics, of_model=True)
            wrong.append(not judgement.right)
        self.runs += 2
        if wrong == [False, True]:
            return finding
        note = "the outputs are wrong without it too" if wrong[0] else "the outputs do not show it"
        note = "; ".join(filter(None, [finding.note, note]))
        return replace(finding, note=note, is_hidden=not any(wrong))

    def _limited(self, limit: int, by_meaning: bool, feeds: Mapping[str, Array]) -> list[Array]:
        """
        The outputs of the model without the skippable runs beyond a number, states among them.

        Args: `by_meaning` is whether level 1 is interpreted; to make code would be most of a search.
        """
        with PassContext.current().watched_by([PassLimit(limit)]):
            if not by_meaning:
                return whole_results(compile(self.path, self.options), feeds)
            compilation = start(self.path, self.options)
            with numbered():
                to_level_1(compilation, self.options)
            return list(interpret(compilation.module, compilation.ctx, "main", list(feeds.values())))

    def _kernels(self, observation: Observation, last: int) -> Finding | None:
        """The finding in the first kernel that is wrong. Args: `last` is the number of the run before."""
        expect_chosen_schedules(self.options, "bisect")
        to_kernel_functions(self.compilation, self.options)
        before = self._called(observation)
        with chosen_passes(self.options).active():
            self.compilation.run("kernels", SHARE_PIPELINE)
        shared = self._called(observation)
        last += len(KERNELS) + len(SHARE)
        names = [kernel.sym_name.data for kernel in compiled_kernels(self.compilation)]
        texts = [canonical_text(kernel) for kernel in compiled_kernels(self.compilation)]
        self._end = last + KERNEL_RUNS * len(names)
        seen: set[object] = set()
        for number, called in shared.items():
            index = texts.index(canonical_text(called.kernel))
            shapes = tuple(array.shape for array in called.known.inputs)
            if (index, shapes) in seen:
                continue
            seen.add((index, shapes))
            first = last + 1 + KERNEL_RUNS * index
            search = KernelSearch(
                called.kernel, self.compilation.ctx, called.known, called.numerics, first, names[index]
            )
            if search.is_wrong_compiled():
                self.kernel = ModuleOp([called.kernel.clone()])
                found = self._of_program(before.get(number), called, last) or search.find()
                self.runs += search.runs
                return found
            self.runs += search.runs
        return None

    def _called(self, observation: Observation) -> dict[int, _Called]:
        """Copies of the kernels by the number of their call."""
        found: dict[int, _Called] = {}
        for number, (kernel, call, observed) in enumerate(observation.calls(self.compilation.module)):
            if (known := observed.known(call, kernel)) is not None:
                found[number] = _Called(kernel.clone(), known, observed.numerics)
        return found

    def _of_program(self, before: _Called | None, shared: _Called, last: int) -> Finding | None:
        """The finding of a pass over the whole program below level 1, if one made a kernel wrong."""
        same = before is not None and module_text(ModuleOp([before.kernel.clone()])) == module_text(
            ModuleOp([shared.kernel.clone()])
        )
        cases = ((before, last - len(SHARE), TO_KERNELS), (None if same else shared, last, SHARE_PIPELINE))
        for called, number, name in cases:
            if called is None:
                continue
            symbol = called.kernel.sym_name.data
            instrument = Validate(self.compilation.ctx, {symbol: called.known}, least=called.numerics)
            self.runs += 1
            (row, *_) = instrument.judge(ModuleOp([called.kernel.clone()]), name, Numerics.ROUNDING)
            if row.status in WRONG:
                run = PassRun(number, "tensor", symbol, name, name == SHARE_PIPELINE)
                nodes = node_names(called.kernel.location)
                return Finding(run, nodes[-1] if nodes else "", difference=row.difference)
        return None

    def _main(self, observation: Observation, feeds: Mapping[str, Array]) -> Finding | None:
        """The finding of a wrong model whose kernels are all right."""
        self.runs += 1
        outputs = whole_results(compile(self.path, self.options), feeds)
        judgement = judged(
            observation.results, outputs, self._numerics, of_model=True, slack=observation.slack
        )
        if judgement.right:
            return None
        run = PassRun(self._end + 1, "loop", MAIN_NAME, MAIN[0].name, skippable=False)
        note = "its kernels are right one by one: the memory plan, or the code of @main"
        return Finding(run, difference=judgement.difference, note=note)
