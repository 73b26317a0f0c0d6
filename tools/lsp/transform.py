"""The commands of the language server on a text: run passes, lower a function, run a test."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import redirect_stderr
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory

from xdsl.dialects.builtin import StringAttr
from xdsl.dialects.func import FuncOp

from stepwell.dialects.verify import verify_module
from stepwell.passes import PassContext, run_pipeline
from stepwell.passes.instruments import module_text
from stepwell.passes.text_diff import text_diff
from stepwell.runtime.errors import StepwellError
from stepwell.tools.driver.emit import emit
from stepwell.tools.driver.ir_files import Part, weights_beside
from stepwell.tools.driver.options import CompileOptions
from stepwell.tools.driver.program import Program
from stepwell.tools.lsp.reading import context_for
from stepwell.tools.lsp.run_lines import (
    Result,
    Stage,
    filecheck,
    run_stages,
    run_tool,
    stages_of,
    stepwell_opt,
)
from stepwell.tools.opt.command import command_line
from stepwell.tools.opt.level_check import LevelCheck

_TOOLS = {"stepwell-opt": stepwell_opt, "filecheck": filecheck}


@dataclass(frozen=True)
class Changed:
    """A program before and after a pass, as texts, the difference, and what the pass said."""

    before: str
    after: str
    diff: str
    messages: str


def run_pass(text: str, file: str, pipeline: str) -> Changed:
    """Run passes over a text. Raises: StepwellError of the text, or of a pass."""
    program = _program(text, file)
    before = module_text(program.module)
    said = StringIO()
    with PassContext(instruments=[LevelCheck()], reproducers=False) as context, redirect_stderr(said):
        run_pipeline(program.module, pipeline, program.ctx)
    verify_module(program.module)
    after = module_text(program.module)
    messages = [said.getvalue().strip(), *map(str, context.remarks)]
    return Changed(before, after, text_diff(before, after), "\n".join(filter(None, messages)))


def lowered(text: str, file: str, symbol: str, level: str) -> str:
    """
    The text of a level of one function, compiled as `@main` with the functions it calls.

    Raises: StepwellError of the text, or of the pass that failed.
    """
    program = _program(text, file)
    run_pipeline(program.module, f"remove-unused-functions{{entry={symbol}}}", program.ctx)
    for op in program.module.ops:
        if isinstance(op, FuncOp) and op.sym_name.data == symbol:
            op.properties["sym_name"] = StringAttr("main")
    return emit(program, CompileOptions(), level)


def _program(text: str, file: str) -> Program:
    ctx = context_for(text)
    module = Part(Path(file), text).read(ctx)
    verify_module(module)
    return Program(module, ctx)


def run_test(text: str, file: str, line: str, trusted: bool) -> dict[str, object]:
    """
    The outcome of a `RUN` line over a text: `status`, and `output`, the errors or what the line prints.

    Nothing but `stepwell-opt` and `filecheck` runs, and neither writes a file nor loads a plugin, unless the
    user trusts the folder.
    Raises: StepwellError `bad-option`.
    """
    path = Path(file)
    with TemporaryDirectory() as folder:
        copy = Path(folder) / path.name
        copy.write_text(text, encoding="utf-8")
        if (weights := weights_beside(path)).exists():
            weights_beside(copy).symlink_to(weights)
        try:
            stages = stages_of(line, {"%s": str(copy), "%S": str(path.parent), "%t": f"{folder}/temp"})
        except ValueError as error:
            raise StepwellError("bad-option", f"RUN: {line}", str(error)) from None
        for stage in stages:
            _expect_harmless(stage, line, folder, trusted)
        outcome = run_stages(stages, _run)
    shown = outcome.stderr if outcome.status else outcome.stdout
    return {"status": outcome.status, "output": shown.replace(str(copy), file)}


def _run(stage: Stage, stdin: str) -> Result:
    try:
        return run_tool(_TOOLS[stage.words[0]], stage, stdin)
    except ImportError as error:
        return 1, "", f"{error.name} is not installed\n"


def _expect_harmless(stage: Stage, line: str, folder: str, trusted: bool) -> None:
    """Refuse a command that is not ours, writes a file, or loads code. Raises: StepwellError `bad-option`."""
    wrong = ""
    if not stage.words or stage.words[0] not in _TOOLS:
        wrong = f"runs {' and '.join(_TOOLS)} alone, found {' '.join(stage.words[:1]) or 'nothing'}"
    elif stage.file and not stage.file.startswith(folder):
        wrong = f"writes no file, found > {stage.file}"
    elif stage.words[0] == "stepwell-opt" and (option := _refused(stage.words[1:], folder, trusted)):
        wrong = f"does not take {option}"
    if wrong:
        raise StepwellError("bad-option", f"RUN: {line}", f"the language server {wrong}")


def _refused(words: Sequence[str], folder: str, trusted: bool) -> str:
    """The first option that writes a file or loads code."""
    with redirect_stderr(StringIO()):
        try:
            args = command_line().parse_args(words)
        except SystemExit:
            return ""  # the command will say what is wrong
    written = [place for place in (args.output, args.snapshots) if place is not None and str(place) != "-"]
    if any(not str(place).startswith(folder) for place in written):
        return f"{'-o' if args.output else '--snapshots'} {written[0]}"
    return f"--load {args.load[0]} before the workspace is trusted" if args.load and not trusted else ""
