"""Operators on lists and optional values, which are Python objects of the host."""

from __future__ import annotations

from typing import TypeAlias, cast

import numpy as np

from stepwell.runtime.meaning import Array, meaning

Sequence: TypeAlias = "list[object]"


def _kept(value: object) -> object:
    """
    A value that may outlive the call: arrays in the arena of compiled code, which are read-only, are copied.
    """
    if not isinstance(value, np.ndarray):
        return value
    array = cast(Array, value)
    return array if array.flags.writeable else array.copy()


@meaning("host.identity")
def identity(x: Array) -> Array:
    """The value itself; a list is a single result."""
    return cast(Array, _kept(x))


@meaning("host.sequence_construct")
def sequence_construct(*values: Array) -> object:
    """A list of values."""
    return [_kept(value) for value in values]


@meaning("host.sequence_at")
def sequence_at(sequence: Array, position: Array) -> object:
    """The element at a position; negative positions count from the end."""
    items = cast(Sequence, sequence)
    return items[_position(position, len(items), len(items) - 1)]


@meaning("host.sequence_insert")
def sequence_insert(sequence: Array, value: Array, position: Array | None = None) -> object:
    """The list with a value inserted at a position, without one at the end."""
    items = list(cast(Sequence, sequence))
    place = len(items) if position is None else _position(position, len(items), len(items))
    items.insert(place, _kept(value))
    return items


@meaning("host.sequence_erase")
def sequence_erase(sequence: Array, position: Array | None = None) -> object:
    """The list without the element at a position, without one the last."""
    items = list(cast(Sequence, sequence))
    del items[-1 if position is None else _position(position, len(items), len(items) - 1)]
    return items


def _position(position: Array, length: int, greatest: int) -> int:
    place = int(position.reshape(()))
    if not -length <= place <= greatest:
        raise IndexError(f"position {place} in a list of {length}")
    return place + length if place < 0 else place


@meaning("host.sequence_length")
def sequence_length(sequence: Array) -> Array:
    """The number of elements of a list."""
    return np.array(len(cast(Sequence, sequence)), np.int64)


@meaning("host.split_to_sequence")
def split_to_sequence(x: Array, split: Array | None = None, *, axis: int, keepdims: int) -> object:
    """
    A list of pieces along an axis: of given sizes, of equal size (the last may be smaller), or of size 1.
    """
    size = x.shape[axis]
    if split is None:
        pieces = np.split(x, size, axis) if size else []
        return [np.array(piece if keepdims else piece.squeeze(axis)) for piece in pieces]
    if split.ndim == 0:
        cuts = list(range(int(split), size, int(split)))
    else:
        if int(split.sum()) != size:
            raise ValueError(f"sizes {split.tolist()} do not add up to {size}")
        cuts = np.cumsum(split)[:-1].tolist()
    return [np.array(piece) for piece in np.split(x, cuts, axis)]


@meaning("host.concat_from_sequence")
def concat_from_sequence(sequence: Array, *, axis: int, new_axis: int) -> Array:
    """All elements joined along an axis, or stacked along a new one."""
    items = cast("list[Array]", sequence)
    return np.stack(items, axis) if new_axis else np.concatenate(items, axis)


@meaning("host.optional")
def optional(value: Array | None = None) -> object:
    """A value, or none."""
    return _kept(value)


@meaning("host.optional_has_element")
def optional_has_element(value: Array | None = None) -> Array:
    """Whether there is a value."""
    return np.array(value is not None)


@meaning("host.optional_get_element")
def optional_get_element(value: Array | None) -> object:
    """The value. Raises: ValueError when there is none."""
    if value is None:
        raise ValueError("the optional value is missing")
    return value


@meaning("host.zip_map")
def zip_map(x: Array, *, labels: Sequence) -> object:
    """A dictionary of label to number for each row."""
    return [dict(zip(labels, row, strict=True)) for row in x.tolist()]
