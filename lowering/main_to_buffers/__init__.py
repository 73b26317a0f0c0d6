"""`plan-memory`: `@main`, which calls kernels on tensors, becomes a function on buffers in one arena."""

from typing import TYPE_CHECKING

from stepwell.lowering.main_to_buffers.facts import (
    assertion_symbols,
    error_row,
    fallible_ops,
    input_symbols,
    inputs_of,
    object_indices,
    published_symbols,
    returned_values,
    signature_of,
)

if TYPE_CHECKING:
    from stepwell.lowering.main_to_buffers.plan import MainPlan
    from stepwell.lowering.main_to_buffers.plan_memory import PlanMemoryPass

__all__ = [
    "MainPlan",
    "PlanMemoryPass",
    "assertion_symbols",
    "error_row",
    "fallible_ops",
    "input_symbols",
    "inputs_of",
    "object_indices",
    "published_symbols",
    "returned_values",
    "signature_of",
]


def __getattr__(name: str) -> object:
    """The pass and its plan, imported when they are first used: answers from level 1 need the facts alone."""
    if name not in ("MainPlan", "PlanMemoryPass"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from stepwell.lowering.main_to_buffers.plan import MainPlan
    from stepwell.lowering.main_to_buffers.plan_memory import PlanMemoryPass

    return MainPlan if name == "MainPlan" else PlanMemoryPass
