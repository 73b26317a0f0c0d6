"""
Translation validation: after each pass, functions run on the same inputs as before it, results are compared.

Source: Pnueli, Siegel and Singerman, "Translation Validation" (1998): each run of a compiler is checked, not
the compiler. Here the check is a test by the interpreter.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import NamedTuple, cast

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from stepwell.dialects.verify import verify_module
from stepwell.lowering.interpret import Noise, Sampling, TooManyOps, interpret, interpret_sampled
from stepwell.passes import Pass, PassContext, run_pipeline
from stepwell.passes.base import Numerics
from stepwell.passes.instruments import Instrument, module_text
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.meaning import Array
from stepwell.runtime.values import Data
from stepwell.tools.check.function_inputs import inputs_of_function
from stepwell.tools.check.judgement import Judgement, judged, slack_of
from stepwell.tools.check.model_values import Held, ModelValues
from stepwell.tools.check.rows import Row, Status

# Errors of a run after a pass that need not be the fault of the pass: it may fix sizes that were open,
# declare kernels that it had with their bodies, or make ops that the interpreter does not know.
MAX_DEPTH = 5_000
"""The most nested calls of a function that is compared: one that calls itself for ever is left out soon."""
CANNOT_RUN = ("bad-inputs", "unsupported", "unsupported-op", "unknown-function")
_MAX_OPS = 100_000
"""The ops of the interpreter in one run, from where on iterations are sampled: about half a second."""
PATIENT_OPS = 2_000_000
"""The same where a sample has shown nothing, and something is wrong: about ten seconds."""
_SAMPLES = ((0, 0), (12, 3), (4, 2), (2, 1), (1, 1))
"""The iterations of outermost and inner loops that run, tried in this order."""


@dataclass(frozen=True)
class Known:
    """A function's inputs, and the results that it has to have."""

    inputs: Sequence[Array]
    results: Sequence[Array]
    slack: Sequence[float] = ()
    """For each result, the `relative_difference` that rounding alone can cause, where it is known."""
    sampled: bool = False
    """
    Whether only some iterations were run, so that other results are undefined: for a wrong, sampled pass.
    """


class _Found(NamedTuple):
    """A function's results, the values of a model in the same run, and the class of the pass before it."""

    results: Sequence[Array]
    values: Mapping[str, Held]
    numerics: Numerics
    sampled: bool


class Validate(Instrument):
    """
    Runs functions of a module after each pass that changed its text, and compares with the results before.

    Attributes: `rows`, and `known`, whose results are those after the last accepted pass, right or wrong, so
    that a wrong pass alone differs.
    Args: `known` has functions by name, with inputs and results; `level` and `kernel` are for the rows;
    `least` is the least class of passes that round at all, `quantized` for programs that round to steps;
    `values` are those of a model, whose `@main` is judged by all of them; `full` never samples,
    `max_ops` says from how many ops of a run on.
    """

    def __init__(
        self,
        ctx: Context,
        known: Mapping[str, Known],
        *,
        level: str = "",
        kernel: str | None = None,
        least: Numerics = Numerics.EXACT,
        values: ModelValues | None = None,
        full: bool = False,
        max_ops: int | None = None,
        seed: int = 0,
    ):
        self.rows: list[Row] = []
        self.level, self.kernel = level, kernel
        self._ctx, self.known = ctx, dict(known)
        self._least, self._values = least, values
        self._full, self._max_ops, self._seed = full, max_ops or _MAX_OPS, seed
        self._first_sample = 0
        self._waiting: list[tuple[ModuleOp, str]] = []
        self._found: dict[str, _Found] = {}

    def run_before_pass(self, module: ModuleOp, step: ModulePass) -> None:
        self._waiting.append((module, module_text(module)))

    def run_after_pass(self, module: ModuleOp, step: ModulePass) -> None:
        outer, text = self._waiting.pop()
        if self._waiting and self._waiting[-1][0] is not module:
            return  # a pass on a part of the module, which is not put back yet
        if self._values is not None:
            self._values.origins.run_after_pass(outer, step)
        changed = text != module_text(module)
        self.rows += self.judge(outer, str(step), numerics_of(step), changed=changed)

    def judge(
        self,
        module: ModuleOp,
        pass_name: str,
        numerics: Numerics,
        *,
        changed: bool = True,
        accepted: bool = True,
    ) -> list[Row]:
        """
        The rows of a pass, or of a pipeline, of a class that has just run on a module.

        Args: `accepted` results are the wanted ones of the next pass; otherwise `accept` makes them so.
        """
        row = Row(self.level, pass_name, self.kernel, Status.SAME)
        if not changed:
            return [row]
        try:
            verify_module(module)
        except StepwellError as error:
            return [replace(row, status=Status.FAILED, note=f"broken IR: {error.message}")]
        self._found.clear()
        rows: list[Row] = []
        for name, known in self.known.items():
            start = perf_counter()
            found = self._of_function(module, name, known, numerics)
            rows.append(replace(found, level=self.level, pass_name=pass_name, kernel=self.kernel or name))
            rows[-1] = replace(rows[-1], seconds=perf_counter() - start)
        if accepted:
            self.accept()
        return rows

    def accept(self) -> None:
        """Let the results of the last judgement be the wanted ones of the next."""
        for name, found in self._found.items():
            self.known[name] = replace(self.known[name], results=found.results, sampled=found.sampled)
            if self._values is not None:
                self._values.accept(found.values, found.numerics)
        self._found.clear()

    def _of_function(self, module: ModuleOp, name: str, known: Known, numerics: Numerics) -> Row:
        unjudged = Row("", "", name, Status.UNJUDGED)
        model = self._values if name == "main" else None
        values: Mapping[str, Held] = {}
        sampled = False
        try:
            if model is not None:
                results, values = model.run(module, self._ctx, known.inputs)
            else:
                results, sampled = self._run(module, name, known.inputs)
        except TooManyOps:
            return replace(unjudged, note="the interpreter would take minutes: --full runs it")
        except StepwellError as error:
            return refused_row(unjudged, error)
        if numerics is not Numerics.EXACT:
            numerics = numerics.or_more(self._least)
        departing = None if model is None else model.departing(values, numerics)
        some = sampled or known.sampled
        judgement = departing or judged(
            known.results, results, numerics, sampled=some, of_model=model is not None, slack=known.slack
        )
        if some and not judgement.covered:
            return replace(unjudged, note="other iterations were sampled than of a wrong pass before")
        # Right results of some iterations say less than those that are known; wrong ones are the next ones.
        if not sampled or not judgement.right:
            self._found[name] = _Found(results, values, numerics, sampled)
        return judged_row(unjudged, judgement)

    def _run(self, module: ModuleOp, name: str, inputs: Sequence[Array]) -> tuple[list[Array], bool]:
        """The results of a function, and whether some iterations were left out. Raises: StepwellError."""
        if self._full:
            return interpret(module, self._ctx, name, inputs, max_depth=MAX_DEPTH), False
        for outer, inner in _SAMPLES[self._first_sample :]:
            last = (outer, inner) == _SAMPLES[-1]
            sampling = Sampling(outer, inner, self._seed, max_ops=self._max_ops * (10 if last else 1))
            try:
                return interpret_sampled(module, self._ctx, name, inputs, sampling), outer > 0
            except TooManyOps:
                if last:
                    raise
                self._first_sample += 1  # later passes make more ops of fewer
        raise AssertionError("the last sample returns or raises")


