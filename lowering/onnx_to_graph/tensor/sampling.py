"""ONNX operators that sample images at coordinates that are data: `GridSample`, `AffineGrid` → `graph`."""

from __future__ import annotations

from math import prod

from xdsl.dialects.builtin import f32, f64, i64
from xdsl.ir import Attribute
from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern

from stepwell.dialects import graph, onnx
from stepwell.dialects.graph.relations import is_float
from stepwell.lowering.onnx_to_graph.shape_values import ShapeLowering, assume_equal
from stepwell.lowering.onnx_to_graph.support import OnnxLowering, shape_of
from stepwell.lowering.onnx_to_graph.tensor.interpolation import TAPS, cubic
from stepwell.lowering.to_graph import Formula, Value
from stepwell.runtime.dims import Dim

CUBIC_A = -0.75  # ONNX's value
FAR = 1 << 30  # coordinates are clamped to it, so that they fit an index


class GridSampleLowering(OnnxLowering):
    """
    `GridSample` → positions and weights of the neighbours along each axis, one gather, a weighted sum.

    The grid's last dimension counts the axes from the last one. Padding is applied to each neighbour: one out
    of bounds has weight 0, or is replaced by one that is in bounds.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.GridSampleOp, rewriter: PatternRewriter) -> None:
        """Combine the neighbours of all axes to flat positions and weights, and sum them up."""
        at = Formula(self, rewriter)
        x, grid = at.value(op.X), at.value(op.grid)
        sizes = shape_of(op.X, op)[2:]
        out = shape_of(op.grid, op)[1:-1]
        mode = op.string("mode").removeprefix("bi") if op.has("mode") else "linear"
        positions: Value | None = None
        weights: Value | None = None
        for axis, size in enumerate(sizes):
            coordinate = self._coordinate(op, grid.at(-1, len(sizes) - 1 - axis).cast(f32), size)
            index, weight = neighbours(coordinate, size, mode, _padding(op), _aligned(op))
            # The neighbours along each axis get a dimension of their own after the grid's.
            trailing = [d + 1 + len(out) for d in range(len(sizes)) if d != axis]
            index, weight = index.unsqueeze(*trailing), weight.unsqueeze(*trailing)
            positions = index if positions is None else positions * at.extent(size, i64) + index
            weights = weight if weights is None else weights * weight
        assert positions is not None and weights is not None
        (grid_batch, *_), (batch, *_) = positions.dims, x.dims
        assume_equal(op, grid_batch, batch, "grid and images must be as many", rewriter)
        shape = [batch, *positions.dims[1:]]
        positions, weights = positions.reshape(shape), weights.reshape(shape)
        rewriter.replace(op, [], [_weighted(x, positions, weights, len(out)).ssa])

    def _coordinate(self, op: onnx.GridSampleOp, given: Value, size: Dim) -> Value:
        """Coordinates from -1 … 1 as positions of pixels."""
        length = given.formula.extent(size, f32)
        if _aligned(op):
            return (given + 1) * 0.5 * (length - 1)
        return ((given + 1) * length - 1) * 0.5


class AffineGridLowering(ShapeLowering):
    """`AffineGrid` → the coordinates of an even grid, and 1, times the matrix of each image."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.AffineGridOp, rewriter: PatternRewriter) -> None:
        """Build the homogeneous coordinates of all grid points, and multiply by the matrices."""
        at = Formula(self, rewriter)
        theta = at.value(op.theta)
        wanted = self.sizes(op, "size", op.size, rewriter)
        assert wanted is not None
        batch, sizes = wanted[0], wanted[2:]
        kind = f64 if theta.element == f64 else f32
        columns: list[Value] = []
        for axis in reversed(range(len(sizes))):  # x comes first
            line = self._line(at, sizes[axis], kind, bool(op.integer("align_corners")))
            line = line.unsqueeze(*(i for i in range(len(sizes)) if i != axis))
            columns.append(line.broadcast_to(sizes).unsqueeze(len(sizes)))
        columns.append(at.full(1.0, [*sizes, Dim.of(1)], kind))
        points = prod(sizes, start=Dim.of(1))
        grid = at.concat(columns, len(sizes)).reshape([points, len(sizes) + 1])
        assume_equal(op, theta.dims[0], batch, "there must be a matrix for each image", rewriter)
        theta = theta.reshape([batch, len(sizes), len(sizes) + 1]).cast(kind)
        result = grid.matmul(theta.transpose([0, 2, 1])).cast(at.value(op.theta).element)
        rewriter.replace(op, [], [result.reshape([batch, *sizes, len(sizes)]).ssa])

    def _line(self, at: Formula, size: Dim, kind: Attribute, aligned: bool) -> Value:
        """The centres of pixels along an axis, or with `aligned` from -1 to 1."""
        index, length = at.iota(size, kind), at.extent(size, kind)
        return index * 2 / (length - 1).maximum(1) - 1 if aligned else (index * 2 + 1) / length - 1


