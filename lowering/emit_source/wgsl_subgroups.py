"""Reductions over the threads of a subgroup in WGSL, for targets with the feature `subgroups`."""

from __future__ import annotations

import re
from collections.abc import Mapping

from xdsl.dialects.builtin import f32, i32

from stepwell.dialects import gpu
from stepwell.runtime.devices.source_kernels import ENABLE_SUBGROUPS
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.machine.named_target import Target
from stepwell.runtime.targets.webgpu import NAGA, SUBGROUPS

_REDUCTIONS: Mapping[str, str] = {
    "add": "subgroupAdd({0})",
    "mul": "subgroupMul({0})",
    "minsi": "subgroupMin({0})",
    "maxsi": "subgroupMax({0})",
    "and": "subgroupAnd({0})",
    "or": "subgroupOr({0})",
    "xor": "subgroupXor({0})",
    "minimumf": "sw_subgroup_min({0})",
    "maximumf": "sw_subgroup_max({0})",
    "minnumf": "sw_subgroup_minnum({0})",
    "maxnumf": "sw_subgroup_maxnum({0})",
}
_USED = re.compile(r"\bsubgroup[A-Z]\w*\(|\bsw_subgroup_|\((?:lane_id|subgroup_id|subgroup_size)\)")
HELPERS: Mapping[str, str] = {
    # Floats in the order of integers, NaN at either end: drivers lose NaN in a maximum of floats.
    "sw_order": """fn sw_order(x: f32) -> i32 {
  let bits = bitcast<i32>(x);
  return bits ^ ((bits >> 31u) & 0x7fffffff);
}""",
    "sw_ordered": """fn sw_ordered(n: i32) -> f32 {
  return bitcast<f32>(n ^ ((n >> 31u) & 0x7fffffff));
}""",
    "sw_order_nan": """fn sw_order_nan(x: f32, order_of_nan: i32) -> i32 {
  return select(sw_order(x), order_of_nan, sw_isnan(x));
}""",
    "sw_subgroup_max": """fn sw_subgroup_max(x: f32) -> f32 {
  return sw_ordered(subgroupMax(sw_order_nan(x, 0x7fc00000)));
}""",
    "sw_subgroup_min": """fn sw_subgroup_min(x: f32) -> f32 {
  return sw_ordered(subgroupMin(sw_order_nan(x, -0x7fc00001)));
}""",
    "sw_subgroup_maxnum": """fn sw_subgroup_maxnum(x: f32) -> f32 {
  return sw_ordered(subgroupMax(sw_order_nan(x, -0x7fc00001)));
}""",
    "sw_subgroup_minnum": """fn sw_subgroup_minnum(x: f32) -> f32 {
  return sw_ordered(subgroupMin(sw_order_nan(x, 0x7fc00000)));
}""",
}
"""Functions that the spellings call."""


def subgroup_template(op: gpu.SubgroupReduceOp) -> str:
    """The spelling of a reduction over a subgroup. Raises: StepwellError `unsupported`."""
    kind, type = op.op.data, op.value.type
    if type not in (f32, i32) or kind not in _REDUCTIONS:
        message = f"a reduction of {type} over a subgroup by {kind}"
        raise StepwellError("unsupported", op, message, help="reduce 32 bits")
    return _REDUCTIONS[kind]


def enabling(body: str, target: Target) -> list[str]:
    """
    The directive for a kernel with subgroup ops; none for naga, which needs no directive.

    Raises: StepwellError `unsupported` for subgroup ops on a target without them.
    """
    if not _USED.search(body):
        return []
    if not target.has_feature(SUBGROUPS):
        help = f"--target webgpu{{features={SUBGROUPS}}}"
        raise StepwellError("unsupported", None, f"{target} has no subgroups", help=help)
    return [] if target.attrs["wgsl"] == NAGA else [ENABLE_SUBGROUPS]
