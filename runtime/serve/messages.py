"""
Messages of the Open Inference Protocol, version 2: requests for an inference, and their answers, as bytes.

Source: the Open Inference Protocol and its extension for binary tensor data, of KServe and Triton.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from math import prod
from typing import NamedTuple, cast

import numpy as np

from stepwell.runtime.errors import StepwellError, did_you_mean
from stepwell.runtime.interface import Array, Interface, TensorSpec
from stepwell.runtime.json_values import as_int, as_list, as_mapping, as_shape, as_size, as_text
from stepwell.runtime.machine.arguments import checked_input
from stepwell.runtime.serve.datatypes import array_of_bytes, as_bytes, bytes_of_array, datatype_of, strings
from stepwell.runtime.serve.refused import bad_request

HEADER_LENGTH = "inference-header-content-length"
MAX_JSON_BYTES = 16 << 20
_MAX_DEPTH = 32  # of the lists of a tensor


class Wanted(NamedTuple):
    """An output that a request asks for."""

    number: int
    is_binary: bool


class Request(NamedTuple):
    """A request for an inference: its id, the inputs in the model's order, and the outputs to return."""

    id: str | None
    inputs: tuple[Array, ...]
    outputs: tuple[Wanted, ...]


def parse_request(interface: Interface, body: bytes, header_length: str | None) -> Request:
    """
    The request that a body contains.

    Args: `header_length` is the length of the JSON text, where binary data follows it.
    Raises: Refused when it breaks the protocol; StepwellError `missing-input`, `type-mismatch` as the model.
    """
    size = _header_size(header_length, len(body))
    data = memoryview(body)
    try:
        fields = _json(data[:size])
        id = None if (given := fields.get("id")) is None else as_text(given)
        inputs = _inputs(interface, as_list(fields.get("inputs", ())), data[size:])
        parameters = as_mapping(fields.get("parameters", {}))
        is_binary = _flag(parameters, "binary_data_output", default=False)
        outputs = _wanted(interface, as_list(fields.get("outputs", ())), is_binary)
    except (TypeError, ValueError) as error:  # of json_values
        raise bad_request(f"the request is not of the protocol: {error}") from None
    return Request(id, inputs, outputs)


def _header_size(text: str | None, body_bytes: int) -> int:
    if text is None:
        size = body_bytes
    elif text.isascii() and text.isdecimal() and int(text[:20]) <= body_bytes:
        size = int(text)
    else:
        raise bad_request(f"Inference-Header-Content-Length is {text[:40]!r}, of {body_bytes} bytes")
    if size > MAX_JSON_BYTES:
        text = f"the JSON text has {size} bytes, more than {MAX_JSON_BYTES}: send the tensors as binary data"
        raise bad_request(text)
    return size


def _json(data: memoryview) -> Mapping[str, object]:
    try:
        return as_mapping(json.loads(bytes(data)))
    except RecursionError:
        raise bad_request("the JSON text is nested too deeply") from None
    except UnicodeDecodeError as error:
        raise bad_request(f"the JSON text is no UTF-8: {error.reason}") from None
    except json.JSONDecodeError as error:
        raise bad_request(f"the JSON text cannot be read: {error}") from None


def _inputs(interface: Interface, given: Sequence[object], data: memoryview) -> tuple[Array, ...]:
    specs = {spec.name: spec for spec in interface.inputs}
    found: dict[str, Array] = {}
    begin = 0
    for each in given:
        tensor = as_mapping(each)
        name = as_text(tensor.get("name"))
        if (spec := specs.get(name)) is None:
            legal = did_you_mean(name, specs) + f"the inputs are {', '.join(specs)}"
            raise bad_request(f"the model has no input {name[:80]!r}: {legal}")
        if name in found:
            raise bad_request(f"input {name!r} is given twice")
        shape = as_shape(tensor.get("shape"))
        _expect_datatype(spec, tensor)
        size = as_mapping(tensor.get("parameters", {})).get("binary_data_size")
        if size is None:
            found[name] = array_of_json(spec, shape, tensor.get("data"))
            continue
        end = begin + as_size(size)
        if "data" in tensor:
            raise bad_request(f"input {name!r} has data in the JSON text and as binary data")
        if end > len(data):
            raise bad_request(f"input {name!r}: its {size} bytes are not there: {len(data) - begin} are")
        found[name] = array_of_bytes(spec, shape, data[begin:end])
        begin = end
    if begin != len(data):
        raise bad_request(f"{len(data) - begin} bytes of binary data belong to no input")
    if missing := [name for name in specs if name not in found]:
        text = f"input {', '.join(map(repr, missing))} is missing"
        raise StepwellError("missing-input", None, text)
    return tuple(found[name] for name in specs)


def _expect_datatype(spec: TensorSpec, tensor: Mapping[str, object]) -> None:
    if (given := as_text(tensor.get("datatype"))) != (own := datatype_of(spec)):
        raise bad_request(f"input {spec.name!r} must be {own}, found {given[:20]!r}")


