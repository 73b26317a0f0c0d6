"""The description of an exported model as JSON values: what its function `json` and a loader read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from stepwell.runtime.files.exported import EXPORT_SCHEMA
from stepwell.runtime.image import Entry
from stepwell.runtime.interface import Array


def description(
    name: str,
    entry: Entry,
    triple: str,
    features: Sequence[str],
    arrays: Sequence[Array],
    weights: str,
    facts: Mapping[str, object],
) -> dict[str, object]:
    """The description of a function in a file whose weights are in a place."""
    return {
        "schema": EXPORT_SCHEMA,
        "name": name,
        "triple": triple,
        "features": list(features),
        "function": entry.to_json(),
        "weights": {
            "place": weights,
            "arrays": [{"dtype": array.dtype.name, "shape": list(array.shape)} for array in arrays],
        },
        "summary": {key: value for key, value in facts.items() if isinstance(value, (str, int))},
    }
