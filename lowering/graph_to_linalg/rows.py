"""
Reductions along some axes of a tensor, and elementwise ops with one number for each row.

A row is the set of elements that differ only in their indices along the reduced axes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from stepwell.dialects.linalg_builder.scalars import Scalars
from stepwell.dialects.linalg_builder.support import (
    PARALLEL,
    REDUCTION,
    Body,
    Read,
    broadcast_map,
    empty,
    extent,
    filled,
    generic,
    identity,
    projection,
)
from stepwell.dialects.types import Tensor, dims_of, tensor_type
from stepwell.runtime.dims import Dim


@dataclass(frozen=True)
class Rows:
    """
    The rows of a tensor's shape: `axes` are reduced, all others select a row. For the lowering of one op.
    """

    op: Operation
    dims: tuple[Dim, ...]
    axes: tuple[int, ...]
    rewriter: PatternRewriter

    @staticmethod
    def of(op: Operation, value: SSAValue, axes: Sequence[int], rewriter: PatternRewriter) -> Rows:
        """The rows of a value's shape along some axes."""
        return Rows(op, dims_of(value.type), tuple(axes), rewriter)

    @property
    def kept(self) -> tuple[int, ...]:
        """The axes that are not reduced, whose indices select a row."""
        return tuple(axis for axis in range(len(self.dims)) if axis not in self.axes)

    def type(self, element: Attribute) -> Tensor:
        """The type of a tensor with one number for each row."""
        return tensor_type(element, [self.dims[axis] for axis in self.kept])

    def each(self, value: SSAValue) -> Read:
        """The read of a tensor of the whole shape, or broadcast to it."""
        return value, broadcast_map(value, self.dims, self.op)

    def row(self, value: SSAValue) -> Read:
        """The read of a tensor with one number for each row."""
        return value, projection(len(self.dims), self.kept)

    def reduce(self, reads: Sequence[Read], body: Body, element: Attribute, start: float) -> SSAValue:
        """
        A number for each row, from `start` on; `body` takes the scalars of `reads`, then the number so far.
        """
        rank = len(self.dims)
        write = (filled(self.type(element), start, self.rewriter), projection(rank, self.kept))
        loops = [REDUCTION if axis in self.axes else PARALLEL for axis in range(rank)]
        return generic(reads, write, loops, body, self.rewriter)

    def map(self, type: Tensor, reads: Sequence[Read], body: Body) -> SSAValue:
        """A tensor of the whole shape, computed elementwise; `body` takes the scalars of `reads`."""
        rank = len(self.dims)
        write = (empty(type, self.rewriter), identity(rank))
        return generic(reads, write, [PARALLEL] * rank, lambda s: body(s[:-1]), self.rewriter)

    def update(self, value: SSAValue, reads: Sequence[Read], body: Body) -> SSAValue:
        """A tensor of the whole shape that overwrites `value`; `body` takes the old element last."""
        rank = len(self.dims)
        return generic(reads, (value, identity(rank)), [PARALLEL] * rank, body, self.rewriter)

    def per_row(self, values: Sequence[SSAValue], body: Body, element: Attribute) -> SSAValue:
        """A number for each row, computed from other numbers for each row."""
        return self.placed(values, body, self.type(element))

    def placed(self, values: Sequence[SSAValue], body: Body, type: Tensor) -> SSAValue:
        """Numbers for each row in a tensor of `type`, whose reduced axes are left out or have extent 1."""
        rank = len(dims_of(type))
        places = projection(rank, self.kept if rank == len(self.dims) else range(rank))
        write = (empty(type, self.rewriter), identity(rank))
        reads = [(value, places) for value in values]
        return generic(reads, write, [PARALLEL] * rank, lambda s: body(s[:-1]), self.rewriter)

    def count(self, element: Attribute) -> Count:
        """The number of elements of a row."""
        product = Dim.of(1)
        for axis in self.axes:
            product = product * self.dims[axis]
        index = None if product.is_static else extent(product, self.rewriter)
        return Count(element, product, index)

    def mean(
        self,
        reads: Sequence[Read],
        body: Body,
        element: Attribute,
        finish: Callable[[SSAValue], SSAValue] = lambda mean: mean,
    ) -> SSAValue:
        """
        The mean of each row.

        Args: `body` maps the scalars of `reads` to a term of type `element`, `finish` the mean to the final
        number.
        """
        scalars, count = Scalars(element), self.count(element)
        total = self.reduce(reads, lambda s: scalars.add(s[-1], body(s[:-1])), element, 0)
        return self.per_row([total], lambda s: finish(scalars.divide(s[0], count.scalar())), element)


@dataclass(frozen=True)
class Count:
    """The number of elements of a row, available as a scalar in any body."""

    element: Attribute
    dim: Dim
    index: SSAValue | None

    def scalar(self) -> SSAValue:
        """The number, emitted inside a body: a constant, or an index converted to the element type."""
        scalars = Scalars(self.element)
        return scalars.constant(self.dim.value) if self.index is None else scalars.from_index(self.index)
