"""The ways in which IR with passes fails: each runs a case and returns its signature."""

from __future__ import annotations

import os
import re
import sys
from argparse import Namespace
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from traceback import walk_tb

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute

from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.parser import parse_module
from stepwell.dialects.verify import verify_module
from stepwell.passes import run_pipeline
from stepwell.passes.instruments import Instrument, VerifyEach
from stepwell.runtime.environment import CACHE
from stepwell.runtime.errors import StepwellError, describe_location
from stepwell.tools.check.rows import WRONG, Row
from stepwell.tools.check.validation import Validate, failed_row, known_functions, validated_pipeline
from stepwell.tools.driver.ir_files import weights_beside, write_ir
from stepwell.tools.failure import user_error
from stepwell.tools.limits import limits_of
from stepwell.tools.opt import main
from stepwell.tools.opt.optimize import pass_context
from stepwell.tools.reduce.child_runs import end_signature, status_in_child
from stepwell.tools.reduce.ir_case import IrCase, deciding_options
from stepwell.tools.reduce.judging_command import JudgingCommand
from stepwell.tools.reduce.signature import Signature, of_error

_AT_END = "after the passes: "
_OUTSIDE = f"{os.sep}site-packages{os.sep}"
# Neither files of internal errors nor core dumps are left behind.
_CHILD = f"""
import os, sys
os.environ[{CACHE.name!r}] = sys.argv.pop(1)
if os.name == "posix":
    import resource
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
from stepwell.tools.opt import main
sys.exit(main(sys.argv[1:]))
"""


def _opt(cache: str, words: list[str]) -> int:
    """`stepwell-opt` as in `_CHILD`, in a forked process."""
    os.environ[CACHE.name] = cache
    return main(words)


Place = tuple[Attribute, str]
"""The location and the name of an op."""


