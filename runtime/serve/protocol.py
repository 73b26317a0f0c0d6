"""Requests and answers of the Open Inference Protocol v2, with its binary extension."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Mapping, Sequence
from math import prod
from typing import NamedTuple

import numpy as np

from stepwell.runtime.interface import Array, TensorSpec, dtype_from_name
from stepwell.runtime.json_values import as_list, as_mapping, as_shape, as_size, as_text

HEADER_LENGTH = "inference-header-content-length"
_TYPES = {
    "BOOL": "bool", "UINT8": "uint8", "UINT16": "uint16", "UINT32": "uint32", "UINT64": "uint64",
    "INT8": "int8", "INT16": "int16", "INT32": "int32", "INT64": "int64",
    "FP16": "float16", "FP32": "float32", "FP64": "float64", "BF16": "bfloat16", "BYTES": "object",
}  # fmt: skip
_NAMES = {name: datatype for datatype, name in _TYPES.items()}
_MAX_DATA_RANK = 64


class Refusal(Exception):
    """A request that is answered with a status of HTTP and a reason."""

    def __init__(self, status: int, reason: str):
        self.status, self.reason = status, reason
        super().__init__(reason)


class WantedOutput(NamedTuple):
    """An output that a request asks for, as JSON or as bytes."""

    name: str
    is_binary: bool


class InferRequest(NamedTuple):
    """The inputs by name, the outputs that are asked for (None: all), and the id to be echoed."""

    id: str
    inputs: Mapping[str, Array]
    outputs: tuple[WantedOutput, ...] | None
    is_binary: bool


def inflated(body: bytes, encoding: str, most: int) -> bytes:
    """A body without its compression, of at most `most` bytes. Raises: Refusal."""
    windows = {"gzip": 16 + zlib.MAX_WBITS, "deflate": zlib.MAX_WBITS}
    if encoding in ("", "identity"):
        return body
    if encoding not in windows:
        raise Refusal(415, f"a body is compressed by {' or '.join(windows)}")
    try:
        inflater = zlib.decompressobj(windows[encoding])
        plain = inflater.decompress(body, most + 1)
    except zlib.error:
        raise Refusal(400, f"the body is no {encoding}") from None
    if len(plain) > most:
        raise Refusal(413, f"a body has at most {most} bytes")
    if not inflater.eof:
        raise Refusal(400, f"the {encoding} of the body is cut off")
    return plain


def read_request(body: bytes, header_length: str | None) -> InferRequest:
    """The request in a body. Raises: Refusal."""
    try:
        size = len(body) if header_length is None else as_size(int(header_length))
        if size > len(body):
            raise ValueError(f"the JSON shall have {size} bytes, found {len(body)}")
        request = as_mapping(json.loads(body[:size]))
        inputs = _inputs(as_list(request.get("inputs", [])), memoryview(body)[size:])
        binary = bool(as_mapping(request.get("parameters", {})).get("binary_data_output", False))
        wanted = request.get("outputs")
        outputs = None if not wanted else tuple(_wanted(row, binary) for row in as_list(wanted))
        return InferRequest(as_text(request.get("id", "")), inputs, outputs, binary)
    except (ValueError, TypeError, KeyError, RecursionError, OverflowError) as error:
        kind = "a field is missing: " if isinstance(error, KeyError) else ""
        raise Refusal(400, f"the request cannot be read: {kind}{error}"[:1000]) from None


def _wanted(row: object, default: bool) -> WantedOutput:
    output = as_mapping(row)
    binary = as_mapping(output.get("parameters", {})).get("binary_data", default)
    return WantedOutput(as_text(output["name"]), bool(binary))


def _inputs(rows: Sequence[object], data: memoryview) -> dict[str, Array]:
    inputs: dict[str, Array] = {}
    at = 0
    for row in map(as_mapping, rows):
        name = as_text(row["name"])
        if name in inputs:
            raise ValueError(f"input {name!r} is given twice")
        size = as_mapping(row.get("parameters", {})).get("binary_data_size")
        shape, datatype = as_shape(row["shape"]), as_text(row["datatype"])
        if datatype not in _TYPES:
            raise ValueError(f"no datatype is named {datatype!r:.40}")
        if size is None:
            inputs[name] = _from_list(row["data"], shape, datatype)
            continue
        end = at + as_size(size)
        if end > len(data):
            raise ValueError(f"input {name!r} shall have {size} bytes, found {len(data) - at}")
        inputs[name] = _from_bytes(data[at:end], shape, datatype)
        at = end
    if at != len(data):
        raise ValueError(f"{len(data) - at} bytes belong to no input")
    return inputs


def _from_bytes(data: memoryview, shape: tuple[int, ...], datatype: str) -> Array:
    if datatype == "BYTES":
        return _strings(_lengths(data), shape)
    dtype = dtype_from_name(_TYPES[datatype])
    if prod(shape) * dtype.itemsize != len(data):
        raise ValueError(f"shape {list(shape)} of {datatype} has other than {len(data)} bytes")
    return np.frombuffer(data, dtype).reshape(shape)


def _lengths(data: memoryview) -> list[bytes]:
    """Strings that have their length before them."""
    found: list[bytes] = []
    at = 0
    while at < len(data):
        if at + 4 > len(data):
            raise ValueError("the length of a string is cut off")
        (size,) = struct.unpack_from("<I", data, at)
        if at + 4 + size > len(data):
            raise ValueError("a string is cut off")
        found.append(bytes(data[at + 4 : at + 4 + size]))
        at += 4 + size
    return found


def _strings(values: Sequence[object], shape: tuple[int, ...]) -> Array:
    if len(values) != prod(shape):
        raise ValueError(f"shape {list(shape)} has other than {len(values)} strings")
    array = np.empty(len(values), object)
    array[:] = [value.decode() if isinstance(value, bytes) else as_text(value) for value in values]
    return array.reshape(shape)


def _from_list(data: object, shape: tuple[int, ...], datatype: str) -> Array:
    values: Sequence[object] = as_list(data)
    if datatype == "BYTES":
        return _strings(np.array(values, object).ravel().tolist(), shape)
    array = np.array(values)
    if array.dtype.kind not in "biuf" or array.ndim > _MAX_DATA_RANK or array.size != prod(shape):
        raise ValueError(f"expected {list(shape)} numbers of {datatype}, found shape {list(array.shape)}")
    dtype = dtype_from_name(_TYPES[datatype])
    if dtype.kind in "iu" and array.size:
        limits = np.iinfo(dtype.name)
        if array.dtype.kind == "f" or int(array.min()) < limits.min or int(array.max()) > limits.max:
            raise ValueError(f"expected numbers of {datatype}")
    return array.astype(dtype).reshape(shape)


def answer_bytes(model: str, request: InferRequest, outputs: Mapping[str, Array]) -> tuple[bytes, int | None]:
    """The body of an answer, and the length of its JSON where bytes follow. Raises: Refusal."""
    wanted = request.outputs or tuple(WantedOutput(name, request.is_binary) for name in outputs)
    rows: list[object] = []
    blobs: list[bytes] = []
    for name, is_binary in wanted:
        if name not in outputs:
            raise Refusal(400, f"the model has no output {name!r:.100}")
        array = outputs[name]
        row = {"name": name, "datatype": datatype_of(array.dtype), "shape": list(array.shape)}
        if is_binary:
            blobs.append(_to_bytes(array))
            rows.append({**row, "parameters": {"binary_data_size": len(blobs[-1])}})
        else:
            rows.append({**row, "data": array.ravel().astype(_json_type(array)).tolist()})
    head = {"model_name": model, "model_version": "1", "outputs": rows}
    text = json.dumps(head | ({"id": request.id} if request.id else {})).encode()
    return b"".join((text, *blobs)), len(text) if blobs else None


def _json_type(array: Array) -> np.dtype[np.generic]:
    return array.dtype if array.dtype.kind in "biufO" else np.dtype(np.float32)


def _to_bytes(array: Array) -> bytes:
    if array.dtype != np.dtype(object):
        return array.tobytes()
    texts = [str(value).encode() for value in array.ravel().tolist()]
    return b"".join(struct.pack("<I", len(text)) + text for text in texts)


def datatype_of(dtype: np.dtype[np.generic]) -> str:
    """The protocol's name of an element type. Raises: KeyError for one that it lacks."""
    return _NAMES[dtype.name]


def has_datatype(dtype: np.dtype[np.generic]) -> bool:
    """Whether the protocol has an element type."""
    return dtype.name in _NAMES


def tensor_row(spec: TensorSpec) -> dict[str, object]:
    """The description of an input or output; open sizes are -1."""
    shape = [dim.value if dim.is_static else -1 for dim in spec.dims]
    return {"name": spec.name, "datatype": datatype_of(spec.dtype), "shape": shape}
