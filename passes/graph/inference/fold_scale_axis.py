"""`fold-scale-axis`: multiplications per channel by constants merge into the weights of contractions."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.func import FuncOp

from stepwell.dialects._xdsl import weights_of
from stepwell.passes.base import FunctionPass, Numerics
from stepwell.passes.graph.inference.scale_patterns import FoldInputScale, FoldOutputScale
from stepwell.patterns.driver.greedy import apply_patterns
from stepwell.runtime.errors import StepwellError

_PATTERNS = {"backward": FoldOutputScale, "forward": FoldInputScale}


@dataclass(frozen=True)
class FoldScaleAxisPass(FunctionPass):
    """
    Merge a constant factor of a contraction's input or output into its constant weights.

    Backward, a factor of the output: through `bias_add` and sums, whose other side is multiplied as well,
    and through `relu` when it is positive. Forward, a factor of the input: through `relu` when it is
    positive, and through added constants, which are divided when the factor is between 2^-64 and 2^64. Never
    past a value with several uses, nor past an op that moves the channels.

    Class: rounding. Needs constant weights: run `fold-constant` before.
    Source: TVM's BackwardFoldScaleAxis and ForwardFoldScaleAxis.
    """

    name = "fold-scale-axis"
    opt_level = 1
    numerics = Numerics.ROUNDING

    direction: str = "backward"
    """`backward`: factors of outputs; `forward`: factors of inputs."""

    def apply_to_function(self, ctx: Context, func: FuncOp) -> None:
        if self.direction not in _PATTERNS:
            raise StepwellError(
                "bad-option",
                None,
                f"fold-scale-axis has no direction {self.direction!r}",
                help=f"there are {' and '.join(_PATTERNS)}",
            )
        apply_patterns(func.body, [_PATTERNS[self.direction](weights_of(ctx))])
