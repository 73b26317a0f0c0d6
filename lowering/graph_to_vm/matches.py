"""Cases of `adt.match` as switches on tags."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Attribute, Block

from stepwell.dialects import adt
from stepwell.dialects.adt.definitions import definition_of
from stepwell.dialects.adt.match import fields_of
from stepwell.dialects.adt.patterns import ANYTHING, BOUND, TUPLE, PatternAttr
from stepwell.dialects.vm.instructions import number
from stepwell.lowering.graph_to_vm.code import Code


def switch_of_one_level(op: adt.MatchOp) -> Sequence[int | None] | None:
    """
    The case for each tag, None for a value without one; None where patterns are nested, or of no data type.
    """
    type = op.value.type
    if not isinstance(type, adt.DataType) or not all(map(_is_one_level, op.patterns)):
        return None
    names = definition_of(type, op).names
    found: list[int | None] = [None] * len(names)
    for case, pattern in enumerate(op.patterns):
        fitting = [names.index(pattern.kind)] if pattern.is_constructor else range(len(names))
        for tag in fitting:
            if found[tag] is None:
                found[tag] = case
    return found if found else None


def _is_one_level(pattern: PatternAttr) -> bool:
    return pattern.fits_all or (pattern.is_constructor and all(part.fits_all for part in pattern.parts))


def bound_registers(code: Code, pattern: PatternAttr, value: int) -> list[int]:
    """The registers of the values that a one-level pattern binds, which it fits."""
    if pattern.kind == BOUND:
        return [value]
    return [code.field(value, index) for index, part in enumerate(pattern.parts) if part.kind == BOUND]


def test_pattern(
    code: Code, op: adt.MatchOp, pattern: PatternAttr, value: int, type: Attribute, otherwise: Block
) -> list[int]:
    """
    Test a pattern, and go on at another block where it does not fit.

    Returns: the registers of the values that it binds, in the order of its text.
    """
    if pattern.kind == ANYTHING:
        return []
    if pattern.kind == BOUND:
        return [value]
    fields = fields_of(pattern, type, op)
    if pattern.kind != TUPLE and isinstance(type, adt.DataType):
        _expect_tag(code, value, definition_of(type, op), pattern.kind, otherwise)
    bound: list[int] = []
    for index, (part, field) in enumerate(zip(pattern.parts, fields, strict=True)):
        if part.kind != ANYTHING:
            bound += test_pattern(code, op, part, code.field(value, index), field, otherwise)
    return bound


def _expect_tag(code: Code, value: int, definition: adt.DataOp, constructor: str, otherwise: Block) -> None:
    """Go on in a new block where a value has a constructor, at another one else."""
    if len(definition.names) == 1:
        return
    tag, fits = code.new_register(), Block()
    code.emit("get_tag", to=number(tag), value=number(value))
    targets = [fits if name == constructor else otherwise for name in definition.names]
    code.emit("switch", *targets, tag=number(tag))
    code.open(fits)
