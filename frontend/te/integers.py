"""Integers of formulas: signs of sizes, and conversions that keep each number."""

from __future__ import annotations

from collections.abc import Mapping

from stepwell.frontend.te.expressions import Dtype, is_integer
from stepwell.runtime.dims import Dim


def is_nonnegative(dim: Dim, positive: Mapping[str, Dim]) -> bool:
    """Whether a size is at least 0, given the symbols that are at least 1."""
    return dim.is_nonnegative or dim.substitute(positive).is_nonnegative


def keeps_numbers(old: Dtype, new: Dtype) -> bool:
    """
    Whether a conversion of integers preserves every value: the new type has enough bits, and signs if needed.
    """
    if not (is_integer(old) and is_integer(new)):
        return False
    bits, more = (int(dtype.removeprefix("u").removeprefix("int")) for dtype in (old, new))
    if old.startswith("u") == new.startswith("u"):
        return bits <= more
    return old.startswith("u") and bits < more
