"""The target of code for a device that is here."""

from __future__ import annotations

from stepwell.runtime.machine.named_target import Target
from stepwell.runtime.targets.cuda import arch_for
from stepwell.runtime.targets.registry import kind_names
from stepwell.runtime.targets.rocm import ARCHS


def device_target(kind: str, arch: str) -> Target | None:
    """
    The target of code for a device of a kind; None for one that runs the code of others, or an unknown GPU.

    Args: `arch` is the architecture that the driver names; empty for kinds without.
    """
    if kind not in kind_names():
        return None
    if not arch:
        return Target(kind)
    known = arch_for(arch) if kind == "cuda" else arch if arch in ARCHS else None
    return None if known is None else Target({"kind": kind, "arch": known})
