"""
`%load_ext stepwell`: xDSL's modules show themselves, and the cell magic `%%mlir` runs passes on a cell.

IPython is not imported: the extension is given the shell, and its magics are registered as functions.
"""

from __future__ import annotations

import shlex
import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NoReturn, Protocol

from xdsl.dialects.builtin import ModuleOp

from stepwell.passes.instruments import module_text
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.packages import needed
from stepwell.tools.api.reading import parse
from stepwell.tools.coloured_text import html_of
from stepwell.tools.notebook.shown import Shown


class Shell(Protocol):
    """The part of IPython's shell that the extension uses."""

    display_formatter: Any
    """Its formatters by type of output, which functions are registered with."""

    def register_magic_function(self, func: Any, magic_kind: str, magic_name: str) -> None:
        """Add a magic."""
        ...


class _Arguments(ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise StepwellError("bad-usage", "%%mlir", message, help="%%mlir [-p 'pass,pass'] [--check]")


def load_ipython_extension(shell: Shell) -> None:
    """Register the magic, and how modules of xDSL's are shown; IPython calls it for `%load_ext stepwell`."""
    formatter = shell.display_formatter.formatters["text/html"]
    formatter.for_type(ModuleOp, _html_of_module)
    shell.register_magic_function(mlir, "cell", "mlir")


def _html_of_module(module: ModuleOp) -> str:
    return html_of(module_text(module))


def mlir(line: str, cell: str) -> Shown | None:
    """
    `%%mlir [-p 'pass,pass'] [--check]`: the IR of a cell after passes.

    `--check` matches the result with the `CHECK` lines of the cell, as FileCheck does. A mistake is printed
    as the commands print it, and nothing is returned.
    """
    try:
        args = _arguments(line)
        module = parse(cell)
        if args.passes:
            module.run(args.passes)
        text = str(module)
        if args.check:
            _check(cell, text)
        return Shown(text)
    except StepwellError as error:
        print(error.render(), file=sys.stderr)
        return None


def _arguments(line: str) -> Namespace:
    parser = _Arguments(prog="%%mlir", add_help=False)
    parser.add_argument("-p", "--passes", default="")
    parser.add_argument("--check", action="store_true")
    try:
        words = shlex.split(line)
    except ValueError as error:
        raise StepwellError("bad-usage", "%%mlir", str(error)) from None
    return parser.parse_args(words)


def _check(cell: str, text: str) -> None:
    """Match a result with the lines of a cell. Raises: StepwellError `check-failed`, `missing-package`."""
    from stepwell.tools.lsp.run_lines import Stage, filecheck, run_tool

    with needed("--check", install="filecheck"), TemporaryDirectory() as folder:
        file = Path(folder, "cell.mlir")
        file.write_text(cell, encoding="utf-8")
        stage = Stage("", ["filecheck", str(file)], False, "", "&1")
        status, output, _ = run_tool(filecheck, stage, text)
    if status:
        message = "the result does not have the lines that CHECK asks for"
        raise StepwellError("check-failed", "%%mlir", message, note=output.strip())
