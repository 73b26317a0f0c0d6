"""`dynamic-to-static`: shape parameters that turn out to be known become attributes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import DenseArrayBase, TensorType, i32
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue

from stepwell.dialects._xdsl import weights_of
from stepwell.dialects.graph.base import GraphOp, Kind
from stepwell.dialects.types import Tensor, dims_attr, dims_of, tensor_of, tensor_type
from stepwell.passes.analysis.symbolic_values import SymbolicValues
from stepwell.passes.base import FunctionPass

_SUFFIX = "_value"
_SEGMENTS = "operandSegmentSizes"


@dataclass(frozen=True)
class DynamicToStaticPass(FunctionPass):
    """
    Turn shape operands whose elements follow from the inputs' shapes into attributes, and infer types again.

    ```mlir
    %s = graph.constant dense<[2, 6]> : tensor<2xi64>
    %y = graph.reshape %x shape_value %s : tensor<2xi64> : tensor<3x4xf32> -> tensor<?x?xf32>
    // ->
    %y = graph.reshape %x shape <[2, 6]> : tensor<3x4xf32> -> tensor<2x6xf32>
    ```
    Class: exact. The result types of what follows become as precise as their type relations make them.
    """

    name = "dynamic-to-static"

    def apply_to_function(self, ctx: Context, func: FuncOp) -> None:
        values = SymbolicValues(weights_of(ctx))
        for op in func.body.walk():
            if isinstance(op, GraphOp) and op.KIND is not Kind.STRUCTURE:
                _fix_known_parameters(op, values)
                _refine_result_types(op)


def refine_types(func: FuncOp) -> None:
    """Infer all types again, where what was replaced knows more of its dimensions than before."""
    for op in func.body.walk():
        if isinstance(op, GraphOp) and op.KIND is not Kind.STRUCTURE:
            _refine_result_types(op)


def _fix_known_parameters(op: GraphOp, values: SymbolicValues) -> None:
    """Make attributes of the shape operands of an op that are known, in place."""
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


def _refine_result_types(op: GraphOp) -> None:
    """Give results the dimensions that the type relation knows; a name that it does not know stays."""
    for result, inferred in zip(op.results, op.infer(), strict=True):
        if not isinstance(inferred, TensorType) or inferred == result.type:
            continue
        found, known = dims_of(result.type), dims_of(cast(Tensor, inferred))
        dims = [old if new.is_unknown else new for old, new in zip(found, known, strict=True)]
        type = tensor_type(tensor_of(result).element_type, dims)
        result._type = type  # pyright: ignore[reportPrivateUsage]  # as xDSL's rewriter does
