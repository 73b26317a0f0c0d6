"""The limits of a device, measured once and stored: bytes and f32 operations per second of our kernels."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np

from stepwell.runtime.devices.arrays import DeviceInfo
from stepwell.runtime.devices.profiling import DeviceTimes, timed_launches
from stepwell.runtime.devices.table import device, devices
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.cache import default_folder
from stepwell.runtime.files.whole_files import write_text

_RUNS = 5
_LONG_ENOUGH_SECONDS = 0.01
"""Larger work is not tried after a launch of this time: its start is a small part of it."""
_COPIED = (1 << 20, 1 << 25)
"""The numbers of f32 elements of copies; the larger one is beyond caches, and within a binding of WebGPU."""
_PRODUCTS = (256, 1024, 4096)
"""The sizes of square products."""


@dataclass(frozen=True)
class DeviceLimits:
    """The highest rates that kernels of ours had on a device."""

    about: str
    """The hardware and the driver that were measured."""
    copy_gbps: float
    """GB/s read and written by an elementwise kernel."""
    gflops: float
    """f32 operations of a product, a multiply-add counts as two."""


def measured_limits(name: str) -> DeviceLimits:
    """
    The limits of a device, measured now and stored.

    Raises: StepwellError `no-device`; `bad-option` for an interpreter or a simulator.
    """
    info = _info(name)
    if info.target is None or info.kind == "npu":
        message = f"{info.name} is no device to measure: it runs the code of others for tests"
        raise StepwellError("bad-option", None, message, help="`stepwell devices` lists what is here")
    copied = _rate(info, [(f"float[{n}]", "y = Neg(x)") for n in _COPIED], "array_bytes")
    products = _rate(info, [(f"float[{n}, {n}]", "y = MatMul(x, x)") for n in _PRODUCTS], "operations")
    limits = DeviceLimits(info.about, round(copied / 1e9, 2), round(products / 1e9, 2))
    _keep({**_kept(), info.name: asdict(limits)})
    return limits


def kept_limits(name: str) -> DeviceLimits | None:
    """The stored limits of a device; None where it was not measured, or is another one by now."""
    if (known := _kept().get(_numbered(name))) is None:
        return None
    try:
        info = _info(name)
        found = DeviceLimits(str(known["about"]), float(known["copy_gbps"]), float(known["gflops"]))
    except (StepwellError, KeyError, TypeError, ValueError):
        return None
    return found if found.about == info.about else None


def _rate(info: DeviceInfo, models: Sequence[tuple[str, str]], counted: str) -> float:
    """
    The rate, per second, of the first model that is long enough, or the last one.

    Args: `models` are types of input and output, and nodes; `counted` is the field of profiles with the work.
    """
    rate = 0.0
    for type, node in models:
        profile = _fastest(info, type, node)
        seconds = sum(profile.seconds.values())
        rate = sum(getattr(profile, counted).values()) / seconds
        if seconds > _LONG_ENOUGH_SECONDS:
            break
    return rate


def _fastest(info: DeviceInfo, type: str, node: str) -> DeviceTimes:
    """The profile with the shortest time of a model's kernels."""
    import onnx.parser

    from stepwell.tools.driver.compile import compile

    text = f'<ir_version: 8, opset_import: ["" : 18]> g ({type} x) => ({type} y) {{ {node} }}'
    model = compile(onnx.parser.parse_model(text), target=str(info.target), device=info.name)
    shape = tuple(dim.value for dim in model.interface.inputs[0].dims)
    x = device(info.name).array(np.random.default_rng(0).standard_normal(shape, np.float32))
    profiles: list[DeviceTimes] = []
    for _ in range(_RUNS + 1):  # the first one loads the code
        with timed_launches() as profile:
            model(x, output="device")
        profiles.append(profile)
    return min(profiles[1:], key=lambda profile: sum(profile.seconds.values()))


def _info(name: str) -> DeviceInfo:
    """A device that is here. Raises: StepwellError `no-device`."""
    wanted = _numbered(name)
    found, _ = devices()
    if (info := next((each for each in found if each.name == wanted), None)) is None:
        return device(name).info  # the error says why it is not here
    return info


def _numbered(name: str) -> str:
    return name if ":" in name else f"{name}:0"


def _file() -> Path:
    return default_folder() / "devices.json"


def _kept() -> dict[str, Any]:
    try:
        kept = json.loads(_file().read_text())
    except (OSError, ValueError):
        return {}
    return cast("dict[str, Any]", kept) if isinstance(kept, dict) else {}


def _keep(kept: dict[str, Any]) -> None:
    try:
        _file().parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_text(_file(), json.dumps(kept, indent=1) + "\n")
    except (OSError, StepwellError):
        return  # a cache that cannot be written: measured again next time
