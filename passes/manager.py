"""The pass manager: pipelines as text, run over a module under the current pass context."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import MISSING, fields, replace
from functools import cache, lru_cache
from inspect import isfunction
from time import perf_counter
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass, get_pass_option_infos
from xdsl.utils.arg_spec import ArgSpec, parse_pipeline
from xdsl.utils.exceptions import ArgSpecParseError, DiagnosticException, VerifyException

from stepwell.dialects._xdsl import StepwellContext, running_in
from stepwell.dialects.verify import verify_module
from stepwell.passes.analysis.manager import AnalysisManager
from stepwell.passes.analysis.untyped_values import expect_complete
from stepwell.passes.base import Pass
from stepwell.passes.context import PassContext
from stepwell.passes.instruments import PASS_SECONDS
from stepwell.passes.log_changes import logged_changes
from stepwell.passes.nesting import expect_function_passes, flattened
from stepwell.passes.option_types import option_types
from stepwell.passes.pass_limit import run_numbers
from stepwell.passes.registry import canonical_name, load_pass, resolve
from stepwell.passes.reproducer import Reproducer, op_at_failure
from stepwell.patterns.driver.watch import watching
from stepwell.runtime.collector import collector_paused
from stepwell.runtime.errors import InternalError, StepwellError
from stepwell.runtime.log import logger
from stepwell.runtime.plugins import plugin_error, plugin_of

_log = logger(__name__)
# Comments, and line ends with the blanks around them; what is quoted stays.
_LAYOUT = re.compile(r'(?P<quoted>"[^"]*")|\s*//[^\n]*|\s*\n\s*')
# Values with a dot or a slash: names of files, unless they are numbers.
_FILES = re.compile(r'"[^"]*"|(?<==)[^\s"={},]*[./][^\s"={},]*')


def parse_passes(pipeline: str) -> list[ModulePass]:
    """
    The passes of a pipeline's text, `pass,pass{option=value}`, on any number of lines, with `//` before
    comments. Text of options has quotes, names of files need none. MLIR's nesting,
    `builtin.module(pass,func.func(pass))`, is accepted and changes nothing.
    Options that the text does not set come from the current context's `config`.

    Raises: StepwellError `bad-pipeline`, `unknown-pass`, `bad-option`.
    """
    in_function: list[bool] = []
    if "(" in pipeline or ")" in pipeline:
        pipeline, in_function = flattened(pipeline)
    try:
        specs = [resolve(spec) for spec in _specs(pipeline)]
    except ArgSpecParseError as error:
        place, *excerpt = str(error).partition("\n")[2].rstrip().split("\n")
        *excerpt, caret, message = excerpt
        quotes = 'text with other characters than letters, digits, - _ . and / needs quotes: file="a b.mlir"'
        help = quotes if message.strip() == "Unknown token" else None
        excerpt.append(caret)
        raise StepwellError("bad-pipeline", place, message.strip(), excerpt=excerpt, help=help) from None
    steps = [_make_pass(spec) for spec in specs]
    expect_function_passes(steps, in_function or [False] * len(steps))
    return steps


@lru_cache(256)
def _specs(pipeline: str) -> tuple[ArgSpec, ...]:
    """The passes of a text without nesting, as it names them. Raises: ArgSpecParseError."""
    text = _LAYOUT.sub(lambda match: match["quoted"] or "", pipeline).strip()
    return tuple(parse_pipeline(_FILES.sub(_quoted, text)))


def _quoted(match: re.Match[str]) -> str:
    """A matched file name in quotes; numbers and quoted text unchanged."""
    value = match.group()
    try:
        float(value)
    except ValueError:
        return value if value.startswith('"') else f'"{value}"'
    return value


def _with_flags(spec: ArgSpec, pass_class: type[ModulePass]) -> ArgSpec:
    """
    A spec with `true` for boolean options without a value, as in `partition-graph{bind-constants}`.

    Raises: ValueError for another option without a value.
    """
    named = dict(spec.normalize_parameter_names().parameters)
    flags = [name for name, value in named.items() if value == ()]
    for name in flags:
        kind = option_types(pass_class).get(name)
        if kind is bool:
            named[name] = (True,)
        elif kind in (str, int, float):
            raise ValueError(f"{name.replace('_', '-')} needs a value: {name.replace('_', '-')}=VALUE")
    return ArgSpec(spec.name, named)


def _made(spec: ArgSpec, pass_class: type[ModulePass]) -> ModulePass:
    """
    A pass with the options of a spec. Raises: ValueError for options that do not fit.

    `from_spec` looks at each field of the class: a pass without options is made without it, and one with
    equal options is a copy.
    """
    if _has_defaults(pass_class) and not spec.parameters and spec.name == pass_class.name:
        return pass_class()
    options = tuple((name, repr(value)) for name, value in spec.parameters.items())
    if (known := _MADE.get(key := (pass_class, spec.name, options))) is None:
        if len(_MADE) >= 256:  # as many as there are texts of pipelines
            _MADE.clear()
        known = _MADE[key] = pass_class.from_spec(_with_flags(spec, pass_class))
    return replace(known)


_MADE: dict[tuple[type[ModulePass], str, tuple[tuple[str, str], ...]], ModulePass] = {}
"""Passes that were made with options: pipelines have few, and a compilation asks for them for each kernel."""


@cache
def _option_names(pass_class: type[ModulePass]) -> frozenset[str]:
    """The names of the fields that options set."""
    return frozenset(field.name for field in fields(pass_class) if field.init)


@cache
def _has_defaults(pass_class: type[ModulePass]) -> bool:
    """Whether each of these has a default."""
    options = [field for field in fields(pass_class) if field.init]
    return not any(each.default is MISSING and each.default_factory is MISSING for each in options)


def _option_text(name: str, kind: str, default: object) -> str:
    value = f" = {default or repr(default)}" if default is not None else ""
    return f"{name.replace('_', '-')}: {kind}{value}"


def _make_pass(spec: ArgSpec) -> ModulePass:
    pass_class = load_pass(spec.name)
    given = spec.normalize_parameter_names().parameters
    known = _option_names(pass_class)
    try:
        if unknown := given.keys() - known:
            raise ValueError(f"no option is named {', '.join(sorted(unknown)).replace('_', '-')}")
        made = _made(spec, pass_class)
    except ValueError as error:
        options = [
            _option_text(name, kind.strip("'"), default)
            for name, kind, default in get_pass_option_infos(pass_class)
            if name in known
        ]
        legal = f"options of {spec.name}: {', '.join(options) or 'none'}"
        raise StepwellError("bad-option", f"pass {spec.name}", str(error), help=legal) from None
    unset = {
        name: value
        for name, value in PassContext.current().options_of(spec.name).items()
        if name not in given
    }
    return replace(made, **unset) if unset else made


def run_pipeline(
    module: ModuleOp,
    pipeline: str | Sequence[ModulePass | str],
    ctx: Context | None = None,
    reproducer: Reproducer | None = None,
) -> None:
    """
    Run passes over `module`, in place and in order; those that the current `PassContext` does not enable are
    skipped.

    Args: `pipeline` is text, or passes and texts; `ctx` is the compilation's context, which contains the
    weights (default: a new one, enough for modules without weights); `reproducer` is the reproducer of the
    pipeline that ran on the module before, if nothing else has changed the module since: it is continued,
    without another copy of the module.
    Raises: StepwellError of a pass, with the pass in a note; InternalError when a pass breaks.
    """
    context = PassContext.current()
    steps = _checked_passes(module, pipeline)
    expect_complete(module, [step.name for step in steps])
    _log(2, "pipeline {}", pipeline)
    with context.active(), collector_paused():
        run = _Run(module, StepwellContext() if ctx is None else ctx, context, reproducer)
        numbers = None if context.running else run_numbers()  # those inside of a pass count with it
        for step in steps:
            if numbers is not None:
                numbers.last += 1
            if context.enabled(step):
                run.step(step)


def run_pass(module: ModuleOp, step: ModulePass | str, ctx: Context | None = None) -> None:
    """
    Run a pass, an object or text, after its required passes, with instruments, whether or not the context
    enables it.
    """
    context = PassContext.current()
    with context.active(), collector_paused():
        steps = _checked_passes(module, step)
        expect_complete(module, [each.name for each in steps])
        for each in steps:
            _Run(module, StepwellContext() if ctx is None else ctx, context).step(each)


def _checked_passes(module: object, pipeline: object) -> list[ModulePass]:
    """
    The passes of a pipeline, which is text or a sequence of passes and texts.

    Raises: StepwellError `type-mismatch` for arguments of other classes; as `parse_passes`.
    """
    if not isinstance(module, ModuleOp):
        raise StepwellError("type-mismatch", None, f"expected a module first, found {type(module).__name__}")
    is_list = isinstance(pipeline, Sequence) and not isinstance(pipeline, str)
    steps: list[ModulePass] = []
    for step in cast("Sequence[object]", pipeline if is_list else [pipeline]):
        if not isinstance(step, ModulePass | str):
            raise StepwellError("type-mismatch", None, f"expected passes or their names, found {step!r}")
        steps += parse_passes(step) if isinstance(step, str) else [step]
    return steps


class _Run:
    """An execution of a pipeline over a module: runs passes with their instruments and diagnoses failures."""

    def __init__(
        self, module: ModuleOp, ctx: Context, context: PassContext, reproducer: Reproducer | None = None
    ):
        self.module = module
        self.ctx = ctx
        self.context = context
        # A pipeline that runs inside of a pass drops what that pass knows.
        self.analyses = AnalysisManager.current() or AnalysisManager()
        self.reproducer = (reproducer or Reproducer.of_copy(module)) if context.reproducers else None

    def step(self, step: ModulePass) -> None:
        """Run a pass after its required ones, unless an instrument's `should_run` says no."""
        for name in _required_names(step):
            # A required pass runs even if the context disables it or an instrument would skip it.
            self._apply(_make_pass(resolve(ArgSpec(name, {}))))
        required = step.name in self.context.required_pass
        asked = [i for i in self.context.instruments if i.asked_for_required or not required]
        if all([i.should_run(self.module, step) for i in asked]):
            self._apply(step)

    def _apply(self, step: ModulePass) -> None:
        context = self.context
        context.running.append(step.name)
        try:
            for instrument in context.instruments:
                instrument.run_before_pass(self.module, step)
            start = perf_counter()
            try:
                preserved = step.preserves if isinstance(step, Pass) else ()
                is_ours = type(step).__module__.partition(".")[0] == "stepwell"
                analyses = self.analyses.during(preserved, cached=is_ours)
                changes = logged_changes(step, self.module, context)
                with watching(self.module), running_in(self.ctx), analyses, changes:
                    step.apply(self.ctx, self.module)
                if plugin_of(type(step)) is not None:
                    verify_module(self.module)  # before a pass of ours breaks on it
            except Exception as error:
                raise self._diagnose(error, step) from error
            except KeyboardInterrupt as stop:
                if not hasattr(stop, "__notes__"):  # the innermost pass is named
                    stop.add_note(_place_of(step))
                raise
            PASS_SECONDS.set(perf_counter() - start)
            _log(2, "pass {}: {:.2f} ms", step, 1e3 * PASS_SECONDS.get())
            for instrument in context.instruments:
                try:
                    instrument.run_after_pass(self.module, step)
                except InternalError as error:  # an instrument that checks found the pass at fault
                    raise self._diagnose(error, step) from error
        finally:
            context.running.pop()
        if self.reproducer is not None:
            self.reproducer.done.append(step)

    def _diagnose(self, error: Exception, step: ModulePass) -> StepwellError:
        """
        The error to raise for a pass's exception: it names the pass, the op, its location and the cause.

        Exceptions that are our bugs become an `InternalError` with a reproducer.
        """
        own, note = _own_files(step), _place_of(step)
        if isinstance(error, DiagnosticException) and not isinstance(error, VerifyException):
            return StepwellError("pass-failed", op_at_failure(error), str(error), note=note)
        if isinstance(error, StepwellError) and not isinstance(error, InternalError):
            return error.with_note(note)
        if isinstance(error, InternalError):
            failed = error
        else:
            where, message = op_at_failure(error), f"{type(error).__name__}: {error}"
            failed = plugin_error(error, where, own) or InternalError(where, message)
        if self.reproducer is not None and failed.reproducer is None and not own:
            failed.reproducer = self.reproducer.write(self.ctx, step, failed.message)
            note += f"; reproduce it with: {failed.reproducer}"
        return failed.with_note(note)


def _place_of(step: ModulePass) -> str:
    """The pass, and the plugin that it is from: `in pass fuse-ops`."""
    plugin = plugin_of(type(step))
    return f"in pass {step}" + (f" of the plugin {plugin}" if plugin is not None else "")


def _own_files(step: ModulePass) -> set[str]:
    """The files of a caller's own pass, which has no registered name; empty for others."""
    if canonical_name(step.name) is not None or type(step).__module__.partition(".")[0] == "stepwell":
        return set()
    return {member.__code__.co_filename for member in vars(type(step)).values() if isfunction(member)}


def _required_names(step: ModulePass) -> Iterator[str]:
    """The names of the passes to run before `step`, in post-order of their requirements, each once."""
    seen: set[str] = set()

    def visit(names: Sequence[str], asking: tuple[str, ...]) -> Iterator[str]:
        for name in names:
            required = load_pass(name)
            if required.name in asking:
                circle = " -> ".join([*asking, required.name])
                raise StepwellError("cycle", None, f"passes require each other: {circle}")
            if required.name not in seen:
                seen.add(required.name)
                if issubclass(required, Pass):
                    yield from visit(required.required, (*asking, required.name))
                yield required.name

    if isinstance(step, Pass):
        yield from visit(step.required, (step.name,))
