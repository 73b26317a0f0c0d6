"""Merging of contractions that share an input, and of elementwise ops after them, for `combine-parallel`."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import cast

import numpy as np
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from stepwell.dialects import graph
from stepwell.dialects.constants import Constant, derived_attr
from stepwell.dialects.graph.base import GraphOp
from stepwell.dialects.graph.binary import BinaryOp
from stepwell.dialects.graph.elementwise import UnaryOp
from stepwell.dialects.graph.structure import constant_of
from stepwell.dialects.ir_builder import IRBuilder
from stepwell.dialects.locations import fused_location
from stepwell.dialects.types import dims_of, tensor_of, tensor_type
from stepwell.runtime.dims import Dim
from stepwell.runtime.files.weights import WeightStore
from stepwell.runtime.layout import parse_layout
from stepwell.runtime.meaning import Array

FAMILIES = ("conv", "matmul", "batch_matmul", "quantized_matmul")


def _concatenated(axis: int, *parts: Array) -> Array:
    return np.concatenate(parts, axis)


def family_of(op: Operation) -> str | None:
    """The kind of a contraction, of `FAMILIES`; None if it cannot be merged."""
    if isinstance(op, graph.ConvOp):
        layouts = [parse_layout(layout.data) for layout in (op.data_layout, op.kernel_layout)]
        is_plain = all(layout.rank == len(layout.letters) for layout in layouts)
        return "conv" if is_plain and op.groups.value.data == 1 and op.out_layout is None else None
    if not isinstance(op, graph.MatmulOp) or op.packing.value.data:
        return None
    rank_a, rank_b = len(dims_of(op.a.type)), len(dims_of(op.b.type))
    if rank_b == 2 and rank_a >= 2:
        return "matmul" if codes_of(op) is None else "quantized_matmul"
    return "batch_matmul" if rank_a == rank_b >= 3 else None


def codes_of(op: Operation) -> graph.DequantizeOp | None:
    """
    The dequantize of a product's constant matrix, with scales for each output channel; None for others.
    """
    source = op.operands[1].owner
    if not isinstance(source, graph.DequantizeOp) or not isinstance(op, graph.MatmulOp):
        return None
    along = source.axis.value.data == _width_axis(op)
    has_channels = not along if source.block_size else along and bool(dims_of(source.scale.type))
    is_constant = all(isinstance(value.owner, graph.ConstantOp) for value in source.operands)
    return source if is_constant and has_channels else None


def sibling_key(op: Operation) -> Hashable:
    """The hash key of contractions that can be merged: equal but for the number of output channels."""
    x, w = op.operands
    dims = list(dims_of(w.type))
    dims.pop(_width_axis(op))
    settings = frozenset([*op.properties.items(), *op.attributes.items()])
    own = (x, type(op), settings, tensor_of(w).element_type, tuple(dims))
    return own if (source := codes_of(op)) is None else (*own, _format_key(source))


def _format_key(source: graph.DequantizeOp) -> Hashable:
    """The hash key of codes that can be concatenated: of one type, with scales and zero points alike."""
    point = None if source.zero_point is None else source.zero_point.type
    if source.zero_point is not None and not dims_of(source.zero_point.type):
        assert isinstance(source.zero_point.owner, graph.ConstantOp)
        point = source.zero_point.owner.value
    elif source.zero_point is not None:
        point = tensor_of(source.zero_point).element_type
    settings = source.axis, source.block, source.to
    return (*settings, tensor_of(source.input).element_type, tensor_of(source.scale).element_type, point)


def _width_axis(op: Operation) -> int:
    """The axis of the weights for the output's channels, along which weights are concatenated."""
    if isinstance(op, graph.ConvOp):
        return parse_layout(op.kernel_layout.data).axis("O")
    assert isinstance(op, graph.MatmulOp)
    return len(dims_of(op.b.type)) - (2 if op.transpose_b.value.data else 1)


