"""The builder of ops outside of rewrites, whose import a model without loops does not need."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xdsl.dialects.builtin import LocationAttr
from xdsl.rewriter import InsertPoint

if TYPE_CHECKING:
    from stepwell.dialects.ir_builder import IRBuilder


def builder(at: InsertPoint, location: LocationAttr | None) -> IRBuilder:
    """An `IRBuilder` at a point, imported (30 ms, with `arith`, `scf` and `tensor`) when first used."""
    from stepwell.dialects.ir_builder import IRBuilder

    return IRBuilder(at, location)
