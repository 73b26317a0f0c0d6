"""Files of safetensors: tensors by name, views of the mapped file. They are a header of JSON, and bytes."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence
from math import prod
from pathlib import Path
from typing import cast

import numpy as np

from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.external import ExternalFiles
from stepwell.runtime.interface import MAX_TENSOR_BYTES, Array, dtype_from_name
from stepwell.runtime.json_values import as_sizes

MAX_HEADER_BYTES = 100_000_000
_ELEMENTS: Mapping[str, str] = {
    "BOOL": "bool",
    "U8": "uint8",
    "I8": "int8",
    "U16": "uint16",
    "I16": "int16",
    "U32": "uint32",
    "I32": "int32",
    "U64": "uint64",
    "I64": "int64",
    "F16": "float16",
    "BF16": "bfloat16",
    "F32": "float32",
    "F64": "float64",
    "F8_E4M3": "float8_e4m3fn",
    "F8_E5M2": "float8_e5m2",
}
_MAX_RANK = 64


def stored_tensors(path: Path) -> tuple[dict[str, Array], ExternalFiles]:
    """
    The tensors of a file, or of all files that an index (`model.safetensors.index.json`) lists, by name.

    Raises: StepwellError `invalid-weights`, `external-data`.
    """
    files = ExternalFiles(path.parent, model=path)
    if not path.name.endswith(".json"):
        return _File(path.name, files.whole(path.name)).arrays(), files
    arrays: dict[str, Array] = {}
    for name, wanted in _shards(path.name, files.whole(path.name)).items():
        found = _File(name, files.whole(name)).arrays()
        if lost := [each for each in wanted if each not in found]:
            raise _invalid(path.name, f"the file {name} has no tensor {lost[0]!r}")
        arrays |= {each: found[each] for each in wanted}
    return arrays, files


def _shards(name: str, data: memoryview) -> dict[str, list[str]]:
    """The names of the tensors in each file of an index."""
    places = _json(name, data).get("weight_map")
    if not isinstance(places, dict):
        raise _invalid(name, "an index must have a weight_map, from tensors to files")
    shards: dict[str, list[str]] = {}
    for tensor, file in cast("dict[str, object]", places).items():
        if not isinstance(file, str):
            raise _invalid(name, f"the file of {tensor!r} must be text")
        shards.setdefault(file, []).append(tensor)
    return shards


class _File:
    """The reader of one file."""

    def __init__(self, name: str, data: memoryview):
        self._name = name
        if len(data) < 8:
            raise _invalid(name, f"the file has {len(data)} bytes, and the size of its header takes 8")
        (size,) = struct.unpack("<Q", data[:8])
        if size > min(len(data) - 8, MAX_HEADER_BYTES):
            known = f"the file has {len(data)} bytes, and headers at most {MAX_HEADER_BYTES}"
            raise _invalid(name, f"the header would take {size} bytes: {known}")
        self._header, self._data = _json(name, data[8 : 8 + size]), data[8 + size :]

    def arrays(self) -> dict[str, Array]:
        """All tensors. Raises: StepwellError `invalid-weights`."""
        ranges: list[tuple[int, int, str]] = []
        arrays: dict[str, Array] = {}
        for tensor, entry in self._header.items():
            if tensor != "__metadata__":
                begin, end, arrays[tensor] = self._array(tensor, entry)
                ranges.append((begin, end, tensor))
        ranges.sort()
        for (_, end, before), (begin, _, after) in zip(ranges, ranges[1:], strict=False):
            if begin < end:
                raise _invalid(self._name, f"the bytes of {before!r} and {after!r} overlap")
        return arrays

    def _array(self, tensor: str, entry: object) -> tuple[int, int, Array]:
        fields = cast("dict[str, object]", entry) if isinstance(entry, dict) else {}
        element = _ELEMENTS.get(str(fields.get("dtype")))
        try:
            shape = as_sizes(fields.get("shape"))
            begin, end = as_sizes(fields.get("data_offsets"), 2)
            if len(shape) > _MAX_RANK:
                raise ValueError
        except (TypeError, ValueError):
            message = f"the shape or the offsets of {tensor!r} cannot be read"
            raise _invalid(self._name, message) from None
        if element is None:
            raise _invalid(self._name, f"the element type {fields.get('dtype')!r} of {tensor!r} is unknown")
        dtype = dtype_from_name(element)
        nbytes = prod(shape) * dtype.itemsize
        if not begin <= end <= len(self._data) or nbytes != end - begin or nbytes > MAX_TENSOR_BYTES:
            message = (
                f"{tensor!r} of shape {list(shape)} takes {nbytes} bytes, and has those from {begin} to {end}"
            )
            raise _invalid(self._name, message, note=f"the file has {len(self._data)} bytes of tensors")
        return begin, end, np.frombuffer(self._data[begin:end], dtype).reshape(shape)


def _json(name: str, data: memoryview) -> dict[str, object]:
    """An object of JSON without repeated names. Raises: StepwellError `invalid-weights`."""

    def unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
        if len(found := dict(pairs)) != len(pairs):
            raise ValueError("a name occurs twice")
        return found

    try:
        value = json.loads(bytes(data), object_pairs_hook=unique)
    except (ValueError, RecursionError) as error:
        raise _invalid(name, f"the header is no JSON: {error}") from None
    if not isinstance(value, dict):
        raise _invalid(name, "the header is no object of JSON")
    return cast("dict[str, object]", value)


def _invalid(name: str, message: str, note: str | Sequence[str] = ()) -> StepwellError:
    help = "the file is cut off or damaged: download it, or save it, again"
    return StepwellError("invalid-weights", name, message, note=note, help=help)
