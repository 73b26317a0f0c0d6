"""Options of commands about the use of tuned schedules."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable


def add_tuning_options(add_argument: Callable[..., object]) -> None:
    """Add `--tuning-db` and `--transfer` to a parser, or to a group of one."""
    add_argument(
        "--tuning-db",
        action="append",
        default=[],
        metavar="FILE",
        help="use schedules that `stepwell tune` recorded (given again: more; default: STEPWELL_TUNING_DB)",
    )
    add_argument(
        "--transfer",
        action="store_true",
        help="kernels without a record take that of the nearest one of equal structure and other sizes",
    )


def tuning_options(args: Namespace) -> tuple[tuple[str, ...], bool]:
    """The databases, and whether records are transferred."""
    return tuple(args.tuning_db), args.transfer