def _channel_axis(op: Operation) -> int:
    """The axis of a contraction's result for the channels, along which the merged result is sliced."""
    if isinstance(op, graph.ConvOp):
        return parse_layout(op.data_layout.data).axis("C")
    return len(dims_of(op.results[0].type)) - 1


class Branches:
    """Contractions with a common input (siblings), to be merged into one op before the first of them."""

    def __init__(
        self,
        ops: Sequence[GraphOp],
        positions: Mapping[Operation, float],
        weights: WeightStore,
        width_axis: int,
    ):
        self._first = ops[0]
        self._positions = positions
        self._weights = weights
        self._axis = _channel_axis(ops[0])
        self._ops: list[GraphOp] = list(ops)
        self._widths = [dims_of(op.results[0].type)[self._axis] for op in ops]
        self._width_axis = width_axis
        self._replaced: list[GraphOp] = list(ops)
        self.made: list[Operation] = []

    @staticmethod
    def of(
        ops: Sequence[GraphOp], positions: Mapping[Operation, float], weights: WeightStore, least: int
    ) -> Branches | None:
        """The siblings whose weights are defined before the first of them; None for fewer than `least`."""
        known = [
            op
            for op in ops
            if (codes_of(op) is not None or is_available(op.operands[1], positions, positions[ops[0]]))
            and not dims_of(op.results[0].type)[_channel_axis(op)].is_unknown
        ]
        if len(known) < least:
            return None
        return Branches(known, positions, weights, _width_axis(known[0]))

    def join(self) -> None:
        """Replace the siblings by one op, then the same ops after all of them, and slice the result."""
        weights = self._joined_weights()
        result = self._insert_like(self._ops, [self._ops[0].operands[0], weights])
        while (followers := self._followers()) is not None:
            operands = self._follower_operands(followers, result)
            if operands is None:
                break
            self._ops = followers
            self._replaced += followers
            result = self._insert_like(followers, operands)
        self._cut(result)

    def _joined_weights(self) -> SSAValue:
        """The concatenation of the weights; of codes, scales and zero points, if they are quantized."""
        axis, sources = self._width_axis, [found for op in self._ops if (found := codes_of(op)) is not None]
        if len(sources) < len(self._ops):
            return self._joined([op.operands[1] for op in self._ops], axis)
        parts = list(zip(*(source.operands for source in sources), strict=True))
        of_scales = axis if sources[0].block_size else 0
        joined = [
            self._joined(values, along) if dims_of(values[0].type) else self._copied(values[0])
            for values, along in zip(parts, (axis, of_scales, of_scales), strict=False)
        ]
        return self._insert_like(sources, joined)

    def _insert(self, op: GraphOp, like: Sequence[GraphOp]) -> SSAValue:
        self.made.append(op)
        return IRBuilder(InsertPoint.before(self._first), fused_location(like)).value(op)

    def _insert_like(self, ops: Sequence[GraphOp], operands: Sequence[SSAValue]) -> SSAValue:
        """Insert one op like each of `ops` (they are alike), on merged operands."""
        return self._insert(ops[0].on(operands), ops)

    def _joined(self, values: Sequence[SSAValue], axis: int) -> SSAValue:
        """The concatenation of tensors along an axis, as a constant if all of them are constants."""
        constants = [value.owner.value for value in values if isinstance(value.owner, graph.ConstantOp)]
        if len(constants) < len(values):
            return self._insert(graph.ConcatOp([self._copied(value) for value in values], axis), self._ops)
        dims = list(dims_of(values[0].type))
        dims[axis] = sum((dims_of(value.type)[axis] for value in values), Dim.of(0))
        type = tensor_type(tensor_of(values[0]).element_type, dims)
        name = "+".join(value.name_hint or "joined" for value in values)
        sources, join = cast("list[Constant]", constants), partial(_concatenated, axis)
        made = derived_attr(f"concat {axis}", join, sources, type, name, self._weights)
        return self._insert(graph.ConstantOp(made), self._ops)

    def _followers(self) -> list[GraphOp] | None:
        """The only users of the branches, one each, if they are the same op but for other operands."""
        users: list[GraphOp] = []
        for op in self._ops:
            uses = list(op.results[0].uses)
            if len(uses) != 1 or not isinstance(user := uses[0].operation, GraphOp):
                return None
            users.append(user)
        first = users[0]
        if len({*users}) < len(users) or any(user.parent is not self._first.parent for user in users):
            return None
        alike = all(
            type(user) is type(first) and user.properties == first.properties and user.attributes == {}
            for user in users
        )
        return users if alike else None

    def _follower_operands(self, users: Sequence[GraphOp], joined: SSAValue) -> list[SSAValue] | None:
        """The operands of one op equivalent to `users` on all branches; None if they cannot be merged."""
        first = users[0]
        if not isinstance(first, UnaryOp | BinaryOp | graph.BiasAddOp | graph.ClipOp):
            return None
        if isinstance(first, graph.BiasAddOp) and first.axis.value.data != self._axis:
            return None
        results = [op.results[0] for op in self._ops]
        index = list(first.operands).index(results[0])
        for user, value in zip(users, results, strict=True):
            if len(user.operands) != len(first.operands) or user.operands[index] is not value:
                return None
            if dims_of(user.results[0].type) != dims_of(value.type):
                return None
        others = [
            joined if i == index else self._other([user.operands[i] for user in users], first)
            for i in range(len(first.operands))
        ]
        known = [other for other in others if other is not None]
        return known if len(known) == len(others) else None

    def _other(self, values: Sequence[SSAValue], user: GraphOp) -> SSAValue | None:
        """The merged operand for the other operands of all branches: a common one, or their concatenation."""
        first = values[0]
        here = self._positions[self._first]
        if not all(is_available(value, self._positions, here) for value in values):
            return None
        rank, dims = len(dims_of(self._ops[0].results[0].type)), dims_of(first.type)
        axis = 0 if isinstance(user, graph.BiasAddOp) else self._axis - (rank - len(dims))
        if axis < 0 or (dims[axis] == 1 and not isinstance(user, graph.BiasAddOp)):
            return self._copied(first) if self._all_equal(values) else None
        for value, width in zip(values, self._widths, strict=True):
            own = list(dims_of(value.type))
            if len(own) != len(dims) or own[axis] != width:
                return None
            own[axis] = dims[axis]
            if tuple(own) != dims:
                return None
        return self._joined(values, axis)

    def _all_equal(self, values: Sequence[SSAValue]) -> bool:
        if all(value is values[0] for value in values):
            return True
        arrays = [constant_of(value, self._weights) for value in values]
        first = arrays[0]
        return first is not None and all(
            array is not None and array.shape == first.shape and array.tobytes() == first.tobytes()
            for array in arrays
        )

    def _copied(self, value: SSAValue) -> SSAValue:
        """A value available before the first sibling; a constant, which may come after it, is cloned."""
        if not isinstance(value.owner, graph.ConstantOp):
            return value
        return self._insert(value.owner.clone(), self._ops)

    def _cut(self, result: SSAValue) -> None:
        """Replace each branch by a slice of the merged result's channels, and erase the branches' ops."""
        dims = dims_of(result.type)
        ends = [Dim.of(0)]
        for width in self._widths:
            ends.append(ends[-1] + width)
        for op, (start, end) in zip(self._ops, pairwise(ends), strict=True):
            starts, limits = [Dim.of(0)] * len(dims), list(dims)
            starts[self._axis], limits[self._axis] = start, end
            part = self._insert(graph.SliceOp(result, starts, limits, [1] * len(dims)), [op])
            part.name_hint = op.results[0].name_hint
            op.results[0].replace_all_uses_with(part)
        for op in reversed(self._replaced):
            Rewriter.erase_op(op)


def is_available(value: SSAValue, positions: Mapping[Operation, float], position: float) -> bool:
    """Whether a value is defined before a position of a block; constants always, since they can be cloned."""
    op = value.owner
    if isinstance(op, graph.ConstantOp) or not isinstance(op, Operation):
        return True
    return positions.get(op, -1) < position  # ops of outer blocks have no position here
