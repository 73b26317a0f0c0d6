"""`stepwell lsp`: the language server of `.mlir` files."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from stepwell.runtime.packages import needed
from stepwell.tools.commands.options import add_load


def add_arguments(parser: ArgumentParser) -> None:
    """Add the argument: plugins."""
    parser.description = (
        "The language server of .mlir files, which an editor starts and talks to over standard input and "
        "output (docs/editors.md). It needs the extra `stepwell[editor]`."
    )
    add_load(parser)


def run(args: Namespace) -> int:
    """Serve until the editor ends it; returns the exit status. Raises: StepwellError `missing-package`."""
    with needed("the language server", install="'stepwell[editor]'"):
        from stepwell.tools.lsp.server import serve
    serve(args.load)
    return 0
