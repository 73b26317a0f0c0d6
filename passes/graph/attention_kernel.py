"""The choice between one kernel for attention and kernels for its parts."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import f32
from xdsl.ir import Attribute

from stepwell.dialects.costs.layouts import ATTENTION
from stepwell.runtime.dims import Dim


def has_kernel(element: Attribute, scores: Sequence[Dim], depth: Dim, columns: Dim) -> bool:
    """
    Whether one attention kernel is faster than two products with a softmax between them.

    The kernel exists for f32 of static depth and columns. Vector lanes go along the queries, so there must be
    some: a static number with enough keys, or as many as there are keys. A decoder's step with a cache (an
    open number of queries, most often one, on more keys) stays in parts.
    Args: `scores` is the shape [batch..., queries, keys]; `depth` the size of a key, `columns` of a value.
    """
    *batch, queries, keys = scores
    if element != f32 or not depth.is_static or not columns.is_static or any(d.is_unknown for d in scores):
        return False
    if 0 in (*batch, depth, columns, keys):
        return False
    if not queries.is_static:
        return queries == keys
    is_small = keys.is_static and queries.value * keys.value < ATTENTION.fewest_scores
    return queries.value >= ATTENTION.fewest_queries and not is_small


def are_many(queries: Dim) -> bool:
    """Whether there are as many queries as a kernel of attention needs, or a copy of the keys pays for."""
    return queries.is_static and queries.value >= ATTENTION.fewest_queries
