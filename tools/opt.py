"""`stepwell-opt`: read a module, run passes over it, print it."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.printer import Printer

from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.parser import parse_module
from stepwell.dialects.verify import verify_module, violation_error, violations
from stepwell.passes.manager import run_pipeline
from stepwell.runtime.errors import StepwellError
from stepwell.tools.diagnostics import Expectations

SPLIT_MARK = "// -----"


def main(argv: Sequence[str] | None = None) -> int:
    """The command; returns its exit status: 0, or 1 after an error that it has printed."""
    args = _arguments().parse_args(argv)
    try:
        return _run(args)
    except StepwellError as error:
        if args.debug:
            raise
        print(error.render(), file=sys.stderr)
        return 1


def _arguments() -> ArgumentParser:
    parser = ArgumentParser(prog="stepwell-opt", description="Run passes over IR and print the result.")
    parser.add_argument("file", nargs="?", default="-", help=".mlir or .onnx; `-` or nothing: standard input")
    parser.add_argument("-p", "--passes", default="", metavar="PIPELINE", help="pass,pass{option=value}")
    parser.add_argument("--split-input-file", action="store_true", help=f"parts end at a `{SPLIT_MARK}` line")
    parser.add_argument("--verify-diagnostics", action="store_true", help="match `expected-error` comments")
    parser.add_argument("--print-op-generic", action="store_true", help="print ops in the generic form")
    parser.add_argument("--print-debuginfo", action="store_true", help="print locations")
    parser.add_argument("--allow-unregistered-dialect", action="store_true", help="accept unknown ops")
    parser.add_argument("--debug", action="store_true", help="show tracebacks")
    return parser


@dataclass(frozen=True)
class Part:
    """A part of the input file: text that starts with as many empty lines as stand before it in the file."""

    name: str
    text: str


def _read_parts(args: Namespace) -> list[Part]:
    name = "<stdin>" if args.file == "-" else args.file
    try:
        if args.file == "-":
            text = sys.stdin.read()
        else:
            with open(args.file, encoding="utf-8") as file:
                text = file.read()
    except (OSError, UnicodeDecodeError) as error:
        raise StepwellError("cannot-read", name, str(error)) from None
    if not args.split_input_file:
        return [Part(name, text)]
    parts: list[Part] = []
    lines_before = 0
    for chunk in text.split(SPLIT_MARK):
        parts.append(Part(name, "\n" * lines_before + chunk))
        lines_before += chunk.count("\n")
    return parts


def _run(args: Namespace) -> int:
    failed = False
    for index, part in enumerate(_read_parts(args)):
        if index and not args.verify_diagnostics:
            print(SPLIT_MARK)
        ctx = StepwellContext(allow_unregistered=args.allow_unregistered_dialect)
        if args.verify_diagnostics:
            failed |= not _check_diagnostics(ctx, part, args)
        else:
            module = parse_module(ctx, part.text, part.name)
            verify_module(module)
            run_pipeline(module, args.passes, ctx)
            verify_module(module)
            _print(module, args)
    return int(failed)


def _check_diagnostics(ctx: StepwellContext, part: Part, args: Namespace) -> bool:
    expectations = Expectations.read(part.text, part.name)
    try:
        module = parse_module(ctx, part.text, part.name)
        found = [violation_error(v) for v in violations(module)]
        if not found:
            run_pipeline(module, args.passes, ctx)
            verify_module(module)
    except StepwellError as error:
        found = [error]
    problems = expectations.unmet_by(found)
    for problem in problems:
        print(problem, file=sys.stderr)
    return not problems


def _print(module: ModuleOp, args: Namespace) -> None:
    printer = Printer(
        stream=sys.stdout,
        print_generic_format=args.print_op_generic,
        print_debuginfo=args.print_debuginfo,
    )
    printer.print_op(module)
    print()


if __name__ == "__main__":
    sys.exit(main())
