"""`stepwell trace`: a compilation and calls of a model as one trace in Chrome's format."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from stepwell.passes.context import PassContext
from stepwell.passes.trace_events import TraceEvents
from stepwell.passes.trace_format import trace_text
from stepwell.runtime.files.whole_files import check_place, write_text
from stepwell.runtime.model import CompiledModel
from stepwell.tools.commands.options import (
    add_compile_options,
    add_model,
    add_seed,
    add_threads,
    compile_options,
    expect_full_start,
    positive,
    watched,
)
from stepwell.tools.driver.compile import compile
from stepwell.tools.driver.options import check_suffix, source_suffixes
from stepwell.tools.inputs import FILLS, made_up_inputs
from stepwell.tools.json_facts import Facts
from stepwell.tools.measure.calibrate import machine_limits
from stepwell.tools.measure.trace import TracedRun, traced
from stepwell.tools.progress import shown_progress


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments: model, output, number of runs, and options."""
    add_model(parser)
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        default=Path("trace.json"),
        metavar="F",
        help="where to write the trace (default: trace.json)",
    )
    parser.add_argument(
        "--runs", type=positive, default=3, metavar="N", help="calls to trace after a first one (default: 3)"
    )
    parser.add_argument("--fill", choices=FILLS, default="random", help="how to make up the inputs")
    add_seed(parser)
    add_threads(parser)
    add_compile_options(parser)


def run(args: Namespace) -> int:
    """Compile, run, and write the trace; returns the exit status."""
    expect_full_start(args, {"`stepwell trace`": True})
    check_suffix(args.model, source_suffixes())
    check_place(args.output)
    options = replace(compile_options(args), profile=True)
    limits = machine_limits()
    trace = TraceEvents()
    with watched(args), PassContext.current().watched_by([trace]), shown_progress() as progress:
        model = compile(args.model, options, threads=args.threads, progress=progress)
    feeds = made_up_inputs(model.interface, args.fill, args.seed, dict(args.input_shape))
    runs = traced(model, feeds, args.runs, limits)
    events = [*trace.events(), *runs.events(trace.ends())]
    write_text(args.output, trace_text(events))
    args.facts |= {
        "schema": "stepwell-trace/1",
        "trace": args.output,
        "events": len(events),
        "compile": model.image.effort,
        "threads": model.threads,
        "runs": [_facts(run) for run in runs.runs],
    }
    print(_summary(args.output, model, runs.runs), file=sys.stderr)
    return 0


def _facts(run: TracedRun) -> Facts:
    return {
        "microseconds": (run.end - run.begin) / 1000,
        "kernel microseconds": sum(call.total_ns for call in run.calls) / 1000,
        "chunks": len(run.chunks),
    }


def _summary(output: Path, model: CompiledModel, runs: Sequence[TracedRun]) -> str:
    least = min(run.end - run.begin for run in runs)
    return (
        f"wrote {output}: the compilation and {len(runs)} calls, the fastest of {least / 1e6:.3f} ms on "
        f"{model.threads} threads; ui.perfetto.dev and chrome://tracing show it"
    )
