"""`stepwell bisect`: the pass run, the kernel and the rewrite from which on a model is wrong."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

from stepwell.runtime.errors import StepwellError
from stepwell.tools.arguments import positive
from stepwell.tools.check.rows import LEVELS
from stepwell.tools.commands.options import (
    add_compile_options,
    add_seed,
    compile_options,
    expect_full_start,
    option_texts,
)
from stepwell.tools.driver.options import expect_source
from stepwell.tools.inputs import completed_inputs, read_arrays

if TYPE_CHECKING:
    from stepwell.tools.bisect.finding import Finding
    from stepwell.tools.driver.options import CompileOptions


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments: model, test, reference, levels, inputs and options."""
    parser.add_argument("model", type=Path, metavar="MODEL", help="a .onnx or .mlir file")
    parser.add_argument(
        "--test",
        metavar="CMD",
        help="a command that ends with 0 for a good artifact, with 1-124 for a bad one, with 125 for one "
        "that it cannot judge; {} is the artifact's file, {onnx} the model's",
    )
    parser.add_argument(
        "--timeout", type=positive, default=600, metavar="S", help="seconds for the command (default: 600)"
    )
    parser.add_argument(
        "--against",
        choices=("reference", "onnxruntime"),
        default="reference",
        help="whose results are right (default: reference, ONNX's evaluator)",
    )
    parser.add_argument(
        "--level",
        action="append",
        choices=LEVELS,
        help="judge the passes of a level alone (given again: another; default: all)",
    )
    parser.add_argument(
        "--inputs", type=Path, metavar="F.npz", help="arrays by input name (others are made up)"
    )
    add_seed(parser)
    add_compile_options(parser)


def run(args: Namespace) -> int:
    """Search and print the finding; returns the exit status: 1 when there is one."""
    expect_full_start(args, {"bisect": True})
    expect_source(args.model)
    if args.pass_limit is not None or args.rewrite_limit or args.pdb_at:
        raise StepwellError("bad-option", None, "bisect sets the limits itself", help="leave them out")
    options = compile_options(args)
    begin = perf_counter()
    finding, runs = (_by_command if args.test is not None else _by_levels)(args, options)
    seconds = round(perf_counter() - begin, 3)
    facts = {"found": False} if finding is None else {"found": True, **finding.facts()}
    args.facts |= {"schema": "stepwell-bisect/1", **facts, "runs": runs, "seconds": seconds}
    print("nothing wrong" if finding is None else finding, f"({runs} runs, {seconds:.1f} s)", sep="\n")
    return int(finding is not None)


def _by_command(args: Namespace, options: CompileOptions) -> tuple[Finding | None, int]:
    from stepwell.tools.bisect.command_search import CommandSearch
    from stepwell.tools.bisect.replay import Replay

    search = CommandSearch(args.model, options, args.test, args.timeout)
    finding = search.run()
    return Replay(args.model, option_texts(args), []).of_test(finding, args.test), search.runs


def _by_levels(args: Namespace, options: CompileOptions) -> tuple[Finding | None, int]:
    from stepwell.tools.bisect.replay import Replay
    from stepwell.tools.bisect.search import Search
    from stepwell.tools.debug.references import wanted_values
    from stepwell.tools.driver.reading import interface_of

    interface = interface_of(args.model, options)
    arrays = read_arrays(args.inputs) if args.inputs is not None else {}
    feeds = completed_inputs(interface, arrays, args.seed, dict(args.input_shape))
    search = Search(args.model, options, args.level or LEVELS)
    finding = search.run(feeds, wanted := wanted_values(args.against, args.model, feeds))
    if finding is None:
        return None, search.runs
    finding = search.counted(finding)
    if wanted is not None:
        finding = search.confirmed(finding, feeds, wanted)
    inputs = [] if args.inputs is None else ["--inputs", str(args.inputs)]
    inputs += ["--seed", str(args.seed)] if args.seed else []
    replay = Replay(args.model, option_texts(args), inputs)
    return replay.of(finding, search.kernel, search.compilation.ctx), search.runs
