"""`stepwell validate`: run a compilation pass by pass, and compare what the program means after each."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from pathlib import Path

from stepwell.passes.pipelines import level_of_pass
from stepwell.runtime.errors import StepwellError
from stepwell.tools.check.rows import LEVELS, Row, is_right, table_of
from stepwell.tools.commands.options import (
    add_compile_options,
    add_seed,
    compile_options,
    expect_full_start,
    load_plugins,
    positive,
)
from stepwell.tools.driver.options import expect_source
from stepwell.tools.inputs import completed_inputs, read_arrays
from stepwell.tools.limits import limits_of


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments: model or IR, pipeline, levels, inputs and options."""
    parser.add_argument("model", type=Path, metavar="MODEL", help="a .onnx or .mlir file")
    parser.add_argument(
        "-p",
        metavar="PIPELINE",
        dest="pipeline",
        help="validate these passes, on the functions of a .mlir file",
    )
    parser.add_argument(
        "--level",
        type=_levels,
        default=LEVELS,
        metavar="L[,L…]",
        help=f"the levels of passes to judge: {', '.join(LEVELS)} (default: all)",
    )
    parser.add_argument(
        "--inputs", type=Path, metavar="F.npz", help="arrays by input name (others are made up)"
    )
    add_seed(parser)
    parser.add_argument(
        "--seeds", type=positive, default=1, metavar="N", help="made-up inputs of N seeds (default: 1)"
    )
    parser.add_argument(
        "--full", action="store_true", help="run all iterations of long loops, which can take hours"
    )
    add_compile_options(parser)


def _levels(text: str) -> tuple[str, ...]:
    names = tuple(text.split(","))
    if unknown := [name for name in names if name not in LEVELS]:
        raise ArgumentTypeError(f"no level {unknown[0]!r}: the levels are {', '.join(LEVELS)}")
    return names


def run(args: Namespace) -> int:
    """Validate and print a table; returns the exit status: 1 when a pass is wrong."""
    expect_full_start(args, {"validate": True})
    expect_source(args.model)
    load_plugins(args)
    rows = _pipeline_rows(args) if args.pipeline is not None else _model_rows(args)
    args.facts |= {"schema": "stepwell-validate/1", "runs": [row.facts() for row in rows]}
    print(table_of(rows))
    return 0 if is_right(rows) else 1


def _pipeline_rows(args: Namespace) -> list[Row]:
    """The rows of passes on the functions of an IR file."""
    from dataclasses import replace

    from stepwell.dialects._xdsl import StepwellContext
    from stepwell.passes.context import PassContext
    from stepwell.passes.pass_limit import numbered
    from stepwell.runtime.machine.target import target_from
    from stepwell.tools.check.validation import Validate, known_functions, validated_pipeline
    from stepwell.tools.driver.ir_files import read_ir

    if args.model.suffix != ".mlir":
        help = "without -p, all passes of a model's compilation are validated"
        raise StepwellError("bad-usage", str(args.model), "-p is for .mlir files", help=help)
    rows: list[Row] = []
    for seed in range(args.seed, args.seed + args.seeds):
        ctx = StepwellContext()
        ctx.target = target_from(args.mcpu, args.target)
        module = read_ir(args.model, ctx)
        known, unknown = known_functions(module, ctx, seed=seed)
        instrument = Validate(ctx, known, full=args.full, seed=seed)
        context = PassContext(
            opt_level=args.opt_level,
            required_pass=args.require_pass,
            disabled_pass=args.disable_pass,
            instruments=limits_of(args),
        )
        with context, numbered():
            rows += [*validated_pipeline(module, args.pipeline, ctx, instrument), *unknown]
    return [replace(row, level=level_of_pass(row.pass_name) or "") for row in rows]


def _model_rows(args: Namespace) -> list[Row]:
    """The rows of the passes that compile a model."""
    from stepwell.runtime.cores import usable_cores
    from stepwell.tools.check.model_validation import ModelValidation, expect_above_loops
    from stepwell.tools.debug.references import wanted_values
    from stepwell.tools.driver.reading import interface_of, start
    from stepwell.tools.progress import shown_progress

    if limits_of(args):
        help = "leave them out, or validate the passes of a .mlir file: -p"
        raise StepwellError("bad-option", None, "limits do not go with all passes of a model", help=help)
    options = compile_options(args)
    expect_above_loops(start(args.model, options).module)
    interface = interface_of(args.model, options)
    arrays = read_arrays(args.inputs) if args.inputs is not None else {}
    with shown_progress() as progress:
        validation = ModelValidation(
            args.model, options, args.level, args.full, progress, processes=usable_cores()
        )
        for seed in range(args.seed, args.seed + args.seeds):
            feeds = completed_inputs(interface, arrays, seed, dict(args.input_shape))
            wanted = wanted_values("reference", args.model, feeds) if "graph" in args.level else None
            validation.run(feeds, wanted, seed)
    return validation.rows
