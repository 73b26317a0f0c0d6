"""The profile of device parts as text: kernels by time, copies, the stages of an accelerator."""

from __future__ import annotations

from collections.abc import Mapping

from stepwell.runtime.devices.profiling import DeviceTimes, timed_launches
from stepwell.runtime.model import CompiledModel
from stepwell.tools.measure.device_limits import DeviceLimits, kept_limits
from stepwell.tools.report import readable_bytes, table_text


def device_times(model: CompiledModel, feeds: Mapping[str, object]) -> DeviceTimes:
    """The times of the launches of a second call: the first call loads the code."""
    model.run(feeds)
    with timed_launches() as times:
        model.run(feeds)
    return times


def device_profile_text(times: DeviceTimes) -> str:
    """
    A table of kernels, the slowest first, and a line about copies.

    Rates count each array of a kernel once, shares are those of what `stepwell calibrate` measured.
    """
    limits = {name: kept_limits(name) for name in {*times.devices.values()}}
    has_limits = any(limits.values())
    total = sum(times.seconds.values()) or 1.0
    slowest = sorted(times.seconds, key=lambda name: -times.seconds[name])
    rows = [
        [
            name,
            str(times.launches[name]),
            f"{1e3 * times.seconds[name]:.3f}",
            f"{times.seconds[name] / total:.0%}",
            *_rates(times, name, limits, has_limits),
            *_cycles(times.cycles.get(name)),
        ]
        for name in slowest
    ]
    header = [
        "kernel on the device",
        "launches",
        "ms",
        "share",
        *(["GB/s"] * bool(times.array_bytes)),
        *(["of the device's"] * has_limits),
        *(["cycles: load, compute, store"] * bool(times.cycles)),
    ]
    text = table_text(header, rows, numbers=(1, 2, 3, 4, 5)[: 3 + bool(times.array_bytes) + has_limits])
    copied = f"{readable_bytes(times.copied_bytes)} copied in {1e3 * times.copy_seconds:.3f} ms"
    return f"{text}\n{copied}; each launch was waited for"


def device_profile_json(times: DeviceTimes) -> dict[str, object]:
    """The same as JSON."""
    return {
        "device kernels": [
            {
                "name": name,
                "launches": times.launches[name],
                "seconds": times.seconds[name],
                "array bytes": times.array_bytes.get(name),
            }
            for name in times.seconds
        ],
        "copied bytes": times.copied_bytes,
        "cycles": times.cycles,
    }


def _rates(
    times: DeviceTimes, name: str, limits: Mapping[str, DeviceLimits | None], has_limits: bool
) -> list[str]:
    """The bytes of a kernel's arrays per second, and the share of what the device can copy."""
    if not times.array_bytes:
        return []
    rate = times.array_bytes.get(name, 0) / max(times.seconds[name], 1e-9) / 1e9
    limit = limits.get(times.devices.get(name, ""))
    shares = [f"{rate / limit.copy_gbps:.0%}" if limit is not None and limit.copy_gbps else ""] * has_limits
    return [f"{rate:.2f}", *shares]


def _cycles(cycles: Mapping[str, int] | None) -> list[str]:
    """The cycles of stages, and how much of the whole each is busy."""
    if cycles is None:
        return []
    longest = max(cycles.values()) or 1
    return [", ".join(f"{count} ({count / longest:.0%})" for count in cycles.values())]
