"""The derivatives of the ops of `graph`, one file a family; importing this package registers all of them."""

from stepwell.passes.graph.gradients.derivatives import (
    attention,
    binary,
    contraction,
    einsum,
    elementwise,
    indexing,
    movement,
    ordering,
    reduction,
    resize,
    scatter,
    window,
)

FAMILIES = (
    binary,
    contraction,
    attention,
    einsum,
    elementwise,
    indexing,
    movement,
    ordering,
    reduction,
    resize,
    scatter,
    window,
)
