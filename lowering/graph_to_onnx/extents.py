"""Dimensions as data of an ONNX model: from the shapes of its inputs, by integer arithmetic."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from stepwell.dialects import onnx
from stepwell.lowering.graph_to_onnx.nodes import insert_integers, insert_node, vector_type
from stepwell.passes.analysis.symbol_sources import SymbolSource, symbol_sources
from stepwell.runtime.dims import Algebra, Dim
from stepwell.runtime.errors import StepwellError

_ONE = vector_type(1)


def dims_vector(dims: Sequence[Dim], rewriter: PatternRewriter) -> SSAValue:
    """
    Dimension expressions as a vector of i64.

    Raises: StepwellError `unsupported` for a symbol that is in no argument's shape.
    """
    if all(dim.is_static for dim in dims):
        return insert_integers(rewriter, [dim.value for dim in dims])
    function = _function_around(rewriter.insertion_point.block)
    sources = symbol_sources(function) if function is not None else {}
    if missing := sorted({name for dim in dims for name in dim.symbols()} - sources.keys()):
        raise StepwellError(
            "unsupported", None, f"no input of the ONNX model determines the size of {', '.join(missing)}"
        )
    algebra = _algebra(rewriter)
    pieces = [dim.build(lambda name: _size(sources[name], rewriter), algebra) for dim in dims]
    if len(pieces) == 1:
        return pieces[0]
    return insert_node(rewriter, onnx.ConcatOp, pieces, vector_type(len(pieces)), axis=0)


def _function_around(block: Block) -> FuncOp | None:
    """The function that contains a block; None if there is none."""
    parent = block.parent_op()
    while parent is not None and not isinstance(parent, FuncOp):
        parent = parent.parent_op()
    return parent


def _size(source: SymbolSource, rewriter: PatternRewriter) -> SSAValue:
    """The size of a symbol as a vector of one element: from a shape, or from an element of an input."""
    value, start = source.value, source.position
    if not source.is_element:
        return insert_node(rewriter, onnx.ShapeOp, [value], _ONE, start=start, end=start + 1)
    bounds = [insert_integers(rewriter, [at]) for at in (start, start + 1)]
    return insert_node(rewriter, onnx.SliceOp, [value, *bounds], _ONE)


def _algebra(rewriter: PatternRewriter) -> Algebra[SSAValue]:
    """Dimension arithmetic on vectors of one element."""

    def binary(op_class: type[onnx.OnnxOp], a: SSAValue, b: SSAValue) -> SSAValue:
        return insert_node(rewriter, op_class, [a, b], _ONE)

    def number(n: int) -> SSAValue:
        return insert_integers(rewriter, [n])

    def floordiv(a: SSAValue, b: SSAValue) -> SSAValue:
        # ONNX's `Div` truncates, so the remainder by `Mod`, with the divisor's sign, is subtracted first.
        return binary(onnx.DivOp, binary(onnx.SubOp, a, binary(onnx.ModOp, a, b)), b)

    def ceildiv(a: SSAValue, b: SSAValue) -> SSAValue:
        return binary(onnx.SubOp, number(0), floordiv(binary(onnx.SubOp, number(0), a), b))

    return Algebra(
        number=number,
        add=lambda a, b: binary(onnx.AddOp, a, b),
        multiply=lambda a, b: binary(onnx.MulOp, a, b),
        floordiv=floordiv,
        ceildiv=ceildiv,
        minimum=lambda a, b: binary(onnx.MinOp, a, b),
        maximum=lambda a, b: binary(onnx.MaxOp, a, b),
    )
