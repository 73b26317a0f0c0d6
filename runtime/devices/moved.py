"""A compiled model whose device parts run on another device."""

from __future__ import annotations

from dataclasses import replace

from stepwell.runtime.devices.base import code_of_formats
from stepwell.runtime.devices.part import DevicePart
from stepwell.runtime.devices.table import device_class, expect_device_name
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.host import DEVICE
from stepwell.runtime.image import Entry, ModelImage


def image_on(image: ModelImage, device: str) -> ModelImage:
    """
    An image whose device parts run on a device.

    Raises: StepwellError `no-device`; `wrong-device` for a device that cannot run the parts' code, or for a
    model without device parts.
    """
    kind = expect_device_name(device).partition(":")[0]
    parts = device_parts(image)
    if not parts:
        help = "compile the model with --target or --device"
        raise StepwellError("wrong-device", None, f"the model has no part for {device}", help=help)
    for part in parts:
        code_of_formats(device_class(kind).formats, part.codes, device, f"@{part.name}")
    return image._replace(functions={name: _moved(entry, device) for name, entry in image.functions.items()})


def device_parts(image: ModelImage) -> list[DevicePart]:
    """The device parts of all functions of an image."""
    callees = [callee for entry in image.functions.values() for callee in entry.callees]
    return [DevicePart.from_bytes(callee.code) for callee in callees if callee.kind == DEVICE]


def _moved(entry: Entry, device: str) -> Entry:
    callees = [
        callee._replace(code=replace(DevicePart.from_bytes(callee.code), device=device).to_bytes())
        if callee.kind == DEVICE
        else callee
        for callee in entry.callees
    ]
    return entry._replace(callees=tuple(callees))
