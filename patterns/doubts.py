"""
Warnings about probable mistakes in patterns: unknown ops and attributes, unless a dialect is loaded later.
"""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches

from xdsl.context import Context
from xdsl.dialects.builtin import UnregisteredOp
from xdsl.irdl import IRDLOperation, OptOperandDef, VarOperandDef

from stepwell.dialects.parser import nearest_name
from stepwell.dialects.pattern import calls
from stepwell.patterns.values import TRAIT


def doubts(op: calls.OpOp, ctx: Context) -> Iterator[str]:
    """The reasons why a `pattern.op` can never match, by the declarations of the loaded dialects."""
    name = op.op.data
    if name.startswith(TRAIT):
        return
    if (unknown := unknown_op(name, ctx)) is not None:
        yield unknown
        return
    made = ctx.get_optional_op(name)
    if made is None or not issubclass(made, IRDLOperation):
        return
    declared = made.get_irdl_definition()
    known = {*declared.properties, *declared.attributes}
    for attribute in op.wanted.data if op.wanted is not None else ():
        if "." in attribute or attribute in known:  # any op may have attributes of another dialect
            continue
        if near := get_close_matches(attribute, sorted(known), n=1):
            yield f"{name} has no attribute {attribute}: did you mean {near[0]}?"
    has_groups = any(isinstance(arg.owner, calls.TupleOp) for arg in op.args)
    if op.bare is None and op.any_args is None and not has_groups:
        least, most = operands_of(made)
        if (found := len(op.args)) < least or (most is not None and found > most):
            yield f"{name} takes {in_words(least, most)}, found {found}: it never matches"


def unknown_op(name: str, ctx: Context) -> str | None:
    """
    The warning about an op that no loaded dialect has, with the nearest name; None when some dialect has the
    op.
    """
    found = ctx.get_optional_op(name)
    if found is not None and not issubclass(found, UnregisteredOp):
        return None
    return f"no dialect has an op {name}{nearest_name(ctx, name)}"


def operands_of(op: type[IRDLOperation]) -> tuple[int, int | None]:
    """The smallest and the largest number of operands of an op class; None for no limit."""
    declared = [definition for _, definition in op.get_irdl_definition().operands]
    least = sum(not isinstance(definition, VarOperandDef) for definition in declared)
    variadic = any(isinstance(d, VarOperandDef) and not isinstance(d, OptOperandDef) for d in declared)
    return least, None if variadic else len(declared)


def in_words(least: int, most: int | None) -> str:
    """A number of operands in words."""
    if most is None:
        return f"{least} operands or more"
    number = f"{least} to {most}" if least != most else f"{most}"
    return f"{number} operand{'' if most == 1 else 's'}"