def judged_row(row: Row, judgement: Judgement) -> Row:
    """A row with a judgement."""
    return replace(
        row,
        status=Status.RIGHT if judgement.right else Status.DIFFERS,
        difference=judgement.difference,
        allowed=judgement.allowed,
        covered=judgement.covered,
        note=judgement.note,
        value=judgement.value,
    )


def refused_row(row: Row, error: StepwellError) -> Row:
    """A row of a program that the interpreter does not run to its end."""
    status = Status.UNJUDGED if error.code in CANNOT_RUN else Status.FAILED
    return replace(row, status=status, note=f"{error.code}: {error.message}")


def numerics_of(step: ModulePass) -> Numerics:
    """The class of a pass with its options; those below level 1 may round."""
    if isinstance(step, Pass) and ".passes.graph." in type(step).__module__:
        return step.numerics_with_options()
    return Numerics.ROUNDING


def roundings_of(op: Operation) -> Numerics:
    """The class of the roundings that a program, or a kernel, asks for itself."""
    quantizes = any("quantize" in inner.name for inner in op.walk())
    return Numerics.QUANTIZED if quantizes else Numerics.ROUNDING


def known_functions(
    module: ModuleOp,
    ctx: Context,
    inputs: Mapping[str, Sequence[Array]] | None = None,
    symbols: Mapping[str, int] | None = None,
    seed: int = 0,
    but: Collection[str] = (),
) -> tuple[dict[str, Known], list[Row]]:
    """
    The functions of a module that run, with their results, and rows for those that do not.

    Args: `inputs` by function name; others are made up, with `symbols` as sizes of dynamic dimensions; `but`
    are names of functions to leave out.
    """
    known: dict[str, Known] = {}
    rows: list[Row] = []
    for function in [f for f in module.walk() if isinstance(f, func.FuncOp) and f.body.blocks]:
        if (name := function.sym_name.data) in but:
            continue
        given = (inputs or {}).get(name)
        try:
            arrays = inputs_of_function(function, symbols, seed) if given is None else given
            results = interpret(module, ctx, name, arrays, max_depth=MAX_DEPTH)
            if any(map(_is_incomparable, results)):
                raise TypeError("results that are data or functions are not compared")
            noisy = interpret(module, ctx, name, arrays, noise=Noise(), max_depth=MAX_DEPTH)
            known[name] = Known(arrays, results, slack_of(noisy, results))
        except (StepwellError, TypeError) as error:
            note = f"does not run before the passes: {getattr(error, 'message', error)}"
            rows.append(Row("", "", name, Status.UNJUDGED, note=note))
    return known, rows


def _is_incomparable(value: object) -> bool:
    """Whether a result is a function or data, or a tuple with one of these."""
    if isinstance(value, tuple):
        return any(map(_is_incomparable, cast("tuple[object, ...]", value)))
    return callable(value) or isinstance(value, Data)


def validated_pipeline(module: ModuleOp, pipeline: str, ctx: Context, instrument: Validate) -> list[Row]:
    """
    Run a pipeline on a module under an instrument; a pass that raises an error ends the list of rows.

    Raises: StepwellError of the pipeline, such as `unknown-pass`, before any pass.
    """
    with PassContext.current().watched_by([instrument]):
        try:
            run_pipeline(module, pipeline, ctx)
        except StepwellError as error:
            row = failed_row(error, instrument.level, instrument.kernel)
            if not row.pass_name:
                raise
            instrument.rows.append(row)
    return instrument.rows


def failed_row(error: StepwellError, level: str, kernel: str | None) -> Row:
    """The row of a pass that raised an error, which names it in a note."""
    notes = [note.removeprefix("in pass ").partition(";")[0] for note in error.notes if "in pass " in note]
    name = notes[0] if notes else ""
    return Row(level, name, kernel, Status.FAILED, note=f"{error.code}: {error.message}")
