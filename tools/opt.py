"""`stepwell-opt`: read a module, run passes over it, print it."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from io import StringIO
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp
from xdsl.printer import Printer

from stepwell.dialects._xdsl import StepwellContext, all_dialects
from stepwell.dialects.verify import verify_module, violation_error, violations
from stepwell.passes import Instrument, PassContext, list_configs, parse_passes, run_pipeline
from stepwell.passes.context import DEFAULT_OPT_LEVEL, config_value
from stepwell.passes.instruments import OpCounts, PassTiming, PrintIR, Snapshots, VerifyEach
from stepwell.passes.registry import our_passes
from stepwell.runtime.errors import InternalError, StepwellError
from stepwell.tools.diagnostics import Expectations
from stepwell.tools.ir_files import SPLIT_MARK, STDIN, Part, read_parts, write_ir
from stepwell.tools.plugins import load_plugin


def main(argv: Sequence[str] | None = None) -> int:
    """The command; returns its exit status: 0, or 1 after an error that it has printed."""
    args = _arguments().parse_args(argv)
    try:
        for plugin in args.load:
            load_plugin(plugin)
        return _list(args) if args.list else _run(args)
    except BrokenPipeError:
        return 0  # the reader of our output has seen enough
    except Exception as error:
        if args.debug:
            raise
        if not isinstance(error, StepwellError):
            error = InternalError(None, f"{type(error).__name__}: {error}", note="--debug shows where")
        print(error.render(), file=sys.stderr)
        return 1


def _arguments() -> ArgumentParser:
    parser = ArgumentParser(prog="stepwell-opt", description="Run passes over IR and print the result.")
    parser.add_argument(
        "file", nargs="?", default=STDIN, help=".mlir or .onnx; `-` or nothing: standard input"
    )
    parser.add_argument("-p", "--passes", default="", metavar="PIPELINE", help="pass,pass{option=value}")
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="write to a file, weights beside it"
    )
    parser.add_argument("--split-input-file", action="store_true", help=f"parts end at a `{SPLIT_MARK}` line")
    parser.add_argument("--verify-diagnostics", action="store_true", help="match `expected-error` comments")
    parser.add_argument("--allow-unregistered-dialect", action="store_true", help="accept unknown ops")
    parser.add_argument("--debug", action="store_true", help="show tracebacks")

    printing = parser.add_argument_group("printing")
    printing.add_argument("--print-op-generic", action="store_true", help="print ops in the generic form")
    printing.add_argument("--print-debuginfo", action="store_true", help="print locations")
    printing.add_argument("--print-ir-before-all", action="store_true", help="on standard error, as the next")
    printing.add_argument("--print-ir-after-all", action="store_true")
    printing.add_argument("--print-ir-after-change", action="store_true", help="after passes that change it")
    printing.add_argument("--print-ir-diff", action="store_true", help="what each pass changes, as a diff")
    printing.add_argument("--snapshots", type=Path, metavar="FOLDER", help="write the IR after each pass")
    printing.add_argument("--print-op-counts", action="store_true", help="ops before and after each pass")
    printing.add_argument("--remarks", action="store_true", help="print what passes have to say")

    running = parser.add_argument_group("running")
    running.add_argument("--verify-each", action="store_true", help="verify after each pass")
    running.add_argument("--time-passes", action="store_true", help="a timing tree on standard error")
    running.add_argument("--opt-level", type=int, default=DEFAULT_OPT_LEVEL, metavar="N")
    running.add_argument("--disable-pass", action="append", default=[], metavar="NAME")
    running.add_argument("--require-pass", action="append", default=[], metavar="NAME")
    running.add_argument("--config", action="append", default=[], metavar="KEY=VALUE")
    running.add_argument("--load", action="append", default=[], metavar="PLUGIN", help="a module or .py file")

    for what in ("passes", "dialects", "configs"):
        parser.add_argument(f"--list-{what}", dest="list", action="store_const", const=what)
    return parser


def _list(args: Namespace) -> int:
    if args.list == "passes":
        rows = sorted(our_passes().items())
    elif args.list == "dialects":
        rows = [(name, "") for name in sorted(all_dialects())]
    else:
        rows = [(key, str(option)) for key, option in list_configs().items()]
    width = max((len(name) for name, _ in rows), default=0)
    for name, text in rows:
        print(f"{name:{width}}  {text}".rstrip())
    return 0


def _run(args: Namespace) -> int:
    failed = False
    printed: list[str] = []
    ctx = StepwellContext(allow_unregistered=args.allow_unregistered_dialect)
    with _pass_context(args) as context:
        parse_passes(args.passes)  # a mistake in the pipeline shows before one in the file
        for part in read_parts(args.file, split=args.split_input_file):
            if args.verify_diagnostics:
                failed |= not _check_diagnostics(ctx, part, args.passes)
                continue
            module = part.read(ctx)
            verify_module(module)
            run_pipeline(module, args.passes, ctx)
            verify_module(module)
            printed.append(_text(module, args))
    _report(context, args)
    output = f"{SPLIT_MARK}\n".join(printed)
    if args.output is not None:
        write_ir(args.output, output, ctx)
    else:
        sys.stdout.write(output)
    return int(failed)


def _pass_context(args: Namespace) -> PassContext:
    instruments: list[Instrument] = [PassTiming()] if args.time_passes else []
    if args.verify_each:
        instruments.append(VerifyEach())
    if args.print_ir_before_all:
        instruments.append(PrintIR(before=True))
    if args.print_ir_after_all or args.print_ir_after_change or args.print_ir_diff:
        only_changes = args.print_ir_after_change or args.print_ir_diff
        instruments.append(PrintIR(after=True, only_changes=only_changes, as_diff=args.print_ir_diff))
    if args.snapshots is not None:
        instruments.append(Snapshots(args.snapshots))
    if args.print_op_counts:
        instruments.append(OpCounts(lambda change: print(change, file=sys.stderr)))
    pairs = (pair.partition("=") for pair in args.config)
    return PassContext(
        opt_level=args.opt_level,
        required_pass=args.require_pass,
        disabled_pass=args.disable_pass,
        config={key: config_value(value) for key, _, value in pairs},
        instruments=instruments,
    )


def _report(context: PassContext, args: Namespace) -> None:
    if args.remarks:
        for remark in context.remarks:
            print(remark, file=sys.stderr)
        for name, counters in context.counters.items():
            amounts = ", ".join(f"{what} {amount}" for what, amount in counters.items())
            print(f"counters of {name}: {amounts}", file=sys.stderr)
    for instrument in context.instruments:
        if isinstance(instrument, PassTiming):
            print(instrument.report(), file=sys.stderr)


def _check_diagnostics(ctx: StepwellContext, part: Part, pipeline: str) -> bool:
    expectations = Expectations.read(part.text, part.name)
    remarks = PassContext.current().remarks
    remarks.clear()
    try:
        module = part.read(ctx)
        found = [violation_error(violation) for violation in violations(module)]
        if not found:
            run_pipeline(module, pipeline, ctx)
            verify_module(module)
    except StepwellError as error:
        found = [error]
    problems = expectations.unmet_by(found, remarks)
    for problem in problems:
        print(problem, file=sys.stderr)
    return not problems


def _text(module: ModuleOp, args: Namespace) -> str:
    stream = StringIO()
    Printer(
        stream, print_generic_format=args.print_op_generic, print_debuginfo=args.print_debuginfo
    ).print_op(module)
    return stream.getvalue() + "\n"


if __name__ == "__main__":
    sys.exit(main())
