"""`stepwell reduce`: a program that fails, made smaller as long as it fails in the same way."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.whole_files import check_place
from stepwell.tools.arguments import positive
from stepwell.tools.commands.options import (
    add_compile_options,
    add_seed,
    compile_options,
    expect_full_start,
    option_texts,
)
from stepwell.tools.driver.options import expect_source
from stepwell.tools.inputs import completed_inputs, expect_fitting, read_arrays

if TYPE_CHECKING:
    from stepwell.tools.reduce.request import Reduction, Request


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments: program, output, kind of failure, limits, inputs and options."""
    parser.add_argument("model", type=Path, metavar="MODEL", help="a .onnx or .mlir file")
    parser.add_argument(
        "-o", dest="output", type=Path, required=True, metavar="OUT", help="the smaller program"
    )
    parser.add_argument(
        "-p", dest="pipeline", metavar="PIPELINE", help="the passes of a .mlir file (default: its RUN line's)"
    )
    kinds = parser.add_mutually_exclusive_group()
    kinds.add_argument("--wrong", action="store_true", help="results differ from the reference's")
    kinds.add_argument("--error", nargs="?", const="", metavar="CODE", help="an error, of this code")
    kinds.add_argument("--crash", action="store_true", help="the process ends by a signal")
    kinds.add_argument("--slow", type=_seconds, metavar="S", help="it takes over S seconds")
    kinds.add_argument(
        "--test",
        metavar="CMD",
        help="a command that ends with 0 while a case is interesting, with 125 for one it cannot judge; {} "
        "is the case's file, {inputs} that of a model's inputs",
    )
    parser.add_argument(
        "--any", action="store_true", dest="any_of_kind", help="any failure of the kind counts, at any place"
    )
    parser.add_argument(
        "--timeout", type=_seconds, default=60, metavar="S", help="seconds for one case (default: 60)"
    )
    parser.add_argument(
        "--budget", type=_seconds, metavar="S", help="seconds in all; the best so far stays (default: no end)"
    )
    parser.add_argument(
        "--jobs", type=positive, default=1, metavar="N", help="processes at a time (default: 1)"
    )
    parser.add_argument(
        "--inputs", type=Path, metavar="F.npz", help="arrays by input name (others are made up)"
    )
    add_seed(parser)
    add_compile_options(parser)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise ArgumentTypeError(f"expected seconds above 0, found {text!r}")
    return seconds


def run(args: Namespace) -> int:
    """Reduce and print the sizes; returns the exit status: 0 when the output is a case that fails so."""
    expect_full_start(args, {"reduce": True})
    expect_source(args.model)
    check_place(args.output)
    if args.output.suffix != args.model.suffix:
        message = f"the output is a {args.model.suffix} file, as the program is"
        raise StepwellError("bad-usage", str(args.output), message)
    before = _written_at(args.output)
    try:
        reduction = (_reduced_ir if args.model.suffix == ".mlir" else _reduced_model)(args)
    except KeyboardInterrupt:
        has_case = _written_at(args.output) != before
        best = f"{args.output} is the best so far" if has_case else "no case was written yet"
        print(f"stopped: {best}")
        raise
    args.facts |= {"schema": "stepwell-reduce/1", **reduction.facts()}
    print(reduction)
    return 0


def _written_at(path: Path) -> int | None:
    """The time of the last write of a file in ns; None for no file."""
    return path.stat().st_mtime_ns if path.exists() else None


def _request(args: Namespace) -> Request:
    from stepwell.tools.reduce.request import Request

    kinds = {
        "wrong": args.wrong,
        "error": args.error is not None,
        "crash": args.crash,
        "slow": args.slow is not None,
        "test": args.test is not None,
    }
    return Request(
        kind=next((kind for kind, chosen in kinds.items() if chosen), None),
        code=args.error or "",
        slow_seconds=args.timeout if args.slow is None else args.slow,
        command=args.test or "",
        timeout=args.timeout,
        jobs=args.jobs,
        budget=args.budget,
        any_of_kind=args.any_of_kind,
    )


def _reduced_model(args: Namespace) -> Reduction:
    from stepwell.tools.driver.reading import interface_of
    from stepwell.tools.progress import shown_progress
    from stepwell.tools.reduce.onnx_model import ModelFailure

    if args.pipeline is not None:
        raise StepwellError("bad-usage", str(args.model), "-p is for .mlir files")
    options = compile_options(args)
    given = feeds = read_arrays(args.inputs) if args.inputs is not None else {}
    try:
        interface = interface_of(args.model, options)
    except StepwellError:  # of a model that cannot be read, which is the failure then
        interface = None
    if interface is not None:
        try:
            feeds = completed_inputs(interface, given, args.seed, dict(args.input_shape))
            expect_fitting(interface, feeds)
        except StepwellError as error:
            if given:  # without a file, they are values that cannot be made up
                raise error.at(str(args.inputs)) from None
    args.input_shape = []  # a part's inputs are others
    words = option_texts(args)
    with shown_progress() as progress:
        return ModelFailure(
            args.model, args.output, _request(args), options, words, feeds, progress
        ).reduced()


def _reduced_ir(args: Namespace) -> Reduction:
    from stepwell.tools.reduce.ir_reduction import reduce_ir

    options = [word for plugin in args.load for word in ("--load", plugin)]
    return reduce_ir(args.model, args.output, args.pipeline, _request(args), options)
