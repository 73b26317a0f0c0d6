"""The tests of values by `has_attr`, `has_type`, `has_dtype`, `has_shape` and `where`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Operation, SSAValue

from stepwell.dialects.types import Tensor, dims_of
from stepwell.patterns.machine import Goals, Machine, Step
from stepwell.patterns.nodes import Constraint, HasAttr, HasDtype, HasShape, HasType, Where, ill_formed
from stepwell.patterns.values import (
    attribute_of,
    dtype_name,
    dtype_spellings,
    is_constant_op,
    owner_of,
    same_attribute,
)


def constraint_test(pattern: Constraint) -> Step:
    """
    The step of a constraint, which succeeds for a value that has the property. Raises: StepwellError
    `bad-pattern`.
    """
    if isinstance(pattern, HasDtype):
        _named_dtype(pattern.dtype)

    def step(machine: Machine, value: SSAValue, rest: Goals) -> Goals | None:
        return rest if holds(pattern, value, machine) else None

    return step


def holds(pattern: Constraint, value: SSAValue, machine: Machine) -> bool:
    """Whether a value has the property of a constraint; binds the symbols of a shape to extents."""
    match pattern:
        case HasAttr():
            op = owner_of(value)
            return op is not None and not is_constant_op(op) and has_attributes(op, pattern.attributes)
        case HasType():
            return value.type == pattern.type
        case HasDtype():
            return dtype_name(value.type) == _named_dtype(pattern.dtype)
        case HasShape():
            return _has_shape(pattern, value, machine)
        case Where():
            return pattern.predicate(value)
        case _:
            raise ill_formed(f"{type(pattern).__name__} is no constraint of the language")


def _named_dtype(name: str) -> str:
    if (found := dtype_spellings().get(name)) is None:
        from difflib import get_close_matches  # for an error only

        near = get_close_matches(name, dtype_spellings())
        hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(dtype_spellings())}"
        raise ill_formed(f"no element type is named {name!r}", help=hint)
    return found


def has_attributes(op: Operation, wanted: Mapping[str, Attribute]) -> bool:
    """Whether an op has all these attributes, with equal values."""
    return all(
        (found := attribute_of(op, name)) is not None and same_attribute(found, value)
        for name, value in wanted.items()
    )


def _has_shape(pattern: HasShape, value: SSAValue, machine: Machine) -> bool:
    type: Attribute = value.type
    if not isinstance(type, TensorType):
        return False
    dims = dims_of(cast(Tensor, type))
    return len(dims) == len(pattern.shape) and all(
        wanted is None
        or (
            machine.bind_symbol(wanted, dim)
            if isinstance(wanted, str)
            else dim.is_static and dim.value == wanted
        )
        for wanted, dim in zip(pattern.shape, dims, strict=True)
    )
