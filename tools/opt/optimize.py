"""The implementation of `stepwell-opt`: lists, or passes on each part of the input."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Iterator, Sequence
from io import StringIO

from xdsl.dialects import get_all_dialects
from xdsl.dialects.builtin import ModuleOp
from xdsl.printer import Printer

from stepwell.dialects._xdsl import DIALECTS, StepwellContext, all_dialects
from stepwell.dialects.verify import verify_module, violation_error, violations
from stepwell.passes import Instrument, PassContext, list_configs, parse_passes, run_pipeline
from stepwell.passes.analysis.registry import ANALYSES, load_analysis
from stepwell.passes.context import DEFAULT_OPT_LEVEL, config_value
from stepwell.passes.instruments import OpCounts, PassTiming, PrintIR, Snapshots, VerifyEach
from stepwell.passes.pass_limit import numbered
from stepwell.passes.registry import all_passes, load_pass
from stepwell.runtime.collector import collector_paused
from stepwell.runtime.errors import StepwellError, describe_location
from stepwell.tools.driver.ir_files import SPLIT_MARK, Part, read_parts, write_ir
from stepwell.tools.driver.plugins import load_plugin
from stepwell.tools.driver.written_program import verify_written, warnings_of
from stepwell.tools.limits import limits_of
from stepwell.tools.opt.diagnostics import Expectations
from stepwell.tools.opt.explain_match import explain_match
from stepwell.tools.opt.level_check import LevelCheck


def run(args: Namespace) -> int:
    """Load plugins, then print a list or run the passes. Returns: the exit status."""
    for plugin in args.load:
        load_plugin(plugin)
    return _list(args) if args.list else _run(args)


def _list(args: Namespace) -> int:
    if args.list == "passes":
        rows = list(all_passes().items())
    elif args.list == "dialects":
        xdsls = get_all_dialects().keys() - DIALECTS.keys()
        names = sorted(all_dialects(), key=lambda name: (name in xdsls, name))
        rows = [(name, "xDSL's" if name in xdsls else "") for name in names]
    elif args.list == "analyses":
        rows = [(name, entry.summary) for name, entry in ANALYSES.items()]
    else:
        rows = [(key, str(option)) for key, option in list_configs().items()]
    width = max((len(name) for name, _ in rows), default=0)
    for name, text in rows:
        print(f"{name:{width}}  {text}".rstrip())
    return 0


def _run(args: Namespace) -> int:
    printing = {
        "-o": args.output,
        "--explain-match": args.explain_match,
        "--print-analysis": args.print_analysis,
    }
    if args.verify_diagnostics and (option := next((o for o, v in printing.items() if v is not None), None)):
        message = f"--verify-diagnostics prints no program: it does not go with {option}"
        raise StepwellError("bad-option", None, message)
    if args.print_analysis is not None:
        load_analysis(args.print_analysis)  # an unknown name is reported before an error in the file
    failed = False
    printed: list[str] = []
    ctx = StepwellContext(allow_unregistered=args.allow_unregistered_dialect)
    with pass_context(args, _watching(args)) as context:
        parse_passes(args.passes)  # an error in the pipeline is reported before one in the file
        for part in read_parts(args.file, split=args.split_input_file):
            if args.verify_diagnostics:
                failed |= not _check_diagnostics(ctx, part, args.passes)
                continue
            with collector_paused():
                printed.append(_transformed(part, ctx, args))
    _report(context, args)
    output = f"{SPLIT_MARK}\n".join(printed)
    if args.output is not None and str(args.output) != "-":
        write_ir(args.output, output, ctx)
    else:
        sys.stdout.write(output)
    return int(failed)


def _transformed(part: Part, ctx: StepwellContext, args: Namespace) -> str:
    """The text of a part after the passes. Raises: StepwellError of the part, or of a pass."""
    module = part.read(ctx)
    verify_written(module)
    with numbered():
        run_pipeline(module, args.passes, ctx)
    try:
        verify_module(module)
    except StepwellError as error:
        raise error.with_note(f"after {args.passes}; --verify-each says after which pass") from None
    if args.explain_match is not None:
        print(explain_match(module, args.explain_match, ctx), file=sys.stderr)
    if args.print_analysis is not None:
        return str(load_analysis(args.print_analysis).of(module))
    if args.upstream:
        from stepwell.tools.upstream.text import upstream_text

        return upstream_text(module, ctx)
    if args.emit_script:
        from stepwell.frontend.script.write import scripts_text

        return scripts_text(module)
    return _text(module, args)


def _watching(args: Namespace) -> list[Instrument]:
    """The instruments that check or print."""
    instruments: list[Instrument] = [LevelCheck()]
    if args.time_passes:
        instruments.append(PassTiming())
    if args.verify_each:
        instruments.append(VerifyEach())
    instruments += [*_printing(args), *limits_of(args)]
    if args.snapshots is not None:
        instruments.append(Snapshots(args.snapshots))
    if args.print_op_counts:
        instruments.append(OpCounts(lambda change: print(change, file=sys.stderr)))
    return instruments


def pass_context(
    args: Namespace, instruments: Sequence[Instrument] = (), *, reproducers: bool = True
) -> PassContext:
    """The context of the command's options, with some instruments."""
    pairs = (pair.partition("=") for pair in args.config)
    return PassContext(
        opt_level=DEFAULT_OPT_LEVEL if args.opt_level is None else args.opt_level,
        required_pass=args.require_pass,
        disabled_pass=args.disable_pass,
        config={key: config_value(value) for key, _, value in pairs},
        instruments=instruments,
        reproducers=reproducers,
    )


def _printing(args: Namespace) -> Iterator[PrintIR]:
    """The instrument that prints the IR before and after the passes that the options select, if any."""
    only_changes = args.print_ir_after_change or args.print_ir_diff
    after_all = args.print_ir_after_all or only_changes
    before = args.print_ir_before_all or [load_pass(name).name for name in args.print_ir_before]
    after = (after_all and not args.print_ir_after) or [load_pass(name).name for name in args.print_ir_after]
    if before or after:
        yield PrintIR(before=before, after=after, only_changes=only_changes, as_diff=args.print_ir_diff)


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
    warnings: Sequence[tuple[str, str]] = ()
    try:
        module = part.read(ctx)
        found = [violation_error(violation) for violation in violations(module)]
        if not found:
            warnings = [(describe_location(op), message) for op, message in warnings_of(module)]
            run_pipeline(module, pipeline, ctx)
            verify_module(module)
    except StepwellError as error:
        found = [error]
    problems = expectations.unmet_by(found, remarks, warnings)
    for problem in problems:
        print(problem, file=sys.stderr)
    return not problems


def _text(module: ModuleOp, args: Namespace) -> str:
    stream = StringIO()
    Printer(
        stream, print_generic_format=args.print_op_generic, print_debuginfo=args.print_debuginfo
    ).print_op(module)
    return stream.getvalue() + "\n"
