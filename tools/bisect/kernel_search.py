"""The search through the passes of a kernel that is wrong as machine code, on its inputs in the model."""

from __future__ import annotations

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp

from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.locations import node_names
from stepwell.passes import PassContext, parse_passes, run_pipeline
from stepwell.passes.base import Numerics
from stepwell.passes.instruments import module_text
from stepwell.passes.pass_limit import PassRun, is_skippable
from stepwell.passes.pipelines import OF_KERNELS_BY_LEVEL, Level
from stepwell.runtime.errors import StepwellError
from stepwell.tools.bisect.finding import Finding
from stepwell.tools.bisect.rewrites import wrong_rewrite
from stepwell.tools.check.judgement import judged
from stepwell.tools.check.one_kernel import run_compiled
from stepwell.tools.check.rows import WRONG, Row
from stepwell.tools.check.validation import PATIENT_OPS, Known, Validate

*_INTERPRETED, (_, _ON_MACHINE) = OF_KERNELS_BY_LEVEL
_MACHINE = (
    "levels 1 to 3 are right, and machine code is wrong: by this conversion, by the LLVM IR made of its "
    "result, or by LLVM"
)


class KernelSearch:
    """
    The search in a kernel function of level 2, with the results that it must have.

    Args: `first` is the number of its first pass run, `name` the name of the equal kernel that is compiled.
    """

    def __init__(
        self,
        kernel: func.FuncOp,
        ctx: StepwellContext,
        known: Known,
        numerics: Numerics,
        first: int,
        name: str,
    ):
        self.kernel, self.ctx, self.known, self.numerics = kernel, ctx, known, numerics
        self.name = name
        self.runs = 0
        self._number = first - 1
        self._is_sampled = False

    def is_wrong_compiled(self, optimize: bool | None = None) -> bool:
        """
        Whether the kernel's machine code is wrong, or a pass ends with an error.

        Args: `optimize` says whether LLVM's pipeline runs, which otherwise follows from the code.
        """
        self.runs += 1
        try:
            found = run_compiled(self.kernel, self.ctx, self.known.inputs, optimize)
        except StepwellError as error:  # not all kernels can be called alone
            return any(note.startswith("in pass ") for note in error.notes)
        return not judged(self.known.results, found, self.numerics, slack=self.known.slack).right

    def find(self) -> Finding:
        """The first pass after which the kernel is wrong, or that ends with an error."""
        first = self._number
        if (found := self._of_levels()) is not None:
            return found
        if self._is_sampled:  # a sample does not show an iteration that a loop lacks
            self._number = first
            if (found := self._of_levels(max_ops=PATIENT_OPS)) is not None:
                return found
        return self._of_machine()

    def _of_levels(self, max_ops: int | None = None) -> Finding | None:
        """The first pass after which the interpreter finds the kernel wrong."""
        module = ModuleOp([self.kernel.clone()])
        known = {self.kernel.sym_name.data: self.known}
        # One for all passes: it remembers how much of long loops it can run.
        validate = Validate(self.ctx, known, least=self.numerics, max_ops=max_ops)
        for level, steps in _INTERPRETED:
            for step in steps:
                self._number += 1
                before, text = module.clone(), module_text(module)
                try:
                    run_pipeline(module, step.text, self.ctx)
                except StepwellError as error:
                    return self._of_run(self._number, level, step.text, f"{error.code}: {error.message}")
                if module_text(module) == text:
                    continue
                row = self._row(validate, step.text, module)
                if row.status in WRONG:
                    return self._finding(level, step.text, row, before, validate)
                self._is_sampled |= row.covered is not None and row.covered < 1
                validate.accept()
        return None

    def _row(self, validate: Validate, step: str, module: ModuleOp) -> Row:
        self.runs += 1
        return validate.judge(module, step, Numerics.ROUNDING, accepted=False)[0]

    def _finding(self, level: Level, step: str, row: Row, before: ModuleOp, validate: Validate) -> Finding:
        def is_wrong(module: ModuleOp) -> bool:
            return self._row(validate, step, module).status is row.status

        rewrite = wrong_rewrite(before, step, self.ctx, is_wrong)
        finding = self._of_run(self._number, level, step, row.note if row.difference is None else "")
        node = finding.node if rewrite is None else rewrite.record.where
        return Finding(finding.run, node, "", row.difference, rewrite, finding.note)

    def _of_run(self, number: int, level: Level, step: str, note: str) -> Finding:
        (made,) = parse_passes(step)
        run = PassRun(number, level, self.name, step, is_skippable(made))
        names = node_names(self.kernel.location)
        return Finding(run, node=names[-1] if names else "", note=note)

    def _of_machine(self) -> Finding:
        """The pass below level 3 without which the code is right, or the conversion."""
        first = self._number + 1
        for number, step in reversed([*enumerate(_ON_MACHINE, first)]):
            (made,) = parse_passes(step.text)
            if is_skippable(made):
                with PassContext(disabled_pass=[step.name]):
                    if not self.is_wrong_compiled():
                        return self._of_run(number, "llvm", step.text, "")
        tried = ((name, self.is_wrong_compiled(flag)) for name, flag in (("with", True), ("without", False)))
        verdicts = (f"{name} LLVM's pipeline it is {'wrong' if wrong else 'right'}" for name, wrong in tried)
        return self._of_run(first, "llvm", _ON_MACHINE[0].text, f"{_MACHINE}; {', '.join(verdicts)}")
