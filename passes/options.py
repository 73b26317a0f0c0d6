"""Checks of names that options of passes list: of ops, and of what a pass rewrites."""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.context import Context
from xdsl.dialects.builtin import UnregisteredOp

from stepwell.dialects.parser import nearest_name
from stepwell.runtime.errors import StepwellError


def expect_rewrites(pass_name: str, wanted: Iterable[str], known: Iterable[str]) -> None:
    """
    Require a pass to have rewrites for all names in an option. Raises: StepwellError `bad-option`, with those
    that have.
    """
    known = list(known)
    if unknown := [name for name in wanted if name not in known]:
        message = f"{pass_name} has no rewrite for {', '.join(unknown)}"
        raise StepwellError("bad-option", None, message, help=f"it has rewrites for {', '.join(known)}")


def named_ops(names: Iterable[str], ctx: Context) -> frozenset[str]:
    """
    The full names of ops that an option names; without a dialect they are of `graph`.

    Raises: StepwellError `bad-option` for one that no dialect has.
    """
    full = [name if "." in name else f"graph.{name}" for name in names]
    for name in full:
        found = ctx.get_optional_op(name)
        if found is None or issubclass(found, UnregisteredOp):
            raise StepwellError("bad-option", None, f"no dialect has an op {name}{nearest_name(ctx, name)}")
    return frozenset(full)
