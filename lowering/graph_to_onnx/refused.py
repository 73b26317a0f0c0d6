"""Ops of level 1 that no operator of ONNX computes, each with the reason; the way out is in the errors."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from xdsl.ir import Operation

from stepwell.dialects import graph

_FUNCTIONAL = "ONNX has no functions as values: `stepwell compile` runs such programs"
_LATER = "passes of level 1 make it for our kernels: write the model before them"

REASONS: Mapping[type[Operation], str] = MappingProxyType({
    graph.BitcastOp: "operators of opset 21 do not read the bits of numbers",
    graph.CallOp: _FUNCTIONAL,
    graph.CheckAccessesOp: "loops of level 2 have no operator, nor has what they record",
    graph.ClosureOp: _FUNCTIONAL,
    graph.ExpressionOp: "a formula for single elements has no operator: build it of ops of `graph`",
    graph.ExternalOp: "another engine computes it: write the model before `partition`",
    graph.FunctionOp: _FUNCTIONAL,
    graph.GradientOp: "ONNX has no derivatives: run `differentiate` before",
    graph.LambdaOp: _FUNCTIONAL,
    graph.LayoutTransformOp: _LATER,
    graph.MatmulNbitsOp: _LATER,
    graph.NestOp: "loops of level 2 have no operator: build them of ops of `graph`",
    graph.RandomBitsOp: "the random operators of ONNX draw other numbers from a seed",
    graph.VjpOp: "ONNX has no derivatives: run `differentiate` before",
    graph.WinogradConvOp: _LATER,
    graph.WordsOp: _LATER,
})  # fmt: skip
"""The ops without operator in any form."""

PARTLY: Mapping[type[Operation], str] = MappingProxyType({
    graph.BatchNormOp: "only over axis 1",
    graph.BiasAddOp: "not of blocked channels",
    graph.CastOp: "only between element types of opset 21",
    graph.ConvIntegerOp: "only of bytes, in the layouts NC… and OI…",
    graph.ConvOp: "only in the layouts NC… and OI…",
    graph.ConvTransposeOp: "only in the layouts NC… and IO…, and without negative pads",
    graph.DequantizeOp: "only to the type of the scale",
    graph.HostCallOp: "only of functions that stand for an operator, and of registered ones",
    graph.MatmulIntegerOp: "not of packed elements",
    graph.MatmulOp: "not of packed weights",
    graph.PadOp: "negative pads only in the mode `constant`",
    graph.PoolOp: "only in the layout NC…, with a number of windows that ONNX has",
    graph.QuantizeOp: "only where the division is in the type of the scale",
    graph.ResizeOp: "not with coordinates of old opsets, nor scales that give other sizes",
    graph.ReverseSequenceOp: "only of the axes 0 and 1",
    graph.RnnOp: "not of packed weights",
    graph.ScanOp: "other kinds than sums only of known dimensions",
    graph.TreeEnsembleOp: "only of constant tables, with weights of the type of `x`",
})  # fmt: skip
"""The ops of which some forms have an operator, and others none."""


def hint_of(op: Operation) -> str:
    """The reason for the error about an op; empty for an op without a known reason."""
    reason = REASONS.get(type(op)) or PARTLY.get(type(op))
    return f": {reason}" if reason else ""