def _aligned(op: onnx.GridSampleOp) -> bool:
    """The attribute `align_corners`."""
    return bool(op.integer("align_corners"))


def _padding(op: onnx.GridSampleOp) -> str:
    """The padding mode, `zeros` by default."""
    return op.string("padding_mode") if op.has("padding_mode") else "zeros"


def neighbours(x: Value, size: Dim, mode: str, padding: str, aligned: bool) -> tuple[Value, Value]:
    """Indices and weights of the neighbours of coordinates along an axis, in a new last dimension."""
    at = x.formula
    x = at.where(x.equals(x), x, 0.0)  # the position of NaN is arbitrary
    if padding == "border":  # positions out of bounds move to the centre of the outermost pixel
        edge, end = (0.0 if aligned else -0.5), at.extent(size, f32) - 1
        x = at.where((x < edge) | (x > end - edge), x.clip(0, end), x)
    x = x.clip(-FAR, FAR).unsqueeze(x.rank)
    base = x.apply(graph.RoundOp if mode == "nearest" else graph.FloorOp)
    taps = at.array(TAPS[mode], f32)
    index = (base + taps).cast(i64)
    if mode == "nearest":
        weight = at.full(1.0, index.dims, f32)
    else:
        distance = abs(x - base - taps)
        weight = 1 - distance if mode == "linear" else cubic(distance, CUBIC_A)
    last = at.extent(size, i64) - 1
    if padding == "zeros":
        weight = at.where((index >= 0) & (index <= last), weight, 0.0)
    elif padding == "reflection":
        index = reflected(index, last, aligned)
    return index.clip(0, last), weight


def reflected(index: Value, last: Value, aligned: bool) -> Value:
    """Indices mirrored into the image, at the centres of the outermost pixels or at their outer edges."""
    period = (2 * last).maximum(1) if aligned else 2 * (last + 1)
    phase = index % period
    mirrored = period - phase if aligned else period - 1 - phase
    return index.formula.where(phase <= last, phase, mirrored)


def _weighted(x: Value, positions: Value, weights: Value, grid_rank: int) -> Value:
    """The sum over all neighbours of pixel times weight, with the channels moved back to axis 1."""
    batch, channels, *sizes = x.dims
    pixels = x.reshape([batch, channels, prod(sizes, start=Dim.of(1))]).transpose([0, 2, 1])
    found = pixels.gather(positions, 1, batch_dims=1)
    taken = list(range(1 + grid_rank, positions.rank))
    if is_float(x.element):
        product = found.cast(weights.element) * weights.unsqueeze(weights.rank)
        found = product.reduce("sum", taken).cast(x.element)
    else:
        found = found.reshape([d for i, d in enumerate(found.dims) if i not in taken])
    return found.transpose([0, grid_rank + 1, *range(1, grid_rank + 1)])
