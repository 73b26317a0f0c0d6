"""Derivatives of scatters: what each element of the result was made from."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import SSAValue

from stepwell.dialects import graph
from stepwell.passes.graph.gradients.builder import GradientBuilder
from stepwell.passes.graph.gradients.rules import Cotangents, derivative


@derivative(graph.ScatterElementsOp, graph.ScatterNdOp)
def scatter(op: graph.ScatterElementsOp | graph.ScatterNdOp, dy: SSAValue, b: GradientBuilder) -> Cotangents:
    """
    Of what is added, dy for all; of replaced elements, dy of those that were not, and of each update that was
    the last at its position; of products, dy times the product of all other factors, exact where some are 0;
    of an extremum, dy in equal shares to all that have it.
    """
    at = _Positions(op, b)
    match op.combine.data:
        case "add":
            return [dy, None, at.read(dy)]
        case "mul":
            dx, du = _of_product(at, dy)
        case "none":
            dx, du = _of_replaced(at, dy)
        case _:
            dx, du = _of_extremum(at, dy)
    return [dx, None, du]


@dataclass
class _Positions:
    """Reads and writes at the positions of a scatter."""

    op: graph.ScatterElementsOp | graph.ScatterNdOp
    b: GradientBuilder

    def read(self, value: SSAValue) -> SSAValue:
        """The elements of a tensor at the positions."""
        if isinstance(self.op, graph.ScatterElementsOp):
            return self.b.insert(graph.GatherElementsOp(value, self.op.indices, self.op.axis.value.data))
        return self.b.insert(graph.GatherNdOp(value, self.op.indices))

    def written(self, value: SSAValue, updates: SSAValue, combine: str) -> SSAValue:
        """A tensor with updates at the positions."""
        return self.b.insert(self.op.on([value, self.op.indices, updates], combine=StringAttr(combine)))


def _of_replaced(at: _Positions, dy: SSAValue) -> tuple[SSAValue, SSAValue]:
    op, b = at.op, at.b
    dx = at.written(dy, b.zeros(op.updates), "none")
    du = at.read(dy)
    if op.unique is not None:
        return dx, du
    # Of updates at one position the last counts: each writes its number, and sees whether that is there.
    number = b.positions(op.updates)
    places = b.positions(op.input)
    last = at.read(at.written(places, number, "none"))
    return dx, b.only_where(b.equal(last, number), du)


def _of_product(at: _Positions, dy: SSAValue) -> tuple[SSAValue, SSAValue]:
    """Products of the factors other than 0, and the numbers of zeros."""
    op, b = at.op, at.b

    def parts(value: SSAValue) -> tuple[SSAValue, SSAValue]:
        is_zero = b.equal(value, b.scalar(0.0, value))
        return b.only_where(is_zero, b.full(1.0, value)), b.where(is_zero, b.scalar(1.0, value), value)

    def others(product: SSAValue, count: SSAValue, own: SSAValue, factor: SSAValue) -> SSAValue:
        is_whole = b.equal(count, own)  # no other factor is 0
        return b.only_where(is_whole, b.divide(product, factor))

    x_zero, x_factor = parts(op.input)
    u_zero, u_factor = parts(op.updates)
    product = at.written(x_factor, u_factor, "mul")
    count = at.written(x_zero, u_zero, "add")
    dx = b.multiply(dy, others(product, count, x_zero, x_factor))
    of_updates = others(at.read(product), at.read(count), u_zero, u_factor)
    return dx, b.multiply(at.read(dy), of_updates)


def _of_extremum(at: _Positions, dy: SSAValue) -> tuple[SSAValue, SSAValue]:
    op, b = at.op, at.b
    x_has = b.only_where(b.equal(op.input, op.result), b.full(1.0, op.input))
    u_has = b.only_where(b.equal(op.updates, at.read(op.result)), b.full(1.0, op.updates))
    # A position that nothing has is one of NaN: it shares out nothing.
    share = b.divide(dy, at.written(x_has, u_has, "add"))
    return b.multiply(x_has, share), b.multiply(u_has, at.read(share))
