"""Vectors of several dimensions cut into register-sized pieces along their last dimension."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import cached_property
from itertools import product

from xdsl.dialects import vector
from xdsl.dialects.builtin import DenseArrayBase, VectorType, i64
from xdsl.ir import Attribute, SSAValue

from stepwell.dialects.ir_builder import IRBuilder
from stepwell.dialects.tensor_ir.transfers import Vector, element_type, vector_type

Position = tuple[tuple[int, ...], int, int]
"""A piece of a vector: the leading indices, the first lane, and the number of lanes."""


class Layout:
    """
    A vector cut into pieces of at most `lanes` elements along the last dimension, in row-major order.

    Args: `joined`: the last two dimensions are cut as if they were one.
    """

    def __init__(self, type: Vector, lanes: int, joined: bool = False):
        *leading, width = type.get_shape()
        if joined:
            width *= leading.pop()
        self.element: Attribute = type.element_type
        self.leading = tuple(leading)
        self.width = width
        self.starts = range(0, width, lanes)
        self.positions: list[Position] = [
            (lead, start, min(lanes, width - start))
            for lead in product(*map(range, leading))
            for start in self.starts
        ]

    def types(self) -> Sequence[Vector]:
        """The type of each piece."""
        return self._types

    @cached_property
    def _types(self) -> list[Vector]:
        return [vector_type(self.element, (size,)) for _, _, size in self.positions]

    def index(self, lead: Sequence[int], start: int) -> int:
        """The number of a piece."""
        number = 0
        for i, n in zip(lead, self.leading, strict=True):
            number = number * n + i
        return number * len(self.starts) + self.starts.index(start)


class Pieces:
    """
    The pieces of one vector.

    Args: `make` builds a piece where it is first used; `same` gives each piece a key that equal pieces share,
    if there are equal ones.
    """

    def __init__(
        self,
        layout: Layout,
        values: Sequence[SSAValue] | None = None,
        make: Callable[[IRBuilder, Position], SSAValue] | None = None,
        same: Sequence[Hashable] | None = None,
    ):
        self.layout = layout
        self.same = same
        self._values = list(values) if values is not None else None
        self._make = make

    def get(self, emit: IRBuilder, number: int) -> SSAValue:
        """The piece of a number, built at the emitter unless it exists."""
        if self._values is not None:
            return self._values[number]
        assert self._make is not None
        return self._make(emit, self.layout.positions[number])

    def all(self, emit: IRBuilder) -> list[SSAValue]:
        """All pieces, in order."""
        return [self.get(emit, i) for i in range(len(self.layout.positions))]

    def settle(self, emit: IRBuilder) -> Pieces:
        """Build all pieces here, for users elsewhere."""
        self._values = self.all(emit)
        return self

    def scalars(self, emit: IRBuilder) -> list[SSAValue]:
        """All elements in row-major order."""
        return [
            extract(emit, self.get(emit, i), lane)
            for i, (_, _, size) in enumerate(self.layout.positions)
            for lane in range(size)
        ]


def extract(emit: IRBuilder, value: SSAValue, *position: int) -> SSAValue:
    """An element of a vector as a scalar; the source of a broadcast without an extract."""
    # A vector made from one scalar is that scalar in every lane.
    if isinstance(owner := value.owner, vector.BroadcastOp) and not isinstance(owner.source.type, VectorType):
        return owner.source
    op = vector.ExtractOp.create(
        operands=[value],
        result_types=[element_type(value.type)],
        properties={"static_position": DenseArrayBase.from_list(i64, list(position))},
    )
    return emit.value(op)


def broadcast(emit: IRBuilder, scalar: SSAValue, width: int) -> SSAValue:
    """A vector with a scalar in all lanes."""
    type = vector_type(scalar.type, (width,))
    return emit.value(vector.BroadcastOp.create(operands=[scalar], result_types=[type]))


def gather(emit: IRBuilder, scalars: Sequence[SSAValue]) -> SSAValue:
    """A vector of scalars, lane by lane."""
    value = broadcast(emit, scalars[0], len(scalars))
    for lane, scalar in enumerate(scalars[1:], 1):
        value = insert(emit, scalar, value, lane)
    return value


def insert(emit: IRBuilder, scalar: SSAValue, value: SSAValue, *position: int) -> SSAValue:
    """A vector with the element at a position replaced by a scalar."""
    op = vector.InsertOp.create(
        operands=[scalar, value],
        result_types=[value.type],
        properties={"static_position": DenseArrayBase.from_list(i64, list(position))},
    )
    return emit.value(op)


def from_scalars(emit: IRBuilder, layout: Layout, scalars: Sequence[SSAValue]) -> Pieces:
    """A vector from all of its elements in row-major order."""
    values: list[SSAValue] = []
    for _, _, size in layout.positions:
        values.append(gather(emit, scalars[:size]))
        scalars = scalars[size:]
    return Pieces(layout, values)
