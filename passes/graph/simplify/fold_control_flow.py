"""Folding of `graph.if` with a known condition, and of `graph.for` that never runs."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from stepwell.dialects import graph
from stepwell.dialects.graph.control_flow import yield_of
from stepwell.dialects.graph.structure import YieldOp
from stepwell.dialects.types import dims_of, tensor_of
from stepwell.passes.analysis.rename_symbols import rename_symbols, renamed_type
from stepwell.passes.analysis.symbolic_values import SymbolicValues
from stepwell.runtime.dims import Dim


def fold_control_flow(op: graph.IfOp | graph.ForOp, known: SymbolicValues) -> Sequence[Operation]:
    """
    Replace `graph.if` with a known condition by its branch, or a loop of 0 iterations by its initial values.

    ```mlir
    %c = graph.constant dense<true> : tensor<i1>
    %y = graph.if %c : tensor<i1> -> (tensor<4xf32>) {
      %e = graph.exp %x : tensor<4xf32> -> tensor<4xf32>
      graph.yield %e : tensor<4xf32>
    } else {
      graph.yield %x : tensor<4xf32>
    }
    // ->
    %c = graph.constant dense<true> : tensor<i1>
    %y = graph.exp %x : tensor<4xf32> -> tensor<4xf32>
    ```
    Symbols that the op defines are replaced by the dimensions of the values that replace its results.
    Returns: the ops that are erased; none if the op stays.
    """
    decides = op.condition if isinstance(op, graph.IfOp) else op.count
    numbers = known.dims(decides)
    if numbers is None or not numbers[0].is_static:
        return []
    if isinstance(op, graph.ForOp):
        if numbers[0].value > 0:
            return []
        gone = [op, *op.body.walk()]
        _replace(op, list(op.inits))
        return gone
    taken, other = (op.then_region, op.else_region)[:: 1 if numbers[0].value else -1]
    last = yield_of(taken)
    gone = [op, last, *other.walk()]
    _replace(op, _unpacked(taken, last, op))
    return gone


def _unpacked(region: Region, last: YieldOp, op: Operation) -> Sequence[SSAValue]:
    """Move the ops of a region before `op` and erase the terminator; returns the operands of the yield."""
    values = list(last.operands)
    Rewriter.erase_op(last)
    Rewriter.inline_block(region.block, InsertPoint.before(op))
    return values


def _replace(op: graph.ControlFlowOp, values: Sequence[SSAValue]) -> None:
    """Erase an op; values replace its results, and their dimensions its symbols, in the whole function."""
    if names := _meanings(op, values):
        function: Operation | None = op
        while function is not None and not isinstance(function, FuncOp):
            function = function.parent_op()
        if function is not None:
            rename_symbols(function.body, names)
            function.properties["function_type"] = renamed_type(function.function_type, names)
    for result, value in zip(op.values, values, strict=True):
        value.name_hint = value.name_hint or result.name_hint
        result.replace_all_uses_with(value)
    op.detach()
    op.erase()


def _meanings(op: graph.ControlFlowOp, values: Sequence[SSAValue]) -> dict[str, Dim]:
    found: dict[str, Dim] = {}
    for result, value in zip(op.values, values, strict=True):
        if result.type.name == "tensor":
            pairs = zip(dims_of(tensor_of(result)), dims_of(tensor_of(value)), strict=True)
            found.update({str(own): dim for own, dim in pairs if str(own) in op.names})
    return found
