"""`dynamic-to-static`: shape operands whose elements are known become attributes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import DenseArrayBase, i32
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue

from stepwell.dialects._xdsl import weights_of
from stepwell.dialects.graph.base import GraphOp, Kind
from stepwell.dialects.graph_ir.refine import refine_result_types
from stepwell.dialects.types import dims_attr
from stepwell.passes.analysis.symbolic_values import SymbolicValues
from stepwell.passes.base import FunctionPass

_SUFFIX = "_value"
_SEGMENTS = "operandSegmentSizes"


@dataclass(frozen=True)
class DynamicToStaticPass(FunctionPass):
    """
    Replace shape operands whose elements follow from the inputs' shapes by attributes, and infer types again.

    ```mlir
    %s = graph.constant dense<[2, 6]> : tensor<2xi64>
    %y = graph.reshape %x shape_value %s : tensor<2xi64> : tensor<3x4xf32> -> tensor<?x?xf32>
    // ->
    %y = graph.reshape %x shape <[2, 6]> : tensor<3x4xf32> -> tensor<2x6xf32>
    ```
    Class: exact. The result types of all ops become as precise as their type relations make them.
    """

    name = "dynamic-to-static"

    def apply_to_function(self, ctx: Context, func: FuncOp) -> None:
        values = SymbolicValues(weights_of(ctx))
        for op in func.body.walk():
            if isinstance(op, GraphOp) and op.KIND is not Kind.STRUCTURE:
                _fix_known_parameters(op, values)
                refine_result_types(op)


def _fix_known_parameters(op: GraphOp, values: SymbolicValues) -> None:
    """Replace the shape operands (`*_value`) of an op whose dimensions are known by attributes, in place."""
    names = [name for name, _ in op.get_irdl_definition().operands]
    groups = [_as_group(getattr(op, name)) for name in names]
    for i, name in enumerate(names):
        dims = values.dims(groups[i][0]) if name.endswith(_SUFFIX) and groups[i] else None
        if dims is not None and not any(dim.is_unknown for dim in dims):
            op.properties[name.removesuffix(_SUFFIX)] = dims_attr(dims)
            groups[i] = []
    operands = [value for group in groups for value in group]
    if len(operands) == len(op.operands):
        return
    op.operands = operands
    if _SEGMENTS in op.properties:
        op.properties[_SEGMENTS] = DenseArrayBase.from_list(i32, [len(group) for group in groups])


def _as_group(value: SSAValue | Sequence[SSAValue] | None) -> list[SSAValue]:
    if value is None:
        return []
    return [value] if isinstance(value, SSAValue) else list(value)
