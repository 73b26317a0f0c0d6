"""Which ops `to-mixed-precision` computes on narrow floats: always, if their operands are, or never."""

from __future__ import annotations

from enum import Enum

from xdsl.ir import Operation

from stepwell.dialects.graph.base import GraphOp, Kind


class Precision(Enum):
    """What an op makes of f32 operands that have a narrow form."""

    ALWAYS = "always"
    """It takes narrow operands: products with a sum in f32, where narrow floats save most."""
    FOLLOW = "follow"
    """It takes narrow operands when all that are no constants are narrow already."""
    NEVER = "never"
    """It takes f32: long sums, and functions that magnify what rounding lost or leave the range of f16."""


_ALWAYS = frozenset({"attention", "conv", "conv_transpose", "einsum", "matmul"})
_NEVER = frozenset(
    """
    acosh asinh atanh cosh exp expm1 log log1p power rsqrt sinh softplus tan
    batch_norm group_norm instance_norm log_softmax lp_norm lrn reduce scan softmax
    bitcast cast dequantize quantize requantize resize rnn tree_ensemble
    """.split()
)


def default_precision(op: Operation) -> Precision:
    """The list of an op. Norms of rows follow, since they compute in their `compute_type`."""
    if not isinstance(op, GraphOp) or op.KIND in (Kind.STRUCTURE, Kind.OPAQUE) or op.regions:
        return Precision.NEVER
    name = op.name.removeprefix("graph.")
    if name in _ALWAYS:
        return Precision.ALWAYS
    return Precision.NEVER if name in _NEVER else Precision.FOLLOW
