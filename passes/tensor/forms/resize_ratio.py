"""
Coordinates of resizes as quotients of whole numbers, for targets without f64.

The element before a coordinate and the rest of the division are exact, so that neighbours are those of the
operator's meaning, which computes in f64.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from xdsl.dialects import arith
from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from stepwell.dialects import graph
from stepwell.dialects.ir_builder import Index
from stepwell.dialects.linalg_builder.scalars import Scalars
from stepwell.dialects.linalg_builder.slices import INDICES, index_table, table
from stepwell.dialects.linalg_builder.support import extent
from stepwell.dialects.tensor_ir.gpu_modules import lacks_f64
from stepwell.dialects.types import dims_of
from stepwell.runtime.dims import Dim

_BY_SCALES = ("asymmetric", "half_pixel")
_BY_SIZES = (*_BY_SCALES, "align_corners", "pytorch_half_pixel")
"""Coordinates that are quotients; with scales two of them depend on the length before it is rounded."""
_MOST = 1 << 14
"""The largest number of a known ratio: its products with indices stay below 2^31."""


@dataclass(frozen=True)
class RatioSampling:
    """The sampling of an axis: the ratio of the result's extent to the operand's."""

    op: graph.ResizeOp
    axis: int
    size: SSAValue
    """The operand's extent along the axis, an index."""
    result: Index
    operand: Index

    def nearest(self, index: SSAValue) -> SSAValue:
        """The index of the nearest element, by the op's rounding, clamped; emitted inside a body."""
        number, divisor = self._quotient(index)
        rounding = self.op.nearest.data
        if rounding.startswith("round_prefer"):
            half, number, divisor = divisor, INDICES.scaled(number, 2), INDICES.scaled(divisor, 2)
            moved = INDICES.subtract if rounding == "round_prefer_floor" else INDICES.add
            number = moved(number, half)
        is_up = rounding in ("round_prefer_floor", "ceil")
        divide = arith.CeilDivSIOp if is_up else arith.FloorDivSIOp
        return INDICES.clamped(divide(number, divisor).result, self.size)

    def tables(
        self, out: Dim, sums: Scalars, rewriter: PatternRewriter
    ) -> tuple[list[SSAValue], list[SSAValue]]:
        """Tables of the indices of both neighbours, and of their weights; of one index for nearest."""
        if self.op.mode.data == "nearest":
            return [index_table(out, self.nearest, rewriter)], []

        def index(i: SSAValue, offset: int) -> SSAValue:
            front = arith.FloorDivSIOp(*self._quotient(i)).result
            return INDICES.clamped(INDICES.add(front, INDICES.constant(offset)), self.size)

        def weight(i: SSAValue, offset: int) -> SSAValue:
            number, divisor = self._quotient(i)
            rest = _as_float(INDICES.modulo(number, divisor), sums)
            after = sums.divide(rest, _as_float(divisor, sums))
            return after if offset else sums.subtract(sums.constant(1), after)

        indices = [index_table(out, lambda i, o=offset: index(i, o), rewriter) for offset in (0, 1)]
        weights = [table(out, sums.type, lambda i, o=offset: weight(i, o), rewriter) for offset in (0, 1)]
        return indices, weights

    def _quotient(self, index: SSAValue) -> tuple[SSAValue, SSAValue]:
        """The coordinate of the result's element at `index`, on the operand's axis, as two numbers."""
        result, operand, one = _value(self.result), _value(self.operand), INDICES.constant(1)
        match self.op.coordinate.data:
            case "asymmetric":
                return INDICES.multiply(index, operand), result
            case "align_corners":
                last = INDICES.maximum(INDICES.subtract(result, one), one)
                return INDICES.multiply(index, INDICES.subtract(operand, one)), last
            case _:
                centre = INDICES.add(INDICES.scaled(index, 2), one)
                number = INDICES.subtract(INDICES.multiply(centre, operand), result)
                if self.op.coordinate.data == "pytorch_half_pixel":
                    is_single = INDICES.compare("eq", result, one)
                    number = INDICES.select(is_single, INDICES.constant(0), number)
                return number, INDICES.scaled(result, 2)


def ratio_sampling(
    op: graph.ResizeOp, axis: int, out: Dim, rewriter: PatternRewriter
) -> RatioSampling | None:
    """
    The sampling of an axis for a target without f64; None for other targets, and for scales that are no
    quotients.
    """
    mode, known = op.mode.data, _BY_SIZES if op.scales is None else _BY_SCALES
    if not lacks_f64(op) or mode not in ("nearest", "linear") or op.coordinate.data not in known:
        return None
    if op.antialias is not None or op.exclude_outside is not None:
        return None
    ratio: tuple[Index, Index] | None = _known_ratio(op, axis, out)
    size = extent(dims_of(op.input.type)[axis], rewriter)
    if ratio is None and op.scales is None and mode == "linear":
        ratio = extent(out, rewriter), size
    return None if ratio is None else RatioSampling(op, axis, size, *ratio)


def _known_ratio(op: graph.ResizeOp, axis: int, out: Dim) -> tuple[int, int] | None:
    """
    The ratio of a scale, or of sizes, that are known; None where f64 has another one.

    A scale that f64 rounds may put a coordinate on the other side of an element: the neighbours that are
    weighted differ by as little as the weights, but the nearest one is another.
    """
    dim = dims_of(op.input.type)[axis]
    if op.scales is not None:
        ratio = Fraction(op.scales.get_values()[axis]).as_integer_ratio()
    elif dim.is_static and out.is_static and dim.value > 0 and out.value > 0:
        ratio = out.value, dim.value
    else:
        return None
    is_exact = op.mode.data == "linear" or Fraction(*ratio).denominator.bit_count() == 1
    return ratio if is_exact and max(ratio) <= _MOST else None


def _value(number: Index) -> SSAValue:
    return INDICES.constant(number) if isinstance(number, int) else number


def _as_float(number: SSAValue, sums: Scalars) -> SSAValue:
    """An index as a float."""
    return Scalars(i64).convert(arith.IndexCastOp(number, i64).result, sums)
