"""The profile of device parts as text: kernels by time, copies, the stages of an accelerator."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

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
    rates = _Rates(times, {name: kept_limits(name) for name in {*times.devices.values()}})
    total = sum(times.seconds.values()) or 1.0
    slowest = sorted(times.seconds, key=lambda name: -times.seconds[name])
    rows = [
        [
            name,
            str(times.launches[name]),
            f"{1e3 * times.seconds[name]:.3f}",
            f"{times.seconds[name] / total:.0%}",
            *rates.cells(name),
            *_cycles(times.cycles.get(name)),
        ]
        for name in slowest
    ]
    header = [
        "kernel on the device",
        "launches",
        "ms",
        "share",
        *rates.header(),
        *(["cycles: load, compute, store"] * bool(times.cycles)),
    ]
    text = table_text(header, rows, numbers=range(1, 4 + len(rates.header())))
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
                "operations": times.operations.get(name),
            }
            for name in times.seconds
        ],
        "copied bytes": times.copied_bytes,
        "cycles": times.cycles,
    }


@dataclass(frozen=True)
class _Rates:
    """The columns with bytes and operations per second, and their shares of the device's."""

    times: DeviceTimes
    limits: Mapping[str, DeviceLimits | None]

    def _counts(self) -> list[tuple[str, Mapping[str, int], str]]:
        """The units of what was counted of any kernel, the counts by kernel, and the fields of limits."""
        counts = (("GB/s", self.times.array_bytes, "copy_gbps"), ("GFLOP/s", self.times.operations, "gflops"))
        return [each for each in counts if each[1]]

    def header(self) -> list[str]:
        """The names of the columns."""
        share = ["of the device's"] * any(self.limits.values())
        return [name for unit, _, _ in self._counts() for name in (unit, *share)]

    def cells(self, name: str) -> list[str]:
        """The cells of a kernel; empty ones for what is not known."""
        limit = self.limits.get(self.times.devices.get(name, ""))
        found: list[str] = []
        for _, counts, field in self._counts():
            rate = counts.get(name, 0) / max(self.times.seconds[name], 1e-9) / 1e9
            most = getattr(limit, field, 0.0)
            found.append(f"{rate:.2f}" if name in counts else "")
            if any(self.limits.values()):
                found.append(f"{rate / most:.0%}" if name in counts and most else "")
        return found


def _cycles(cycles: Mapping[str, int] | None) -> list[str]:
    """The cycles of stages, and how much of the whole each is busy."""
    if cycles is None:
        return []
    longest = max(cycles.values()) or 1
    return [", ".join(f"{count} ({count / longest:.0%})" for count in cycles.values())]
