"""Modules for targets with blocks of threads, whose ops have no long vectors."""

from __future__ import annotations

from xdsl.ir import Operation


def is_for_gpu(op: Operation) -> bool:
    """Whether an op is in a module for a target with blocks of threads."""
    from stepwell.dialects.sched import TARGET  # CPUs' models do without the imports

    around = op.get_toplevel_object()
    spec = around.attributes.get(TARGET) if isinstance(around, Operation) else None
    if spec is None:
        return False
    from stepwell.dialects.target import is_gpu

    return is_gpu(spec)
