"""The derivative of attention, which computes its probabilities again."""

from __future__ import annotations

from math import inf

from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from stepwell.dialects import graph
from stepwell.dialects.types import dtype_of, tensor_of
from stepwell.passes.graph.gradients.builder import GradientBuilder
from stepwell.passes.graph.gradients.rules import Cotangents, derivative


@derivative(graph.AttentionOp)
def attention(op: graph.AttentionOp, dy: SSAValue, b: GradientBuilder) -> Cotangents:
    """
    dv = pᵀ dy, ds = p (dp - sum(dp p)) with dp = dy vᵀ, dq = ds k scale, dk = dsᵀ q scale, dmask = ds.

    p are the probabilities, computed again; 16-bit floats are widened to f32.
    """
    element = tensor_of(op.q).element_type
    wide = f32 if dtype_of(element).itemsize < dtype_of(f32).itemsize else element
    q, k, v, dy = (b.cast(value, wide) for value in (op.q, op.k, op.v, dy))
    scale = op.scale.value.data
    p = _probabilities(op, q, k, b)
    last = len(b.dims(p)) - 1
    dp = b.matmul(dy, v, tb=True)
    ds = b.multiply(p, b.subtract(dp, b.sum(b.multiply(dp, p), [last], keep_dims=True)))
    scaled = b.scaled(ds, scale)
    found = [
        (b.matmul(scaled, k), op.q),
        (b.matmul(scaled, q, ta=True), op.k),
        (b.matmul(p, dy, ta=True), op.v),
    ]
    given = [b.cast(b.sum_to(value, like), element) for value, like in found]
    return given if op.mask is None else [*given, b.cast(b.sum_to(ds, op.mask), element)]


def _probabilities(op: graph.AttentionOp, q: SSAValue, k: SSAValue, b: GradientBuilder) -> SSAValue:
    """softmax(q kᵀ * scale + mask), in the shape of the scores."""
    score = b.scaled(b.matmul(q, k, tb=True), op.scale.value.data)
    if op.mask is not None:
        score = b.add(score, b.cast(op.mask, tensor_of(score).element_type))
    last = len(b.dims(score)) - 1
    p = b.insert(graph.SoftmaxOp(score, last))
    if not op.zero_masked:
        return p
    top = b.reduce(score, "max", [last])
    return b.where(b.equal(top, b.scalar(-inf, top)), b.scalar(0.0, p), p)
