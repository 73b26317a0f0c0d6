"""Conversions of dictionaries to tensors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from stepwell.runtime.meaning import Array, meaning

_TEXT = np.dtype(object)


@meaning("host.map_values")
def map_values(
    x: Mapping[object, object], *, keys: Sequence[object], dtype: np.dtype[np.generic] | None
) -> Array:
    """The values of given keys as a vector; 0 for missing keys. Without a dtype the values are strings."""
    missing = "" if dtype is None else 0
    return np.array([[x.get(key, missing) for key in keys]], dtype or _TEXT)


@meaning("host.cast_map")
def cast_map(x: Mapping[int, str | float], *, places: int, dtype: np.dtype[np.generic] | None) -> Array:
    """
    A vector of a map's values, as numbers of a type or strings: by ascending keys, or each at the index of
    its key.

    Raises: ValueError for a key outside of the vector, or a string that is no number.
    """

    def converted(value: str | float) -> object:
        if dtype is None:
            return value if isinstance(value, str) else f"{value:f}"
        return float(value) if dtype.kind == "f" else int(value)

    if not places:
        return np.array([[converted(x[key]) for key in sorted(x)]], dtype or _TEXT)
    row = np.full(places, "" if dtype is None else 0, dtype or _TEXT)
    for key, value in x.items():
        if not 0 <= key < places:
            raise ValueError(f"CastMap: key {key} is not below max_map, {places}")
        row[key] = converted(value)
    return row[None]
