"""The targets of the devices that this machine has, best first."""

from __future__ import annotations

from stepwell.runtime.devices.table import devices
from stepwell.runtime.machine.named_target import Target
from stepwell.runtime.targets.text import CPU

_BEST = ("cuda", "rocm", "webgpu", "opencl")
"""Kinds in the order in which one is preferred for the same GPU; other packages' follow."""


def detected() -> tuple[Target, ...]:
    """
    The targets of this machine, each once: GPUs by their preferred drivers, the CPU, and then slower
    implementations of GPUs on the CPU.
    """
    found = sorted(
        devices()[0], key=lambda info: _BEST.index(info.kind) if info.kind in _BEST else len(_BEST)
    )
    hardware, software = (
        [target for info in found if info.is_software == side and (target := info.target) is not None]
        for side in (False, True)
    )
    return tuple(dict.fromkeys([*hardware, Target(CPU), *software]))
