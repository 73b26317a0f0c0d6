"""`plan-memory`: `@main`, which calls kernels on tensors, becomes a function on buffers in one arena."""

from stepwell.lowering.main_to_buffers.analysis import analyse_main
from stepwell.lowering.main_to_buffers.lowered_main import main_facts, returned_values
from stepwell.lowering.main_to_buffers.main import (
    KernelSignature,
    assertion_symbols,
    fallible_ops,
    input_symbols,
    inputs_of,
    object_indices,
    published_symbols,
    signature_of,
)
from stepwell.lowering.main_to_buffers.plan_memory import PlanMemoryPass

__all__ = [
    "KernelSignature",
    "PlanMemoryPass",
    "analyse_main",
    "assertion_symbols",
    "fallible_ops",
    "input_symbols",
    "inputs_of",
    "main_facts",
    "object_indices",
    "published_symbols",
    "returned_values",
    "signature_of",
]
