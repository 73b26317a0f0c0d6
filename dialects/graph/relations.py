"""Parts of type relations: element domains, broadcasting, reduced axes, and their error texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import cast

from xdsl.dialects.builtin import AnyFloat, IntegerType, Signedness, TensorType, UnrankedTensorType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from stepwell.dialects.type_variables import ELEMENT_KINDS, VarType, params_of
from stepwell.dialects.types import Tensor, dims_of, tensor_of, tensor_type
from stepwell.runtime.dims import UNKNOWN, Dim


class Domain(Enum):
    """A set of element types that ops accept; the value is its name in errors."""

    FLOAT = "a float"
    INTEGER = "an integer"
    NUMBER = "a float or an integer"
    BITS = "i1 or an integer"
    BOOL = "i1"
    ANY = "any type"

    def holds(self, element: Attribute) -> bool:
        """Whether the element type is in the set."""
        match self:
            case Domain.FLOAT:
                return is_float(element)
            case Domain.INTEGER:
                return is_integer(element)
            case Domain.NUMBER:
                return is_float(element) or is_integer(element)
            case Domain.BITS:
                return isinstance(element, IntegerType)
            case Domain.BOOL:
                return is_bool(element)
            case Domain.ANY:
                return True

    def holds_kind(self, kind: str) -> bool:
        """Whether the set has every element type that a variable of a kind may stand for."""
        return kind in _KINDS[self]


_KINDS: Mapping[Domain, Sequence[str]] = {
    Domain.FLOAT: ("float",),
    Domain.INTEGER: ("integer",),
    Domain.NUMBER: ("float", "integer", "number"),
    Domain.BITS: ("integer", "bool"),
    Domain.BOOL: ("bool",),
    Domain.ANY: ELEMENT_KINDS,
}


def is_float(element: Attribute) -> bool:
    """Whether an element type is a floating point format."""
    return isinstance(element, AnyFloat)


def is_bool(element: Attribute) -> bool:
    """Whether an element type is i1."""
    return _bits(element) == 1


def is_integer(element: Attribute) -> bool:
    """Whether an element type is an integer of more than one bit."""
    return _bits(element) > 1


def _bits(element: Attribute) -> int:
    return cast(IntegerType, element).width.data if isinstance(element, IntegerType) else 0


def is_unsigned(element: Attribute) -> bool:
    """Whether an element type is an unsigned integer."""
    return _bits(element) > 0 and cast(IntegerType, element).signedness.data is Signedness.UNSIGNED


def element_of_value(value: SSAValue) -> Attribute:
    """The element type of a tensor value."""
    return tensor_of(value).element_type


def expect_domain(value: SSAValue, domain: Domain, what: str = "element type") -> None:
    """Require a tensor's element type to be in a set. Raises: VerifyException."""
    element = element_of_value(value)
    if isinstance(element, VarType) and (kind := _declared_kind(element, value)) is not None:
        if not domain.holds_kind(kind):
            raise VerifyException(
                f"{what} must be {domain.value}, found the variable {element} of kind {kind}"
            )
    elif not isinstance(element, VarType) and not domain.holds(element):
        raise VerifyException(f"{what} must be {domain.value}, found {element}")


def _declared_kind(variable: VarType, value: SSAValue) -> str | None:
    """The kind of a type variable where a function around a value declares it; None for a detached value."""
    owner = value.owner
    op = owner if isinstance(owner, Operation) else owner.parent_op()
    while op is not None and params_of(op) is None:
        op = op.parent_op()
    params = params_of(op) if op is not None else None
    return params.by_name.get(variable.label.data) if params is not None else None


def expect_same_element(lhs: SSAValue, rhs: SSAValue) -> None:
    """Require two tensors to have one element type. Raises: VerifyException."""
    if (a := element_of_value(lhs)) != (b := element_of_value(rhs)):
        raise VerifyException(f"operands must have one element type, found {a} and {b}")


def expect_scalar(value: SSAValue, what: str) -> None:
    """Require a tensor of rank 0. Raises: VerifyException."""
    if (rank := len(dims_of(value.type))) != 0:
        raise VerifyException(f"{what} must have rank 0, found rank {rank}")


def expect_axis(axis: int, rank: int, what: str = "axis") -> None:
    """Require an axis to be non-negative and below the rank. Raises: VerifyException."""
    if not 0 <= axis < rank:
        raise VerifyException(f"{what} must be in 0..{rank - 1}, found {axis}")


def expect_dims(value: SSAValue, expected: Sequence[Dim], what: str) -> None:
    """Require a tensor's dimensions, as far as both are known. Raises: VerifyException."""
    dims = dims_of(value.type)
    if len(dims) != len(expected) or any(differ(a, b) for a, b in zip(dims, expected, strict=True)):
        raise VerifyException(f"{what} must have shape {shape_text(expected)}, found {shape_text(dims)}")


def differ(a: Dim, b: Dim) -> bool:
    """Whether two dimensions are provably different."""
    difference = a - b
    return not difference.is_unknown and difference.is_static and difference.value != 0


def broadcast(shapes: Sequence[Sequence[Dim]]) -> tuple[Dim, ...]:
    """
    The shape that shapes broadcast to, numpy's way: aligned at the right, 1 stretches.

    Of a number and a symbol the number wins (the symbol is then it or 1); two different symbols give an
    unknown dimension, for either may be 1 when the model runs.
    Raises: VerifyException when two known dimensions do not fit.
    """
    rank = max(map(len, shapes))
    result = [Dim.of(1)] * rank
    for shape in shapes:
        for i, dim in enumerate(shape, start=rank - len(shape)):
            joined = _join(result[i], dim)
            if joined is None:
                texts = " and ".join(shape_text(s) for s in shapes)
                raise VerifyException(f"shapes {texts} do not broadcast: {result[i]} against {dim}")
            result[i] = joined
    return tuple(result)


def _join(a: Dim, b: Dim) -> Dim | None:
    if a.proves_equal(b) or b == 1:
        return a
    if a == 1:
        return b
    if a.is_static and b.is_static:
        return None
    if a.is_static or b.is_static:
        return a if a.is_static else b
    return Dim.symbol(UNKNOWN)


def reduced(dims: Sequence[Dim], axes: Sequence[int], keep_dims: bool) -> tuple[Dim, ...]:
    """A shape with the given axes removed, or 1 where they are kept."""
    if keep_dims:
        return tuple(Dim.of(1) if i in axes else d for i, d in enumerate(dims))
    return tuple(d for i, d in enumerate(dims) if i not in axes)


def only_element(of: Attribute) -> Attribute:
    """The type of tensors of one element type, of which rank and sizes are unknown."""
    return UnrankedTensorType(cast(Tensor, of).element_type)


def one_element(types: Sequence[Attribute], count: int) -> Sequence[Attribute | None]:
    """Types of so many operands, which have the element type of the first known one of some types."""
    known = next((t for t in types if t.name in (TensorType.name, UnrankedTensorType.name)), None)
    return [only_element(known) if known is not None else None] * count


def element_of_type(type: Attribute) -> Attribute:
    """
    The element type of a tensor type, of unknown rank too.

    Raises: TypeError for another type.
    """
    if not isinstance(type, TensorType | UnrankedTensorType):
        raise TypeError(f"expected a tensor, found {type}")
    return cast(Tensor, type).element_type


def with_element(type: Tensor, element: Attribute) -> Tensor:
    """A tensor type with another element type, dimension names kept."""
    return tensor_type(element, dims_of(type))


def shape_text(dims: Sequence[Dim]) -> str:
    """A shape for an error message: `(N, 4)`."""
    return f"({', '.join(map(str, dims))})"
