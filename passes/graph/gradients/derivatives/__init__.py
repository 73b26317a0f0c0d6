"""The derivatives of the ops of `graph`, one file a family; importing this package registers all of them."""

from stepwell.passes.graph.gradients.derivatives import (
    binary,
    contraction,
    elementwise,
    indexing,
    movement,
    reduction,
    window,
)

FAMILIES = (binary, contraction, elementwise, indexing, movement, reduction, window)
