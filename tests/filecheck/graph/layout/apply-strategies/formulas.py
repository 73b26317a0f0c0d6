"""Strategies for the files beside this one."""

from stepwell import te
from stepwell.dialects import graph
from stepwell.plugin import dims_of
from stepwell.runtime.machine.target import TargetDescription


def _few_channels(op: graph.ConvOp, target: TargetDescription) -> str | None:
    channels = dims_of(op.x.type)[1]
    return None if channels.value <= 32 else f"{channels} channels, sums takes 32"


def _cost(op: graph.ConvOp, target: TargetDescription) -> float:
    return 2.0 * target.f32_lanes


@te.strategy("graph.conv", name="sums", cost=_cost, applies=_few_channels)
def sums(
    x: te.Tensor, w: te.Tensor, *, strides: list[int], dilations: list[int], pads: list[int]
) -> te.Tensor:
    """A convolution as a sum for each pixel."""
    return te.library.conv(x, w, strides, pads)


@te.strategy("graph.softmax", name="powers")
def powers(x: te.Tensor, *, axis: int) -> te.Tensor:
    """Softmax along the rows of a matrix without their maxima."""
    r = te.reduce_axis((0, x.shape[1]), "r")
    e = te.compute(x.shape, lambda i, j: te.exp(x[i, j]), name="e")
    total = te.compute(x.shape[:1], lambda i: te.sum(e[i, r], axis=r), name="total")
    return te.compute(x.shape, lambda i, j: e[i, j] / total[i], name="powers")


@te.strategy("graph.relu", name="halves", cost=0)
def halves(x: te.Tensor) -> te.Tensor:
    """A result of another shape than that of the op."""
    return te.compute([x.shape[0] // 2], lambda i: te.maximum(x[i], 0))
