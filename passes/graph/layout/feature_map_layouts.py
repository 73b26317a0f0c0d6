"""Feature maps in a second layout beside the model's: the layout, and transforms from one to the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import TensorType, f32
from xdsl.ir import Operation, SSAValue

from stepwell.dialects import graph
from stepwell.dialects.costs.layouts import LAYOUTS
from stepwell.dialects.graph.base import GraphOp
from stepwell.dialects.ir_builder import IRBuilder
from stepwell.dialects.types import dims_of, tensor_of
from stepwell.runtime.dims import Dim
from stepwell.runtime.files.weights import WeightStore
from stepwell.runtime.layout import Layout, parse_layout, plain_layout, to_layout
from stepwell.runtime.meaning import Array

FEATURE_MAP_RANKS = (3, 4, 5)

T = TypeVar("T")


@dataclass(frozen=True)
class FeatureMapLayout:
    """
    A layout of feature maps and filters: `NCHW16c` with `OIHW16i16o`, or `NHWC` with `HWIO`.

    By default channels come last, not blocked, for any number of spatial axes.
    """

    block: int = 1
    """Channels of a block; 1: channels are not blocked, only the order of the axes differs."""
    data: str = ""
    """The layout of feature maps without blocks, which fixes the number of spatial axes."""
    kernel: str = ""
    """The layout of filters without blocks."""
    winograd: bool = True
    """Whether blocked 3x3 convolutions will be computed by Winograd's algorithm."""

    @staticmethod
    def of(text: str) -> FeatureMapLayout:
        """The layout of an option's text, `DATA` or `DATA:KERNEL`. Raises: ValueError for any other text."""
        data_text, _, kernel_text = text.partition(":")
        data = parse_layout(data_text)
        kernel = parse_layout(kernel_text or plain_layout("OI", len(data.spatial)))
        spatial = parse_layout(plain_layout("NC", len(data.spatial))).spatial
        known = {*data.letters} == {"N", "C", *spatial} and {*kernel.letters} == {"O", "I", *spatial}
        if not known or not data.spatial == kernel.spatial == spatial:
            raise ValueError(
                f'"{text}" needs N and C for images, O and I for filters, and the same spatial axes'
            )
        block = data.block("C")
        if data.rank == len(data.letters) and kernel.rank == len(kernel.letters):
            return FeatureMapLayout(1, data_text, str(kernel))
        blocked = f"{plain_layout('NC', len(data.spatial))}{block}c"
        filters = f"{plain_layout('OI', len(data.spatial))}{block}i{block}o"
        if data_text != blocked or kernel_text not in ("", filters):
            raise ValueError(f'"{text}" is not blocked as kernels are, such as "{blocked}:{filters}"')
        return FeatureMapLayout(block)

    def of_rank(self, rank: int) -> Layout:
        """The layout of feature maps with `rank` dimensions in the model."""
        plain = plain_layout("NC", rank - 2)
        if self.block > 1:
            return parse_layout(f"{plain}{self.block}c")
        return parse_layout(self.data or f"N{plain[2:]}C")

    def feature_maps(self, weights: WeightStore) -> FeatureMaps:
        """The feature maps of a block, none of them stored yet."""
        return FeatureMaps(self, weights)

    def supports(self, value: SSAValue) -> bool:
        """Whether a value is a feature map of an element type and rank that the layout can store."""
        if not isinstance(value.type, TensorType):
            return False
        rank = len(dims_of(tensor_of(value)))
        if self.block == 1:
            return rank == parse_layout(self.data).rank if self.data else rank > 2
        return tensor_of(value).element_type == f32 and rank in FEATURE_MAP_RANKS


def _rearranged(layouts: tuple[Layout, Layout], array: Array) -> Array:
    return to_layout(array, *layouts)


def _broadcast(layouts: tuple[Layout, Layout], whole: Sequence[int], array: Array) -> Array:
    return to_layout(array.reshape(whole), *layouts)


