"""Copies of whole tensors, as ops on tensors."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Operation, SSAValue

from stepwell.dialects.ir_builder import IRBuilder
from stepwell.dialects.types import tensor_of
from stepwell.lowering.bufferize.index_forms import LOCAL, IndexForms
from stepwell.lowering.bufferize.shapes import extents_of


def sizes_before(value: SSAValue, at: Operation, forms: IndexForms) -> Sequence[SSAValue] | None:
    """The dynamic extents of a tensor as values before an op; None when they are not known there."""
    extents = extents_of(value, forms)
    if any(symbol.startswith(LOCAL) for extent in extents for symbol in extent.symbols()):
        return None
    builder = IRBuilder.before(at, symbols=forms.values)
    pairs = zip(tensor_of(value).get_shape(), extents, strict=True)
    return [builder.extent(extent) for n, extent in pairs if n == DYNAMIC_INDEX]


def copy_into(value: SSAValue, whole: SSAValue, before: Operation) -> SSAValue:
    """`whole`, a `tensor.empty`, with all of `value` inserted, before an op."""
    rank = len(tensor_of(value).get_shape())
    assert isinstance(whole.owner, tensor.EmptyOp)
    copy = tensor.InsertSliceOp.get(
        value,
        whole,
        static_sizes=tensor_of(value).get_shape(),
        static_offsets=[0] * rank,
        static_strides=[1] * rank,
        sizes=list(whole.owner.dynamic_sizes),
    )
    return IRBuilder.before(before).insert(copy).result
