"""Values without a type, and the error that lists them with what each waits for."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Block, Operation, SSAValue

from stepwell.dialects.incomplete import has_hole, has_holes, lacks_shape, related_values, types_of_properties
from stepwell.dialects.type_variables import HoleType
from stepwell.runtime.errors import StepwellError, describe_location

MOST_LISTED = 20
INFER_TYPES = "infer-types"
_ANY_TYPES = ("link-prelude", "print-call-graph")
"""Passes that work on a module with holes."""


def expect_complete(module: ModuleOp, passes: Sequence[str]) -> None:
    """
    Require a module without holes for passes that need types.

    Args: `passes` are the names of a pipeline's passes, in order.
    Raises: StepwellError `incomplete-types` for a pass before `infer-types`, but for those that print.
    """
    if not has_holes(module):
        return
    for name in passes:
        if name == INFER_TYPES:
            return
        if name not in _ANY_TYPES and (error := incomplete_types([module])) is not None:
            error.help = "run infer-types first, after link-prelude"
            raise error.with_note(f"before pass {name}")


def values_without_type(roots: Sequence[Operation]) -> list[SSAValue]:
    """The values of ops and of blocks whose types have a hole inside, in the order of the text."""
    return [value for root in roots for op in root.walk() for value in _defined(op) if lacks_type(value)]


def lacks_type(value: SSAValue) -> bool:
    """Whether anything is unknown in the type of a value."""
    return has_hole(value.type) or lacks_shape(value.type)


def _defined(op: Operation) -> Sequence[SSAValue]:
    return [*op.results, *(arg for region in op.regions for block in region.blocks for arg in block.args)]


def _ops_without_type(roots: Sequence[Operation]) -> list[Operation]:
    """The ops with a hole in a property that types no value: type arguments, a declaration's signature."""
    ops = [op for root in roots for op in root.walk() if any(map(has_hole, types_of_properties(op)))]
    return [op for op in ops if not any(map(lacks_type, related_values(op)))]


def incomplete_types(roots: Sequence[Operation]) -> StepwellError | None:
    """The error `incomplete-types`: values, their locations, and the missing types that block them."""
    untyped, others = values_without_type(roots), _ops_without_type(roots)
    if not untyped and not others:
        return None
    notes = [f"{_described(value)} waits for {waits_for(value)}" for value in untyped]
    notes += [f"{_op_text(op)} waits for its type arguments or signature" for op in others]
    if (more := len(notes) - MOST_LISTED) > 0:
        notes[MOST_LISTED:] = [f"and {more} more"]
    things = f"{len(untyped)} value{'s have' if len(untyped) > 1 else ' has'} no type"
    return StepwellError(
        "incomplete-types",
        _op_of(untyped[0]) if untyped else others[0],
        things if untyped else f"{others[0].name} has an unknown type in a property",
        note=notes,
        help="write the type of one that others wait for",
    )


def waits_for(value: SSAValue) -> str:
    """The missing type that blocks a value: of the first operand or result without a type at the same op."""
    op = _op_of(value)
    inputs = [other for other in related_values(op) if other not in op.results] if op is not None else []
    if not isinstance(value.owner, Block):
        for other in inputs:
            if lacks_type(other) and other is not value:
                return f"the {_lack(other.type)} of {_name(other)}"
    for use in value.uses:
        for other in use.operation.results:
            if lacks_type(other):
                return f"the {_lack(other.type)} of {_name(other)}"
    return "a use that forces its type" if value.first_use is None else f"its {_lack(value.type)}"


def _lack(type: Attribute) -> str:
    return "shape" if lacks_shape(type) else "type"


def _described(value: SSAValue) -> str:
    op = _op_of(value)
    return _name(value) + (f" of {_op_text(op)}" if op is not None else "")


def _op_text(op: Operation) -> str:
    where = describe_location(op)
    return op.name + (f" at {where}" if where else "")


def _op_of(value: SSAValue) -> Operation | None:
    return value.owner.parent_op() if isinstance(value.owner, Block) else value.owner


def _name(value: SSAValue) -> str:
    if value.name_hint:
        return f"%{value.name_hint}"
    label = value.type.label.data if isinstance(value.type, HoleType) else ""
    return f"the value of type {label}" if label and not label.startswith("#") else "a value without a name"
