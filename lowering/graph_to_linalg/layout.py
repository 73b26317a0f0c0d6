"""Layout changes → a transposition between views in which channel blocks are dimensions of their own."""

from __future__ import annotations

from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from stepwell.dialects import graph
from stepwell.dialects.linalg_builder.support import PARALLEL, empty, generic, identity, projection
from stepwell.dialects.linalg_builder.views import join_dims, pad_tensor, split_dims
from stepwell.dialects.types import dims_of, tensor_of, tensor_type
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.layout import Layout, parse_layout


class LayoutTransformLowering(RewritePattern):
    """
    `graph.layout_transform` → split axes that are blocked on either side, permute, join all others.

    Both ends are views: the one `linalg.generic` in between moves the elements.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.LayoutTransformOp, rewriter: PatternRewriter) -> None:
        """Pad channels to whole blocks, split, copy through a permuted map and join."""
        source, target = parse_layout(op.source.data), parse_layout(op.target.data)
        blocks = _blocks(op, source, target)
        value = op.input
        dims = dims_of(value.type)
        high = [
            0 if block or source.block(letter) > 1 else _padding(op, dim, target.block(letter))
            for (letter, block), dim in zip(source.axes, dims, strict=True)
        ]
        value = pad_tensor(value, [0] * len(high), high, 0, rewriter)
        groups = _split_groups(source, dims_of(value.type), blocks)
        value = split_dims(value, [[dim for _, dim in group] for group in groups], rewriter)
        # Parts are (letter, block) pairs: find each one's loop by its position in the target's order.
        parts = [part for group in groups for part, _ in group]
        extents = dict(pair for group in groups for pair in group)

        results = [_parts_of(axis, target, blocks) for axis in target.axes]
        order = [part for group in results for part in group]
        type = tensor_type(tensor_of(value).element_type, [extents[part] for part in order])
        read = value, projection(len(order), [order.index(part) for part in parts])
        write = empty(type, rewriter), identity(len(order))
        value = generic([read], write, [PARALLEL] * len(order), lambda s: s[0], rewriter)
        joined = [[extents[part] for part in group] for group in results]
        rewriter.replace(op, [], [join_dims(value, joined, rewriter)])


def _blocks(op: graph.LayoutTransformOp, source: Layout, target: Layout) -> dict[str, int]:
    """
    The block size of each axis that is blocked on either side.

    Raises: StepwellError `unsupported` where the two sides have different blocks of one axis.
    """
    blocks: dict[str, int] = {}
    for letter in source.letters:
        sizes = {source.block(letter), target.block(letter)} - {1}
        if len(sizes) > 1:
            raise StepwellError(
                "unsupported",
                op,
                f"graph.layout_transform from blocks of {letter} in {source} to others in {target}",
            )
        if sizes:
            blocks[letter] = sizes.pop()
    return blocks


def _padding(op: graph.LayoutTransformOp, dim: Dim, block: int) -> int:
    """
    The number of cells that fill an axis up to whole blocks.

    Raises: StepwellError `unsupported` where that number is not known at compile time.
    """
    if block == 1:
        return 0
    missing = dim.ceildiv(block) * block - dim
    if not missing.is_static:
        raise StepwellError(
            "unsupported", op, f"graph.layout_transform of dimension {dim} into blocks of {block}"
        )
    return missing.value


def _parts_of(axis: tuple[str, int], layout: Layout, blocks: dict[str, int]) -> list[tuple[str, int]]:
    """The dimensions that one dimension of a layout splits into: the blocks, and the lane of a block."""
    letter, block = axis
    if block or letter not in blocks:
        return [axis]
    outer = [(letter, 0)]
    return outer if layout.block(letter) > 1 else [*outer, (letter, blocks[letter])]


def _split_groups(
    layout: Layout, dims: tuple[Dim, ...], blocks: dict[str, int]
) -> list[list[tuple[tuple[str, int], Dim]]]:
    """The parts of each dimension of a layout, with their extents."""
    groups: list[list[tuple[tuple[str, int], Dim]]] = []
    for axis, dim in zip(layout.axes, dims, strict=True):
        parts = _parts_of(axis, layout, blocks)
        if len(parts) == 1:
            groups.append([(parts[0], dim)])
        else:
            block = blocks[axis[0]]
            groups.append([(parts[0], dim // block), (parts[1], Dim.of(block))])
    return groups