class FeatureMaps:
    """
    The feature maps [N, C, spatial…] of a function, each plain (as in the model), in a layout, or both.

    A stored one is computed by an op, or transformed for users. Channels that fill the last block are zeros
    in a transformed value and finite numbers in a computed one.
    """

    has_channels_last = False
    """Whether the channels of the model's own feature maps are last."""

    def __init__(self, layout: FeatureMapLayout, weights: WeightStore):
        self.wanted = layout
        self.block = layout.block
        self.weights = weights
        self._stored: dict[SSAValue, SSAValue] = {}
        self._plain: dict[SSAValue, SSAValue] = {}
        self._computed: set[SSAValue] = set()

    def define(self, value: SSAValue, stored: SSAValue) -> None:
        """Record that an op computes `value` in the layout, as `stored`; the plain one is made on demand."""
        self._stored[value] = stored
        self._computed.add(value)

    def define_plain(self, value: SSAValue, plain: SSAValue) -> None:
        """Record the plain value that replaces another one of the same type."""
        self._plain[value] = plain

    def is_computed(self, value: SSAValue) -> bool:
        """Whether an op computes a value in the layout."""
        return value in self._computed

    def fits(self, value: SSAValue) -> bool:
        """Whether a value can be stored in the layout; blocked, if its channels fill enough of the blocks."""
        if not self.wanted.supports(value):
            return False
        channels = dims_of(tensor_of(value))[1]
        return self.block == 1 or (channels.is_static and self.fits_channels(channels.value))

    def plain_layout(self, value: SSAValue) -> str:
        """The layout of a feature map in the model: NCW, NCHW or NCDHW."""
        return plain_layout("NC", len(dims_of(value.type)) - 2)

    def channel_axis(self, value: SSAValue) -> int:
        """The axis of the channels of a (plain) feature map."""
        return self.plain_layout(value).index("C")

    def pixel_axes(self, value: SSAValue) -> list[int]:
        """The spatial axes of a (plain) feature map."""
        return [axis for axis, letter in enumerate(self.plain_layout(value)) if letter not in "NC"]

    def channels(self, value: SSAValue) -> Dim:
        """The number of channels of a (plain) feature map."""
        return dims_of(value.type)[self.channel_axis(value)]

    def takes_filters(self, op: graph.ConvOp) -> bool:
        """Whether the filters of a convolution are in a layout that is converted."""
        return op.kernel_layout.data == "OI" + op.data_layout.data[2:]

    def kernel_layout(self, op: graph.ConvOp) -> str:
        """The layout of a convolution's filters where channels are not blocked."""
        return self.wanted.kernel

    def layout(self, value: SSAValue) -> Layout:
        """The layout in which a (plain) feature map is stored."""
        return self.wanted.of_rank(len(dims_of(value.type)))

    def stored_axis(self, axis: int, value: SSAValue) -> int:
        """The axis of the stored feature map for an axis of the plain one."""
        return self.layout(value).axis(self.plain_layout(value)[axis])

    def arranged(self, items: Sequence[T], value: SSAValue, block: Callable[[], T]) -> list[T]:
        """Items given for each plain axis in the order of the stored axes, with `block()` for the block's."""
        by_letter = dict(zip(self.plain_layout(value), items, strict=True))
        return [block() if size else by_letter[letter] for letter, size in self.layout(value).axes]

    def fits_channels(self, channels: int) -> bool:
        """Whether a number of channels fills a large enough share of its blocks."""
        return channels > 0 and channels / self.padded_channels(channels) >= LAYOUTS.useful_channels

    def padded_channels(self, channels: int) -> int:
        """The number of channels rounded up to whole blocks."""
        return -(-channels // self.block) * self.block

    def is_padded(self, value: SSAValue) -> bool:
        """Whether a value has more channels when it is stored, since its last block is not full."""
        return self.block > 1 and dims_of(value.type)[1].value % self.block != 0

    def stored(self, value: SSAValue, before: Operation) -> SSAValue:
        """The stored version of a value that fits, transformed before an op when there is none yet."""
        if value not in self._stored:
            source, layout = value, self.plain_layout(value)
            if isinstance(transpose := value.owner, graph.TransposeOp):
                # One copy for both: [N, H, W, C] becomes [N, C/16, H, W, 16] directly.
                source, perm = transpose.input, list(transpose.perm.get_values())
                layout = "".join(layout[perm.index(i)] for i in range(len(perm)))
            source = self.plain(source, before)
            self._stored[value] = self.transformed(source, layout, str(self.layout(value)), before)
        return self._stored[value]

    def plain(self, value: SSAValue, before: Operation) -> SSAValue:
        """The plain version of a value, transformed before an op when only the stored one was computed."""
        if value not in self._plain:
            self._plain[value] = self._unpacked(value, before) if self.is_computed(value) else value
        return self._plain[value]

    def transformed(self, value: SSAValue, source: str, target: str, before: Operation) -> SSAValue:
        """A value in another layout: constants are transformed at compile time, others at run time."""
        if source == target:
            return value
        if not isinstance(constant := value.owner, graph.ConstantOp):
            return self.insert(graph.LayoutTransformOp(value, source, target), before)
        layouts = parse_layout(source), parse_layout(target)
        shape = layouts[1].physical(layouts[0].logical(dims_of(value.type)))
        function, text = partial(_rearranged, layouts), f"{source} to {target}"
        return self.insert(constant.derived(target, function, shape, self.weights, text=text), before)

    def broadcast_from(self, value: SSAValue, like: SSAValue, before: Operation) -> SSAValue:
        """The stored version of a constant with fewer dimensions, which broadcasts to a feature map."""
        constant, dims = value.owner, dims_of(value.type)
        assert isinstance(constant, graph.ConstantOp)
        whole = [1] * (len(dims_of(like.type)) - len(dims)) + [dim.value for dim in dims]
        layouts = parse_layout(self.plain_layout(like)), self.layout(like)
        shape = layouts[1].physical(layouts[0].logical([Dim.of(size) for size in whole]))
        function, text = partial(_broadcast, layouts, whole), f"{whole} to {layouts[1]}"
        return self.insert(constant.derived("broadcast", function, shape, self.weights, text=text), before)

    def constant(self, array: npt.NDArray[np.generic], before: Operation) -> SSAValue:
        """A new constant of an array, inserted before an op."""
        return self.insert(graph.ConstantOp.of(np.asarray(array, order="C"), self.weights), before)

    def insert(self, op: GraphOp, before: Operation) -> SSAValue:
        """Insert an op before another, with the location of that one; returns its first result."""
        return IRBuilder.before(before).value(op)

    def _unpacked(self, value: SSAValue, before: Operation) -> SSAValue:
        dims = dims_of(value.type)
        result = self._stored[value]
        whole = self.padded(dims)
        letters = self.layout(value).letters
        if all(dim == 1 for dim in dims[2:]) and letters.index("N") < letters.index("C"):
            # One pixel: the channels are in order already, blocked or not.
            result = self.insert(graph.ReshapeOp(result, whole), before)
        else:
            layouts = str(self.layout(value)), self.plain_layout(value)
            result = self.insert(graph.LayoutTransformOp(result, *layouts), before)
        return self.cut(result, dims, before)

    def padded(self, dims: Sequence[Dim]) -> list[Dim]:
        """Dimensions of an image with the channels that fill the last block."""
        channels = dims[1] if self.block == 1 else Dim.of(self.padded_channels(dims[1].value))
        return [dims[0], channels, *dims[2:]]

    def cut(self, value: SSAValue, dims: Sequence[Dim], before: Operation) -> SSAValue:
        """A plain tensor of shape `dims`, without the channels that fill the last block."""
        if dims_of(value.type) == tuple(dims):
            return value
        rank = len(dims)
        return self.insert(graph.SliceOp(value, [0] * rank, list(dims), [1] * rank), before)
