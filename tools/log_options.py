"""The options of the log: `--log`, `--log-file`, `--log-json`."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

from stepwell.runtime.environment import LOG
from stepwell.runtime.log import logging_to, read_spec
from stepwell.tools.driver.log_spec import named_passes


def add_log(add_argument: Callable[..., object]) -> None:
    """Add the options of the log to a parser, or to a group of one."""
    add_argument(
        "--log",
        action="append",
        default=[],
        metavar="SPEC",
        help=f"what to log, by pass and module, before {LOG.name}: fuse-ops=2,passes/tensor=1,DEFAULT=0 "
        "(0: nothing but warnings, 1: decisions, 2: each rewrite, 3: everything)",
    )
    add_argument(
        "--log-file", type=Path, metavar="F", help="where to write the log (default: standard error)"
    )
    add_argument("--log-json", action="store_true", help="a line of JSON for each message of the log")


@contextmanager
def logged(args: Namespace) -> Generator[None]:
    """
    Log as the options and the environment say, while the context is active.

    Raises: StepwellError `bad-option` for a name that neither a pass nor a module has, `cannot-write`.
    """
    texts = [(LOG.name, value)] if (value := LOG.value()) else []
    texts += [("--log", text) for text in args.log]
    if not texts and args.log_file is None:
        yield
        return
    from stepwell.runtime.files.whole_files import check_place
    from stepwell.tools.driver.plugins import load_plugin

    for plugin in getattr(args, "load", ()):
        load_plugin(plugin)  # whose passes have names too
    spec = read_spec(texts, named_passes())
    if args.log_file is None:
        with logging_to(spec, sys.stderr, as_json=args.log_json):
            yield
        return
    check_place(args.log_file)
    with open(args.log_file, "w", encoding="utf-8") as file, logging_to(spec, file, as_json=args.log_json):
        yield
