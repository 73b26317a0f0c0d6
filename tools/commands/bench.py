"""`stepwell bench`: a model against the engines that are installed, in one run."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from dataclasses import asdict
from math import isnan
from pathlib import Path
from statistics import median

from rich.console import Console
from rich.table import Table

from stepwell.runtime.errors import StepwellError
from stepwell.tools.commands.options import add_seed, input_shapes, positive
from stepwell.tools.compile_flags import add_input_shape, add_start, add_target
from stepwell.tools.measure.bench import UNTUNED, ModelResult, bench_model
from stepwell.tools.measure.host_time import described
from stepwell.tools.measure.peers import engine_named, installed_peers


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments: models, peers, threads, and the file for the figures."""
    files = ".onnx files; with --on .mlir and .stepwell too"
    parser.add_argument("models", nargs="+", type=Path, metavar="MODEL", help=files)
    parser.add_argument("--on", metavar="URL", help="rpc://HOST:PORT of `stepwell rpc serve`: measure there")
    parser.add_argument("--against", metavar="A,B", help="engines (default: every installed one)")
    parser.add_argument(
        "--threads", type=positive, default=1, metavar="N", help="of every engine (default: 1)"
    )
    parser.add_argument(
        "--rounds", type=positive, default=20, metavar="N", help="interleaved rounds (default: 20)"
    )
    parser.add_argument(
        "--tuning-db",
        action="append",
        default=[],
        metavar="FILE",
        help="use schedules that `stepwell tune` recorded, and compare with our code without them",
    )
    add_seed(parser)
    add_target(parser.add_argument)
    add_start(parser.add_argument)
    add_input_shape(parser.add_argument)


def run(args: Namespace) -> int:
    """Measure and print a table; returns the exit status."""
    if args.on is not None:
        return _bench_there(args)
    peers = installed_peers() if args.against is None else args.against.split(",")
    for name in peers:
        engine_named(name)  # an unknown name is an error, not a peer that failed
    shapes, tuned = input_shapes(args), args.tuning_db
    peers = [*peers, UNTUNED] if tuned else peers
    results = [
        bench_model(
            path,
            peers,
            args.threads,
            args.rounds,
            shapes,
            args.seed,
            start=args.start,
            tuning_db=tuned,
            target=args.target,
            device=args.device,
        )  # fmt: skip
        for path in args.models
    ]
    show(results, peers)
    for result in results:
        if result.on_host:
            print(f"{result.model}: {described(result.on_host, result.milliseconds['stepwell'])}")
        if (times := result.on_device) is not None:
            print(f"{result.model}: {times}")
    if args.start == "now":
        for result in results:
            print(f"{result.model}: the first answer took {result.load_seconds['stepwell']:.2f} s")
    if not peers:
        missing = "no other engine is installed to compare with: pip install 'stepwell[bench]'"
        print(missing, file=sys.stderr)
    args.facts["models"] = [asdict(result) for result in results]
    return 0


def _bench_there(args: Namespace) -> int:
    """Measure on another machine, where no other engine is."""
    from stepwell.runtime.rpc import connect
    from stepwell.tools.measure.bench_there import bench_there

    if args.against is not None or args.start != "full" or args.target or args.device:
        message = "`--on` measures Stepwell alone, with all of its code, on the CPU there"
        help = "leave `--against`, `--start`, `--target` and `--device` out"
        raise StepwellError("bad-option", None, message, help=help)
    shapes = input_shapes(args)
    with connect(args.on) as session:
        results = [
            bench_there(session, path, args.threads, args.rounds, shapes, args.seed) for path in args.models
        ]
    table = Table(title=f"ms on {args.on}")
    for column in ("model", "threads", "min", "median", "max"):
        table.add_column(column, justify="left" if column == "model" else "right")
    for result in results:
        times = (min(result.seconds), median(result.seconds), max(result.seconds))
        table.add_row(result.model, str(result.threads), *(f"{1e3 * seconds:.3f}" for seconds in times))
    Console().print(table)
    args.facts["models"] = [result._asdict() for result in results]
    return 0


def show(results: list[ModelResult], peers: list[str]) -> None:
    """Print the figures as a table on standard output; ratios above 1 mean that Stepwell is faster."""
    table = Table(title="time of the peer / our time (95 % interval)" if peers else None)
    for column in ("model", "threads", "ours, ms", *peers, "difference"):
        table.add_column(column, justify="left" if column == "model" else "right")
    for result in results:
        ratios = [
            f"{r.median:.2f} ({r.low:.2f}-{r.high:.2f})"
            if (r := result.ratios.get(p))
            else result.failed.get(p, "-")
            for p in peers
        ]
        row = [result.model, str(result.threads), f"{result.milliseconds['stepwell']:.3f}", *ratios]
        table.add_row(*row, "-" if isnan(result.difference) else f"{result.difference:.1e}")
    Console().print(table)
