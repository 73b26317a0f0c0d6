"""Mixed shape parameters: dimension expressions where they are known, else a 1-D i64 operand."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue
from xdsl.utils.exceptions import VerifyException

from stepwell.dialects.types import DimLike, DimsAttr, dims_attr, dims_of, tensor_of
from stepwell.runtime.dims import UNKNOWN, Dim

Mixed = Sequence[DimLike] | SSAValue
"""The type of shape parameters of constructors: dimensions, or their value at run time."""


def split_mixed(parameter: Mixed) -> tuple[DimsAttr | None, SSAValue | None]:
    """A parameter as property and operand, one of which is None."""
    return (None, parameter) if isinstance(parameter, SSAValue) else (dims_attr(parameter), None)


def expect_mixed(attribute: object, value: SSAValue | None, what: str) -> None:
    """
    Require exactly one of attribute and operand, the operand 1-D i64 of known length.

    Raises: VerifyException.
    """
    if (attribute is None) == (value is None):
        raise VerifyException(f"{what} must be given once: as an attribute or as an operand")
    if value is None:
        return
    dims, element = dims_of(value.type), tensor_of(value).element_type
    if len(dims) != 1 or not dims[0].is_static or element != i64:
        raise VerifyException(f"{what} must be a 1-D i64 tensor of known length, found {value.type}")


def mixed_dims(attribute: DimsAttr | None, value: SSAValue | None) -> tuple[Dim, ...]:
    """The parameter's dimensions; unknown ones when it is an operand."""
    if attribute is not None:
        return attribute.get()
    assert value is not None
    return (Dim.symbol(UNKNOWN),) * dims_of(value.type)[0].value
