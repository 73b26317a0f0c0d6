"""Overlays: values of nodes from a file, which the page shows and colours by."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from math import isfinite
from pathlib import Path
from typing import cast

from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.unreadable import unreadable
from stepwell.tools.explore.kernel_steps import Data

SCHEMA = "stepwell-explore/1"
_ORT_TIME = "_kernel_time"


def read_overlay(path: Path) -> Data:
    """
    An overlay: `{"name", "unit", "values": {node: number or text}}`, or ONNX Runtime's own profile.

    Raises: StepwellError `no-file`, `bad-data` for a file that is neither.
    """
    found = _read(path)
    expected = 'expected {"name", "unit", "values": {node: number or text}}, or a profile of ONNX Runtime'
    if isinstance(found, list):
        profile = _of_profile(cast("list[object]", found))
        if not profile["values"]:
            raise StepwellError("bad-data", str(path), f"{expected}, found a list without times of nodes")
        return profile
    if not isinstance(found, dict):
        raise StepwellError("bad-data", str(path), expected)
    parts = cast("Mapping[str, object]", found)
    name, unit, values = (parts.get(key) for key in ("name", "unit", "values"))
    if not isinstance(name, str) or not isinstance(unit, str) or not isinstance(values, dict):
        raise StepwellError("bad-data", str(path), expected)
    by_node = cast("dict[str, object]", values)
    if bad := [node for node, value in by_node.items() if not _is_shown(value)]:
        raise StepwellError("bad-data", str(path), f"the value of node {bad[0]!r} is neither number nor text")
    return {"name": name, "unit": unit, "values": by_node}


def read_data(path: Path) -> Mapping[str, object]:
    """The data that `stepwell explore --format json` wrote. Raises: StepwellError `no-file`, `bad-data`."""
    found = _read(path)
    if not isinstance(found, dict) or "schema" not in found:
        raise StepwellError("bad-data", str(path), f"expected data of the schema {SCHEMA}")
    data = cast("Mapping[str, object]", found)
    if data["schema"] != SCHEMA:
        raise StepwellError("bad-data", str(path), f"expected the schema {SCHEMA}, found {data['schema']!r}")
    return data


def unknown_nodes(overlay: Data, nodes: Iterable[Data]) -> int:
    """The number of names in an overlay that no node has."""
    return len(cast("dict[str, object]", overlay["values"]).keys() - {str(node["name"]) for node in nodes})


def _read(path: Path) -> object:
    try:
        return cast(object, json.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise unreadable(path, "file", error) from None
    except (ValueError, RecursionError) as error:
        raise StepwellError("bad-data", str(path), f"expected JSON: {error}") from None


def _is_shown(value: object) -> bool:
    return isinstance(value, str | int) or (isinstance(value, float) and isfinite(value))


def _of_profile(events: Iterable[object]) -> Data:
    """The times of nodes in a profile of ONNX Runtime, the last run of each."""
    values: dict[str, float] = {}
    for event in events:
        if isinstance(event, dict):
            fields = cast("dict[str, object]", event)
            name, duration = str(fields.get("name", "")), fields.get("dur")
            if name.endswith(_ORT_TIME) and isinstance(duration, int | float) and isfinite(duration):
                values[name.removesuffix(_ORT_TIME)] = float(duration)
    return {"name": "onnxruntime", "unit": "µs", "values": values}
