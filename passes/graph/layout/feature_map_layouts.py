"""Images of a function that are there in another layout too, and the way from one form to the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import TensorType, f32
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from stepwell.dialects import graph
from stepwell.dialects.graph.base import GraphOp
from stepwell.dialects.graph.structure import constant_array
from stepwell.dialects.locations import adopt_location
from stepwell.dialects.types import WeightAttr, dims_of, tensor_of
from stepwell.runtime.dims import Dim
from stepwell.runtime.files.weights import WeightStore
from stepwell.runtime.layout import Layout, parse_layout, plain_layout, to_layout

# Below this share of useful channels a padded block costs more than it saves: 24 of 32 are worth it, 20 not.
MIN_USEFUL = 0.7
IMAGE_RANKS = (3, 4, 5)

T = TypeVar("T")


@dataclass(frozen=True)
class ImageLayout:
    """
    How images and filters are to be stored: `NCHW16c` with `OIHW16i16o`, or `NHWC` with `HWIO`.

    By default channels come last, whole, whatever the number of spatial axes.
    """

    block: int = 1
    """Channels of a block; 1: the axes stand in another order, whole."""
    data: str = ""
    """The layout of images when they are not blocked; it says how many spatial axes they have."""
    kernel: str = ""
    """The layout of filters then."""
    winograd: bool = True
    """Whether 3x3 windows on blocks are for Winograd."""

    @staticmethod
    def of(text: str) -> ImageLayout:
        """A layout as options spell it, `DATA` or `DATA:KERNEL`. Raises: ValueError for any other text."""
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
            return ImageLayout(1, data_text, str(kernel))
        blocked = f"{plain_layout('NC', len(data.spatial))}{block}c"
        filters = f"{plain_layout('OI', len(data.spatial))}{block}i{block}o"
        if data_text != blocked or kernel_text not in ("", filters):
            raise ValueError(f'"{text}" is not blocked as kernels are, such as "{blocked}:{filters}"')
        return ImageLayout(block)

    def of_rank(self, rank: int) -> Layout:
        """The layout of images with so many (plain) dimensions."""
        plain = plain_layout("NC", rank - 2)
        if self.block > 1:
            return parse_layout(f"{plain}{self.block}c")
        return parse_layout(self.data or f"N{plain[2:]}C")

    def takes(self, value: SSAValue) -> bool:
        """Whether a value is an image that it can store at all."""
        if not isinstance(value.type, TensorType):
            return False
        rank = len(dims_of(tensor_of(value)))
        if self.block == 1:
            return rank == parse_layout(self.data).rank if self.data else rank > 2
        return tensor_of(value).element_type == f32 and rank in IMAGE_RANKS


class ImageForms:
    """
    Images [N, C, spatial…] that are there in a layout too: made so by an op, or transformed for users.

    Channels that fill a last block are zeros in a transformed value and finite numbers in a computed one.
    """

    def __init__(self, layout: ImageLayout, weights: WeightStore):
        self.wanted = layout
        self.block = layout.block
        self.weights = weights
        self._stored: dict[SSAValue, SSAValue] = {}
        self._plain: dict[SSAValue, SSAValue] = {}
        self._computed: set[SSAValue] = set()

    def define(self, value: SSAValue, stored: SSAValue) -> None:
        """Say that an op computes `value` in the layout: its plain form is made when somebody asks."""
        self._stored[value] = stored
        self._computed.add(value)

    def define_plain(self, value: SSAValue, plain: SSAValue) -> None:
        """Say that a value has been replaced by another of its type."""
        self._plain[value] = plain

    def is_computed(self, value: SSAValue) -> bool:
        """Whether an op computes a value in the layout."""
        return value in self._computed

    def fits(self, value: SSAValue) -> bool:
        """Whether a value can be stored so; blocked, an f32 image whose channels fill enough blocks."""
        if not self.wanted.takes(value):
            return False
        channels = dims_of(tensor_of(value))[1]
        return self.block == 1 or (channels.is_static and self.fits_channels(channels.value))

    def plain_layout(self, value: SSAValue) -> str:
        """The layout of an image as it is in the model: NCW, NCHW or NCDHW."""
        return plain_layout("NC", len(dims_of(value.type)) - 2)

    def layout(self, value: SSAValue) -> Layout:
        """The layout in which a (plain) image is stored."""
        return self.wanted.of_rank(len(dims_of(value.type)))

    def place(self, axis: int, value: SSAValue) -> int:
        """Where an axis of a plain image stands in its stored form."""
        return self.layout(value).axis(self.plain_layout(value)[axis])

    def arranged(self, items: Sequence[T], value: SSAValue, block: Callable[[], T]) -> list[T]:
        """What there is for each plain axis, in the order of the stored form; `block()` for the block."""
        by_letter = dict(zip(self.plain_layout(value), items, strict=True))
        return [block() if size else by_letter[letter] for letter, size in self.layout(value).axes]

    def fits_channels(self, channels: int) -> bool:
        """Whether so many channels fill enough of their blocks."""
        return channels > 0 and channels / self.padded_channels(channels) >= MIN_USEFUL

    def padded_channels(self, channels: int) -> int:
        """The channels with those that fill the last block."""
        return -(-channels // self.block) * self.block

    def is_padded(self, value: SSAValue) -> bool:
        """Whether a value that fits has more channels when it is stored."""
        return self.block > 1 and dims_of(value.type)[1].value % self.block != 0

    def stored(self, value: SSAValue, before: Operation) -> SSAValue:
        """The stored form of a value that fits, transformed in front of an op when it is not there yet."""
        if value not in self._stored:
            source, layout = value, self.plain_layout(value)
            if isinstance(turned := value.owner, graph.TransposeOp):
                # One move for both: [N, H, W, C] becomes [N, C/16, H, W, 16] directly.
                source, perm = turned.input, list(turned.perm.get_values())
                layout = "".join(layout[perm.index(i)] for i in range(len(perm)))
            source = self.plain(source, before)
            self._stored[value] = self.transformed(source, layout, str(self.layout(value)), before)
        return self._stored[value]

    def plain(self, value: SSAValue, before: Operation) -> SSAValue:
        """The plain form of a value, made in front of an op when it was only computed in the layout."""
        if value not in self._plain:
            self._plain[value] = self._unpacked(value, before) if self.is_computed(value) else value
        return self._plain[value]

    def transformed(self, value: SSAValue, source: str, target: str, before: Operation) -> SSAValue:
        """A value in another layout: constants are transformed now, others when the model runs."""
        if source == target:
            return value
        if not isinstance(constant := value.owner, graph.ConstantOp):
            return self.insert(graph.LayoutTransformOp(value, source, target), before)
        array = to_layout(constant_array(constant, self.weights), parse_layout(source), parse_layout(target))
        name = constant.value.weight_name.data if isinstance(constant.value, WeightAttr) else ""
        return self.constant(array, before, f"{name}:{target}")

    def constant(self, array: npt.NDArray[np.generic], before: Operation, name: str = "") -> SSAValue:
        """An array as a constant in front of an op."""
        return self.insert(graph.ConstantOp.of(np.asarray(array, order="C"), self.weights, name), before)

    def insert(self, op: GraphOp, before: Operation) -> SSAValue:
        """Put an op in front of another, with its location, and give its first result."""
        Rewriter.insert_op(op, InsertPoint.before(before))
        adopt_location(op, before.location)
        return op.results[0]

    def _unpacked(self, value: SSAValue, before: Operation) -> SSAValue:
        dims = dims_of(value.type)
        result = self._stored[value]
        whole = self.padded(dims)
        letters = self.layout(value).letters
        if all(dim == 1 for dim in dims[2:]) and letters.index("N") < letters.index("C"):
            # One pixel: channels stand in a row already.
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
        """A tensor without the channels that fill the last block, of these dimensions."""
        if dims_of(value.type) == tuple(dims):
            return value
        rank = len(dims)
        return self.insert(graph.SliceOp(value, [0] * rank, list(dims), [1] * rank), before)
