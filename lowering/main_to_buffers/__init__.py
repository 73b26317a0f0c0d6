"""`plan-memory`: `@main`, which calls kernels on tensors, becomes a function on buffers in one arena."""

from importlib import import_module
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
    from stepwell.lowering.main_to_buffers.kept import CALLS
    from stepwell.lowering.main_to_buffers.kernel_signature import with_declarations
    from stepwell.lowering.main_to_buffers.live_buffers import VIEWS
    from stepwell.lowering.main_to_buffers.plan import MainPlan
    from stepwell.lowering.main_to_buffers.plan_diagram import diagram, letter_of, value_of
    from stepwell.lowering.main_to_buffers.plan_memory import PlanMemoryPass
    from stepwell.lowering.main_to_buffers.pools import pools_of

__all__ = [
    "CALLS",
    "VIEWS",
    "MainPlan",
    "PlanMemoryPass",
    "assertion_symbols",
    "error_row",
    "fallible_ops",
    "input_symbols",
    "inputs_of",
    "letter_of",
    "object_indices",
    "diagram",
    "pools_of",
    "published_symbols",
    "returned_values",
    "signature_of",
    "value_of",
    "with_declarations",
]

_OF_THE_PLAN = {"CALLS": "kept", "MainPlan": "plan", "PlanMemoryPass": "plan_memory", "VIEWS": "live_buffers"}
_LATE = (
    _OF_THE_PLAN
    | {"pools_of": "pools", "with_declarations": "kernel_signature"}
    | dict.fromkeys(("letter_of", "diagram", "value_of"), "plan_diagram")
)


def __getattr__(name: str) -> object:
    """The pass and its plan, imported when they are first used: answers from level 1 need the facts alone."""
    if name not in _LATE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_LATE[name]}"), name)
