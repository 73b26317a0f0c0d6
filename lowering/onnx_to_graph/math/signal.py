"""ONNX operators on signals: `DFT`, `STFT`, `MelWeightMatrix` → `graph`."""

from __future__ import annotations

from math import log, pi

from xdsl.dialects.builtin import f32, f64, i64
from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern

from stepwell.dialects import graph, onnx
from stepwell.lowering.onnx_to_graph.shape_values import ShapeLowering, bound_elements, defined_sizes
from stepwell.lowering.onnx_to_graph.support import element_type, normalized_axis, rank_of
from stepwell.lowering.to_graph import Formula, Value
from stepwell.runtime.dims import Dim

MEL = 2595 / log(10)  # the factor of the mel scale, for the natural logarithm


def transform(x: Value, axis: int, length: Dim, *, inverse: bool = False, onesided: bool = False) -> Value:
    """
    The discrete Fourier transform along an axis, as a product with the matrix of sines and cosines.

    Args: `x` has real parts, or (real, imaginary) pairs, in its last dimension; the axis is cut or filled
    with zeros to `length`.
    Returns: pairs, only the first half if `onesided`; the inverse of such a half has real numbers.
    """
    element = x.element
    if not x.dims[-1].is_static:
        x = resized(x, x.rank - 1, Dim.of(2))  # missing imaginary parts are 0
    x = x.cast(f64)  # in f32 the error at zeros would be some units of the largest sample
    # The axis before the pairs, cut or filled
    order = [*(i for i in range(x.rank - 1) if i != axis), axis, x.rank - 1]
    from_half = inverse and onesided
    x = resized(x.transpose(order), x.rank - 2, length // 2 + 1 if from_half else length)
    real = x.at(-1, 0)
    imaginary = x.at(-1, 1) if x.dims[-1] == 2 else None
    # Products with the matrix of waves
    if from_half:
        parts = [_from_half(real, imaginary, length)]
    else:
        bins = length // 2 + 1 if onesided else length
        parts = _products(real, imaginary, length, bins, -1.0 if inverse else 1.0)
    if inverse:
        parts = [part / x.formula.extent(length, x.element) for part in parts]
    # Pairs, with the axis moved back
    pairs = x.formula.concat([part.unsqueeze(part.rank) for part in parts], x.rank - 1)
    return pairs.transpose([order.index(i) for i in range(x.rank)]).cast(element)


def resized(x: Value, axis: int, length: Dim) -> Value:
    """A tensor cut, or filled with zeros, to a length along an axis."""
    size = x.dims[axis]
    if size.proves_equal(length):
        return x
    (kept, more) = defined_sizes([size.minimum(length), (length - size).maximum(0)], x.formula.rewriter)
    x = x.slice(axis, 0, kept)
    filling = x.formula.full(0.0, [more if i == axis else d for i, d in enumerate(x.dims)], x.element)
    whole = x.formula.concat([x, filling], axis)
    return whole.reshape([length if i == axis else d for i, d in enumerate(whole.dims)])


def waves(at: Formula, length: Dim, rows: Dim, columns: Dim) -> tuple[Value, Value]:
    """Cosine and sine of 2π·row·column / length; the product is computed modulo the length, and so exact."""
    phase = at.iota(rows, i64).unsqueeze(1) * at.iota(columns, i64).unsqueeze(0) % at.extent(length, i64)
    angle = phase.cast(f64) * (2 * pi) / at.extent(length, f64)
    return angle.apply(graph.CosOp), angle.apply(graph.SinOp)


def _products(real: Value, imaginary: Value | None, length: Dim, bins: Dim, sign: float) -> list[Value]:
    """Real and imaginary part; `sign` is -1 for the inverse."""
    cosine, sine = waves(real.formula, length, length, bins)
    sine = sine * sign
    if imaginary is None:
        return [real.matmul(cosine), -real.matmul(sine)]
    return [real.matmul(cosine) + imaginary.matmul(sine), imaginary.matmul(cosine) - real.matmul(sine)]


def _from_half(real: Value, imaginary: Value | None, length: Dim) -> Value:
    """The real signal whose transform has this first half: all bins but the outermost count twice."""
    at, half = real.formula, length // 2 + 1
    bins = at.iota(half, i64)
    once = bins.equals(0) | (bins * 2).equals(at.extent(length, i64))
    weight = at.where(once, at.number(1.0, real.element), 2.0)
    cosine, sine = waves(at, length, half, length)
    result = (real * weight).matmul(cosine)
    return result if imaginary is None else result - (imaginary * weight).matmul(sine)


class DftLowering(ShapeLowering):
    """
    `DFT` → a product with a matrix.

    An axis that is data becomes the middle one of three dimensions, whose sizes are data too.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.DFTOp, rewriter: PatternRewriter) -> None:
        """Transform along an axis known now, or along one that is data."""
        x = Formula(self, rewriter).value(op.input)
        rank = rank_of(op.input, op)
        given = self.sizes(op, "dft_length", op.dft_length, rewriter)
        if op.axis is not None and self.integers(op.axis) is None:
            result = self._at_run_time(op, x, given[0] if given else None, op.axis)
        else:
            axis = self.integers(op.axis) or ((op.integer("axis"),) if op.has("axis") else (-2,))
            position = normalized_axis(axis[0], rank, op)
            result = self._along(op, x, position, given[0] if given else None)
        rewriter.replace(op, [], [result.ssa])

    def _along(self, op: onnx.DFTOp, x: Value, axis: int, length: Dim | None) -> Value:
        """The transform along a known axis."""
        inverse, onesided = bool(op.integer("inverse")), bool(op.integer("onesided"))
        if length is None:
            length = (x.dims[axis] - 1) * 2 if inverse and onesided else x.dims[axis]
        return transform(x, axis, length, inverse=inverse, onesided=onesided)

    def _at_run_time(self, op: onnx.DFTOp, x: Value, length: Dim | None, axis: SSAValue) -> Value:
        """The transform along an axis that is data, as the middle axis of a tensor [before, size, after]."""
        at, dims = x.formula, x.dims[:-1]
        position = at.value(axis).cast(i64).reshape([])
        position = at.where(position < 0, position + x.rank, position)
        positions, sizes = at.iota(len(dims), i64), at.op(graph.ExtentsOp(dims))
        here = positions.equals(position)
        before = at.where(positions < position, sizes, 1).reduce("prod", [0], keep_dims=True)
        after = at.where(positions > position, sizes, 1).reduce("prod", [0], keep_dims=True)
        size = at.where(here, sizes, 0).reduce("sum", [0], keep_dims=True)
        three = bound_elements(at.concat([before, size, after], 0).ssa, at.rewriter)
        flags = bound_elements(here.cast(i64).ssa, at.rewriter)
        result = self._along(op, x.reshape([*three, x.dims[-1]]), 1, length)
        shape = [flag * result.dims[1] + (1 - flag) * dim for flag, dim in zip(flags, dims, strict=True)]
        return result.reshape([*defined_sizes(shape, at.rewriter), result.dims[-1]])


class StftLowering(ShapeLowering):
    """`STFT` → frames by `gather`, times the window, and their transforms; incomplete frames are dropped."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.STFTOp, rewriter: PatternRewriter) -> None:
        """Gather overlapping frames, multiply them by the window and transform them."""
        at = Formula(self, rewriter)
        signal = at.value(op.signal)
        (step,) = self.sizes(op, "frame_step", op.frame_step, rewriter) or (Dim.of(1),)
        window = at.value(op.window) if op.window is not None else None
        if window is not None:
            length = window.dims[0]
        else:
            (length,) = self.sizes(op, "frame_length", op.frame_length, rewriter) or (signal.dims[1],)
        (frames,) = defined_sizes([(signal.dims[1] - length) // step + 1], rewriter)
        start = at.iota(frames, i64) * at.extent(step, i64)
        cut = signal.gather(start.unsqueeze(1) + at.iota(length, i64).unsqueeze(0), 1)
        if window is not None:
            cut = cut * window.cast(cut.element).unsqueeze(1)
        result = transform(cut, 2, length, onesided=bool(op.integer("onesided")))
        rewriter.replace(op, [], [result.ssa])


class MelWeightMatrixLowering(ShapeLowering):
    """`MelWeightMatrix` → triangles over the bins of a spectrum, with corners evenly spaced in mels."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.MelWeightMatrixOp, rewriter: PatternRewriter) -> None:
        """
        Build rising and falling edges between neighbouring corners; coinciding corners give 1 at their bin.
        """
        at = Formula(self, rewriter)
        (bands,) = self.sizes(op, "num_mel_bins", op.num_mel_bins, rewriter) or (Dim.of(0),)
        (length,) = self.sizes(op, "dft_length", op.dft_length, rewriter) or (Dim.of(0),)
        corners = self._corners(op, bands, length, at)
        low, middle, high = (corners.slice(0, i, bands + i).reshape([1, bands]) for i in range(3))
        bins = at.iota(length // 2 + 1, f32).unsqueeze(1)
        up = (bins - low) / (middle - low).maximum(1)
        weight = at.where((bins >= low) & (bins <= middle) & (low < middle), up, 0.0)
        weight = at.where(low.equals(middle) & bins.equals(middle), at.number(1.0, f32), weight)
        down = (high - bins) / (high - middle).maximum(1)
        weight = at.where((bins >= middle) & (bins < high), down, weight)
        rewriter.replace(op, [], [weight.cast(element_type(op.integer("output_datatype"), op)).ssa])

    def _corners(self, op: onnx.MelWeightMatrixOp, bands: Dim, length: Dim, at: Formula) -> Value:
        """The bins of the corners of all bands, with an additional one at either end."""
        edges = (op.lower_edge_hertz, op.upper_edge_hertz)
        low, high = (
            (at.value(hertz).cast(f32).reshape([]) / 700 + 1).apply(graph.LogOp) * MEL for hertz in edges
        )
        step = (high - low) / at.extent(bands + 2, f32)
        mels = at.iota(bands + 2, f32) * step + low
        hertz = ((mels / MEL).apply(graph.ExpOp) - 1) * 700
        rate = at.value(op.sample_rate).cast(f32).reshape([])
        return (hertz * at.extent(length + 1, f32) / rate).apply(graph.FloorOp)
