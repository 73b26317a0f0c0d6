"""Programs of the reference backend as bytes: JSON, then the arrays."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from math import prod
from typing import cast

import numpy as np

from stepwell.runtime.interface import Array, dtype_from_name

_LENGTH_BYTES = 8


def encoded(program: Mapping[str, object], arrays: Sequence[Array]) -> bytes:
    """A program as bytes: the length of its JSON, the JSON, then the arrays consecutively."""
    facts = [{"dtype": array.dtype.name, "shape": list(array.shape)} for array in arrays]
    text = json.dumps({**program, "arrays": facts}, separators=(",", ":")).encode()
    return len(text).to_bytes(_LENGTH_BYTES, "little") + text + b"".join(a.tobytes() for a in arrays)


def decoded(code: bytes) -> tuple[Mapping[str, object], list[Array]]:
    """The program and arrays in bytes from `encoded`. Raises: ValueError, KeyError for other bytes."""
    start = _LENGTH_BYTES + int.from_bytes(code[:_LENGTH_BYTES], "little")
    program = cast("Mapping[str, object]", json.loads(code[_LENGTH_BYTES:start]))
    arrays: list[Array] = []
    for facts in cast("Sequence[Mapping[str, object]]", program["arrays"]):
        dtype, shape = dtype_from_name(str(facts["dtype"])), cast("list[int]", facts["shape"])
        count = prod(shape)
        arrays.append(np.frombuffer(code, dtype, count, start).reshape(shape))
        start += count * dtype.itemsize
    return program, arrays
