"""Values of a function that are also there with blocked channels, and the way from one form to the other."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import TensorType, f32
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from stepwell.dialects import graph
from stepwell.dialects.graph.base import GraphOp
from stepwell.dialects.graph.structure import constant_array
from stepwell.dialects.locations import adopt_location
from stepwell.dialects.types import WeightAttr, dims_of, tensor_of
from stepwell.runtime.dims import Dim
from stepwell.runtime.layout import parse_layout, plain_layout, to_layout
from stepwell.runtime.weights import WeightStore

# Below this share of useful channels a padded block costs more than it saves: 24 of 32 are worth it, 20 not.
MIN_USEFUL = 0.7
IMAGE_RANKS = (3, 4, 5)


class BlockedValues:
    """
    Images [N, C, spatial…] that are there as NCHW16c too, say: made so by an op, or transformed for users.

    Channels that fill the last block are zeros in a transformed value and finite numbers in a computed one.
    """

    def __init__(self, block: int, weights: WeightStore):
        self.block = block
        self._weights = weights
        self._blocked: dict[SSAValue, SSAValue] = {}
        self._plain: dict[SSAValue, SSAValue] = {}
        self._computed: set[SSAValue] = set()

    def define(self, value: SSAValue, blocked: SSAValue) -> None:
        """Say that an op computes `value` in blocked form: its plain form is made when somebody asks."""
        self._blocked[value] = blocked
        self._computed.add(value)

    def define_plain(self, value: SSAValue, plain: SSAValue) -> None:
        """Say that a value has been replaced by another of its type."""
        self._plain[value] = plain

    def is_computed(self, value: SSAValue) -> bool:
        """Whether an op computes a value in blocked form."""
        return value in self._computed

    def fits(self, value: SSAValue) -> bool:
        """Whether a value can be blocked: an f32 image whose channels fill enough of their blocks."""
        if not isinstance(value.type, TensorType) or tensor_of(value).element_type != f32:
            return False
        dims = dims_of(tensor_of(value))
        return len(dims) in IMAGE_RANKS and dims[1].is_static and self.fits_channels(dims[1].value)

    def plain_layout(self, value: SSAValue) -> str:
        """The layout of an image: NCW, NCHW or NCDHW."""
        return plain_layout("NC", len(dims_of(value.type)) - 2)

    def blocked_layout(self, value: SSAValue) -> str:
        """The layout of the blocked form of a (plain) image."""
        return f"{self.plain_layout(value)}{self.block}c"

    def fits_channels(self, channels: int) -> bool:
        """Whether so many channels fill enough of their blocks."""
        return channels > 0 and channels / self.padded_channels(channels) >= MIN_USEFUL

    def padded_channels(self, channels: int) -> int:
        """The channels with those that fill the last block."""
        return -(-channels // self.block) * self.block

    def is_padded(self, value: SSAValue) -> bool:
        """Whether a value that fits has more channels in blocked form."""
        return dims_of(value.type)[1].value % self.block != 0

    def blocked(self, value: SSAValue, before: Operation) -> SSAValue:
        """The blocked form of a value that fits, transformed in front of an op when it is not there yet."""
        if value not in self._blocked:
            source, layout = value, self.plain_layout(value)
            if isinstance(turned := value.owner, graph.TransposeOp):
                # One move for both: [N, H, W, C] becomes [N, C/16, H, W, 16] directly.
                source, perm = turned.input, list(turned.perm.get_values())
                layout = "".join(layout[perm.index(i)] for i in range(len(perm)))
            source = self.plain(source, before)
            self._blocked[value] = self.transformed(source, layout, self.blocked_layout(value), before)
        return self._blocked[value]

    def plain(self, value: SSAValue, before: Operation) -> SSAValue:
        """The plain form of a value, made in front of an op when it was only computed in blocked form."""
        if value not in self._plain:
            self._plain[value] = self._unblocked(value, before) if self.is_computed(value) else value
        return self._plain[value]

    def transformed(self, value: SSAValue, source: str, target: str, before: Operation) -> SSAValue:
        """A value in another layout: constants are transformed now, others when the model runs."""
        if not isinstance(constant := value.owner, graph.ConstantOp):
            return self.insert(graph.LayoutTransformOp(value, source, target), before)
        array = to_layout(constant_array(constant, self._weights), parse_layout(source), parse_layout(target))
        name = constant.value.weight_name.data if isinstance(constant.value, WeightAttr) else ""
        made = graph.ConstantOp.of(np.ascontiguousarray(array), self._weights, f"{name}:{target}")
        return self.insert(made, before)

    def insert(self, op: GraphOp, before: Operation) -> SSAValue:
        """Put an op in front of another, with its location, and give its first result."""
        Rewriter.insert_op(op, InsertPoint.before(before))
        adopt_location(op, before.location)
        return op.results[0]

    def _unblocked(self, value: SSAValue, before: Operation) -> SSAValue:
        dims = dims_of(value.type)
        result = self._blocked[value]
        whole = [dims[0], Dim.of(self.padded_channels(dims[1].value)), *dims[2:]]
        if all(dim == 1 for dim in dims[2:]):
            # One pixel: blocks of channels stand in a row already.
            result = self.insert(graph.ReshapeOp(result, whole), before)
        else:
            layouts = self.blocked_layout(value), self.plain_layout(value)
            result = self.insert(graph.LayoutTransformOp(result, *layouts), before)
        return self.cut(result, dims, before)

    def cut(self, value: SSAValue, dims: Sequence[Dim], before: Operation) -> SSAValue:
        """A tensor without the channels that fill the last block, of these dimensions."""
        if dims_of(value.type) == tuple(dims):
            return value
        rank = len(dims)
        return self.insert(graph.SliceOp(value, [0] * rank, list(dims), [1] * rank), before)
