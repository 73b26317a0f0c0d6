"""Forms that are written in terms of a graph op: with names of dimensions and signs of integers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from xdsl.dialects.builtin import UnrealizedConversionCastOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from stepwell.dialects._xdsl import set_type
from stepwell.dialects.ir_builder import IRBuilder
from stepwell.dialects.linalg_builder.plain_types import plain_type
from stepwell.dialects.linalg_builder.scalars import signless
from stepwell.dialects.linalg_builder.support import SymbolRewriter
from stepwell.dialects.linalg_ext.forms import FormsOp
from stepwell.dialects.locations import adopt_location
from stepwell.dialects.types import dims_of, tensor_of, tensor_type
from stepwell.passes.tensor.forms.extents import Extents

_Sizes: TypeAlias = Mapping[str, int]
Emission: TypeAlias = Callable[[Any, Sequence[SSAValue], _Sizes, PatternRewriter], Sequence[SSAValue]]
"""Emits the loops of a graph op, which write into tensors, with the sizes of a form; returns the results."""
Expansion: TypeAlias = Callable[[Any, _Sizes, IRBuilder], Sequence[SSAValue]]


def by_graph_op(emit: Emission) -> Expansion:
    """
    The expansion of an op that an emission writes in terms of its graph op.

    While the loops are written, casts give operands their types of level 1; then all types are plain again.
    """

    def expand(op: FormsOp, sizes: _Sizes, builder: IRBuilder) -> Sequence[SSAValue]:
        extents = Extents(op, builder)
        graph_op, casts = op.graph_op(extents.of)
        builder.insert([*casts, graph_op])
        inits = [cast.results[0] for cast in casts[len(casts) - len(op.written) :]]
        rewriter, made = SymbolRewriter(graph_op, extents.symbols), list[Operation]()
        rewriter.operation_insertion_handler.append(made.append)
        results = emit(graph_op, inits, sizes, rewriter)
        for new in made:
            adopt_location(new, op.location)
        graph_op.detach()
        graph_op.erase()
        for result in results:
            _drop_sign(result)
        return results

    return expand


def _drop_sign(result: SSAValue) -> None:
    """Give a result signless elements: an op that is expanded later must find them stored so."""
    type = tensor_of(result)
    if (element := signless(type.element_type)) != type.element_type:
        set_type(result, tensor_type(element, dims_of(type)))


def drop_names(func: FuncOp) -> None:
    """Give all values their types of level 2, and erase the casts."""
    for op in func.walk():
        for value in (*op.results, *(arg for region in op.regions for b in region.blocks for arg in b.args)):
            if (plain := plain_type(value.type)) != value.type:
                set_type(value, plain)
    for op in list(func.walk()):
        if isinstance(op, UnrealizedConversionCastOp):
            op.results[0].replace_all_uses_with(op.operands[0])
            op.detach()
            op.erase()
