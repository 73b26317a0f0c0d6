"""The description of an exported model as JSON values: what its function `json` and a loader read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from stepwell.runtime.files.exported import EXPORT_SCHEMA
from stepwell.runtime.image import LIBRARY, Entry
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
    summary = {key: value for key, value in facts.items() if isinstance(value, (str, int))}
    function = {"function": entry.to_json(), "summary": summary}
    return _file_facts(name, triple, features, arrays, weights) | function


def library_description(
    name: str,
    functions: Mapping[str, Entry],
    triple: str,
    features: Sequence[str],
    arrays: Sequence[Array],
    weights: str,
) -> dict[str, object]:
    """The description of a library, of whose arrays each function has the numbers of its own."""
    order = {LIBRARY: list(functions)}
    entries = {function: entry.to_json() for function, entry in functions.items()}
    return _file_facts(name, triple, features, arrays, weights) | {"functions": entries, "summary": order}


def _file_facts(
    name: str, triple: str, features: Sequence[str], arrays: Sequence[Array], weights: str
) -> dict[str, object]:
    """The facts that a file of each kind has."""
    rows = [{"dtype": array.dtype.name, "shape": list(array.shape)} for array in arrays]
    return {
        "schema": EXPORT_SCHEMA,
        "name": name,
        "triple": triple,
        "features": list(features),
        "weights": {"place": weights, "arrays": rows},
    }


def text_code(function: str, text: str) -> str:
    """The IR of a function that returns a text."""
    data = "".join(f"\\{byte:02X}" for byte in text.encode() + b"\0")
    size = len(text.encode()) + 1
    return f"""
@{function}_text = private unnamed_addr constant [{size} x i8] c"{data}"
define ptr @{function}() nounwind {{
  ret ptr @{function}_text
}}
"""
