"""The search through the passes of level 1, each judged by an interpretation of the whole program."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import ModuleOp

from stepwell.passes import PassContext, parse_passes, run_pipeline
from stepwell.passes.base import Numerics
from stepwell.passes.instruments import module_text
from stepwell.passes.pass_limit import PassRun, RewriteLimit, is_skippable
from stepwell.passes.pipelines import STATES_PIPELINE, text_of
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.interface import Array
from stepwell.tools.bisect.finding import Finding
from stepwell.tools.bisect.rewrites import wrong_rewrite
from stepwell.tools.check.conversion import judged_conversion
from stepwell.tools.check.model_values import ModelValues
from stepwell.tools.check.rows import WRONG, Row
from stepwell.tools.check.validation import Validate, numerics_of, roundings_of
from stepwell.tools.driver.compilation import Compilation, conversion_of, main_of, passes_to_level_1
from stepwell.tools.driver.levels import steps_of, to_graph
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
        self._values = ModelValues(main_of(compilation.module))
        self._validate = Validate(compilation.ctx, {}, values=self._values, full=True)

    def to_graph(self, wanted: Mapping[str, Array] | None) -> Finding | None:
        """Convert to level 1; the finding where values are not the `wanted` ones, if these are known."""
        self.runs += 2
        conversion = conversion_of(self.compilation.module)
        self.last += len(parse_passes(conversion))
        row, known = judged_conversion(self.compilation, self._values, self.inputs, wanted)
        self.numerics = roundings_of(self.compilation.module)
        functions = {} if known is None else {"main": known}
        ctx, values = self.compilation.ctx, self._values
        self._validate = Validate(ctx, functions, least=self.numerics, values=values, full=True)
        is_wrong = wanted and row is not None and row.status in WRONG
        finding = self._finding(conversion, row) if is_wrong else None
        self.last += len(parse_passes(STATES_PIPELINE))
        return finding

    def unjudged(self, context: PassContext) -> None:
        """Convert to level 1 and run its passes under a context; they count as runs, and none is judged."""
        first = parse_passes(passes_to_level_1(self.compilation.module))
        to_graph(self.compilation)
        self.numerics = roundings_of(self.compilation.module)
        steps = steps_of(self.options, self.compilation.ctx.target, context)
        self.compilation.run("graph", text_of(steps))
        self.last = len(first) + len(steps)

    def passes(self, context: PassContext) -> Finding | None:
        """Run the passes of level 1 under a context until one is wrong; the finding, if one is."""
        module, ctx = self.compilation.module, self.compilation.ctx
        self.compilation.reproducer = None
        with context.watched_by([self._counted]):
            for step in steps_of(self.options, ctx.target, context):
                self.last += 1
                before, text = module.clone(), module_text(module)
                earlier = self._counted.counts[step.name]
                try:
                    run_pipeline(module, step.text, ctx)
                except StepwellError as error:
                    note = f"{error.code}: {error.message}"
                    return replace(self._finding(step.text, None), note=note)
                (made,) = parse_passes(step.text)
                self._values.origins.run_after_pass(module, made)
                if module_text(module) == text:
                    continue
                if (row := self._wrong_row(module, step.text)) is not None:
                    return self._with_rewrite(before, step.text, row, earlier)
                self._validate.accept()
        return None

    def _wrong_row(self, module: ModuleOp, step: str) -> Row | None:
        """The row of a module after a pass, if its results differ from the results before the pass."""
        self.runs += 1
        (made,) = parse_passes(step)
        rows = self._validate.judge(module, step, numerics_of(made), accepted=False)
        return next((row for row in rows if row.status in WRONG), None)

    def _with_rewrite(self, before: ModuleOp, step: str, row: Row, earlier: int) -> Finding:
        """The finding of a wrong pass. Args: `earlier` is the number of its rewrites in runs before."""

        def is_wrong(module: ModuleOp) -> bool:
            found = self._wrong_row(module, step)
            return found is not None and found.status is row.status

        finding = self._finding(step, row)
        rewrite = wrong_rewrite(before, step, self.compilation.ctx, is_wrong)
        if rewrite is None:
            return finding
        return replace(finding, rewrite=rewrite.after(earlier), node=rewrite.record.where)

    def _finding(self, step: str, row: Row | None) -> Finding:
        made = parse_passes(step)[-1]  # a conversion to level 1 may be of several passes
        run = PassRun(self.last, "graph", None, step, is_skippable(made))
        if row is None:
            return Finding(run)
        outputs = read_interface(main_of(self.compilation.module)).outputs
        match = _RESULT.fullmatch(row.value)
        value = outputs[int(match[1])].name if match else row.value
        return Finding(run, self._values.node_of(value), value, row.difference, note=row.note)
