"""Commands that show a program right before a pass run, and wrong after it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from shlex import join

from xdsl.dialects.builtin import ModuleOp

from stepwell.dialects._xdsl import StepwellContext
from stepwell.passes.instruments import module_text
from stepwell.passes.pipelines import OF_KERNELS, text_of
from stepwell.runtime.files.cache import default_folder
from stepwell.tools.bisect.command_search import files_of
from stepwell.tools.bisect.finding import Finding
from stepwell.tools.check.user_command import with_files
from stepwell.tools.driver.ir_files import write_ir


class Replay:
    """
    The commands of a finding.

    Args: `options` are all options that decide code, as a command line has them; `inputs` those of inputs.
    """

    def __init__(self, model: Path, options: list[str], inputs: list[str]):
        self.model, self.options, self.inputs = model, options, inputs

    def of(self, finding: Finding, kernel: ModuleOp | None, ctx: StepwellContext) -> Finding:
        """A finding with its commands; a kernel whose pass cannot be skipped is written to a file."""
        number = finding.run.number
        if finding.run.skippable:
            command = ("debug", "--against", "reference") if finding.is_hidden else ("run", "--check")
            run = self._words(command[0], *self.inputs, *command[1:])
            limits = [join([*run, "--pass-limit", str(limit)]) for limit in (number - 1, number)]
            return replace(finding, good=limits[0], bad=limits[1], stop=self._stop(finding))
        if kernel is None or finding.run.level == "llvm":
            return replace(finding, bad=join(self._words("run", *self.inputs, "--check")))
        names = [step.text for step in OF_KERNELS]
        if finding.run.name not in names:
            return replace(finding, bad=join(self._words("validate", *self.inputs, "--level", "tensor")))
        index = names.index(finding.run.name)
        path = default_folder() / "reproducers" / f"{self.model.stem}-{finding.run.kernel}.mlir"
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_ir(path, module_text(kernel), ctx)
        pipelines = [text_of(OF_KERNELS[:end]) for end in (index, index + 1)]
        words = ["stepwell", "validate", str(path), *_of_kernels(self.options), "-p"]
        commands = [join([*words, text]) for text in pipelines]
        return replace(finding, good=commands[0], bad=commands[1])

    def of_test(self, finding: Finding, command: str) -> Finding:
        """A finding of a test command with the commands that compile and test."""
        artifact = f"{self.model.stem}.stepwell"
        good, bad = (
            join([*self._words("compile"), "--pass-limit", str(limit), "-o", artifact])
            + " && "
            + with_files(command, files_of(artifact, self.model))
            for limit in (finding.run.number - 1, finding.run.number)
        )
        return replace(finding, good=good, bad=bad, stop=self._stop(finding))

    def _stop(self, finding: Finding) -> str | None:
        if finding.rewrite is None:
            return None
        record = finding.rewrite.record
        return join([*self._words("compile"), "--pdb-at", f"{record.pass_name}={record.number}"])

    def _words(self, command: str, *more: str) -> list[str]:
        return ["stepwell", command, str(self.model), *self.options, *more]


def _of_kernels(options: Sequence[str]) -> list[str]:
    """The options without those that choose passes of level 1: all passes of kernels run at any level."""
    names = ("--opt-level", "--disable-pass", "--require-pass")
    pairs = zip(options, ["", *options], strict=False)
    return [word for word, before in pairs if word not in names and before not in names]
