"""
Devices by name: a lazy table. Nothing of a device is imported before it is asked for.

Ours are listed here; packages register theirs by an entry point of group `stepwell.devices`: the name of the
kind = `module:Class`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from threading import Lock
from typing import cast

from stepwell.runtime.devices.base import Device, DeviceInfo
from stepwell.runtime.errors import StepwellError, did_you_mean
from stepwell.runtime.installation import expect_compiler
from stepwell.runtime.packages import entry_points

ENTRY_POINTS = "stepwell.devices"
OURS: Mapping[str, str] = {
    "cuda": "stepwell.runtime.devices.cuda.device:Cuda",
    "gpu-interpreter": "stepwell.lowering.interpret.lanes.device:GpuInterpreter",
    "opencl": "stepwell.runtime.devices.opencl:OpenCl",
    "ptx-interpreter": "stepwell.lowering.interpret.ptx.device:PtxInterpreter",
    "rocm": "stepwell.runtime.devices.rocm.device:Rocm",
    "webgpu": "stepwell.runtime.devices.webgpu:WebGpu",
}
PART_BACKENDS: Mapping[str, str] = {"npu": "programs of the accelerator on its simulator, in numpy"}
"""Devices whose parts a backend of this name compiles and runs."""
_CPU = "cpu"
_OF_COMPILER = "stepwell.lowering"
"""Devices that need the compiler, since they run its text."""
_LOCK = Lock()
_OPEN: dict[str, Device] = {}


def device_kinds() -> list[str]:
    """The kinds of devices that are registered, whether they are here or not."""
    return sorted({*OURS, *PART_BACKENDS, *_outside()})


def device(name: str) -> Device:
    """
    The device of a name, the same object each time: `webgpu`, `webgpu:1`.

    Raises: StepwellError `no-device` for an unknown name, or a device that this machine lacks, with the
    reason; `missing-package`.
    """
    kind, number = _parsed(name)
    with _LOCK:
        key = f"{kind}:{number}"
        if key not in _OPEN:
            _OPEN[key] = device_class(kind)(number)
        return _OPEN[key]


def devices() -> tuple[list[DeviceInfo], dict[str, str]]:
    """The devices that are here, and for each other kind the reason."""
    found: list[DeviceInfo] = []
    missing: dict[str, str] = {}
    for kind in device_kinds():
        if kind in PART_BACKENDS:
            found.append(DeviceInfo(f"{kind}:0", kind, PART_BACKENDS[kind], is_software=True))
            continue
        try:
            found += device_class(kind).found()
        except StepwellError as error:
            missing[kind] = error.message
    return found, missing


def found_devices() -> list[DeviceInfo]:
    """The devices that are here: name, kind, description, memory and target; the CPU is the last one."""
    from stepwell.runtime.machine.target import host_target

    return [*devices()[0], DeviceInfo("cpu:0", _CPU, str(host_target()))]


def _parsed(name: str) -> tuple[str, int]:
    """The kind and the number of a name. Raises: StepwellError `no-device`."""
    kind, colon, number = name.partition(":")
    known = device_kinds()
    if kind == _CPU:
        help = "leave it out: without a device, or with --target cpu, a model runs on the CPU"
        raise StepwellError("no-device", None, "the CPU of this machine needs no device", help=help)
    if kind not in known:
        help = f"{did_you_mean(kind, known)}the devices are {', '.join(known)}; `stepwell devices` shows them"
        raise StepwellError("no-device", None, f"no device is named {name!r} here", help=help)
    if colon and not (number.isascii() and number.isdigit() and len(number) < 4):
        message = f"a device is a kind, or KIND:NUMBER, found {name!r}"
        raise StepwellError("no-device", None, message, help=f"write {kind}:0")
    return kind, int(number or 0)


def expect_device_name(name: str) -> str:
    """A device's name, of a kind that is registered; the device need not be here. Raises: `no-device`."""
    _parsed(name)
    return name


def device_class(kind: str) -> type[Device]:
    """The class of a registered kind, imported. Raises: StepwellError `missing-package`."""
    if kind in PART_BACKENDS:
        message = f"{kind} runs parts that were compiled for it"
        raise StepwellError("no-device", None, message, help=f"compile the model with --device {kind}")
    place = OURS.get(kind) or _outside()[kind]
    if place.startswith(_OF_COMPILER):
        expect_compiler(f"the device {kind!r}")
    module, _, attribute = place.partition(":")
    try:
        return cast("type[Device]", getattr(import_module(module), attribute))
    except ImportError as error:
        message = f"the device {kind!r} needs a package that is not installed: {error}"
        raise StepwellError("missing-package", None, message, help=f"install {error.name or kind}") from None


@cache
def _outside() -> dict[str, str]:
    return {point.name: point.value for point in entry_points(ENTRY_POINTS)}
