"""`stepwell`: compile, run, measure and look at models."""

from __future__ import annotations

import atexit
import gc
import sys
from argparse import RawDescriptionHelpFormatter
from collections.abc import Container, Sequence
from importlib import import_module
from time import monotonic

from stepwell.runtime.collector import compiler_imports
from stepwell.runtime.environment import variables_text
from stepwell.runtime.installation import expect_compiler
from stepwell.tools.arguments import WRONG_USAGE, CommandLine, warnings_for_users
from stepwell.tools.failure import say_interrupted, show_fatal_signals, user_error
from stepwell.tools.json_facts import add_json, facts_as_json, with_joined_places
from stepwell.tools.log_options import add_log, logged
from stepwell.tools.terminal import made_visible, names_made_visible

# Subcommand -> (module in tools/commands, one line); the module is imported when the subcommand runs.
COMMANDS = {
    "compile": "compile a model to one artifact file, or to the IR of a level",
    "run": "run a model or an artifact on given or made-up inputs",
    "debug": "the values of a model's nodes: list, show, change, watch and compare them",
    "generate": "make tokens with a decoder, one after the other",
    "bench": "measure a model against the engines that are installed",
    "explore": "show what became of a model, as one page: nodes, kernels, IR, assembly, times",
    "serve": "serve models over HTTP: the Open Inference Protocol, batches, metrics",
    "validate": "run a compilation pass by pass, and compare what the program means after each",
    "check-gradients": "compare gradients with central differences, op by op where they depart",
    "to-onnx": "write a model of any front end as an ONNX file",
    "targets": "the CPUs that code is made for",
    "devices": "the devices that are here, and why others are not",
    "inspect": "what is in a model or artifact, and what is supported",
    "bisect": "which pass, kernel and rewrite make a model wrong",
    "reduce": "make a program that fails smaller, as long as it fails in the same way",
    "trace": "write the times of a compilation and of calls, by kernel and thread, for ui.perfetto.dev",
    "train": "train the weights of an ONNX model on arrays, and write it with the new ones",
    "quantize": "write an ONNX model with fewer bits, within a budget of accuracy",
    "rpc": "serve sessions on this machine for others, that run and time artifacts",
    "cache": "show or clear the caches of kernels and models",
    "lsp": "serve an editor: names, errors, documentation of .mlir files",
    "completion": "print the script by which a shell completes these commands",
    "tune": "search faster schedules for the kernels of a model, and record them in a database",
    "calibrate": "measure what this machine can do: arithmetic and memory",
}

_COMPLETE = "__complete"
"""The command of the scripts of `stepwell completion`, which no page lists."""
# The last rounds of the collector would walk all classes of the compiler: 0.3 s at the end of each command.
atexit.register(gc.freeze)


def main(argv: Sequence[str] | None = None) -> int:
    """
    Run the command; returns the exit status: 0, 1 after a printed error, 2 for wrong usage, 130 when
    interrupted.
    """
    try:
        return _main(list(sys.argv[1:] if argv is None else argv))
    except KeyboardInterrupt as stop:
        return say_interrupted(stop)


def _module_of(command: str) -> str:
    """The module of a subcommand."""
    return f"stepwell.tools.commands.{command.replace('-', '_')}"


def command_lines(chosen: Container[str]) -> dict[str, CommandLine]:
    """The parsers of `stepwell` and of each command, by name; those of chosen commands have arguments."""
    parser = CommandLine(
        prog="stepwell",
        description="A deep-learning compiler that people can read.",
        epilog=variables_text(),
        formatter_class=RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="store_true", help="print the version")
    parser.add_argument("--debug", action="store_true", help="show tracebacks")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    found = {"stepwell": parser}
    for name, line in COMMANDS.items():
        found[name] = command = commands.add_parser(name, help=line, description=line)
        command.add_argument("--debug", action="store_true", help="show tracebacks")
        add_json(command)
        add_log(command.add_argument)
        if name in chosen:
            with compiler_imports():
                import_module(_module_of(name)).add_arguments(command)
    return found


def _main(arguments: Sequence[str]) -> int:
    begun = monotonic()
    if arguments[:1] == [_COMPLETE] and len(arguments) > 2:
        return import_module("stepwell.tools.completion").main(arguments[1:])
    chosen = next((a for a in arguments if not a.startswith("-")), "")
    parser = command_lines((chosen,))["stepwell"]
    args = parser.parse_args(with_joined_places(arguments))
    args.begun = begun
    if args.version:
        from stepwell import __version__

        print(f"stepwell {__version__}")
        return 0
    if args.command is None:
        parser.print_help()
        return WRONG_USAGE
    try:
        show_fatal_signals()
        expect_compiler("the command `stepwell`")
        facts = facts_as_json(args.json)
        with warnings_for_users(), logged(args), facts as args.facts, names_made_visible():
            return import_module(_module_of(args.command)).run(args)
    except BrokenPipeError:
        sys.stderr.close()
        return 1
    except Exception as error:
        if args.debug:
            raise
        print(made_visible((shown := user_error(error)).render()), file=sys.stderr)
        return WRONG_USAGE if shown.code == "bad-usage" else 1


if __name__ == "__main__":
    sys.exit(main())
