"""`raise-to-row-ops`: expanded normalizations, softmax, attention and activations become one op each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache

from xdsl.context import Context
from xdsl.dialects.func import FuncOp

from stepwell.passes.base import FunctionPass, Numerics
from stepwell.passes.context import count
from stepwell.passes.graph.raising import activation_rules, attention_rules, row_rules
from stepwell.passes.options import expect_rewrites
from stepwell.patterns import Rule, rewrite

_RULES: Mapping[str, tuple[Callable[[], Rule], ...]] = {
    "layer_norm": (row_rules.raise_layer_norm, row_rules.scale_norm, row_rules.shift_norm),
    "rms_norm": (row_rules.raise_rms_norm, row_rules.scale_norm, row_rules.shift_norm),
    "softmax": (row_rules.raise_softmax,),
    "log_softmax": (row_rules.raise_log_of_softmax, row_rules.raise_log_softmax),
    "attention": (attention_rules.raise_attention,),
    "gelu": (activation_rules.raise_gelu, activation_rules.raise_tanh_gelu),
    "silu": (activation_rules.raise_sigmoid, activation_rules.raise_silu),
}
"""The rules by the op that they make. A layer norm is an RMS norm of centred rows, so it comes first."""


@dataclass(frozen=True)
class RaiseToRowOpsPass(FunctionPass):
    """
    Replace groups of ops that compute a norm, softmax, attention or activation by that op.

    Exporters expand layer norm, RMS norm, softmax, log_softmax, attention, GELU, sigmoid and SiLU. The single
    op is one kernel, or joins one, and its lowering is numerically stable. A group with an intermediate value
    that has other uses stays, so that nothing is computed twice.

    Class: rounding. Runs before `fuse-ops`; constants may be folded or not.
    """

    name = "raise-to-row-ops"
    opt_level = 1
    numerics = Numerics.ROUNDING

    only: tuple[str, ...] = ()
    """Names of the ops to recognize, without dialect; all that have rules when empty."""

    def apply_to_function(self, ctx: Context, func: FuncOp) -> None:
        expect_rewrites(self.name, self.only, _RULES)
        count("rewrites", rewrite(_rules(self.only), func))


@cache
def _rules(only: tuple[str, ...]) -> list[Rule]:
    makers = dict.fromkeys(make for name in only or _RULES for make in _RULES[name])
    return [make() for make in makers]
