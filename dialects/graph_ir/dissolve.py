"""Replacing kernels and composites by the ops of their bodies."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import OpResult, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from stepwell.dialects import graph
from stepwell.dialects.locations import adopt_location


def dissolve(fused: graph.ClosedRegionOp) -> None:
    """Replace a kernel or composite by its ops."""
    values: dict[SSAValue, SSAValue] = dict(zip(fused.body.block.args, fused.operands, strict=True))
    adopt_location(fused, fused.location)
    for arg, operand in values.items():
        arg.replace_all_uses_with(operand)
    results = list(fused.yield_op.values)
    for op in list(fused.body.block.ops)[:-1]:
        op.detach()
        Rewriter.insert_op(op, InsertPoint.before(fused))
    for inner, outer in zip(results, fused.results, strict=True):
        if isinstance(inner, OpResult):  # an argument keeps its name
            inner.name_hint = outer.name_hint or inner.name_hint
    Rewriter.replace_op(fused, [], results)


def take_fields(module: ModuleOp) -> None:
    """Replace each read of a tuple's field by the field; unused tuples are erased."""
    for op in [op for op in module.walk() if isinstance(op, graph.GetOp)]:
        if isinstance(made := op.input.owner, graph.TupleOp):
            Rewriter.replace_op(op, [], [made.fields[op.index.value.data]])
    for op in [op for op in module.walk() if isinstance(op, graph.TupleOp)]:
        if op.result.first_use is None:
            Rewriter.erase_op(op)


def open_regions(module: ModuleOp, kinds: type[graph.ClosedRegionOp] = graph.ClosedRegionOp) -> None:
    """
    Put the ops of kernels and composites, or of one of them, in their place: ONNX has neither.

    ```mlir
    %y = graph.composite (%a = %x : tensor<4xf32>) -> (tensor<4xf32>) {
      %r = graph.relu %a : tensor<4xf32> -> tensor<4xf32>
      graph.yield %r : tensor<4xf32>
    }
    // ->
    %y = graph.relu %x : tensor<4xf32> -> tensor<4xf32>
    ```
    """
    for op in [op for op in module.walk() if isinstance(op, kinds)]:
        dissolve(op)
