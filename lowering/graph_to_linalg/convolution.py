"""
Convolutions → `linalg.generic`, with the iteration spaces that schedules know.

Loops are the dimensions of the result in its layout, then those of the sum: channels (blocks of them when
blocked), kernel points, channels of a block. Padding is a tensor of zeros into which the input is inserted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from stepwell.dialects import graph
from stepwell.dialects.graph.convolution import SlidingFiltersOp
from stepwell.dialects.linalg_builder.sums import accumulated, sum_of_products
from stepwell.dialects.linalg_builder.support import Read
from stepwell.dialects.linalg_builder.views import join_dims, pad_tensor, split_dims
from stepwell.dialects.types import dims_of, tensor_of
from stepwell.lowering.graph_to_linalg.contraction import pairs_body
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.layout import Layout, parse_layout


@dataclass(frozen=True)
class Loops:
    """Named loops of a convolution: `n`, `o` and `oi` (channel and its block), `c` and `ci`, `H`, `kH`, …"""

    names: Sequence[str]

    def __getitem__(self, name: str) -> AffineExpr:
        return AffineExpr.dimension(self.names.index(name))

    def map(self, indices: Sequence[AffineExpr]) -> AffineMap:
        """The index map of an operand with these indices."""
        return AffineMap(len(self.names), 0, tuple(indices))

    def channel(self, outer: str, inner: str, block: int) -> AffineExpr:
        """A channel's index, from its own loop or from the loops over blocks and lanes of a block."""
        return self[outer] * block + self[inner] if inner in self.names else self[outer]


class ConvLowering(RewritePattern):
    """
    `graph.conv` → a `linalg.generic` of the result's loops, then [channels, kernel points, lane of a block].

    A depthwise convolution has no loop over channels. Other groups have loops [n, group, channel of the
    group, …], and the result is a view of [n, channels, …].
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.ConvOp, rewriter: PatternRewriter) -> None:
        """Pad the input with zeros and emit one sum of products in the convolution's iteration space."""
        space = ConvIterationSpace.of(op)
        x = padded(op, space.data, 0, op.x, rewriter)
        element = tensor_of(op.result).element_type

        def emit(reads: tuple[Read, Read], loops: Loops, dims: Sequence[Dim]) -> SSAValue:
            sums = len(loops.names) - len(dims)
            if op.pairs.value.data:
                return accumulated(reads, element, dims, sums, pairs_body, rewriter)
            return sum_of_products(reads, element, dims, sums, rewriter)

        rewriter.replace(op, [], [convolve(op, space, x, emit, rewriter)])


def convolve(
    op: SlidingFiltersOp,
    space: ConvIterationSpace,
    x: SSAValue,
    emit: Callable[[tuple[Read, Read], Loops, Sequence[Dim]], SSAValue],
    rewriter: PatternRewriter,
) -> SSAValue:
    """
    The result of a convolution of a padded input.

    `emit` computes it in loops of the iteration space `space`: it gets input and filters with their index
    maps, the loops, and the extents of the leading loops, which are the dimensions of its result.
    """
    groups = space.out_dims(op)
    names = [name for group in groups for name, _ in group]
    dims = [dim for group in groups for _, dim in group]
    loops = Loops([*names, *space.sum_loops()])
    w = op.w
    if space.split:
        x = space.split_groups(x, space.data, "C", rewriter)
        w = space.split_groups(w, space.kernel, "O", rewriter)
    reads = (x, loops.map(space.x_indices(op, loops))), (w, loops.map(space.w_indices(op, loops)))
    return join_dims(emit(reads, loops, dims), [[dim for _, dim in group] for group in groups], rewriter)


