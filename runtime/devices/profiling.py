"""Times of kernels on devices: each launch is waited for while a profile is taken."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field


@dataclass
class DeviceTimes:
    """The times of kernels and copies of device parts, by name, in the order of first launches."""

    seconds: dict[str, float] = field(default_factory=dict[str, float])
    launches: dict[str, int] = field(default_factory=dict[str, int])
    array_bytes: dict[str, int] = field(default_factory=dict[str, int])
    """The bytes of the arrays of a kernel, each once a launch."""
    operations: dict[str, int] = field(default_factory=dict[str, int])
    """The arithmetic of a kernel, where its part has the count."""
    devices: dict[str, str] = field(default_factory=dict[str, str])
    """The name of the device that a kernel ran on."""
    copied_bytes: int = 0
    copy_seconds: float = 0.0
    cycles: dict[str, dict[str, int]] = field(default_factory=dict[str, dict[str, int]])
    """The cycles of each stage of an accelerator, by layer."""

    def add(self, name: str, seconds: float) -> None:
        """Note a launch."""
        self.seconds[name] = self.seconds.get(name, 0.0) + seconds
        self.launches[name] = self.launches.get(name, 0) + 1

    def add_arrays(self, name: str, nbytes: int, device: str) -> None:
        """Note the arrays of a launch."""
        self.array_bytes[name] = self.array_bytes.get(name, 0) + nbytes
        self.devices[name] = device

    def add_operations(self, name: str, count: int) -> None:
        """Note the arithmetic of a launch."""
        self.operations[name] = self.operations.get(name, 0) + count


CURRENT: ContextVar[DeviceTimes | None] = ContextVar("stepwell_device_times", default=None)
"""The profile under way."""


@contextmanager
def timed_launches() -> Generator[DeviceTimes]:
    """A profile of the launches of the `with` block, of this thread."""
    token = CURRENT.set(times := DeviceTimes())
    try:
        yield times
    finally:
        CURRENT.reset(token)
