"""Activations of `com.microsoft` → `graph`."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.ir import SSAValue

from stepwell.dialects import graph
from stepwell.lowering.onnx_to_graph.contrib.node import ContribNode, Meaning


def _gelu(approximate: str) -> Meaning:
    """The meaning of a gelu operator with an optional bias."""
    return lambda node: node.emit(graph.GeluOp(node.add(node.input(0), node.optional(1)), approximate))


def _bias_split_gelu(node: ContribNode) -> SSAValue:
    """The left half of the last axis times the gelu of the right half, after a bias."""
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
"""The operators of this file with their meanings."""
