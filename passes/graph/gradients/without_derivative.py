"""Ops that have no derivative, each with the reason."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from xdsl.ir import Operation

from stepwell.dialects import adt, graph, ref
from stepwell.dialects.graph.base import GraphOp

_BITS = "its result is made of bits"
_VALUE = "it is a function value that depends on what is differentiated by, and is stored or returned"
_CELL = "what a cell contains is known only while the program runs: gradient{mode=higher-order}"
_LEVEL = "it is made by a later pass: differentiate before that one"
_NO_OPERAND = "none of its operands is a tensor of floats"
_SCALES = "its input is integers, and its scales are constants"
_STRUCTURE = "it computes nothing"

REASONS: Mapping[type[Operation], str] = MappingProxyType({
    graph.BitcastOp: _BITS,
    graph.QuantizeOp: "rounding to a few numbers is flat between steps: gradient{straight-through}",
    graph.DequantizeOp: _SCALES,
    graph.RequantizeOp: _SCALES,
    graph.MatmulIntegerOp: _NO_OPERAND,
    graph.ConvIntegerOp: _NO_OPERAND,
    graph.WordsOp: _NO_OPERAND,
    graph.TreeEnsembleOp: "it is flat between the thresholds of its trees",
    graph.JoinPartsOp: "how much of each part is joined is data",
    graph.NestOp: "loops of level 2 are not differentiated: build the operator from ops of `graph`",
    graph.ExpressionOp: "formulas are not differentiated: build the operator from ops of `graph`",
    graph.HostCallOp: "its meaning is outside of the program",
    graph.ExternalOp: "its meaning is outside of the program",
    graph.WinogradConvOp: _LEVEL,
    graph.MatmulNbitsOp: _LEVEL,
    graph.FusedOp: _LEVEL,
    graph.CompositeOp: _LEVEL,
    graph.ClosureOp: _VALUE,
    graph.LambdaOp: _VALUE,
    graph.FunctionOp: _STRUCTURE,
    graph.VjpOp: _STRUCTURE,
    graph.GradientOp: _STRUCTURE,
    graph.AssertOp: _STRUCTURE,
    graph.YieldOp: _STRUCTURE,
    graph.ConstantOp: _NO_OPERAND,
    graph.ExtentsOp: _NO_OPERAND,
    graph.IotaOp: _NO_OPERAND,
    graph.RandomBitsOp: _NO_OPERAND,
    graph.BindSizesOp: _NO_OPERAND,
    graph.DefineSizesOp: _NO_OPERAND,
    graph.CheckAccessesOp: _NO_OPERAND,
    graph.CheckOffsetsOp: _NO_OPERAND,
    ref.NewOp: _CELL,
    ref.ReadOp: _CELL,
    ref.WriteOp: _CELL,
})  # fmt: skip
"""The ops of `graph` without a derivative. No gradient reaches those without operands of floats."""


def reason_of(op: Operation) -> str | None:
    """Why an op has no derivative; None for ops that nothing is said of."""
    if isinstance(op, graph.CallOp):
        return "the function that it calls is a function value that is not known"
    return REASONS.get(type(op))


def is_structure(op: Operation) -> bool:
    """Whether an op moves values, and computes nothing on tensors: control flow, data, cells, calls."""
    if isinstance(op, graph.CallOp):
        return "graph.derivative" not in op.attributes
    return isinstance(op, _STRUCTURES) or not isinstance(op, GraphOp)


_STRUCTURES = (
    *(graph.IfOp, graph.ForOp, graph.WhileOp, graph.LambdaOp, graph.FunctionOp, graph.YieldOp),
    *(graph.TupleOp, graph.GetOp, adt.MakeOp, adt.MatchOp, ref.NewOp, ref.ReadOp, ref.WriteOp),
)
