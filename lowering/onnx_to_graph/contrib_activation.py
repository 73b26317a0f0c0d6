"""Activations of `com.microsoft` → `graph`, and those that its fused operators end with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.ir import SSAValue

from stepwell.dialects import graph
from stepwell.lowering.onnx_to_graph.activation import hard_sigmoid
from stepwell.lowering.onnx_to_graph.contrib_node import ContribNode, Meaning


def activated(node: ContribNode, value: SSAValue, name: str, parameters: Sequence[float]) -> SSAValue:
    """
    A value after an activation, as fused operators name it; "" is none.

    Raises: StepwellError `unsupported` for a name that we do not know.
    """

    def parameter(index: int, default: float) -> float:
        return parameters[index] if index < len(parameters) else default

    match name:
        case "":
            return value
        case "Relu":
            return node.emit(graph.ReluOp(value))
        case "Sigmoid":
            return node.emit(graph.SigmoidOp(value))
        case "Tanh":
            return node.emit(graph.TanhOp(value))
        case "LeakyRelu":
            return node.emit(graph.LeakyReluOp(value, parameter(0, 0.01)))
        case "Elu":
            return node.emit(graph.EluOp(value, parameter(0, 1.0)))
        case "Softplus":
            return node.emit(graph.SoftplusOp(value))
        case "HardSigmoid":
            alpha, beta = parameter(0, 0.2), parameter(1, 0.5)
            return hard_sigmoid(node.lowering, value, alpha, beta, node.rewriter)
        case "Clip" if len(parameters) == 2:
            return node.emit(graph.ClipOp(value, *(node.like(value, bound) for bound in parameters)))
        case _:
            raise node.unsupported(f"activation {name} with {len(parameters)} parameters")


def _gelu(approximate: str) -> Meaning:
    return lambda node: node.emit(graph.GeluOp(node.add(node.input(0), node.optional(1)), approximate))


def _bias_split_gelu(node: ContribNode) -> SSAValue:
    """The left half of the last axis times the gelu of the right one, after a bias."""
    value = node.add(node.input(0), node.input(1))
    dims = node.dims(value)
    halves = node.rewriter.insert(graph.SplitOp(value, len(dims) - 1, [dims[-1] // 2] * 2)).results
    return node.emit(graph.MultiplyOp(halves[0], node.emit(graph.GeluOp(halves[1]))))


OPERATORS: Mapping[str, Meaning] = {
    "BiasAdd": lambda node: node.add(node.add(node.input(0), node.input(1)), node.input(2)),
    "BiasGelu": _gelu("none"),
    "BiasSplitGelu": _bias_split_gelu,
    "FastGelu": _gelu("tanh"),
    "Gelu": _gelu("none"),
    "QuickGelu": lambda node: node.emit(graph.SiluOp(node.input(0), node.number("alpha", 1.702))),
}
"""What each operator of the domain means."""
