"""
Ops that only move strings: compiled code computes the source position of each, and the host gathers them.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects.builtin import ModuleOp, TensorType, i64
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from stepwell.dialects import graph, onnx
from stepwell.dialects.graph.base import GraphOp, Kind
from stepwell.dialects.locations import adopt_location
from stepwell.dialects.types import dims_of, tensor_of, tensor_type
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError


def move_strings(module: ModuleOp) -> None:
    """
    Convert ops that move strings to ops on positions and a `host.take`.

    ```mlir
    %y = graph.gather %x, %i axis 1 … : (tensor<?x3x!onnx.string>, tensor<i64>) -> tensor<?x!onnx.string>
    // ->
    %0 = graph.iota …, graph.reshape …                         // the position of each element of %x
    %1 = graph.gather %0, %i axis 1 … : (tensor<?x3xi64>, tensor<i64>) -> tensor<?xi64>
    %y = graph.host_call "host.take"(%x, %1) …
    ```
    Raises: StepwellError `unsupported` for an operator that computes with strings.
    """
    for op in list(module.walk()):
        if isinstance(op, GraphOp) and op.KIND is not Kind.STRUCTURE and _strings(op.operands):
            rewriter = PatternRewriter(op)
            rewriter.operation_insertion_handler.append(lambda new, at=op.location: adopt_location(new, at))
            _move(op, rewriter)


def _strings(values: Sequence[SSAValue]) -> list[SSAValue]:
    """The tensors of strings among some values."""
    tensors = [value for value in values if isinstance(value.type, TensorType)]
    return [value for value in tensors if isinstance(tensor_of(value).element_type, onnx.StringType)]


def _move(op: GraphOp, rewriter: PatternRewriter) -> None:
    """Convert one op: run it on positions instead of strings, then take the strings at the results."""
    if isinstance(op, graph.HostCallOp):
        return
    from stepwell.lowering.onnx_to_graph.host_calls import STRING, host_results  # few models have strings

    if isinstance(op, graph.ConcatOp):
        result = tensor_type(STRING, dims_of(op.results[0].type))
        attributes = {"axis": op.axis.value.data}
        rewriter.replace(op, [], host_results("graph.concat", attributes, op.operands, [result], rewriter))
        return
    strings = set(_strings(op.operands))
    moves = op.KIND is Kind.INJECTIVE or isinstance(op, graph.BroadcastToOp)
    if not moves or len(strings) != 1:
        raise StepwellError("unsupported", op, f"{op.name} of strings is not supported yet")
    (source,) = strings
    positions = _positions(source, rewriter)
    moved = rewriter.insert(op.on([positions if operand is source else operand for operand in op.operands]))

    def taken(position: SSAValue) -> SSAValue:
        result = tensor_type(STRING, dims_of(position.type))
        return host_results("host.take", {}, [source, position], [result], rewriter)[0]

    given = set(_strings(op.results))
    results = [
        taken(new) if old in given else new for old, new in zip(op.results, moved.results, strict=True)
    ]
    rewriter.replace(op, [], results)


def _positions(value: SSAValue, rewriter: PatternRewriter) -> SSAValue:
    """The row-major position of each element, in the shape of a tensor."""

    def inserted(op: Operation) -> SSAValue:
        return rewriter.insert(op).results[0]

    dims = dims_of(value.type)
    flat = inserted(graph.IotaOp([prod(dims, start=Dim.of(1))], 0, i64))
    return inserted(graph.ReshapeOp(flat, dims))
