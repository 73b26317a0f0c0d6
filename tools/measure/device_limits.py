"""The limits of a device, measured once and stored: bytes and f32 operations per second of our kernels."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np

from stepwell.runtime.devices.arrays import DeviceInfo
from stepwell.runtime.devices.profiling import timed_launches
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
    copied = [(f"float[{n}]", f"float[{n}]", "y = Neg(x)", 8 * n) for n in _COPIED]
    products = [(f"float[{n}, {n}]", f"float[{n}, {n}]", "y = MatMul(x, x)", 2 * n**3) for n in _PRODUCTS]
    limits = DeviceLimits(info.about, *(round(_rate(info, each) / 1e9, 2) for each in (copied, products)))
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


def _rate(info: DeviceInfo, cases: Sequence[tuple[str, str, str, int]]) -> float:
    """The rate, in units of work per second, of the first model that is long enough, or the last one."""
    rate = 0.0
    for given, made, node, work in cases:
        seconds = _seconds(info, given, made, node)
        rate = work / seconds
        if seconds > _LONG_ENOUGH_SECONDS:
            break
    return rate


def _seconds(info: DeviceInfo, given: str, made: str, node: str) -> float:
    """The shortest time of a model's kernels."""
    import onnx.parser

    from stepwell.tools.driver.compile import compile

    text = f'<ir_version: 8, opset_import: ["" : 18]> g ({given} x) => ({made} y) {{ {node} }}'
    model = compile(onnx.parser.parse_model(text), target=str(info.target), device=info.name)
    shape = tuple(dim.value for dim in model.interface.inputs[0].dims)
    x = device(info.name).array(np.random.default_rng(0).standard_normal(shape, np.float32))
    times: list[float] = []
    for _ in range(_RUNS + 1):  # the first one loads the code
        with timed_launches() as profile:
            model(x, output="device")
        times.append(sum(profile.seconds.values()))
    return min(times[1:])


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
