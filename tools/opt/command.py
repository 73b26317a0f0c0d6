"""The command `stepwell-opt`: read a module, run passes over it, print the result."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from stepwell.tools.arguments import CommandLine, warnings_for_users
from stepwell.tools.failure import say_interrupted, show_fatal_signals, user_error
from stepwell.tools.limits import add_limits
from stepwell.tools.log_options import add_log, logged


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit status: 0, 1 after a printed error, or 130 when interrupted."""
    args = command_line().parse_args(argv)
    try:
        show_fatal_signals()
        from stepwell.tools.opt.optimize import run  # numpy and the IR, which `--help` does not need

        with warnings_for_users(), logged(args):
            return run(args)
    except BrokenPipeError:
        return 0  # the reader of our output has closed the pipe
    except KeyboardInterrupt as stop:
        return say_interrupted(stop)
    except Exception as error:
        if args.debug:
            raise
        print(user_error(error).render(), file=sys.stderr)
        return 1


def command_line() -> CommandLine:
    """The parser of the command."""
    parser = CommandLine(prog="stepwell-opt", description="Run passes over IR and print the result.")
    parser.add_argument(
        "file", nargs="?", default="-", help="IR (.mlir) or a model; `-` or nothing: standard input"
    )
    parser.add_argument(
        "-p",
        "--passes",
        "--pass-pipeline",
        default="",
        metavar="PIPELINE",
        help="pass,pass{option=value}, or as MLIR has it: builtin.module(pass,func.func(pass))",
    )
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="FILE",
        help="write to a file, weights beside it; `-` or nothing: standard output",
    )
    parser.add_argument("--split-input-file", action="store_true", help="parts end at a `// -----` line")
    parser.add_argument("--verify-diagnostics", action="store_true", help="match `expected-error` comments")
    parser.add_argument("--allow-unregistered-dialect", action="store_true", help="accept unknown ops")
    parser.add_argument("--debug", action="store_true", help="show tracebacks")

    printing = parser.add_argument_group("printing")
    printing.add_argument("--print-op-generic", action="store_true", help="print ops in the generic form")
    printing.add_argument("--upstream", action="store_true", help="print levels 2 to 4 for upstream MLIR")
    printing.add_argument("--emit-script", action="store_true", help="write kernels as loop scripts")
    printing.add_argument("--print-debuginfo", action="store_true", help="print locations")
    printing.add_argument(
        "--print-ir-before-all", action="store_true", help="before each pass, on standard error as the next"
    )
    printing.add_argument("--print-ir-after-all", action="store_true", help="after each pass")
    printing.add_argument("--print-ir-before", action="append", default=[], metavar="PASS", help="by name")
    printing.add_argument("--print-ir-after", action="append", default=[], metavar="PASS", help="by name")
    printing.add_argument("--print-ir-after-change", action="store_true", help="after passes that change it")
    printing.add_argument("--print-ir-diff", action="store_true", help="what each pass changes, as a diff")
    printing.add_argument("--snapshots", type=Path, metavar="FOLDER", help="write the IR after each pass")
    printing.add_argument("--print-op-counts", action="store_true", help="ops before and after each pass")
    printing.add_argument("--remarks", action="store_true", help="print the remarks of passes")
    add_log(printing.add_argument)
    printing.add_argument(
        "--print-analysis", metavar="NAME", help="print an analysis of the result in place of the result"
    )
    printing.add_argument(
        "--explain-match", metavar="[FILE]@NAME[:LINE]", help="why a pattern does not match, after the passes"
    )

    running = parser.add_argument_group("running")
    running.add_argument("--verify-each", action="store_true", help="verify after each pass")
    running.add_argument("--time-passes", action="store_true", help="a timing tree on standard error")
    running.add_argument(
        "--opt-level", type=int, choices=range(4), metavar="0-3", help="passes up to it run (default: 2)"
    )
    running.add_argument("--disable-pass", action="append", default=[], metavar="NAME", help="skip a pass")
    running.add_argument(
        "--require-pass", action="append", default=[], metavar="NAME", help="run it at any level"
    )
    running.add_argument(
        "--config", action="append", default=[], metavar="KEY=VALUE", help="an option of a pass"
    )
    add_limits(running.add_argument)
    running.add_argument("--load", action="append", default=[], metavar="PLUGIN", help="a module or .py file")

    for what in ("passes", "dialects", "configs", "analyses"):
        parser.add_argument(
            f"--list-{what}", dest="list", action="store_const", const=what, help=f"print all {what}"
        )
    return parser
