"""The arithmetic of ops: multiply-adds of contractions, operations of all, as expressions of dimensions."""

from __future__ import annotations

from collections.abc import Iterable
from math import prod

from xdsl.dialects.builtin import TensorType, i32
from xdsl.ir import Operation, SSAValue

from stepwell.dialects import graph
from stepwell.dialects.graph.base import GraphOp, Kind
from stepwell.dialects.graph.relations import element_of_value
from stepwell.dialects.types import dims_of, tensor_of
from stepwell.runtime.dims import Dim


def flops_of(op: GraphOp) -> Dim:
    """The number of arithmetic operations of an op; data movement counts as 0."""
    if (macs := macs_of(op)) is not None:
        return 2 * macs
    if op.KIND in (Kind.ELEMENTWISE, Kind.BROADCAST):
        return total_of(elements_of(result) for result in op.results)
    if op.KIND in (Kind.REDUCTION, Kind.ROW):
        return elements_of(op.operands[0])
    return Dim.of(0)


def elements_of(value: SSAValue) -> Dim:
    """The elements of a tensor; none of other values."""
    if not isinstance(value.type, TensorType):
        return Dim.of(0)
    return prod(dims_of(tensor_of(value)), start=Dim.of(1))


def total_of(amounts: Iterable[Dim]) -> Dim:
    """The sum of amounts."""
    return sum(amounts, Dim.of(0))


def macs_of(op: Operation) -> Dim | None:
    """The number of multiply-adds of a contraction; None for other ops, or if a shape depends on data."""
    match op:
        case graph.ConvOp():
            # Each output pixel uses every weight once, whatever the groups.
            parts = 2 if op.pairs.value.data else 1
            macs = _size(op.w) * _pixels(op.result, op.out_layout or op.data_layout) * parts
        case graph.WinogradConvOp():
            # Those of the direct convolution, so that speeds can be compared.
            _, blocks, _, _, block = dims_of(op.x.type)
            macs = _size(op.result) * blocks * block * (3 * 3)
        case graph.ConvIntegerOp():
            parts = op.parts.value.data if element_of_value(op.x) == i32 else 1
            macs = _size(op.w) * _pixels(op.result, op.out_layout or op.data_layout) * parts
        case graph.ConvTransposeOp():
            macs = _size(op.w) * _pixels(op.x, op.data_layout)
        case graph.MatmulOp():
            rank = len(dims_of(op.a.type))
            depth = -2 if op.transpose_a.value.data and rank > 1 else -1
            parts = 2 if op.pairs.value.data else 1
            macs = _size(op.result) * dims_of(op.a.type)[depth] * parts
        case graph.MatmulIntegerOp():
            parts = op.parts.value.data if op.is_packed else 1
            macs = _size(op.result) * dims_of(op.a.type)[-1] * parts
        case graph.MatmulNbitsOp():
            macs = _size(op.result) * dims_of(op.x.type)[-1]
        case graph.RnnOp():
            # Each step multiplies each row of the batch by all weights.
            macs = prod(dims_of(op.x.type)[:2], start=_size(op.w) + _size(op.r))
        case graph.EinsumOp():
            macs = _einsum_macs(op)
        case graph.AttentionOp():
            width = dims_of(op.q.type)[-1] + dims_of(op.v.type)[-1]
            macs = prod(op.scores_dims(), start=Dim.of(1)) * width
        case _:
            return None
    return None if macs.is_unknown else macs


def _size(value: SSAValue) -> Dim:
    return prod(dims_of(value.type), start=Dim.of(1))


def _pixels(value: SSAValue, layout: object) -> Dim:
    """The elements of a feature map per channel: its dimensions but `C` and `c`, a block in `NCHW8c`."""
    letters = [c for c in getattr(layout, "data", "NC") if c.isalpha()]
    dims = dims_of(value.type)
    letters += ["x"] * (len(dims) - len(letters))
    kept = [dim for letter, dim in zip(letters, dims, strict=False) if letter not in "Cc"]
    return prod(kept, start=Dim.of(1))


def _einsum_macs(op: graph.EinsumOp) -> Dim:
    sizes: dict[str, Dim] = {}
    for term, value in zip(op.equation.data.partition("->")[0].split(","), op.inputs, strict=True):
        for letter, dim in zip(term, dims_of(value.type), strict=True):
            if letter not in sizes or sizes[letter] == 1:
                sizes[letter] = dim
    products = Dim.of(max(1, len(op.inputs) - 1))
    return prod(sizes.values(), start=products)
