"""The search through the passes of level 1, each judged by an interpretation of the whole program."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import ModuleOp

from stepwell.lowering.interpret import interpret
from stepwell.passes import PassContext, parse_passes, run_pipeline
from stepwell.passes.base import Numerics
from stepwell.passes.instruments import module_text
from stepwell.passes.pass_limit import PassRun, RewriteLimit, is_skippable
from stepwell.passes.pipelines import FROM_ONNX, text_of
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.interface import Array
from stepwell.tools.bisect.finding import Finding
from stepwell.tools.bisect.rewrites import wrong_rewrite
from stepwell.tools.check.judgement import Judgement, judged
from stepwell.tools.check.validation import Known, known_functions, numerics_of
from stepwell.tools.driver.compilation import Compilation, main_of
from stepwell.tools.driver.levels import from_onnx, steps_of
from stepwell.tools.driver.model_interface import read_interface

if TYPE_CHECKING:
    from stepwell.tools.driver.options import CompileOptions

_RESULT = re.compile(r"result (\d+)")


class GraphSearch:
    """
    A compilation that goes through level 1 until a pass makes it wrong.

    Args: `inputs` are those of `@main`.
    """

    def __init__(self, compilation: Compilation, options: CompileOptions, inputs: Sequence[Array]):
        self.compilation, self.options, self.inputs = compilation, options, inputs
        self.numerics = Numerics.ROUNDING
        """The class of the model's own roundings."""
        self.runs = 0
        """The number of interpretations."""
        self.last = 0
        """The number of the pass run that began last."""
        self._counted = RewriteLimit({})
        self._first: Known | None = None
        """The results after the conversion to level 1, and what roundings may do to them."""

    def from_onnx(self, wanted: Sequence[Array] | None) -> Finding | None:
        """Convert to level 1; the finding where results are not the `wanted` ones, if these are known."""
        self.last += 1
        has_nodes = any(op.name.startswith("onnx.") for op in main_of(self.compilation.module).walk())
        if has_nodes:
            from_onnx(self.compilation)
        self._note_quantization()
        self.runs += 2
        known, _ = known_functions(self.compilation.module, self.compilation.ctx, {"main": self.inputs})
        self._first = known.get("main")
        if wanted is None or self._first is None or not has_nodes:
            return None
        slack = self._first.slack
        judgement = judged(wanted, self._first.results, self.numerics, of_model=True, slack=slack)
        return None if judgement.right else self._finding(FROM_ONNX, judgement)

    def _note_quantization(self) -> None:
        """Judge results of a quantized model by steps of its integers."""
        if any("quantize" in op.name for op in self.compilation.module.walk()):
            self.numerics = Numerics.QUANTIZED

    def unjudged(self, context: PassContext) -> None:
        """Convert to level 1 and run its passes under a context; they count as runs, and none is judged."""
        from_onnx(self.compilation)
        self._note_quantization()
        steps = steps_of(self.options, self.compilation.ctx.target, context)
        self.compilation.run("graph", text_of(steps))
        self.last = 1 + len(steps)

    def passes(self, context: PassContext) -> Finding | None:
        """Run the passes of level 1 under a context until one is wrong; the finding, if one is."""
        module, ctx = self.compilation.module, self.compilation.ctx
        self.compilation.reproducer = None
        wanted = None if self._first is None else self._first.results
        with context.watched_by([self._counted]):
            for step in steps_of(self.options, ctx.target, context):
                self.last += 1
                before, text = module.clone(), module_text(module)
                earlier = self._counted.counts[step.name]
                try:
                    run_pipeline(module, step.text, ctx)
                except StepwellError as error:
                    return replace(self._finding(step.text, None), note=f"{error.code}: {error.message}")
                if module_text(module) == text:
                    continue
                found = self._results(module)
                if wanted is not None and found is not None:
                    judgement = self._judged(wanted, found, step.text)
                    if not judgement.right:
                        return self._with_rewrite(before, step.text, wanted, judgement, earlier)
                wanted = found or wanted
        return None

    def _results(self, module: ModuleOp) -> list[Array] | None:
        """The results of `@main`; None where it does not run."""
        self.runs += 1
        try:
            return interpret(module, self.compilation.ctx, "main", self.inputs)
        except StepwellError:
            return None

    def _judged(self, wanted: Sequence[Array], found: Sequence[Array], step: str) -> Judgement:
        (made,) = parse_passes(step)
        numerics = numerics_of(made)
        if numerics is not Numerics.EXACT:
            numerics = max(numerics, self.numerics, key=list(Numerics).index)
        slack = () if self._first is None else self._first.slack
        return judged(wanted, found, numerics, of_model=True, slack=slack)

    def _with_rewrite(
        self, before: ModuleOp, step: str, wanted: Sequence[Array], judgement: Judgement, earlier: int
    ) -> Finding:
        """The finding of a wrong pass. Args: `earlier` is the number of its rewrites in runs before."""

        def is_wrong(module: ModuleOp) -> bool:
            found = self._results(module)
            return found is not None and not self._judged(wanted, found, step).right

        finding = self._finding(step, judgement)
        rewrite = wrong_rewrite(before, step, self.compilation.ctx, is_wrong)
        if rewrite is None:
            return finding
        return replace(finding, rewrite=rewrite.after(earlier), node=rewrite.record.where)

    def _finding(self, step: str, judgement: Judgement | None) -> Finding:
        (made,) = parse_passes(step)
        run = PassRun(self.last, "graph", None, step, is_skippable(made))
        if judgement is None:
            return Finding(run)
        match = _RESULT.search(judgement.note)
        outputs = read_interface(main_of(self.compilation.module)).outputs
        value = outputs[int(match[1])].name if match else ""
        return Finding(run, value=value, difference=judgement.difference)
