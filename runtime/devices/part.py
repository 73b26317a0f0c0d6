"""A device part as bytes: a header of JSON with the host's commands, code in one format or more, weights."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import cast

from stepwell.runtime.devices.commands import Command, commands_of, to_json
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.integers.summands import json_of
from stepwell.runtime.interface import dtype_from_name
from stepwell.runtime.json_values import as_dim, as_list, as_mapping, as_size, as_text

_MAGIC = b"SWDP\x01"
_LENGTH_BYTES = 8
_MOST_HEADER_BYTES = 1 << 26


@dataclass(frozen=True)
class PartArray:
    """An input or output of a part."""

    dtype: str
    dims: tuple[Dim, ...]


@dataclass(frozen=True)
class DevicePart:
    """A part of a model for a device: what the host does, the code of kernels by format, and the weights."""

    name: str
    device: str
    """The name of the device that the part was compiled for: `webgpu`, `cuda:1`."""
    target: str
    inputs: tuple[PartArray, ...]
    outputs: tuple[PartArray, ...]
    symbols: Mapping[str, tuple[int, int]]
    """For each open size the input and the axis that have it."""
    sizes_input: int | None
    """The input whose elements are the sizes of further symbols, in the order of its dimensions; or None."""
    arena: Dim
    """The bytes of the memory for inputs, outputs and what is between."""
    commands: tuple[Command, ...]
    codes: Mapping[str, bytes]
    weights: bytes | memoryview
    from_main: Mapping[int, int] = field(default_factory=dict[int, int])
    """Maps inputs to those inputs of the model that parts of the device alone read."""
    to_main: Mapping[int, int] = field(default_factory=dict[int, int])
    """Maps outputs to the outputs of the model that they are, and nothing else."""

    def to_bytes(self) -> bytes:
        """The part as bytes."""
        header = {
            "name": self.name,
            "device": self.device,
            "target": self.target,
            "inputs": [_array_json(each) for each in self.inputs],
            "outputs": [_array_json(each) for each in self.outputs],
            "symbols": {name: list(place) for name, place in self.symbols.items()},
            "sizes input": self.sizes_input,
            "arena": json_of(self.arena),
            "commands": [to_json(command) for command in self.commands],
            "codes": [[format, len(code)] for format, code in self.codes.items()],
            "weights": len(self.weights),
            "from main": [*map(list, self.from_main.items())],
            "to main": [*map(list, self.to_main.items())],
        }
        text = json.dumps(header, separators=(",", ":")).encode()
        length = len(text).to_bytes(_LENGTH_BYTES, "little")
        return b"".join([_MAGIC, length, text, *self.codes.values(), self.weights])

    @staticmethod
    def from_bytes(data: bytes | memoryview) -> DevicePart:
        """The part of bytes. Raises: StepwellError `bad-artifact` for anything else."""
        start = len(_MAGIC) + _LENGTH_BYTES
        length = int.from_bytes(data[len(_MAGIC) : start], "little")
        if data[: len(_MAGIC)] != _MAGIC or length > min(_MOST_HEADER_BYTES, len(data)):
            raise StepwellError("bad-artifact", None, f"no device part, or a cut one: {len(data)} bytes")
        try:
            return _part(as_mapping(json.loads(bytes(data[start : start + length]))), data, start + length)
        except (ValueError, KeyError, TypeError, RecursionError, StepwellError) as error:
            said = error.message if isinstance(error, StepwellError) else f"{type(error).__name__}: {error}"
            raise StepwellError(
                "bad-artifact", None, f"the header of a device part is wrong: {said}"
            ) from None

    def emitted(self) -> str:
        """The commands as `--emit commands` prints them."""
        lines = [f"part @{self.name} on {self.device} ({self.target})"]
        lines += [f"  arena {self.arena} bytes, weights {len(self.weights)} bytes, uploaded once"]
        return "\n".join([*lines, *(f"  {command}" for command in self.commands)])


def _part(header: Mapping[str, object], data: bytes | memoryview, place: int) -> DevicePart:
    """The part of a header. Raises: ValueError, KeyError, TypeError."""
    codes: dict[str, bytes] = {}
    for entry in as_list(header["codes"]):
        format, size = as_list(entry, 2)
        codes[as_text(format)] = bytes(data[place : place + as_size(size)])
        place += as_size(size)
    weights = as_size(header["weights"])
    if place + weights != len(data):
        raise ValueError(f"it says {place + weights} bytes, and there are {len(data)}")
    inputs, outputs = (tuple(map(_array, as_list(header[side]))) for side in ("inputs", "outputs"))
    sizes = header["sizes input"]
    symbols = {name: _source(at, inputs) for name, at in as_mapping(header["symbols"]).items()}
    part = DevicePart(
        as_text(header["name"]),
        as_text(header["device"]),
        as_text(header["target"]),
        inputs,
        outputs,
        symbols,
        None if sizes is None else as_size(sizes),
        as_dim(header["arena"]),
        tuple(commands_of(header["commands"])),
        codes,
        memoryview(data)[place:],  # without a copy: weights are most of a part
        _pairs(header["from main"], len(inputs)),
        _pairs(header["to main"], len(outputs)),
    )
    for command in part.commands:
        _expect_known(command, part)
    return part


def _expect_known(command: Command, part: DevicePart) -> None:
    """Require inputs and outputs that are there. Raises: ValueError."""
    number = getattr(command, "number", None)
    count = max(len(part.inputs), len(part.outputs))
    if number is not None and cast(int, number) >= count:
        raise ValueError(f"there is no array {number}: {command}")


def _pairs(data: object, count: int) -> dict[int, int]:
    """The numbers of arrays of the part and of the model. Raises: ValueError, TypeError."""
    pairs = [as_list(each, 2) for each in as_list(data)]
    found = {as_size(own): as_size(other) for own, other in pairs}
    if any(own >= count for own in found):
        raise ValueError(f"there is no array {max(found)}")
    return found


def _array_json(array: PartArray) -> list[object]:
    return [array.dtype, [json_of(dim) for dim in array.dims]]


def _array(data: object) -> PartArray:
    dtype, dims = as_list(data, 2)
    dtype_from_name(as_text(dtype))
    return PartArray(as_text(dtype), tuple(map(as_dim, as_list(dims))))


def _source(data: object, inputs: tuple[PartArray, ...]) -> tuple[int, int]:
    """The input and the axis with a size. Raises: ValueError."""
    number, axis = (as_size(each) for each in as_list(data, 2))
    if number >= len(inputs) or axis >= len(inputs[number].dims):
        raise ValueError(f"no input {number} with an axis {axis}")
    return number, axis
