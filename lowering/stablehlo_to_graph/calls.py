"""Calls of the runtime's functions: assertions about shapes, marks without a meaning here, linear algebra."""

from __future__ import annotations

import re
from collections.abc import Sequence

from xdsl.ir import SSAValue

from stepwell.dialects import graph
from stepwell.lowering.stablehlo_to_graph.linear_algebra import lapack_call
from stepwell.lowering.stablehlo_to_graph.support import Call, converts
from stepwell.lowering.to_graph import Value
from stepwell.passes.analysis.symbolic_values import symbolic_dims
from stepwell.runtime.dims import Dim
from stepwell.runtime.warned import warn

_MARKS = ("Sharding", "annotate_device_placement")
"""Calls that return their operands."""
_DETAILS = re.compile(r" Using the following|, but found \{")
"""Where the part of a message begins that has the values of a call."""


class AssertionWarning(UserWarning):
    """An assertion about shapes that calls do not check."""


@converts("custom_call")
def custom_call(call: Call) -> Sequence[Value | None]:
    """Checks of sizes for assertions about shapes, the operands of marks, results of LAPACK's routines."""
    target = call.value("call_target_name")
    if target == "shape_assertion":
        _assert_sizes(call)
        return []
    if target in _MARKS:
        return list(call.tensors())
    if target == "mhlo.erf":
        return [call.tensors()[0].apply(graph.ErfOp)]
    if (results := lapack_call(call)) is not None:
        return results
    raise call.unsupported(f"a call of {target}")


def _assert_sizes(call: Call) -> None:
    """
    The check of a comparison of sizes, with the program's message; none for one that always holds.

    A condition that is no comparison of sizes of the inputs is a warning.
    """
    condition = call.tensors()[0].ssa.owner
    message = _DETAILS.split(str(call.value("error_message")))[0].strip()
    message = message or "the program was exported for other sizes"
    sides = [_size(call, side) for side in getattr(condition, "operands", ())]
    known = [side for side in sides if side is not None and not side.is_unknown]
    if not isinstance(condition, graph.EqualOp | graph.LessOp | graph.LessEqualOp) or len(known) != 2:
        always = symbolic_dims(call.tensors()[0].ssa, call.at.lowering.weights)
        if always == (Dim.of(1),):
            return
        warn(f"calls do not check: {message}", AssertionWarning)
        return
    left, right = known
    if isinstance(condition, graph.LessOp):
        left = left + Dim.of(1)
    if not isinstance(condition, graph.EqualOp):
        left = left.maximum(right)
    if left != right:
        call.at.rewriter.insert(graph.AssertOp(left, right, message))


def _size(call: Call, value: SSAValue) -> Dim | None:
    """A number as an expression of sizes; None for one that depends on data."""
    dims = symbolic_dims(value, call.at.lowering.weights)
    return dims[0] if dims is not None and len(dims) == 1 else None
