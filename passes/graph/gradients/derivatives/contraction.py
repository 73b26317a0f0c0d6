"""Derivatives of products, which are products."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from stepwell.dialects import graph
from stepwell.passes.graph.gradients.builder import GradientBuilder
from stepwell.passes.graph.gradients.rules import Cotangents, derivative
from stepwell.runtime.dims import Dim


@derivative(graph.BiasAddOp)
def bias_add(op: graph.BiasAddOp, dy: SSAValue, b: GradientBuilder) -> Cotangents:
    """dx = dy, db = dy summed along all other axes."""
    axis = op.axis.value.data
    return [dy, b.sum(dy, [i for i in range(len(b.dims(dy))) if i != axis])]


@derivative(graph.MatmulOp)
def matmul(op: graph.MatmulOp, dy: SSAValue, b: GradientBuilder) -> Cotangents:
    """
    da = dy bᵀ and db = aᵀ dy, with the operands in the other order for those that are read transposed.

    A vector is a matrix of one row or column; batches that were repeated add up.
    """
    x, w = op.a, op.b
    ta, tb = bool(op.transpose_a), bool(op.transpose_b)
    row, column = len(b.dims(x)) == 1, len(b.dims(w)) == 1
    rank = len(b.dims(dy))
    dy = b.expand(dy, [rank - 1 + column] if row else [])
    dy = b.expand(dy, [len(b.dims(dy))] if column else [])
    a2 = b.expand(x, [0] if row else [])
    w2 = b.expand(w, [1] if column else [])
    if len(b.dims(w2)) == 2 and len(b.dims(a2)) > 2 and not ta:  # one product for all rows of the batch
        flat_x, flat_dy = _flat(a2, b), _flat(dy, b)
        dw = b.matmul(flat_dy, flat_x, True) if tb else b.matmul(flat_x, flat_dy, True)
    else:
        dw = b.matmul(dy, a2, True, ta) if tb else b.matmul(a2, dy, not ta)
    dx = b.matmul(w2, dy, tb, True) if ta else b.matmul(dy, w2, False, not tb)
    dx, dw = b.sum_to(dx, a2), b.sum_to(dw, w2)
    return [b.squeeze(dx, [0] if row else []), b.squeeze(dw, [1] if column else [])]


def _flat(value: SSAValue, b: GradientBuilder) -> SSAValue:
    """A batch of matrices as one matrix."""
    dims: Sequence[Dim] = b.dims(value)
    rows = Dim.of(1)
    for dim in dims[:-1]:
        rows = rows * dim
    return b.reshape(value, [rows, dims[-1]])
