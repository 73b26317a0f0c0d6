"""`plan-memory`: `@main`, which calls kernels on tensors, becomes a function on buffers in one arena."""

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
