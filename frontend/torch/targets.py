"""Operators of PyTorch that a module of level 0 does not have: arithmetic of sizes, and checks."""

from functools import cache
from pathlib import Path

from stepwell.dialects import torch

LEFT_OUT_ARGUMENTS = frozenset(
    {"device", "layout", "pin_memory", "generator", "memory_format", "non_blocking"}
)
"""Arguments without a meaning for values."""
_SIZES = ("aten.sym_", "_operator.", "math.", "aten.sym_size", "sympy.")
_SIZE_TARGETS = frozenset(
    {"torch.sym_max", "torch.sym_min", "torch.sym_float", "torch.sym_not", "torch.sym_ite"}
)
_CHECKS = frozenset(
    {
        "aten._assert_async.msg",
        "aten._assert_scalar.default",
        "aten._assert_tensor_metadata.default",
        "aten.sym_constrain_range.default",
        "aten.sym_constrain_range_for_size.default",
        "torch._check",
    }
)


def is_size(target: str) -> bool:
    """Whether an operator computes a size, which types and attributes have as an expression."""
    return target.startswith(_SIZES) or target in _SIZE_TARGETS


def is_check(target: str) -> bool:
    """Whether an operator only checks what is known when the program is exported."""
    return target in _CHECKS


@cache
def kept() -> frozenset[str]:
    """The overloads with a conversion of their own, which are not decomposed (`aten.linear.default`)."""
    text = Path(torch.__file__).with_name("converted.txt").read_text(encoding="utf-8")
    return frozenset(line for line in text.splitlines() if not line.startswith("#"))
