"""Values of JSON that a file contains, checked for their type: a file may say anything."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from stepwell.runtime.dims import Dim
from stepwell.runtime.integers.summands import dim_of_summands

_MAX_RANK, _MAX_EXTENT = 64, 1 << 46  # numpy's bound; what 48-bit pointers can address


def as_mapping(value: object) -> Mapping[str, object]:
    """The value as an object of JSON. Raises: TypeError."""
    if not isinstance(value, Mapping):
        raise TypeError(f"expected an object, found {_shown(value)}")
    return cast("Mapping[str, object]", value)


def as_list(value: object, length: int | None = None) -> Sequence[object]:
    """The value as a list, of some length where it is given. Raises: TypeError, ValueError."""
    if not isinstance(value, list | tuple):
        raise TypeError(f"expected a list, found {_shown(value)}")
    found = cast("Sequence[object]", value)
    if length is not None and len(found) != length:
        raise ValueError(f"expected a list of {length} values, found {len(found)}")
    return found


def as_int(value: object) -> int:
    """The value as a whole number. Raises: TypeError."""
    if type(value) is not int:
        raise TypeError(f"expected a number, found {_shown(value)}")
    return value


def as_size(value: object) -> int:
    """The value as a number from 0 on. Raises: TypeError, ValueError."""
    if (number := as_int(value)) < 0:
        raise ValueError(f"expected a size, found {number}")
    return number


def as_text(value: object) -> str:
    """The value as a string. Raises: TypeError."""
    if type(value) is not str:
        raise TypeError(f"expected a text, found {_shown(value)}")
    return value


def as_texts(value: object) -> tuple[str, ...]:
    """The value as a list of strings. Raises: TypeError."""
    return tuple(map(as_text, as_list(value)))


def as_sizes(value: object, length: int | None = None) -> tuple[int, ...]:
    """The value as a list of numbers from 0 on, of some length if given. Raises: TypeError, ValueError."""
    return tuple(map(as_size, as_list(value, length)))


def as_dim(value: object) -> Dim:
    """The value as a dimension, a string or a list of summands. Raises: TypeError, ValueError."""
    return Dim.of(value) if isinstance(value, str) else dim_of_summands(as_texts(value))


def as_shape(value: object) -> tuple[int, ...]:
    """The value as the shape of an array of numpy. Raises: TypeError, ValueError."""
    shape = as_sizes(value)
    if len(shape) > _MAX_RANK or max(shape, default=0) > _MAX_EXTENT:
        raise ValueError(f"no array has a shape of {len(shape)} dimensions up to {max(shape, default=0):.3g}")
    return shape


def _shown(value: object) -> str:
    return f"{value!r:.40}" if isinstance(value, int | float | str) else type(value).__name__
