"""Fully connected layers and products of batches."""

from __future__ import annotations

from stepwell.lowering.tflite_to_graph.support import Call, converts
from stepwell.lowering.tflite_to_graph.window import biased
from stepwell.lowering.to_graph import Value, size_of


@converts("fully_connected")
def fully_connected(call: Call) -> Value:
    """The product with the transpose of the filters."""
    x, filters = call.tensor(), call.tensor("filter")
    if call.value("weights_format") != "DEFAULT":
        raise call.unsupported("shuffled weights")
    if filters.rank != 2:
        raise call.unsupported(f"the filters must have rank 2, found {filters.rank}")
    depth = filters.dims[1]
    if not (call.flag("keep_num_dims") and x.rank and x.dims[-1] == depth):
        x = x.reshape([size_of(x.dims) // depth, depth])
    result = biased(call, x.matmul(filters.transpose([1, 0])))
    recorded = call.recorded
    return result if recorded is None else result.reshape(recorded)


@converts("batch_matmul")
def batch_matmul(call: Call) -> Value:
    """The products of matrices, either of which may be transposed."""
    x, y = call.tensor(), call.tensor("y")
    return x.matrix_transpose(call.flag("adj_x")).matmul(y.matrix_transpose(call.flag("adj_y")))
