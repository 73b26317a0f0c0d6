"""The precision lists of `to-mixed-precision`: ops on narrow floats always, on narrow operands, or never."""

from __future__ import annotations

from enum import Enum

from xdsl.ir import Operation

from stepwell.dialects.graph.base import GraphOp, Kind


class Precision(Enum):
    """The list of an op: its choice between narrow and f32 operands where both are available."""

    ALWAYS = "always"
    """On narrow operands: contractions with a sum in f32, where narrow floats save most."""
    FOLLOW = "follow"
    """On narrow operands if all operands but constants are narrow already."""
    NEVER = "never"
    """On f32: long sums, and functions that magnify rounding errors or leave the range of f16."""


_ALWAYS = frozenset({"attention", "conv", "conv_transpose", "einsum", "matmul"})
_NEVER = frozenset(
    """
    acosh asinh atanh cosh exp expm1 log log1p power rsqrt sinh softplus tan
    batch_norm group_norm instance_norm log_softmax lp_norm lrn reduce scan softmax
    bitcast cast dequantize quantize requantize resize rnn tree_ensemble
    """.split()
)


def default_precision(op: Operation) -> Precision:
    """The default list of an op. Layer and RMS norms follow, since they compute in their `compute_type`."""
    if not isinstance(op, GraphOp) or op.KIND in (Kind.STRUCTURE, Kind.OPAQUE) or op.regions:
        return Precision.NEVER
    name = op.name.removeprefix("graph.")
    if name in _ALWAYS:
        return Precision.ALWAYS
    return Precision.NEVER if name in _NEVER else Precision.FOLLOW
