"""Images whose channels come last, for `pack-integers`: kept so between integer convolutions."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from stepwell.dialects import graph
from stepwell.dialects.graph.base import GraphOp
from stepwell.dialects.graph.binary import BinaryOp
from stepwell.dialects.graph.elementwise import UnaryOp
from stepwell.dialects.graph.quantized import ScaledOp
from stepwell.dialects.locations import adopt_location
from stepwell.dialects.types import dims_of
from stepwell.runtime.weights import WeightStore


class ChannelsLast:
    """Values [N, C, spatial…] that are there as [N, spatial…, C] too: made so, or turned for users."""

    def __init__(self, weights: WeightStore):
        self.weights = weights
        self._last: dict[SSAValue, SSAValue] = {}
        self._plain: dict[SSAValue, SSAValue] = {}
        self._computed: set[SSAValue] = set()

    def define(self, value: SSAValue, last: SSAValue) -> None:
        """Say that an op computes `value` with its channels last: its plain form is made for who asks."""
        self._last[value] = last
        self._computed.add(value)

    def define_plain(self, value: SSAValue, plain: SSAValue) -> None:
        """Say that a value has been replaced by another of its type."""
        self._plain[value] = plain

    def is_computed(self, value: SSAValue) -> bool:
        """Whether an op computes a value with its channels last."""
        return value in self._computed

    def last(self, value: SSAValue, before: Operation) -> SSAValue:
        """An image with its channels last, turned in front of an op when it is not there yet."""
        if value not in self._last:
            rank = len(dims_of(value.type))
            perm = [0, *range(2, rank), 1]
            self._last[value] = self.insert(graph.TransposeOp(self.plain(value, before), perm), before)
        return self._last[value]

    def plain(self, value: SSAValue, before: Operation) -> SSAValue:
        """A value as it was, turned back in front of an op when it was only computed with channels last."""
        if value not in self._plain:
            plain = value
            if self.is_computed(value):
                rank = len(dims_of(value.type))
                plain = self.insert(
                    graph.TransposeOp(self._last[value], [0, rank - 1, *range(1, rank - 1)]), before
                )
            self._plain[value] = plain
        return self._plain[value]

    def use_plain(self, op: Operation) -> None:
        """Let an op, and what is inside of it, read values as they were."""
        for inner in op.walk():
            for index, operand in enumerate(inner.operands):
                if (plain := self.plain(operand, op)) is not operand:
                    inner.operands[index] = plain

    def insert(self, op: GraphOp, before: Operation) -> SSAValue:
        """Put an op in front of another, with its location, and give its first result."""
        Rewriter.insert_op(op, InsertPoint.before(before))
        adopt_location(op, before.location)
        return op.results[0]

    def constant(self, array: npt.NDArray[np.generic], before: Operation) -> SSAValue:
        """An array as a constant in front of an op."""
        return self.insert(graph.ConstantOp.of(np.asarray(array, order="C"), self.weights), before)


def channels_last_rule(op: GraphOp, values: ChannelsLast) -> bool:
    """Compute an op on images whose channels come last, when its input is there so; whether it did."""
    match op:
        case graph.BiasAddOp():
            return _bias_add(op, values)
        case graph.PoolOp():
            return _pool(op, values)
        case graph.ReduceOp():
            return _reduce(op, values)
        case ScaledOp():
            return _scaled(op, values)
        case UnaryOp() | BinaryOp() | graph.ClipOp() | graph.WhereOp():
            return _elementwise(op, values)
        case _:
            return False


def _bias_add(op: graph.BiasAddOp, values: ChannelsLast) -> bool:
    if not values.is_computed(op.x) or op.axis.value.data != 1 or len(dims_of(op.b.type)) != 1:
        return False
    made = graph.BiasAddOp(values.last(op.x, op), values.plain(op.b, op), len(dims_of(op.x.type)) - 1)
    values.define(op.result, values.insert(made, op))
    return True


def _scaled(op: ScaledOp, values: ChannelsLast) -> bool:
    """Scales of the tensor, or of its channels."""
    by_axis = bool(dims_of(op.scale.type))
    if not values.is_computed(op.input) or op.block_size or (by_axis and op.axis.value.data != 1):
        return False
    operands = [values.last(op.input, op), *(values.plain(x, op) for x in op.operands[1:])]
    made = type(op).create(operands=operands, properties=dict(op.properties), result_types=[op.result.type])
    if by_axis:
        made.axis = type(op.axis)(len(dims_of(op.input.type)) - 1, op.axis.type)
    made.set_result_types()
    values.define(op.result, values.insert(made, op))
    return True


def _pool(op: graph.PoolOp, values: ChannelsLast) -> bool:
    layout = op.data_layout.data
    if not values.is_computed(op.x) or op.indices.data != "none" or layout[:2] != "NC":
        return False
    made = graph.PoolOp(
        values.last(op.x, op),
        op.kind.data,
        op.kernel.get_values(),
        strides=op.strides.get_values(),
        dilations=op.dilations.get_values(),
        pads=op.pads.get_values(),
        ceil=bool(op.ceil.value.data),
        count_include_pad=bool(op.count_include_pad.value.data),
        p=op.p.value.data,
        data_layout=f"N{layout[2:]}C",
    )
    values.define(op.outputs[0], values.insert(made, op))
    return True


def _reduce(op: graph.ReduceOp, values: ChannelsLast) -> bool:
    """A reduction over all pixels."""
    rank = len(dims_of(op.input.type))
    if not values.is_computed(op.input) or list(op.axes.get_values()) != list(range(2, rank)):
        return False
    keep = bool(op.keep_dims.value.data)
    made = graph.ReduceOp(values.last(op.input, op), op.kind.data, range(1, rank - 1), keep_dims=keep)
    result = values.insert(made, op)
    (values.define if keep else values.define_plain)(op.result, result)
    return True


def _elementwise(op: GraphOp, values: ChannelsLast) -> bool:
    result = op.results[0]
    if not any(values.is_computed(x) for x in op.operands):
        return False
    ways = [_operand(x, result, values, op) for x in op.operands]
    if any(way is None for way in ways):
        return False
    made = type(op).create(
        operands=[way() for way in ways if way is not None],
        properties=dict(op.properties),
        result_types=[result.type],
    )
    made.set_result_types()
    values.define(result, values.insert(made, op))
    return True


def _operand(
    value: SSAValue, result: SSAValue, values: ChannelsLast, before: GraphOp
) -> Callable[[], SSAValue] | None:
    """How to get an operand that broadcasts to a result with channels last; None when there is no way."""
    dims, rank = dims_of(value.type), len(dims_of(result.type))
    if all(dim == 1 for dim in dims):
        return lambda: values.plain(value, before)
    if len(dims) == rank:
        return lambda: values.last(value, before)
    return None
