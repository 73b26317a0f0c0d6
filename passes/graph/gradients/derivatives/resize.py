"""The derivative of resampling: along each axis the transpose of a matrix of weights."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from xdsl.ir import SSAValue

from stepwell.dialects import graph
from stepwell.dialects.types import dims_of
from stepwell.passes.graph.gradients.builder import GradientBuilder
from stepwell.passes.graph.gradients.rules import Cotangents, derivative
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.meaning.resize import AxisSampling, neighbours

MAX_ELEMS = 1 << 24
"""The most elements of a matrix of weights."""


@derivative(graph.ResizeOp)
def resize(op: graph.ResizeOp, dy: SSAValue, b: GradientBuilder) -> Cotangents:
    """
    Each axis that was resampled by a matrix of weights [out, in] is multiplied by its transpose.

    An axis whose elements are repeated equally often is summed instead. Raises: StepwellError `unsupported`
    for axes of open sizes that are resampled, `too-large` for matrices above 2^24 elements.
    """
    for axis in range(len(b.dims(op.input))):
        size, out = b.dims(op.input)[axis], b.dims(op.result)[axis]
        scaled = op.scales is not None and op.scales.get_values()[axis] != 1
        if size.proves_equal(out) and not scaled and op.coordinate.data != "tf_crop_and_resize":
            continue
        sizes = b.static([size, out], "the sizes of the axes", op)
        sampling = _sampling(op, axis, *sizes)
        if not sampling.is_identity:
            dy = _along(dy, axis, _weights(op, sampling), b)
    return [dy, *[None] * (len(op.operands) - 1)]


def _sampling(op: graph.ResizeOp, axis: int, size: int, out: int) -> AxisSampling:
    rank = len(dims_of(op.input.type))
    scale = float(op.scales.get_values()[axis]) if op.scales is not None else out / max(size, 1)
    roi = op.roi.get_values() if op.roi is not None else ()
    bounds = (float(roi[axis]), float(roi[axis + rank])) if op.roi is not None else (0.0, 1.0)
    if size * out > MAX_ELEMS:
        raise StepwellError("too-large", op, f"the weights of axis {axis} would have {size * out} elements")
    return AxisSampling(size, out, scale, op.coordinate.data, bounds)


def _weights(op: graph.ResizeOp, sampling: AxisSampling) -> npt.NDArray[np.float64]:
    """The matrix [out, in] of an axis, without the elements that are extrapolated."""
    taken, weights = neighbours(
        sampling,
        op.mode.data,
        op.nearest.data,
        op.cubic_a.value.data,
        op.antialias is not None,
        op.exclude_outside is not None,
    )
    matrix = np.zeros((sampling.out, sampling.size))
    np.add.at(matrix, (np.arange(sampling.out)[:, None], taken), weights)
    if sampling.coordinate == "tf_crop_and_resize":
        places = sampling.places()
        matrix[(places < 0) | (places > sampling.size - 1)] = 0
    return matrix


def _along(dy: SSAValue, axis: int, weights: npt.NDArray[np.float64], b: GradientBuilder) -> SSAValue:
    """dy multiplied by the transpose of weights along an axis."""
    out, size = weights.shape
    dims = list(b.dims(dy))
    if out % size == 0 and np.array_equal(weights, np.repeat(np.eye(size), out // size, axis=0)):
        split = b.reshape(dy, [*dims[:axis], size, out // size, *dims[axis + 1 :]])
        return b.sum(split, [axis + 1])
    last = [*(i for i in range(len(dims)) if i != axis), axis]
    moved = b.matmul(b.transpose(dy, last), b.array(weights, dy))
    return b.transpose(moved, [last.index(i) for i in range(len(dims))])
