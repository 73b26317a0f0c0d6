"""`legalize`: ops without support by a target or backend are replaced by supported ones."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.func import FuncOp

from stepwell.dialects._xdsl import target_of, weights_of
from stepwell.passes.base import FunctionPass, Numerics
from stepwell.passes.graph.legalize.legalizations import legalizations
from stepwell.patterns.driver.greedy import apply_patterns_once


@dataclass(frozen=True)
class LegalizePass(FunctionPass):
    """
    Replace each op by the result of its pattern in a named set of patterns.

    In post order, each op once: ops made by patterns are not visited again. A pattern may decide by types,
    constants and the target, and leave the op as it is.

    Class: that of the patterns of the set; those of `kernels`, `wide-convs` and `wide-floats` round, those of
    `transposed-products` are exact.
    Source: TVM's Legalize.
    """

    name = "legalize"
    opt_level = 1
    numerics = Numerics.ROUNDING

    set: str
    """The set's name: `kernels`, `transposed-products`, `wide-convs`, `wide-floats`, or one of a package."""

    def apply_to_function(self, ctx: Context, func: FuncOp) -> None:
        patterns = legalizations(self.set, weights_of(ctx), target_of(ctx))
        apply_patterns_once(func.body.walk(region_first=True), patterns)