def array_of_json(spec: TensorSpec, shape: tuple[int, ...], data: object) -> Array:
    """
    The array of a tensor's data in JSON: elements in row-major order, in lists nested or flat.

    Raises: Refused, StepwellError `type-mismatch` for other values than the tensor has.
    """
    values = list(as_list(data))
    depth = 1
    while values and isinstance(values[0], list):
        if (depth := depth + 1) > _MAX_DEPTH or not all(isinstance(v, list) for v in values):
            raise bad_request(f"input {spec.name!r}: its data are not nested as a tensor")
        values = [value for inner in cast("list[list[object]]", values) for value in inner]
    if spec.is_object:
        return strings(spec.name, shape, list(map(as_text, values)))
    if len(values) != prod(shape):
        text = f"input {spec.name!r}: {list(shape)} are {prod(shape)} elements, found {len(values)}"
        raise bad_request(text)
    _expect_numbers(spec, values)
    try:
        array = np.array(values, np.float64 if spec.dtype.kind not in "biu" else spec.dtype)
    except (OverflowError, ValueError, TypeError):
        raise bad_request(f"input {spec.name!r}: a value is outside of {spec.dtype.name}") from None
    with np.errstate(over="ignore"):
        return checked_input(spec, array.astype(spec.dtype)).reshape(shape)


def _expect_numbers(spec: TensorSpec, values: Sequence[object]) -> None:
    legal = {bool: (bool, int), int: (int,), float: (int, float)}
    kind = {"b": bool, "i": int, "u": int}.get(spec.dtype.kind, float)
    if other := set(map(type, values)) - set(legal[kind]):
        names = ", ".join(sorted(each.__name__ for each in other))
        raise bad_request(f"input {spec.name!r} must be {spec.dtype.name}, found {names}")
    if kind is bool and not all(value in (0, 1) for value in values):
        raise bad_request(f"input {spec.name!r} must be bool, found other numbers")


def _wanted(interface: Interface, given: Sequence[object], is_binary: bool) -> tuple[Wanted, ...]:
    names = [spec.name for spec in interface.outputs]
    if not given:
        return tuple(Wanted(i, is_binary) for i in range(len(names)))
    found: list[Wanted] = []
    for each in given:
        output = as_mapping(each)
        if (name := as_text(output.get("name"))) not in names:
            legal = did_you_mean(name, names) + f"the outputs are {', '.join(names)}"
            raise bad_request(f"the model has no output {name[:80]!r}: {legal}")
        parameters = as_mapping(output.get("parameters", {}))
        if as_int(parameters.get("classification", 0)):
            raise bad_request(f"output {name!r}: classification is an extension that this server lacks")
        found.append(Wanted(names.index(name), _flag(parameters, "binary_data", default=is_binary)))
    if len({wanted.number for wanted in found}) < len(found):
        raise bad_request("an output is asked for twice")
    return tuple(found)


def _flag(parameters: Mapping[str, object], name: str, *, default: bool) -> bool:
    if type(value := parameters.get(name, default)) is not bool:
        raise TypeError(f"{name} must be true or false")
    return value


class Answer(NamedTuple):
    """The body of an answer, and the length of the JSON text before binary data."""

    body: bytes
    header_length: int | None


def answer(
    model: str, version: str, request: Request, interface: Interface, outputs: Sequence[Array]
) -> Answer:
    """The answer to a request, from all outputs of the model. Raises: Refused for NaN in JSON."""
    shown: list[dict[str, object]] = []
    parts: list[bytes] = []
    for number, is_binary in request.outputs:
        spec, array = interface.outputs[number], outputs[number]
        tensor: dict[str, object] = {"name": spec.name, "datatype": datatype_of(spec), "shape": array.shape}
        if is_binary:
            parts.append(bytes_of_array(array))
            tensor["parameters"] = {"binary_data_size": len(parts[-1])}
        else:
            tensor["data"] = _json_values(spec, array)
        shown.append(tensor)
    fields: dict[str, object] = {"model_name": model, "model_version": version, "outputs": shown}
    if request.id is not None:
        fields["id"] = request.id
    head = json.dumps(fields, separators=(",", ":")).encode()
    has_data = any(wanted.is_binary for wanted in request.outputs)
    return Answer(b"".join([head, *parts]), len(head) if has_data else None)


def _json_values(spec: TensorSpec, array: Array) -> Sequence[object]:
    if spec.is_object:
        return [as_bytes(value).decode("utf-8", "replace") for value in array.ravel().tolist()]
    if spec.dtype.kind not in "biu":
        array = array.astype(np.float64)
        if not np.isfinite(array).all():
            text = f"output {spec.name!r} contains NaN or an infinity, which JSON lacks: ask for binary_data"
            raise bad_request(text)
    return array.ravel().tolist()
