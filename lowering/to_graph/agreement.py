"""Values of a conversion under the types that the program records."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Operation, OpResult, SSAValue

from stepwell.dialects import graph
from stepwell.dialects.graph.relations import differ
from stepwell.dialects.types import dims_of
from stepwell.lowering.to_graph.expressions import Value
from stepwell.runtime.errors import StepwellError


def agreed(op: Operation, title: str, values: Sequence[Value | None]) -> list[SSAValue | None]:
    """
    The values that replace the results of a call, which have the program's types.

    Args: `title` is the call's name. Raises: StepwellError `type-mismatch`, `unsupported`.
    """
    agreed: list[SSAValue | None] = []
    for result, value in zip(op.results, values, strict=True):
        if value is None:
            if any(True for _ in result.uses):
                message = f"{title}: result {result.index} is not computed"
                raise StepwellError("unsupported", op, message)
            agreed.append(None)
        else:
            agreed.append(_with_type(op, title, result, value))
    return agreed


def _with_type(op: Operation, title: str, result: OpResult, value: Value) -> SSAValue:
    """
    A value with the sizes that the program records, which can be other expressions for the same numbers.

    Where the program leaves a size or the rank open, the value's own is used.
    Raises: StepwellError `type-mismatch` where they are provably different.
    """
    is_other = value.element != _recorded_element(result)
    is_ranked = isinstance(result.type, TensorType)
    recorded = dims_of(result.type) if is_ranked else value.dims
    if is_other or value.rank != len(recorded) or any(map(differ, value.dims, recorded)):
        raise StepwellError(
            "type-mismatch",
            op,
            f"{title} makes {value.ssa.type}, and the program records {result.type}",
            help="the conversion or the program is wrong: please report it",
        )
    wanted = tuple(own if dim.is_unknown else dim for own, dim in zip(value.dims, recorded, strict=True))
    if value.dims == wanted:
        return value.ssa
    return value.formula.op(graph.ReshapeOp(value.ssa, wanted)).ssa


def _recorded_element(result: OpResult) -> Attribute:
    """The element type of a result, whose rank may not be known."""
    return cast("TensorType[Attribute]", result.type).element_type
