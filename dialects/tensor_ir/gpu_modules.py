"""Modules for targets with blocks of threads, which have neither long vectors nor, often, f64."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xdsl.ir import Operation

if TYPE_CHECKING:
    from stepwell.runtime.machine.named_target import Target


def is_for_gpu(op: Operation) -> bool:
    """Whether an op is in a module for a target with blocks of threads."""
    return gpu_of(op) is not None


def lacks_f64(op: Operation) -> bool:
    """Whether an op is in a module for such a target without f64."""
    return (target := gpu_of(op)) is not None and not target.has_feature("f64")


def target_of_module(module: Operation | None) -> Target | None:
    """The target that a module says (`sched.target`); None without one."""
    from stepwell.dialects.sched import TARGET
    from stepwell.dialects.target import SpecAttr

    spec = None if module is None else module.attributes.get(TARGET)
    return spec.target() if isinstance(spec, SpecAttr) else None


def gpu_of(op: Operation) -> Target | None:
    """The target with blocks of threads that a module is for; None for another one."""
    from stepwell.dialects.sched import TARGET  # CPUs' models do without the imports

    around = op.get_toplevel_object()
    spec = around.attributes.get(TARGET) if isinstance(around, Operation) else None
    if spec is None:
        return None
    from stepwell.dialects.target import gpu_target

    return gpu_target(spec)
