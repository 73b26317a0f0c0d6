"""`stepwell reduce F.mlir`: IR of any level, with passes, made smaller while it fails as it did."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import monotonic, perf_counter

from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.whole_files import check_place
from stepwell.tools.driver.ir_files import read_parts
from stepwell.tools.driver.plugins import load_plugin
from stepwell.tools.json_facts import Facts
from stepwell.tools.reduce.ir_case import IrCase, run_arguments
from stepwell.tools.reduce.ir_reducer import IrReducer
from stepwell.tools.reduce.ir_task import IrTask, Wanted
from stepwell.tools.reduce.probes import Probes
from stepwell.tools.reduce.signature import Signature


@dataclass(frozen=True)
class IrReduction:
    """The outcome of a reduction: the numbers of ops, lines for a text that is no IR, and of cases tried."""

    ops_before: int
    ops_after: int
    probes: int
    seconds: float
    signature: Signature
    command: str
    """Fails as the input does."""

    def facts(self) -> Facts:
        """The outcome as JSON values."""
        return {**vars(self), "seconds": round(self.seconds, 3), "signature": self.signature.facts()}

    def __str__(self) -> str:
        counts = f"{self.ops_before} → {self.ops_after} ops, {self.probes} probes, {self.seconds:.0f} s"
        return f"{counts}: {self.signature}"


def reduce_ir(
    path: Path,
    output: Path,
    pipeline: str | None = None,
    wanted: Wanted = Wanted(),  # noqa: B008  # it is frozen
    *,
    timeout: float = 60.0,
    jobs: int = 1,
    budget: float | None = None,
    any_of_kind: bool = False,
    options: Sequence[str] = (),
) -> IrReduction:
    """
    Write the smallest program found that fails as a file does, the best so far at any time.

    Args: `pipeline` is that of the file's `RUN` line by default; `timeout` is in seconds for a process, which
    is slow beyond it, or for the test command; `jobs` cases are tried at a time; `budget` is in seconds for
    all; `any_of_kind`: whether another failure of the kind counts too; `options` are those of `stepwell-opt`.
    Raises: StepwellError `not-interesting` for a file that does not fail so, `bad-test`, `bad-usage`,
    `no-file`, `cannot-write`; as `parse_passes`.
    """
    begin = perf_counter()
    check_place(output)
    (part,) = read_parts(str(path))
    args = _arguments(path, part.text, pipeline, wanted, options)
    for plugin in args.load:
        load_plugin(plugin)
    task = IrTask(part, output, wanted, timeout, args)
    deadline = None if budget is None else monotonic() + budget
    probes: Probes[IrCase] = Probes(
        partial(task.runs.signature_of, task.kind), task.signature, task.save, any_of_kind, deadline, jobs
    )
    task.save(task.case)
    observed = task.kind == "wrong"
    reducer = IrReducer(task.runs.read, probes, task.case, task.signature.node, task.locations, observed)
    best = reducer.run() if task.is_ir else reducer.lines()
    seconds = perf_counter() - begin
    signature = task.final_signature(best)
    return IrReduction(task.ops, len(best), probes.count, seconds, signature, task.command_for(best))


def _arguments(
    path: Path, text: str, pipeline: str | None, wanted: Wanted, options: Sequence[str]
) -> Namespace:
    """The arguments of `stepwell-opt`; a test command needs no passes. Raises: as `reduce_ir`."""
    args = run_arguments(path, text, "" if wanted.command else pipeline, options)
    if args.pass_limit is not None:
        message = "--pass-limit counts passes, and a reduction drops some"
        raise StepwellError("bad-option", None, message, help="give the passes up to it: -p")
    return args
