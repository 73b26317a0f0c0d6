"""Options that limit pass runs and rewrites, for the commands that run passes."""

from __future__ import annotations

from argparse import ArgumentTypeError, Namespace
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from stepwell.tools.arguments import positive

if TYPE_CHECKING:
    from stepwell.passes.instruments import Instrument


def add_limits(add_argument: Callable[..., object]) -> None:
    """Add the limits of pass runs and rewrites to a parser, or to a group of one."""
    add_argument(
        "--pass-limit",
        type=partial(positive, least=0),
        metavar="N",
        help="skip the pass runs after the Nth, but those that are needed (`compile --list-pass-runs`)",
    )
    add_argument(
        "--rewrite-limit",
        action="append",
        default=[],
        type=numbered_pass,
        metavar="PASS=N",
        help="let a pass do its first N rewrites only, over all its runs (given again: another pass)",
    )
    add_argument(
        "--pdb-at",
        action="append",
        default=[],
        type=numbered_pass,
        metavar="PASS=N",
        help="stop in Python's debugger right before the Nth rewrite of a pass",
    )


def limits_of(args: Namespace) -> list[Instrument]:
    """The instruments for the limits of parsed arguments. Raises: StepwellError `unknown-pass`."""
    if args.pass_limit is None and not args.rewrite_limit and not args.pdb_at:
        return []
    from stepwell.passes.pass_limit import PassLimit, RewriteLimit
    from stepwell.passes.registry import load_pass

    limits, stops = (
        {load_pass(name).name: number for name, number in pairs}
        for pairs in (args.rewrite_limit, args.pdb_at)
    )
    found: list[Instrument] = [] if args.pass_limit is None else [PassLimit(args.pass_limit)]
    return [*found, RewriteLimit(limits, stops=stops)] if limits or stops else found


def numbered_pass(text: str) -> tuple[str, int]:
    """`PASS=N` as name and number. Raises: ArgumentTypeError."""
    name, _, number = text.partition("=")
    if not name or not number.isdecimal():
        raise ArgumentTypeError(f"expected PASS=N, found {text!r}")
    return name, int(number)
