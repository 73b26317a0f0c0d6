"""Derivatives of ops that order elements, and of running sums, products and extrema."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from stepwell.dialects import graph
from stepwell.passes.graph.gradients.builder import GradientBuilder
from stepwell.passes.graph.gradients.rules import Cotangents, derivative


@derivative(graph.TopKOp)
def top_k(op: graph.TopKOp, dy: Sequence[SSAValue | None], b: GradientBuilder) -> Cotangents:
    """dy in a tensor of zeros, at the indices that were chosen."""
    chosen = dy[0]
    if chosen is None:
        return [None]
    axis = op.axis.value.data
    placed = graph.ScatterElementsOp(b.zeros(op.input), op.indices, chosen, axis, "add", unique=True)
    return [b.insert(placed)]


@derivative(graph.ReverseSequenceOp)
def reverse_sequence(op: graph.ReverseSequenceOp, dy: SSAValue, b: GradientBuilder) -> Cotangents:
    """dy reversed as x was."""
    return [b.insert(op.on([dy, op.lengths])), None]


@derivative(graph.ScanOp)
def scan(op: graph.ScanOp, dy: SSAValue, b: GradientBuilder) -> Cotangents:
    """
    Of a sum, the sum of dy the other way; of a product, sums of dy times the products of all other elements,
    exact where some are 0; of an extremum, dy to the element that first had it.

    A product takes memory for the square of the axis.
    """
    kind, axis = op.kind.data, op.axis.value.data
    if kind == "sum":
        back = not bool(op.reverse)
        return [b.insert(graph.ScanOp(dy, "sum", axis, exclusive=bool(op.exclusive), reverse=back))]
    x = op.input
    if bool(op.reverse):
        x, dy = (b.insert(graph.ReverseOp(value, [axis])) for value in (x, dy))
    if bool(op.exclusive):
        dy = _from_next(dy, axis, b)
    dx = _of_products(x, dy, axis, b) if kind == "prod" else _of_extrema(x, kind, dy, axis, b)
    return [b.insert(graph.ReverseOp(dx, [axis])) if bool(op.reverse) else dx]


def _from_next(value: SSAValue, axis: int, b: GradientBuilder) -> SSAValue:
    """Each element replaced by the next one along an axis, the last by 0."""
    pads = [0] * 2 * len(b.dims(value))
    pads[axis], pads[axis + len(b.dims(value))] = -1, 1
    return b.insert(graph.PadOp(value, pads))


def _of_products(x: SSAValue, dy: SSAValue, axis: int, b: GradientBuilder) -> SSAValue:
    """
    dx_j = (Π_{k<j} x_k) Σ_{i>=j} dy_i Π_{j<k<=i} x_k.

    The inner products are those of a matrix with a row for each j, which is 1 up to its diagonal.
    """
    dims = b.dims(x)
    front = [i for i in range(len(dims)) if i != axis]
    rows, last = b.transpose(x, [*front, axis]), len(dims) - 1
    size = dims[axis]
    above = b.less(b.iota([size, size], 0), b.iota([size, size], 1))
    spread = b.where(above, b.expand(rows, [last]), b.scalar(1.0, x))
    inner = b.insert(graph.ScanOp(spread, "prod", last + 1))
    here = b.insert(graph.NotOp(b.less(b.iota([size, size], 1), b.iota([size, size], 0))))
    terms = b.multiply(inner, b.expand(b.transpose(dy, [*front, axis]), [last]))
    sums = b.sum(b.only_where(here, terms), [last + 1])
    before = b.insert(graph.ScanOp(rows, "prod", last, exclusive=True))
    back = [*front, axis]
    return b.transpose(b.multiply(before, sums), [back.index(i) for i in range(len(dims))])


def _of_extrema(x: SSAValue, kind: str, dy: SSAValue, axis: int, b: GradientBuilder) -> SSAValue:
    """dy added at the last change of the running extremum."""
    y = b.insert(graph.ScanOp(x, kind, axis))
    pads = [0] * 2 * len(b.dims(x))
    pads[axis], pads[axis + len(b.dims(x))] = 1, -1
    number = b.iota(b.dims(x), axis)
    is_same = b.equal(y, b.insert(graph.PadOp(y, pads)))
    is_first = b.equal(number, b.scalar(0, number))
    stays = b.insert(graph.AndOp(is_same, b.insert(graph.NotOp(is_first))))
    place = b.insert(graph.ScanOp(b.where(stays, b.scalar(0, number), number), "max", axis))
    return b.insert(graph.ScatterElementsOp(b.zeros(x), place, dy, axis, "add"))
