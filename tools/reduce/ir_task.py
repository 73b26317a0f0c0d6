"""A file of IR to reduce: the failure to keep, the first case, and the file of the best case so far."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import dataclass, field
from pathlib import Path
from shlex import quote

from stepwell.dialects._xdsl import StepwellContext
from stepwell.passes import parse_passes
from stepwell.runtime.errors import StepwellError
from stepwell.tools.driver.ir_files import Part, write_ir
from stepwell.tools.opt.diagnostics import Expectations, line_named
from stepwell.tools.opt.optimize import pass_context
from stepwell.tools.reduce.ir_case import IrCase
from stepwell.tools.reduce.ir_kinds import IrRuns
from stepwell.tools.reduce.judging_command import CASE, JudgingCommand
from stepwell.tools.reduce.request import Request
from stepwell.tools.reduce.signature import Signature

_EMPTY = IrCase("builtin.module {\n}\n", (), 0)


@dataclass
class IrTask:
    """
    A file to reduce. Args: `part` is its text; `args` are those of `stepwell-opt`.

    Attributes: `case` is the first case, and `signature` its failure; `ops` are those of the input;
    `is_ir`: whether its text can be parsed.
    """

    part: Part
    output: Path
    request: Request
    args: Namespace
    runs: IrRuns = field(init=False)
    kind: str = field(init=False)
    case: IrCase = field(init=False)
    signature: Signature = field(init=False)
    ops: int = field(init=False)
    is_ir: bool = field(init=False, default=True)
    locations: bool = field(init=False, default=False)

    def __post_init__(self) -> None:
        """Raises: StepwellError `not-interesting`, `bad-test`; as `parse_passes`."""
        request = self.request
        ctx = StepwellContext(allow_unregistered=self.args.allow_unregistered_dialect)
        command = JudgingCommand(text, request.timeout) if (text := request.command) else None
        self.runs = IrRuns(ctx, self.args, str(self.output), request.slow_seconds, command)
        with pass_context(self.args):
            passes = tuple(map(str, parse_passes(self.args.passes)))
        self.case = self._read(passes)
        self.ops = len(self.case)
        if command is not None:
            self.runs.verified = self.runs.error_of(self.case.text, "") is None
            command.expect_usable(lambda: self._fails(self.case), lambda: self._fails(_EMPTY))
        self.signature = self._failure()
        self.kind = self.signature.kind
        self._print()
        self._cut()

    def _read(self, passes: tuple[str, ...]) -> IrCase:
        """The input as it is; reads its weights too."""
        try:
            ops = len(IrCase.of(self.part.read(self.runs.ctx), passes))
        except StepwellError:
            self.is_ir = False
            ops = self.part.text.count("\n")
        return IrCase(self.part.text, passes, ops)

    def _fails(self, case: IrCase) -> bool:
        return self.runs.tested(case) is not None

    def _failure(self) -> Signature:
        """The wanted failure of the input, or the first found: in this process it may not return."""
        wanted = "test" if self.request.command else self.request.kind
        if wanted is None and (ended := self.runs.child_signature(self.case)) is not None:
            return ended
        for kind in ("error", "wrong") if wanted is None else (wanted,):
            if (found := self.runs.signature_of(kind, self.case)) is not None:
                return self.request.expect(found, self.part.name, "program")
        if wanted not in (None, "wrong"):
            return self.request.expect(None, self.part.name, "program")
        raise self._not_interesting("its passes succeed, and its functions compute the same after each")

    def _not_interesting(self, message: str) -> StepwellError:
        return StepwellError("not-interesting", self.part.name, message)

    def _print(self) -> None:
        """Print the program, with locations only where it fails in another way without them."""
        if not self.is_ir:
            return
        for self.locations in (False, True):
            module = self.runs.read(self.case.text)
            case = IrCase.of(module, self.case.passes, locations=self.locations)
            if self.runs.signature_of(self.kind, case) == self.signature:
                self.case = case
                return
        raise self._not_interesting("it does not fail so when it is printed and parsed")

    def _cut(self) -> None:
        """Keep the failing pass alone, on its own input; from then on the op at fault counts."""
        if self.kind != "test" and len(self.case.passes) > 1:
            if self.kind in ("crash", "slow"):
                cut = self.runs.before_crash(self.case)
            else:
                cut = self.runs.before_pass(self.case, self.signature.pass_name)
            if cut is not None and self.runs.signature_of(self.kind, cut) == self.signature:
                self.case = cut
        if self.kind == "error":
            self.runs.with_op = True
            self.signature = self.runs.signature_of("error", self.case) or self.signature

    def final_signature(self, case: IrCase) -> Signature:
        """The signature with the location that the failure has in a case."""
        if self.kind not in ("error", "wrong"):
            return self.signature
        return self.runs.signature_of(self.kind, case) or self.signature

    def save(self, case: IrCase) -> None:
        """Write the best case so far, with the lines that make it a test."""
        write_ir(self.output, self._text(case), self.runs.ctx)

    def _text(self, case: IrCase) -> str:
        match self.kind:
            case "test":
                return case.text
            case "wrong":
                return f"// RUN: {self._command('stepwell validate', '%s', case)}\n\n{case.text}"
            case "error":
                return self._with_expectation(case)
            case _:
                return f"// RUN: {self._command('stepwell-opt', '%s', case)}\n\n{case.text}"

    def _with_expectation(self, case: IrCase) -> str:
        """The text of a test that expects the error."""
        run = f"// RUN: {self._command('stepwell-opt', '%s', case)} --verify-diagnostics\n\n"
        error = self.runs.error_of(case.text, case.pipeline)
        if error is None:
            return run + case.text
        line = line_named(error.where)
        lines = case.text.splitlines(keepends=True)
        place, indent = "@unknown", ""
        if line is not None:
            place, indent = "", lines[line - 1][: -len(lines[line - 1].lstrip())]
        for message in (error.message.partition("\n")[0], ""):
            comment = f"{indent}// expected-error{place}: error[{error.code}]: {message}".rstrip() + "\n"
            at = 0 if line is None else line - 1
            text = run + "".join([*lines[:at], comment, *lines[at:]])
            again = self.runs.error_of(text, case.pipeline)
            if again is not None and not Expectations.read(text, self.part.name).unmet_by([again], []):
                return text
        return run + case.text

    def command_for(self, case: IrCase) -> str:
        """The command that fails as the input does."""
        file = quote(str(self.output))
        match self.kind:
            case "test":
                return self.request.command.replace(CASE, file)
            case "wrong":
                return self._command("stepwell validate", file, case)
            case _:
                return self._command("stepwell-opt", file, case)

    def _command(self, command: str, file: str, case: IrCase) -> str:
        passes = ["-p", f"'{case.pipeline}'"] if case.passes else []
        options = self.runs.options
        if self.kind == "wrong":  # `stepwell validate` has no others of these
            options = [word for plugin in self.args.load for word in ("--load", plugin)]
        return " ".join([command, file, *passes, *map(quote, options)])