@dataclass
class IrRuns:
    """
    Runs of cases, in this process or in another one.

    Args: `args` are options of `stepwell-opt`; `name` is the file in messages; `timeout` is in seconds;
    `with_op`: whether the signature of an error has the name of the op that it is about.
    """

    ctx: StepwellContext
    args: Namespace
    name: str
    timeout: float
    command: JudgingCommand | None = None
    verified: bool = True
    """Whether cases for the command have to be valid."""
    with_op: bool = False
    options: list[str] = field(init=False)

    def __post_init__(self) -> None:
        self.options = deciding_options(self.args)

    def signature_of(self, kind: str, case: IrCase) -> Signature | None:
        """The signature of a case's failure of a kind; None without such a failure."""
        match kind:
            case "error":
                return self.error_signature(case)
            case "wrong":
                return self.wrong_signature(case)
            case "test":
                return self.tested(case)
            case _:
                found = self.child_signature(case)
                return found if found is not None and found.kind == kind else None

    def read(self, text: str) -> ModuleOp:
        """The module of a text. Raises: StepwellError `syntax`."""
        return parse_module(self.ctx, text, self.name)

    def error_signature(self, case: IrCase) -> Signature | None:
        """The signature of the error that a case raises, with its location in `node`."""
        places: list[Place] = []
        try:
            module = self.read(case.text)
            places += ((op.location, op.name) for op in module.walk())
            self._run(module, case)
        except Exception as error:
            found = user_error(error)
            detail = _raised_at(found) or of_error(found, {}).detail
            if found.notes[:1] == (_AT_END,):
                detail = _AT_END + detail
            if self.with_op and (op := _op_at(found.where, places)) is not None:
                detail = f"{op}: {detail}"
            return Signature("error", found.code, _pass_of(found), detail, node=found.where)
        return None

    def error_of(self, text: str, pipeline: str) -> StepwellError | None:
        """The error of a file's text, as `stepwell-opt` reports it."""
        try:
            self._run(self.read(text), IrCase(text, (pipeline,), 0))
        except Exception as error:
            return user_error(error)
        return None

    def _run(self, module: ModuleOp, case: IrCase) -> None:
        verify_module(module)
        self.run_passes(module, case.pipeline)
        try:
            verify_module(module)
        except StepwellError as error:
            error.notes = (_AT_END, *error.notes)
            raise

    def run_passes(self, module: ModuleOp, pipeline: str) -> None:
        """Run passes under the options. Raises: StepwellError."""
        with self._passes():
            run_pipeline(module, pipeline, self.ctx.clone())

    @contextmanager
    def _passes(self, instruments: Sequence[Instrument] = ()) -> Generator[None]:
        verifying = [VerifyEach()] if self.args.verify_each else []
        instruments = [*verifying, *limits_of(self.args), *instruments]
        with pass_context(self.args, instruments, reproducers=False), np.errstate(all="ignore"):
            yield

    def before_pass(self, case: IrCase, pass_name: str) -> IrCase | None:
        """
        A case of a single pass, on the output of the passes before; None without such a pass.

        The context has the weights that the passes made.
        """
        module, ctx = self.read(case.text), self.ctx.clone()
        for index, step in enumerate(case.passes):
            if step.partition("{")[0] == pass_name:
                self.ctx = ctx
                return IrCase.of(module, [step]) if index else None
            try:
                with self._passes():
                    run_pipeline(module, step, ctx)
            except StepwellError:
                return None
        return None

    def before_crash(self, case: IrCase) -> IrCase | None:
        """As `before_pass`, for the first pass that ends its process or takes too long."""
        good, bad, text = 0, len(case.passes), case.text
        with TemporaryDirectory(prefix="stepwell-", ignore_cleanup_errors=True) as folder:
            made = Path(folder, "made.mlir")
            while bad - good > 1:
                middle = (good + bad) // 2
                if self.status(IrCase(case.text, case.passes[:middle], 0), made) != 0:
                    bad = middle
                    continue
                good, text = middle, made.read_text()
                if weights_beside(made).exists():
                    self.ctx.weights.load(weights_beside(made))
        return IrCase.of(self.read(text), case.passes[good : good + 1]) if good else None

    def wrong_signature(self, case: IrCase) -> Signature | None:
        """The signature of the first pass after which functions compute something else."""
        try:
            rows = self._rows(case)
        except Exception:  # an invalid program, or one that the interpreter does not know
            return None
        # Without a function it is an error of the pass.
        wrong = next((row for row in rows if row.status in WRONG and row.kernel is not None), None)
        if wrong is None:
            return None
        name = wrong.pass_name.partition("{")[0]
        return Signature("wrong", pass_name=name, detail=str(wrong.status), node=f"@{wrong.kernel}")

    def _rows(self, case: IrCase) -> list[Row]:
        module = self.read(case.text)
        verify_module(module)
        ctx = self.ctx.clone()
        with self._passes():
            known, _ = known_functions(module, ctx)
            return validated_pipeline(module, case.pipeline, ctx, Validate(ctx, known))

    def child_signature(self, case: IrCase) -> Signature | None:
        """`crash` with the signal's name, or `slow`, of `stepwell-opt` on a case."""
        return end_signature(self.status(case))

    def status(self, case: IrCase, made: Path | None = None) -> int | None:
        """The exit status of `stepwell-opt` on a case, which writes `made`; None where it takes too long."""
        with TemporaryDirectory(prefix="stepwell-", ignore_cleanup_errors=True) as folder:
            path = Path(folder, Path(self.name).name)
            write_ir(path, case.text, self.ctx)
            words = [str(path), "-p", case.pipeline, *self.options, *(["-o", str(made)] if made else [])]
            command = [sys.executable, "-c", _CHILD, folder, *words]
            return status_in_child(partial(_opt, folder, words), command, self.timeout)

    def tested(self, case: IrCase) -> Signature | None:
        """The signature of a valid case that the test command calls interesting. Raises: `bad-test`."""
        if self.command is None:
            return None
        if self.verified:
            try:
                verify_module(self.read(case.text))
            except StepwellError:
                return None
        with TemporaryDirectory(prefix="stepwell-", ignore_cleanup_errors=True) as folder:
            path = Path(folder, Path(self.name).name)
            write_ir(path, case.text, self.ctx)
            return Signature("test") if self.command.is_interesting(path) else None


def _pass_of(error: StepwellError) -> str:
    """The name of the pass that raised an error; empty without one."""
    return re.split(r"[{ ]", failed_row(error, "", None).pass_name)[0]


def _raised_at(error: StepwellError) -> str:
    """For an exception of our own code or of a plugin's, its class and the line; else empty."""
    if error.code not in ("internal", "plugin-failed") or (cause := error.__cause__) is None:
        return ""
    places = [(frame.f_code.co_filename, line) for frame, line in walk_tb(cause.__traceback__)]
    ours = [place for place in places if _OUTSIDE not in place[0]] or places
    file, line = ours[-1] if ours else ("", 0)
    return f"{type(cause).__name__} at {Path(file).name}:{line}"


def _op_at(where: str, places: Iterable[Place]) -> str | None:
    """The name of the op at a location; None where several ops are there."""
    if not where:
        return None
    names = {name for location, name in places if describe_location(location) == where}
    return names.pop() if len(names) == 1 else None
