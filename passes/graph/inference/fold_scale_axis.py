"""`fold-scale-axis`: multiplications per channel by constants move into the weights of contractions."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.func import FuncOp

from stepwell.dialects._xdsl import weights_of
from stepwell.passes.base import FunctionPass, Numerics
from stepwell.passes.graph.inference.scale_rules import FoldInputScale, FoldOutputScale
from stepwell.patterns.rule_sets import apply_rules
from stepwell.runtime.errors import StepwellError

_RULES = {"backward": FoldOutputScale, "forward": FoldInputScale}


@dataclass(frozen=True)
class FoldScaleAxisPass(FunctionPass):
    """
    Move a constant multiplication next to a convolution or product with constant weights into those.

    Backward, one on the output: through `bias_add` and sums, of which it multiplies the other side as well,
    and through `relu` when it is positive. Forward, one on the input: through `relu` when it is positive, and
    through added constants, which it divides when it lies between 2^-64 and 2^64. Never past a value that
    something else reads too, nor past what moves the channels.

    Class: rounding. Needs constant weights: run `fold-constant` before.
    Source: TVM's BackwardFoldScaleAxis and ForwardFoldScaleAxis.
    """

    name = "fold-scale-axis"
    opt_level = 1
    numerics = Numerics.ROUNDING

    direction: str = "backward"
    """`backward`: what scales an output; `forward`: what scales an input."""

    def apply_to_function(self, ctx: Context, func: FuncOp) -> None:
        if self.direction not in _RULES:
            raise StepwellError(
                "bad-option",
                None,
                f"fold-scale-axis has no direction {self.direction!r}",
                help=f"there are {' and '.join(_RULES)}",
            )
        apply_rules(func.body, [_RULES[self.direction](weights_of(ctx))])
