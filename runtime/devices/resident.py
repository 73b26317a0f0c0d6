"""
Calls of models on arrays of a device: inputs that are there already, and outputs that stay.

Compiled code passes addresses of the host. An input that device parts alone read has memory of the host that
is never written, by whose address the parts find the array; an output that a part alone writes is the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, cast

import numpy as np

from stepwell.runtime.addresses import address_of
from stepwell.runtime.devices.arrays import DeviceArray
from stepwell.runtime.devices.table import device
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.interface import Array
from stepwell.runtime.sessions.states import Targets

if TYPE_CHECKING:
    from stepwell.runtime.devices.part import DevicePart
    from stepwell.runtime.interface import Interface

ON_DEVICE = "device"


class DeviceModel(Protocol):
    """A compiled model as these calls need it."""

    interface: Interface

    @property
    def device_parts(self) -> Sequence[DevicePart]:
        """The parts on devices."""
        ...

    def output_shapes(self, shapes: Sequence[tuple[int, ...]]) -> tuple[tuple[int, ...], ...]:
        """The shapes of outputs for shapes of inputs."""
        ...

    def invoke(self, values: Sequence[object], targets: Targets | None = None) -> tuple[Array, ...]:
        """The outputs of a call."""
        ...


@dataclass
class Residents:
    """The arrays of a device in a running call, by addresses of the host."""

    inputs: dict[int, DeviceArray] = field(default_factory=dict[int, DeviceArray])
    outputs: dict[int, DeviceArray | None] = field(default_factory=dict[int, "DeviceArray | None"])
    """None until a part has written the output."""


RESIDENTS: ContextVar[Residents | None] = ContextVar("stepwell_residents", default=None)
"""The arrays of the call under way in this thread."""


def resident_input(value: object) -> object:
    """The array of the device for an input of a part, or else the input itself."""
    residents = RESIDENTS.get()
    if residents is None or isinstance(value, DeviceArray):
        return value
    return residents.inputs.get(address_of(cast(Array, value)), value)


def host_outputs(outputs: Sequence[object]) -> list[object]:
    """The arrays of the host for the outputs of a part; None for outputs that stay on the device."""
    residents = RESIDENTS.get()
    if residents is None:
        return list(outputs)
    return [None if _is_wanted(each, residents) else each for each in outputs]


def keep_residents(outputs: Sequence[object], made: Sequence[object]) -> None:
    """Record the arrays of the device that replace outputs of the host."""
    residents = RESIDENTS.get()
    for output, array in zip(outputs, made, strict=True):
        if residents is not None and isinstance(array, DeviceArray) and _is_wanted(output, residents):
            residents.outputs[address_of(cast(Array, output))] = array


def _is_wanted(output: object, residents: Residents) -> bool:
    return isinstance(output, np.ndarray) and address_of(cast(Array, output)) in residents.outputs


def on_devices(
    model: DeviceModel, values: Sequence[object], output: object, targets: Targets | None = None
) -> tuple[object, ...]:
    """
    The outputs of a call, with arrays of a device among the inputs; with "device" these are such arrays too.

    Raises: StepwellError `bad-option` for another `output`, `wrong-device` for a model without device parts;
    `type-mismatch`, `shape-mismatch` and others as calling does.
    """
    if output not in (None, "host", ON_DEVICE):
        message = f"output is host or device, found {output!r}"
        raise StepwellError("bad-option", None, message)
    parts = model.device_parts
    if output == ON_DEVICE and not parts:
        message = "the model has no part on a device on which its outputs could stay"
        raise StepwellError("wrong-device", None, message, help="compile it with --target or --device")
    residents, inputs = Residents(), list(values)
    read = {number: part.device for part in parts for number in part.from_main.values()}
    for number, value in enumerate(inputs):
        if not isinstance(value, DeviceArray):
            continue
        shadow = _on_host(value, read.get(number))
        inputs[number] = value.numpy() if shadow is None else shadow
        if shadow is not None:
            residents.inputs[address_of(shadow)] = value
    memory = Targets() if targets is None else targets
    if output == ON_DEVICE:
        _want_outputs(model, inputs, parts, residents, memory)
    token = RESIDENTS.set(residents)
    try:
        found = model.invoke(inputs, memory if memory else None)
    finally:
        RESIDENTS.reset(token)
    if output != ON_DEVICE:
        return found
    at = device(parts[0].device)
    left = [residents.outputs.get(address_of(array)) if array.nbytes else None for array in found]
    return tuple(at.array(array) if kept is None else kept for kept, array in zip(left, found, strict=True))


def _on_host(array: DeviceArray, name: str | None) -> Array | None:
    """Memory of the host for an array that parts of its own device alone read; None for others."""
    if name is None or not array.nbytes or device(name) is not array.device:
        return None
    return np.empty(array.shape, array.dtype)


def _want_outputs(
    model: DeviceModel,
    inputs: Sequence[object],
    parts: Sequence[DevicePart],
    residents: Residents,
    memory: Targets,
) -> None:
    """Give the outputs that parts alone write memory of the host, by whose address they are found."""
    specs = model.interface.outputs
    shapes = model.output_shapes([np.asarray(each).shape for each in inputs])
    for number in {number for part in parts for number in part.to_main.values()}:
        if number in memory or number >= len(specs):
            continue
        memory[number] = shadow = np.empty(shapes[number], specs[number].dtype)
        if shadow.nbytes:
            residents.outputs[address_of(shadow)] = None
