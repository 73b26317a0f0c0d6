"""Transposed convolutions → a convolution over the input with zeros inserted between its cells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from stepwell.dialects import graph
from stepwell.dialects.linalg_builder.slices import INDICES, collected
from stepwell.dialects.linalg_builder.sums import sum_of_products
from stepwell.dialects.linalg_builder.support import Read, extent
from stepwell.dialects.linalg_builder.views import join_dims, pad_tensor, split_dims
from stepwell.dialects.types import dims_of, tensor_of
from stepwell.lowering.graph_to_linalg.convolution import Loops
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.layout import Layout, parse_layout


class ConvTransposeLowering(RewritePattern):
    """
    `graph.conv_transpose` → zeros between and around input cells, then a convolution, filters flipped.

    The result's cell `o` sees the flipped kernel's point `k` at cell `o + k * dilation` of that tensor.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.ConvTransposeOp, rewriter: PatternRewriter) -> None:
        """
        Spread the input, flip the filters, and sum over input channels and kernel points, group by group.
        """
        data, kernel = parse_layout(op.data_layout.data), parse_layout(op.kernel_layout.data)
        if any(layout.rank != len(layout.letters) for layout in (data, kernel)):
            raise StepwellError("unsupported", op, f"graph.conv_transpose in layouts {data} and {kernel}")
        # Loops: the result's dimensions, channels split by groups; then input channels and kernel points.
        groups = op.groups.value.data
        dims = dims_of(op.result.type)
        split = [
            [("g", Dim.of(groups)), ("o", dim // groups)]
            if letter == "C" and groups > 1
            else [({"N": "n", "C": "o"}.get(letter, letter), dim)]
            for letter, dim in zip(data.letters, dims, strict=True)
        ]
        names = [name for group in split for name, _ in group]
        loops = Loops([*names, "c", *(f"k{letter}" for letter in kernel.spatial)])
        # Operands: the spread input and the flipped filters, both indexed by group if there are several.
        x, cells = _spread(op, data, kernel, loops, rewriter)
        of_x = {"N": [loops["n"]], "C": [loops["c"]], **{letter: [cell] for letter, cell in cells.items()}}
        of_w = {"I": [loops["c"]], "O": [loops["o"]]} | {
            letter: [loops[f"k{letter}"]] for letter in kernel.spatial
        }
        if groups > 1:
            of_x["C"] = of_w["I"] = [loops["g"], loops["c"]]
        reads = (
            _grouped_read(x, data, "C", groups, of_x, loops, rewriter),
            _grouped_read(_flipped(op.w, kernel, rewriter), kernel, "I", groups, of_w, loops, rewriter),
        )
        # The sum, with groups and their channels joined to the result's channels.
        extents = [[dim for _, dim in group] for group in split]
        result_dims = [dim for group in extents for dim in group]
        element = tensor_of(op.result).element_type
        value = sum_of_products(reads, element, result_dims, 1 + len(kernel.spatial), rewriter)
        rewriter.replace(op, [], [join_dims(value, extents, rewriter)])


def _flipped(w: SSAValue, kernel: Layout, rewriter: PatternRewriter) -> SSAValue:
    """The filters with their kernel points in reverse order along each spatial axis."""
    last = {axis: dims_of(w.type)[axis] - 1 for axis in map(kernel.axis, kernel.spatial)}
    if all(index == 0 for index in last.values()):
        return w
    ends = {axis: extent(index, rewriter) for axis, index in last.items()}

    def positions(loops: Sequence[SSAValue], _: Sequence[SSAValue]) -> list[SSAValue]:
        return [INDICES.subtract(ends[i], loop) if i in ends else loop for i, loop in enumerate(loops)]

    return collected(tensor_of(w), w, [], positions, rewriter)


def _grouped_read(
    value: SSAValue,
    layout: Layout,
    channels: str,
    groups: int,
    indices: Mapping[str, Sequence[AffineExpr]],
    loops: Loops,
    rewriter: PatternRewriter,
) -> Read:
    """An operand and its index map; with several groups its channels are two dimensions."""
    split = [
        [Dim.of(groups), dim // groups] if letter == channels and groups > 1 else [dim]
        for letter, dim in zip(layout.letters, dims_of(value.type), strict=True)
    ]
    map = loops.map([index for letter in layout.letters for index in indices[letter]])
    return split_dims(value, split, rewriter), map


def _spread(
    op: graph.ConvTransposeOp, data: Layout, kernel: Layout, loops: Loops, rewriter: PatternRewriter
) -> tuple[SSAValue, dict[str, AffineExpr]]:
    """
    The input with zeros between and around its cells, and the index expression of each spatial axis into it.
    """
    none: list[int | Dim] = [0] * data.rank
    low, high, steps = none, list(none), [1] * data.rank
    cells: dict[str, AffineExpr] = {}
    pads, rank = op.pads.get_values(), len(data.spatial)
    for i, letter in enumerate(data.spatial):
        axis, dilation = data.axis(letter), op.dilations.get_values()[i]
        reach = (dims_of(op.w.type)[kernel.axis(letter)] - 1) * dilation
        if not reach.is_static and (pads[i] or pads[rank + i]):
            raise StepwellError(
                "unsupported", op, f"graph.conv_transpose: pads and the open kernel {op.w.type}"
            )
        before, after = reach - pads[i], reach - pads[rank + i] + op.output_padding.get_values()[i]
        low[axis], high[axis] = (max(0, n.value) if n.is_static else n for n in (before, after))
        steps[axis] = op.strides.get_values()[i]
        # A pad beyond the kernel's reach crops cells of the input: the first index read is after them.
        cut = max(0, -before.value) if before.is_static else 0
        cells[letter] = loops[letter] + cut + loops[f"k{letter}"] * dilation
    return pad_tensor(op.x, low, high, 0, rewriter, strides=steps), cells
