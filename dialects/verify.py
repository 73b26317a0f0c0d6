"""Verification that reports every invalid op by name, without the module around."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import StringIO
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, StringAttr
from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from stepwell.dialects.incomplete import is_incomplete
from stepwell.dialects.shared_tables import tables_shared
from stepwell.dialects.type_variables import have_kinds
from stepwell.runtime.errors import StepwellError

MAX_REPORTED = 10
_OWN_CODES = ("bad-kind", "too-large", "type-mismatch", "unknown-symbol", "unmatched")
"""Codes of errors of verifiers; any other error is a constraint that does not hold: `invalid-ir`."""


class InnerViolation(VerifyException):
    """A violated constraint of an op on an inner op, which is the location of the error."""

    def __init__(self, op: Operation, message: str):
        super().__init__(message)
        self.op = op


@dataclass(frozen=True)
class Violation:
    """An op that violates a constraint, and the constraint in words."""

    op: Operation
    message: str
    error: StepwellError | None = None
    """The error of a verifier that has a code of its own."""


def violations(root: Operation) -> Iterator[Violation]:
    """Every op inside `root` (itself too) that does not verify; an op around a broken one is not asked."""
    with tables_shared():
        found = list(_violations(root, set()))
    yield from found


def _violations(op: Operation, visible: set[SSAValue]) -> Iterator[Violation]:
    broken = False
    for operand in op.operands:
        if operand not in visible:
            broken = True
            name = f"%{operand.name_hint}" if operand.name_hint else "an operand"
            yield Violation(op, f"{name} is used before it is defined, or outside of its region")
    if op.name in ("func.func", "adt.data") and have_kinds():
        for inner, error in _kind_errors(op):
            broken = True
            yield Violation(inner, error.message, error)
    for region in op.regions if not broken else ():
        for violation in _region_violations(region, visible, any_order=isinstance(op, ModuleOp)):
            broken = True
            yield violation
    if broken:
        return
    try:
        op.verify(verify_nested_ops=False)
        for place, name, value in _discardable_attributes(op):
            if name.startswith("sched."):
                from stepwell.dialects.sched_attributes import (
                    verify_attribute,  # `--help` does without its imports
                )

                verify_attribute(op, place, name, value)
    except InnerViolation as error:
        yield Violation(error.op, str(error))
    except VerifyException as error:
        if op.name == "func.return" and is_incomplete(op):
            return  # `infer-types` compares with the function's results
        yield Violation(_redefinition(op, str(error)) or op, str(error))
    except StepwellError as error:
        yield Violation(op, error.message, error)


def _kind_errors(op: Operation) -> Iterator[tuple[Operation, StepwellError]]:
    from stepwell.dialects.adt.kinds import kind_errors  # programs of tensors alone have no kinds

    return kind_errors(op)


def _discardable_attributes(op: Operation) -> Iterator[tuple[str, str, Attribute]]:
    """Place, key and value of an op's discardable attributes, and of those of a function's arguments."""
    for name, value in op.attributes.items():
        yield op.name, name, value
    for roles in ("arg_attrs", "res_attrs"):
        if isinstance(described := op.properties.get(roles), ArrayAttr):
            for attributes in cast("ArrayAttr[DictionaryAttr]", described):
                for name, value in attributes.data.items():
                    yield "argument", name, value


def _redefinition(table: Operation, message: str) -> Operation | None:
    """The second op with the same symbol name, if the message is about a redefinition in a symbol table."""
    if not message.startswith("Redefinition of symbol"):
        return None
    seen: set[str] = set()
    for op in (op for region in table.regions for block in region.blocks for op in block.ops):
        name = op.properties.get("sym_name", op.attributes.get("sym_name"))
        if isinstance(name, StringAttr):
            if name.data in seen:
                return op
            seen.add(name.data)
    return None


def _region_violations(region: Region, visible: set[SSAValue], *, any_order: bool) -> Iterator[Violation]:
    defined: list[SSAValue] = [arg for block in region.blocks for arg in block.args]
    # Between the blocks of a control flow graph the order says nothing: dominance is not checked there.
    if any_order or len(region.blocks) > 1:
        defined += [result for block in region.blocks for op in block.ops for result in op.results]
    visible.update(defined)
    for block in region.blocks:
        for op in block.ops:
            yield from _violations(op, visible)
            visible.update(op.results)
            defined += op.results
    visible.difference_update(defined)


def verify_module(module: Operation) -> None:
    """
    Require a module to be valid.

    Raises: StepwellError `invalid-ir` at the first broken op; further ones are notes.
    """
    found = list(violations(module))
    if not found:
        return
    first, *others = found
    notes = [f"the op is: {one_line(first.op)}"]
    notes += [f"also {violation_error(v).where}: {v.op.name}: {v.message}" for v in others[:MAX_REPORTED]]
    if len(others) > MAX_REPORTED:
        notes.append(f"and {len(others) - MAX_REPORTED} more")
    raise violation_error(first, notes)


def violation_error(violation: Violation, notes: list[str] | None = None) -> StepwellError:
    """A violation as a diagnostic: op, location, message."""
    message = f"{violation.op.name}: {violation.message}"
    if (error := violation.error) is None or error.code not in _OWN_CODES:
        return StepwellError("invalid-ir", violation.op, message, note=notes or ())
    notes = [*error.notes, *(notes or ())]
    return StepwellError(error.code, violation.op, error.message, note=notes, help=error.help)


def one_line(op: Operation, max_chars: int = 200) -> str:
    """An op in the generic form on one line, without its regions: works for broken ops too."""
    stream = StringIO()
    _ShallowPrinter(stream=stream, print_generic_format=True).print_op(op)
    text = " ".join(stream.getvalue().split())
    return text if len(text) <= max_chars else text[: max_chars - 1] + "…"


class _ShallowPrinter(Printer):
    def print_regions(self, regions: Sequence[Region]) -> None:
        if regions:
            self.print_string(" ({…})")
