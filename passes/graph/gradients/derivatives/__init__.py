"""The derivatives of the ops of `graph`, one file a family; importing this package registers all of them."""

from stepwell.passes.graph.gradients.derivatives import (
    attention,
    binary,
    contraction,
    control_flow,
    data,
    einsum,
    elementwise,
    indexing,
    loops,
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
    control_flow,
    data,
    attention,
    einsum,
    elementwise,
    indexing,
    loops,
    movement,
    ordering,
    reduction,
    resize,
    scatter,
    window,
)