def padded(
    op: SlidingFiltersOp, data: Layout, number: float, x: SSAValue, rewriter: PatternRewriter
) -> SSAValue:
    """The input of a convolution inside its spatial padding, of which each cell is `number`."""
    pads, rank = op.pads.get_values(), len(data.spatial)
    low, high = [0] * data.rank, [0] * data.rank
    for axis, letter in enumerate(data.spatial):
        low[data.axis(letter)], high[data.axis(letter)] = pads[axis], pads[rank + axis]
    return pad_tensor(x, low, high, number, rewriter)


@dataclass(frozen=True)
class ConvIterationSpace:
    """The iteration space of a convolution: its loops follow from layouts, groups and channel blocks."""

    data: Layout
    kernel: Layout
    out: Layout
    groups: int
    depthwise: bool
    in_block: int
    out_block: int
    split: bool = False
    """Whether groups are a dimension of input and filters: the size of a group is known at run time only."""

    @staticmethod
    def of(op: SlidingFiltersOp) -> ConvIterationSpace:
        """
        The iteration space of an op.

        Raises: StepwellError `unsupported` for layouts that no loops fit.
        """
        data, kernel, out = (
            parse_layout(op.data_layout.data),
            parse_layout(op.kernel_layout.data),
            op.output_layout,
        )
        groups = op.groups.value.data
        filters = kernel.logical(dims_of(op.w.type))
        depthwise = groups > 1 and filters["I"] == 1 and filters["O"] == groups
        out_blocks = {out.block("C"), kernel.block("O")} | ({data.block("C")} if depthwise else set[int]())
        in_blocks = {data.block("C"), kernel.block("I")} if not depthwise else {1}
        if (
            len(out_blocks - {1}) > 1
            or len(in_blocks - {1}) > 1
            or (groups > 1 and not depthwise and not _groups_fill_blocks(filters, groups, kernel, data, out))
        ):
            raise StepwellError(
                "unsupported",
                op,
                f"{op.name} of {groups} groups has no loops for layouts {data}, {kernel} and {out} together",
                help="blocks of the same channels must be equal, and part of one group",
            )
        split = groups > 1 and not all(filters[letter].is_static for letter in "OI")
        return ConvIterationSpace(
            data, kernel, out, groups, depthwise, max(in_blocks), max(out_blocks), split
        )

    @property
    def grouped(self) -> bool:
        """Whether there is a loop over groups."""
        return self.groups > 1 and not self.depthwise

    def split_groups(
        self, value: SSAValue, layout: Layout, channels: str, rewriter: PatternRewriter
    ) -> SSAValue:
        """A tensor whose channel dimension is split into two: the group, and the channel of a group."""
        split = [
            [Dim.of(self.groups), dim // self.groups] if letter == channels else [dim]
            for letter, dim in zip(layout.letters, dims_of(value.type), strict=True)
        ]
        return split_dims(value, split, rewriter)

    def out_dims(self, op: SlidingFiltersOp) -> list[list[tuple[str, Dim]]]:
        """The loops, with their extents, that make each dimension of the result."""
        dims = dims_of(op.result.type)
        result: list[list[tuple[str, Dim]]] = []
        for (letter, block), dim in zip(self.out.axes, dims, strict=True):
            if letter != "C":
                result.append([(letter if letter != "N" else "n", dim)])
            elif block:
                result.append([("oi", dim)])
            elif self.grouped:
                result.append([("g", Dim.of(self.groups)), ("o", dim // self.groups)])
            elif self.out_block > 1 and self.out.block("C") == 1:
                result.append([("o", dim // self.out_block), ("oi", Dim.of(self.out_block))])
            else:
                result.append([("o", dim)])
        return result

    def sum_loops(self) -> list[str]:
        """Names of the reduction loops: input channels and kernel points."""
        points = [f"k{letter}" for letter in self.kernel.spatial]
        if self.depthwise:
            return points
        # The order of the filters' dimensions in memory.
        is_inner = self.kernel.axis("I") > max(self.kernel.axis(letter) for letter in self.kernel.spatial)
        loops = [*points, "c"] if is_inner else ["c", *points]
        return [*loops, *(["ci"] if self.in_block > 1 else [])]

    def x_indices(self, op: SlidingFiltersOp, loops: Loops) -> list[AffineExpr]:
        """Indices into the padded input for each dimension of its layout."""
        outer, inner, block = ("o", "oi", self.out_block) if self.depthwise else ("c", "ci", self.in_block)
        channel = loops.channel(outer, inner, block)
        position = channel if self.data.block("C") == 1 else loops[outer]
        if self.grouped and not self.split:
            position = loops["g"] * dims_of(op.w.type)[self.kernel.axis("I")].value + loops["c"]
        index: Mapping[tuple[str, int], AffineExpr] = {
            ("N", 0): loops["n"],
            ("C", 0): position,
            **({("C", block): loops[inner]} if self.data.block("C") > 1 else {}),
            **{
                (letter, 0): _window(loops, letter, stride, dilation)
                for letter, stride, dilation in zip(
                    self.data.spatial, op.strides.get_values(), op.dilations.get_values(), strict=True
                )
            },
        }
        return [expr for axis in self.data.axes for expr in self._by_group("C", axis, index[axis], loops)]

    def _by_group(
        self, channels: str, axis: tuple[str, int], index: AffineExpr, loops: Loops
    ) -> list[AffineExpr]:
        """
        The index of a dimension, preceded by the group's if the channels of the tensor are split by groups.
        """
        return [loops["g"], index] if self.split and axis == (channels, 0) else [index]

    def filter_index(self, op: SlidingFiltersOp, loops: Loops) -> AffineExpr:
        """
        The index, among all filters, of the one that computes a channel of the result.

        Raises: StepwellError `unsupported` in groups of unknown size: no stride leads from one to the next.
        """
        if self.split:
            raise StepwellError(
                "unsupported", op, f"{op.name} by filters in groups of unknown size: {op.w.type}"
            )
        if self.grouped:
            return loops["g"] * (dims_of(op.w.type)[self.kernel.axis("O")].value // self.groups) + loops["o"]
        return loops.channel("o", "oi", self.out_block)

    def w_indices(self, op: SlidingFiltersOp, loops: Loops) -> list[AffineExpr]:
        """Indices into the filters for each dimension of their layout."""
        width = loops["o"] if self.split else self.filter_index(op, loops)
        zero = AffineExpr.constant(0)
        depth = zero if self.depthwise else loops.channel("c", "ci", self.in_block)
        o_block, i_block = self.kernel.block("O"), self.kernel.block("I")
        index: Mapping[tuple[str, int], AffineExpr] = {
            ("O", 0): width if o_block == 1 or self.grouped else loops["o"],
            ("I", 0): depth if i_block == 1 else loops["c"],
            **({("O", o_block): loops["oi"]} if o_block > 1 else {}),
            **({("I", i_block): loops["ci"]} if i_block > 1 else {}),
            **{(letter, 0): loops[f"k{letter}"] for letter in self.kernel.spatial},
        }
        return [expr for axis in self.kernel.axes for expr in self._by_group("O", axis, index[axis], loops)]


def _groups_fill_blocks(
    filters: Mapping[str, Dim], groups: int, kernel: Layout, data: Layout, out: Layout
) -> bool:
    """
    Whether no block of channels or filters belongs to two groups, and result blocks equal filter blocks.
    """
    is_same = kernel.block("O") == out.block("C") and kernel.block("I") == data.block("C")
    if max(kernel.block("O"), kernel.block("I")) == 1:
        return is_same
    whole = [(filters["O"], groups * kernel.block("O")), (filters["I"], kernel.block("I"))]
    return is_same and all(dim.is_static and dim.value % block == 0 for dim, block in whole)


def _window(loops: Loops, letter: str, stride: int, dilation: int) -> AffineExpr:
    """The coordinate in the padded input of a window's kernel point along a spatial axis."""
    return loops[letter] * stride + loops[f"k{letter}"] * dilation
