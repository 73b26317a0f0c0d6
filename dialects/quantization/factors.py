"""Files of channel factors: a positive number for each channel of a product's activation, as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import isfinite
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from stepwell.dialects.quantization.json_files import VERSION, read_json
from stepwell.runtime.files.whole_files import write_text
from stepwell.runtime.json_values import as_list, as_mapping

FORMAT = "stepwell-channel-factors"
MAX_FILE_BYTES = 256 << 20
Doubles: TypeAlias = npt.NDArray[np.float64]


def write_factors(path: Path, factors: Mapping[str, Doubles]) -> None:
    """Write the factors of nodes. Raises: StepwellError `cannot-write`."""
    lines = ",\n".join(f"  {json.dumps(name)}: {json.dumps(each.tolist())}" for name, each in factors.items())
    head = json.dumps({"format": FORMAT, "version": VERSION})
    write_text(path, head[:-1] + f', "factors": {{\n{lines}\n}}}}\n')


def read_factors(path: Path) -> dict[str, Doubles]:
    """The factors by the name of the node. Raises: StepwellError `no-file`, `bad-data`."""
    return read_json(path, FORMAT, MAX_FILE_BYTES, "file of channel factors", _factors)


def _factors(about: Mapping[str, object]) -> dict[str, Doubles]:
    by_node = as_mapping(about.get("factors"))
    return {name: np.array([_factor(one) for one in as_list(each)]) for name, each in by_node.items()}


def _factor(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value) or value <= 0:
        raise TypeError(f"a factor is a positive number, found {value!r:.40}")
    return float(value)
