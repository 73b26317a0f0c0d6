"""`simplify-inference`: normalization ops are replaced by the arithmetic that inference needs."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.func import FuncOp

from stepwell.dialects._xdsl import weights_of
from stepwell.dialects.graph_ir.refine import refine_types
from stepwell.passes.base import FunctionPass, Numerics
from stepwell.passes.graph.norm_parts import norm_patterns
from stepwell.passes.options import expect_rewrites
from stepwell.patterns.driver.greedy import apply_patterns


@dataclass(frozen=True)
class SimplifyInferencePass(FunctionPass):
    """
    Replace batch norm by a multiplication and an addition per channel, other norms by their arithmetic.

    With constant statistics, `fold-constant` computes the two vectors, and `fold-scale-axis` then moves the
    multiplication into the weights of a convolution. The default pipeline replaces batch norm only: the other
    norms have kernels of their own.

    Class: rounding.
    """

    name = "simplify-inference"
    opt_level = 1
    numerics = Numerics.ROUNDING

    only: tuple[str, ...] = ()
    """Names of the operators to replace, without dialect; all that have a pattern when empty."""

    def apply_to_function(self, ctx: Context, func: FuncOp) -> None:
        known = norm_patterns(weights_of(ctx))
        expect_rewrites(self.name, self.only, known)
        chosen = {id(known[name]): known[name] for name in known if name in self.only or not self.only}
        if apply_patterns(func.body, list(chosen.values())):
            refine_types(func)  # a broadcast's result knows the sizes of the statistics and of the input
