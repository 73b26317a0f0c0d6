"""Quicker functions of rows, softmax, layer normalization and attention: all passes over a block of rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

import numpy as np

from stepwell.runtime.meaning import quick_form
from stepwell.runtime.meaning.contraction import Numbers
from stepwell.runtime.meaning.quick.blocks import parts_in_block
from stepwell.runtime.meaning.quick.products import product_operand


def _by_blocks(x: Numbers, length: int, compute: Callable[[Numbers, Numbers], None]) -> Numbers:
    """An array of the shape of x, filled by `compute(rows, out)` for each block of rows of a length."""
    rows = np.ascontiguousarray(x).reshape(-1, length) if x.size else x.reshape(0, max(length, 1))
    y = np.empty_like(rows)
    block = parts_in_block(length * x.itemsize)
    with np.errstate(all="ignore"):
        for begin in range(0, len(rows), block):
            compute(rows[begin : begin + block], y[begin : begin + block])
    return y.reshape(x.shape)


def _powers(scores: Numbers, out: Numbers) -> None:
    """exp(scores - maximum of the row) into `out`, which may be the scores."""
    np.subtract(scores, scores.max(axis=-1, keepdims=True, initial=-np.inf), out=out)
    np.exp(out, out=out)


@quick_form("graph.softmax")
def softmax(x: Numbers, axis: int) -> object:
    """Softmax along the last axis."""
    if axis % max(x.ndim, 1) != x.ndim - 1:
        return NotImplemented

    def compute(rows: Numbers, out: Numbers) -> None:
        _powers(rows, out)
        out /= out.sum(axis=-1, keepdims=True)

    return _by_blocks(x, x.shape[-1], compute)


@quick_form("graph.layer_norm")
def layer_norm(
    x: Numbers,
    scale: Numbers | None = None,
    bias: Numbers | None = None,
    *,
    axis: int,
    eps: float,
    compute_type: np.dtype[np.generic],
    resultSegmentSizes: Sequence[int],
) -> object:
    """Layer normalization whose statistics are no results, with parameters of the shape of a row or less."""
    row = x.shape[axis:]
    parameters = [p for p in (scale, bias) if p is not None]
    if compute_type != x.dtype or resultSegmentSizes[1] or any(p.ndim > len(row) for p in parameters):
        return NotImplemented
    factor, shift = (None if p is None else np.broadcast_to(p, row).reshape(-1) for p in (scale, bias))

    def compute(rows: Numbers, out: Numbers) -> None:
        np.subtract(rows, rows.mean(axis=-1, keepdims=True), out=out)
        variance = np.einsum("ij,ij->i", out, out)[:, None] / x.dtype.type(rows.shape[-1])
        out *= x.dtype.type(1) / np.sqrt(variance + x.dtype.type(eps))
        if factor is not None:
            out *= factor
        if shift is not None:
            out += shift

    return _by_blocks(x, prod(row), compute)


@quick_form("graph.attention")
def attention(
    q: Numbers,
    k: Numbers,
    v: Numbers,
    mask: Numbers | None = None,
    *,
    scale: float,
    zero_masked: bool = False,
    pairs: bool = False,
) -> object:
    """Attention head by head, in blocks of queries: their scores stay in the cache until they are used."""
    if pairs:
        return NotImplemented
    heads = np.broadcast_shapes(q.shape[:-2], k.shape[:-2], v.shape[:-2])
    queries, keys = q.shape[-2], k.shape[-2]
    q, k, v = (np.broadcast_to(x, (*heads, *x.shape[-2:])) for x in (q, k, v))
    if mask is not None:
        if len(mask.shape) > len(heads) + 2:
            return NotImplemented
        mask = np.broadcast_to(mask, (*heads, queries, keys))
    y = np.empty((*heads, queries, v.shape[-1]), q.dtype)
    block = parts_in_block(keys * q.itemsize)
    with np.errstate(all="ignore"):
        for head in np.ndindex(heads):
            columns, values = product_operand(k[head].T), product_operand(v[head])
            for begin in range(0, queries, block):
                some = (*head, slice(begin, begin + block))
                scores = np.matmul(product_operand(q[some]), columns)
                scores *= q.dtype.type(scale)
                if mask is not None:
                    scores += mask[some]
                top = scores.max(axis=-1, keepdims=True, initial=-np.inf)
                scores -= top
                np.exp(scores, out=scores)
                scores /= scores.sum(axis=-1, keepdims=True)
                np.matmul(scores, values, out=y[some])
                if zero_masked:
                    y[some][top[:, 0] == -np.inf] = 0
    return y
