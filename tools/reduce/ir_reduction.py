"""`stepwell reduce F.mlir`: IR of any level, with passes, made smaller while it fails as it did."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from time import perf_counter

from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.whole_files import check_place
from stepwell.tools.driver.ir_files import read_parts
from stepwell.tools.driver.plugins import load_plugin
from stepwell.tools.reduce.ir_case import IrCase, run_arguments
from stepwell.tools.reduce.ir_reducer import IrReducer
from stepwell.tools.reduce.ir_task import IrTask
from stepwell.tools.reduce.probes import Probes
from stepwell.tools.reduce.request import Reduction, Request


def reduce_ir(
    path: Path,
    output: Path,
    pipeline: str | None = None,
    request: Request = Request(),  # noqa: B008  # it is frozen
    options: Sequence[str] = (),
) -> Reduction:
    """
    Write the smallest program found that fails as a file does, the best so far at any time.

    Args: `pipeline` is that of the file's `RUN` line by default; `options` are those of `stepwell-opt`.
    Raises: StepwellError `not-interesting` for a file that does not fail so, `bad-test`, `bad-usage`,
    `no-file`, `cannot-write`; as `parse_passes`.
    """
    begin = perf_counter()
    check_place(output)
    (part,) = read_parts(str(path))
    args = _arguments(path, part.text, pipeline, request, options)
    for plugin in args.load:
        load_plugin(plugin)
    task = IrTask(part, output, request, args)
    probes: Probes[IrCase] = Probes(
        partial(task.runs.signature_of, task.kind),
        task.signature,
        task.save,
        request.any_of_kind,
        request.deadline,
        request.jobs,
        request.seconds_in_process(task.kind, perf_counter() - begin),
    )
    task.save(task.case)
    observed = task.kind == "wrong"
    reducer = IrReducer(task.runs.read, probes, task.case, task.signature.node, task.locations, observed)
    best = reducer.run() if task.is_ir else reducer.lines()
    return Reduction(
        "ops" if task.is_ir else "lines",
        task.ops,
        len(best),
        probes.count,
        perf_counter() - begin,
        task.final_signature(best),
        task.command_for(best),
    )


def _arguments(
    path: Path, text: str, pipeline: str | None, request: Request, options: Sequence[str]
) -> Namespace:
    """The arguments of `stepwell-opt`; a test command needs no passes. Raises: as `reduce_ir`."""
    args = run_arguments(path, text, "" if request.command else pipeline, options)
    if args.pass_limit is not None:
        message = "--pass-limit counts passes, and a reduction drops some"
        raise StepwellError("bad-option", None, message, help="give the passes up to it: -p")
    return args
