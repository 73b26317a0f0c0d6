"""Kinds of failure of models: each runs a case, and returns the signature of the failure."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.whole_files import whole_file
from stepwell.tools.bisect.finding import Finding
from stepwell.tools.bisect.search import Search
from stepwell.tools.check.rows import LEVELS
from stepwell.tools.cli import main
from stepwell.tools.driver.compile import compile
from stepwell.tools.driver.options import CompileOptions
from stepwell.tools.failure import user_error
from stepwell.tools.reduce.child_runs import end_signature, status_in_child
from stepwell.tools.reduce.judging_command import JudgingCommand
from stepwell.tools.reduce.onnx_case import ModelCase
from stepwell.tools.reduce.signature import Signature, of_error

_NODE = re.compile(r'node "[^"]*"')
SignatureOf = Callable[[ModelCase], Signature | None]


@contextmanager
def files_of(case: ModelCase) -> Generator[tuple[Path, Path]]:
    """The files of a case's model and inputs, while the context is active."""
    with TemporaryDirectory(prefix="stepwell-", ignore_cleanup_errors=True) as folder:
        model, inputs = Path(folder, "case.onnx"), Path(folder, "case.npz")
        write_case(case, model, inputs)
        yield model, inputs


def write_case(case: ModelCase, model: Path, inputs: Path) -> None:
    """Write a case's model and inputs, each file whole or not at all. Raises: `cannot-write`."""
    with whole_file(model) as file:
        file.write(case.model.SerializeToString())
    with whole_file(inputs) as file:
        np.savez(file, allow_pickle=False, **case.feeds)


@dataclass
class WrongValues:
    """Values that differ from the reference's; the signature has the pass, and the rule of the rewrite."""

    options: CompileOptions
    levels: Sequence[str] = LEVELS
    finding: Finding | None = None
    """That of the last case."""

    def __call__(self, case: ModelCase) -> Signature | None:
        """The signature of a case's first wrong pass."""
        self.finding = None
        if not case.has_outputs:
            return None
        with files_of(case) as (model, _):
            try:
                self.finding = Search(model, self.options, self.levels).run(case.feeds, case.values)
            except StepwellError:  # the case is no valid model
                return None
        if self.finding is None or self.finding.difference is None:
            return None
        rule = "" if self.finding.rewrite is None else self.finding.rewrite.record.rule
        pass_name = self.finding.run.name.partition("{")[0]
        return Signature("wrong", pass_name=pass_name, detail=rule, node=_node_in(self.finding.node))


@dataclass
class RaisesError:
    """An error of compiling or running a case."""

    options: CompileOptions

    def __call__(self, case: ModelCase) -> Signature | None:
        """The signature of the error."""
        with files_of(case) as (path, _), np.errstate(all="ignore"):
            try:
                model = compile(path, self.options)
                if len(case.feeds) == len(case.model.graph.input):
                    model.run(case.feeds)
            except Exception as error:
                found = of_error(user_error(error), case.op_types)
                return replace(found, node=_node_in(found.node))
        return None


def _node_in(where: str) -> str:
    """The node that a location names; cases have files of their own."""
    match = _NODE.search(where)
    return match[0] if match else ""


@dataclass
class InChild:
    """
    A case that ends the process of `stepwell run` by a signal (`crash`), or takes over `seconds` (`slow`).

    Args: `options` are those of the command line.
    """

    kind: str
    options: Sequence[str]
    seconds: float

    def __call__(self, case: ModelCase) -> Signature | None:
        """The signature of a case that fails so: of a crash, with the signal's name."""
        found = end_signature(self.status(case))
        return found if found is not None and found.kind == self.kind else None

    def status(self, case: ModelCase) -> int | None:
        """The exit status of the process; None where it takes longer."""
        with files_of(case) as (model, inputs):
            words = ["run", str(model), "--inputs", str(inputs), *self.options]
            command = [sys.executable, "-m", "stepwell.tools.cli", *words]
            return status_in_child(partial(main, words), command, self.seconds)


@dataclass
class Tested:
    """A case that a command of the user's calls interesting."""

    command: JudgingCommand

    def __call__(self, case: ModelCase) -> Signature | None:
        """`test` for an interesting case. Raises: StepwellError `bad-test`."""
        with files_of(case) as (model, inputs):
            return Signature("test") if self.command.is_interesting(model, inputs) else None


def levels_of(finding: Finding) -> Sequence[str]:
    """The levels that a search for the same finding has to judge."""
    return ("graph",) if finding.run.level == "graph" else LEVELS
