"""Products, convolutions and pools of the library."""

from __future__ import annotations

from collections.abc import Sequence

from stepwell.frontend.te import reducers
from stepwell.frontend.te.expressions import Axis
from stepwell.frontend.te.library.movement import pad
from stepwell.frontend.te.library.reductions import KINDS
from stepwell.frontend.te.library.shapes import element
from stepwell.frontend.te.places import FormulaError
from stepwell.frontend.te.tensors import Tensor, compute, reduce_axis
from stepwell.runtime.dims import Dim


def outer(a: Tensor, b: Tensor) -> Tensor:
    """All products of two vectors' elements."""
    return compute([*a.dims, *b.dims], lambda *i: a[i[0]] * b[i[1]], name="outer")


def matmul(a: Tensor, b: Tensor) -> Tensor:
    """The product of matrices; dimensions before the last two broadcast. Raises: StepwellError `te-type`."""
    if a.ndim < 2 or b.ndim < 2 or a.dims[-1] != b.dims[-2]:
        raise FormulaError("te-type", f"matmul of shapes {list(a.dims)} and {list(b.dims)}")
    rank = max(a.ndim, b.ndim)
    leading = [_joined(a, b, axis - rank) for axis in range(rank - 2)]
    r = reduce_axis((0, a.dims[-1]), "r")

    def product(*axes: Axis) -> object:
        *batch, i, j = axes
        return reducers.sum_of(element(a, (*batch, i, r)) * element(b, (*batch, r, j)), axis=r)

    return compute([*leading, a.dims[-2], b.dims[-1]], product, name="matmul")


def _joined(a: Tensor, b: Tensor, axis: int) -> Dim:
    """The extent of an axis, counted from the last, to which two tensors broadcast."""
    own = [t.dims[axis] for t in (a, b) if -axis <= t.ndim]
    longer = [dim for dim in own if dim != 1]
    if any(dim != longer[0] for dim in longer):
        raise FormulaError("te-type", f"shapes {list(a.dims)} and {list(b.dims)} do not broadcast")
    return longer[0] if longer else Dim.of(1)


def conv(x: Tensor, w: Tensor, strides: Sequence[int] = (1, 1), pads: Sequence[int] = (0, 0, 0, 0)) -> Tensor:
    """
    The convolution of feature maps [n, channels, h, w] with filters [out, channels, h, w].

    Args: `pads` are numbers of rows and columns before, then after.
    """
    padded = _padded(x, pads)
    c, p, q = (reduce_axis((0, dim), name) for dim, name in zip(w.dims[1:], "cpq", strict=True))
    height, width = (_extent(padded.dims[a], w.dims[a], strides[a - 2]) for a in (2, 3))

    def product(n: Axis, o: Axis, y: Axis, z: Axis) -> object:
        at = padded[n, c, y * strides[0] + p, z * strides[1] + q]
        return reducers.sum_of(at * w[o, c, p, q], axis=[c, p, q])

    return compute([x.dims[0], w.dims[0], height, width], product, name="conv")


def pool(
    x: Tensor,
    kernel: Sequence[int],
    strides: Sequence[int] = (1, 1),
    pads: Sequence[int] = (0, 0, 0, 0),
    kind: str = "max",
) -> Tensor:
    """The `max`, `min`, `sum` or `mean` of windows of feature maps; padding is in no maximum."""
    name = "sum" if kind == "mean" else kind
    if name not in KINDS:
        raise FormulaError("te-reduction", f"kind is one of mean, {', '.join(KINDS)}, found {kind!r}")
    padded = _padded(x, pads, KINDS[name].start([x.dtype])[0])
    p, q = (reduce_axis((0, size), letter) for size, letter in zip(kernel, "pq", strict=True))
    dims = [_extent(padded.dims[a], Dim.of(kernel[a - 2]), strides[a - 2]) for a in (2, 3)]

    def window(n: Axis, c: Axis, y: Axis, z: Axis) -> object:
        at = padded[n, c, y * strides[0] + p, z * strides[1] + q]
        return reducers.reduction(KINDS[name], at, [p, q])

    totals: Tensor = compute([*x.dims[:2], *dims], window, name="pool")
    if kind != "mean":
        return totals
    return compute(totals.dims, lambda *i: totals[i] / (kernel[0] * kernel[1]), name="pool_mean")


def _padded(x: Tensor, pads: Sequence[int], value: float = 0) -> Tensor:
    if not any(pads):
        return x
    return pad(x, (0, 0, *pads[:2]), (0, 0, *pads[2:]), value)


def _extent(size: Dim, kernel: Dim, stride: int) -> Dim:
    return (size - kernel) // stride + 1
