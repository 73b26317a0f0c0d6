"""The time that a call of a model spends outside of compiled code, by node of the model."""

from __future__ import annotations

from collections.abc import Mapping

from stepwell.runtime.devices.table import PART_BACKENDS
from stepwell.runtime.host import DEVICE, Callee
from stepwell.runtime.model import CompiledModel

_MOST_NAMED = 3


def is_device_part(callee: Callee) -> bool:
    """Whether a callee is a part of the model on a device."""
    return callee.kind == DEVICE or callee.kind in PART_BACKENDS


def seconds_on_host(model: CompiledModel) -> float:
    """The time of the host calls in the last call of a model."""
    return sum(milliseconds_on_host(model).values()) / 1e3


def milliseconds_on_host(model: CompiledModel) -> Mapping[str, float]:
    """The time of each host call in the last call of a model, by function and node, the longest first."""
    times: dict[str, float] = {}
    for callee, seconds in zip(model.image.main.callees, model.host_seconds, strict=False):
        if not is_device_part(callee):
            name = f"{callee.name.removeprefix('host.')} at {callee.where}"
            times[name] = times.get(name, 0.0) + 1e3 * seconds
    return dict(sorted(times.items(), key=lambda item: -item[1]))


def described(on_host: Mapping[str, float], milliseconds: float) -> str:
    """`52.1 ms on the host of 58.1: string_split at m.onnx: node "a" 52.1`, at most three by name."""
    parts = [f"{name} {time:.1f}" for name, time in list(on_host.items())[:_MOST_NAMED]]
    if more := len(on_host) - len(parts):
        parts.append(f"and {more} more")
    return f"{of_total(sum(on_host.values()) / 1e3, milliseconds / 1e3)}: {', '.join(parts)}"


def of_total(on_host: float, total: float) -> str:
    """`52.1 ms on the host of 58.1`, from seconds."""
    return f"{1e3 * on_host:.1f} ms on the host of {1e3 * total:.1f}"
