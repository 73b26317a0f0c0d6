"""
Normalizations → statistics of rows or channels as reductions, then one elementwise pass that applies them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects import math
from xdsl.dialects.builtin import f32
from xdsl.ir import Attribute, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from stepwell.dialects import graph
from stepwell.dialects.graph.channel_norm import ChannelNormOp
from stepwell.dialects.graph.norm import RowNormOp
from stepwell.dialects.graph.relations import element_of_value, with_element
from stepwell.dialects.linalg_builder.scalars import Scalars
from stepwell.dialects.linalg_builder.sums import accumulator
from stepwell.dialects.linalg_builder.support import (
    PARALLEL,
    REDUCTION,
    Read,
    elementwise,
    empty,
    filled,
    generic,
    identity,
    projection,
)
from stepwell.dialects.linalg_builder.views import join_dims, pad_tensor, split_dims
from stepwell.dialects.types import dims_of, tensor_of, tensor_type
from stepwell.lowering.graph_to_linalg.rows import Rows
from stepwell.runtime.dims import Dim


def inverse_root(scalars: Scalars, x: SSAValue, eps: float) -> SSAValue:
    """1 / sqrt(x + eps)."""
    shifted = scalars.add(x, scalars.constant(eps))
    return scalars.divide(scalars.constant(1), math.SqrtOp(shifted).result)


class BatchNormLowering(RewritePattern):
    """`graph.batch_norm` → a factor for each channel, then (x - mean) * factor + bias."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.BatchNormOp, rewriter: PatternRewriter) -> None:
        """Compute scale / sqrt(variance + eps) as a vector of channels, then normalize elementwise."""
        type, axis = tensor_of(op.result), op.axis.value.data
        element = accumulator(type.element_type)
        scalars, eps = Scalars(element), op.eps.value.data

        def factor(s: Sequence[SSAValue]) -> SSAValue:
            inverse = inverse_root(scalars, _converted(op.variance, s[0], scalars), eps)
            if op.scale is None:
                return inverse
            return scalars.multiply(inverse, _converted(op.scale, s[1], scalars))

        # Factors by channel.
        vectors = [value for value in (op.variance, op.scale) if value is not None]
        factors = elementwise(tensor_type(element, dims_of(op.mean.type)), vectors, factor, op, rewriter)
        # All elements, with mean, factor and bias read along the channels.
        rank = len(dims_of(type))
        reads = [(op.input, identity(rank))]
        reads += [(v, projection(rank, [axis])) for v in (op.mean, factors, op.bias) if v is not None]

        def body(s: Sequence[SSAValue]) -> SSAValue:
            centred = scalars.subtract(s[0], _converted(op.mean, s[1], scalars))
            normal = scalars.multiply(centred, s[2])
            return normal if op.bias is None else scalars.add(normal, _converted(op.bias, s[3], scalars))

        write = (empty(type, rewriter), identity(rank))
        rewriter.replace(op, [], [generic(reads, write, [PARALLEL] * rank, body, rewriter)])


def _converted(value: SSAValue, scalar: SSAValue, to: Scalars) -> SSAValue:
    """A scalar read from `value`, of any float type, in the type that a body computes in."""
    return Scalars(element_of_value(value)).convert(scalar, to)


def statistics(rows: Rows, x: SSAValue, element: Attribute, eps: float) -> tuple[SSAValue, SSAValue]:
    """
    Mean and 1 / sqrt(variance + eps) of each row, by two passes over the row, which avoids cancellation.
    """
    scalars = Scalars(element)
    mean = rows.mean([rows.each(x)], lambda s: _converted(x, s[0], scalars), element)

    def square(s: Sequence[SSAValue]) -> SSAValue:
        centred = scalars.subtract(_converted(x, s[0], scalars), s[1])
        return scalars.multiply(centred, centred)

    reads = [rows.each(x), rows.row(mean)]
    return mean, rows.mean(reads, square, element, lambda variance: inverse_root(scalars, variance, eps))


def normalized(
    rows: Rows,
    operands: Sequence[SSAValue | None],
    reads: Callable[[SSAValue], Read],
    numbers: Sequence[SSAValue],
    element: Attribute,
) -> SSAValue:
    """
    (x - mean) * factor * scale + bias for all elements, in the type of x.

    Args: `operands` are x, scale and bias; `numbers` are the mean of each row (if the op subtracts it) and
    its factor; `reads` gives scale or bias with its index map.
    """
    x, *vectors = operands
    assert x is not None
    given = [vector for vector in vectors if vector is not None]
    scalars = Scalars(element)

    def body(s: Sequence[SSAValue]) -> SSAValue:
        value = _converted(x, s[0], scalars)
        *mean, factor = s[1 : 1 + len(numbers)]
        value = scalars.subtract(value, mean[0]) if mean else value
        value = scalars.multiply(value, factor)
        rest = [_converted(v, n, scalars) for v, n in zip(given, s[1 + len(numbers) :], strict=True)]
        if vectors[0] is not None:
            value = scalars.multiply(value, rest[0])
        value = scalars.add(value, rest[-1]) if vectors[1] is not None else value
        return scalars.convert(value, Scalars(element_of_value(x)))

    all_reads = [rows.each(x), *(rows.row(n) for n in numbers), *(reads(v) for v in given)]
    return rows.map(tensor_of(x), all_reads, body)


def _rows_from_axis(op: RowNormOp, rewriter: PatternRewriter) -> Rows:
    """The rows of a norm's operand: all axes from `axis` on are reduced."""
    rank = len(dims_of(op.input.type))
    return Rows.of(op, op.input, range(op.axis.value.data, rank), rewriter)


class LayerNormLowering(RewritePattern):
    """`graph.layer_norm` → mean and inverse deviation of rows, then (x - mean) * inv_std * scale + bias."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.LayerNormOp, rewriter: PatternRewriter) -> None:
        """
        Emit statistics and the normalized tensor; mean and inverse deviation are results if the op has them.
        """
        rows, element = _rows_from_axis(op, rewriter), accumulator(op.compute_type)
        mean, inv_std = statistics(rows, op.input, element, op.eps.value.data)
        operands = [op.input, op.scale, op.bias]
        results = [normalized(rows, operands, rows.each, [mean, inv_std], element)]
        if op.mean is not None:
            type = tensor_of(op.mean)
            results += [rows.placed([value], lambda s: s[0], type) for value in (mean, inv_std)]
        rewriter.replace(op, [], results)


class RmsNormLowering(RewritePattern):
    """`graph.rms_norm` → 1 / sqrt(mean(x * x) + eps) of each row, then x times it, * scale + bias."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.RmsNormOp, rewriter: PatternRewriter) -> None:
        """Emit the mean of squares, its inverse root, and the scaled tensor: no mean is subtracted."""
        rows, element = _rows_from_axis(op, rewriter), accumulator(op.compute_type)
        scalars, eps, x = Scalars(element), op.eps.value.data, op.input

        def square(s: Sequence[SSAValue]) -> SSAValue:
            value = _converted(x, s[0], scalars)
            return scalars.multiply(value, value)

        factor = rows.mean([rows.each(x)], square, element, lambda mean: inverse_root(scalars, mean, eps))
        rewriter.replace(op, [], [normalized(rows, [x, op.scale, op.bias], rows.each, [factor], element)])


class ChannelNormLowering(RewritePattern):
    """
    `graph.instance_norm`, `graph.group_norm` → statistics of each channel or group of each sample, then
    (x - mean) * inv_std * scale + bias; the channels are split into groups, and joined again, by views.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ChannelNormOp, rewriter: PatternRewriter) -> None:
        """Split channels into [groups, depth], normalize over depth and space, and join them again."""
        dims = dims_of(op.input.type)
        groups = Dim.of(op.groups.value.data) if isinstance(op, graph.GroupNormOp) else dims[1]
        depth = dims[1] // groups
        grouping = [[dims[0]], [groups, depth], *([dim] for dim in dims[2:])]
        x = split_dims(op.input, grouping, rewriter)
        vectors = [
            None if vector is None else split_dims(vector, [[groups, depth]], rewriter)
            for vector in (op.scale, op.bias)
        ]
        rank = len(dims) + 1
        element = accumulator(element_of_value(x))
        rows = Rows.of(op, x, range(2, rank), rewriter)
        numbers = statistics(rows, x, element, op.eps.value.data)
        result = normalized(
            rows, [x, *vectors], lambda vector: (vector, projection(rank, [1, 2])), numbers, element
        )
        rewriter.replace(op, [], [join_dims(result, grouping, rewriter)])


class LpNormLowering(RewritePattern):
    """`graph.lp_norm` → the 1- or 2-norm of each row, then a division by it; 0 for rows of norm 0."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.LpNormOp, rewriter: PatternRewriter) -> None:
        """Sum absolute values or squares along `axis`, take the root for p = 2, and divide."""
        type = tensor_of(op.result)
        element = accumulator(type.element_type)
        scalars, absolute = Scalars(element), op.p.value.data == 1
        rows = Rows.of(op, op.input, [op.axis.value.data], rewriter)

        def term(s: Sequence[SSAValue]) -> SSAValue:
            return scalars.add(s[1], scalars.absolute(s[0]) if absolute else scalars.multiply(s[0], s[0]))

        norm = rows.reduce([rows.each(op.input)], term, element, 0)
        if not absolute:
            norm = rows.per_row([norm], lambda s: math.SqrtOp(s[0]).result, element)

        def body(s: Sequence[SSAValue]) -> SSAValue:
            zero = scalars.constant(0)
            return scalars.select(scalars.compare("eq", s[1], zero), zero, scalars.divide(s[0], s[1]))

        rewriter.replace(op, [], [rows.map(type, [rows.each(op.input), rows.row(norm)], body)])


class LrnLowering(RewritePattern):
    """
    `graph.lrn` → sums of squares over windows of channels, then x / (bias + alpha / size * sum) ** beta.

    The windows read the input with channels of zeros as padding, so that none of them is cut.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.LrnOp, rewriter: PatternRewriter) -> None:
        """Emit the window sums with `size` as a reduction loop, then the elementwise quotient."""
        type, size = tensor_of(op.result), op.size.value.data
        rank, element = len(dims_of(type)), accumulator(type.element_type)
        scalars = Scalars(element)
        alpha, beta, bias = op.alpha.value.data / size, op.beta.value.data, op.bias.value.data
        before, after = (size - 1) // 2, size - 1 - (size - 1) // 2
        # Sums of squares: the channel's index is the result's channel plus the position in the window.
        padded = pad_tensor(op.input, _at(1, before, rank), _at(1, after, rank), 0, rewriter)
        indices = [AffineExpr.dimension(i) for i in range(rank)]
        indices[1] = indices[1] + AffineExpr.dimension(rank)
        # An unread tensor of the window's size gives its loop an extent.
        window = empty(tensor_type(f32, [size]), rewriter)
        reads = [(padded, AffineMap(rank + 1, 0, tuple(indices))), (window, projection(rank + 1, [rank]))]
        write = (filled(with_element(type, element), 0, rewriter), projection(rank + 1, range(rank)))
        total = generic(
            reads,
            write,
            [PARALLEL] * rank + [REDUCTION],
            lambda s: scalars.add(s[2], scalars.multiply(s[0], s[0])),
            rewriter,
        )

        def body(s: Sequence[SSAValue]) -> SSAValue:
            weighed = scalars.multiply(scalars.constant(alpha), s[1])
            return scalars.divide(s[0], _power(scalars, scalars.add(scalars.constant(bias), weighed), beta))

        rewriter.replace(op, [], [elementwise(type, [op.input, total], body, op, rewriter)])


def _at(axis: int, number: int, rank: int) -> list[int]:
    """A list with `number` at position `axis` and 0 elsewhere."""
    return [number if i == axis else 0 for i in range(rank)]


def _power(scalars: Scalars, x: SSAValue, exponent: float) -> SSAValue:
    """x ** exponent for x of at least 0; by roots for the exponents that models have."""
    if exponent in (0.5, 0.75):
        root = math.SqrtOp(x).result
        return root if exponent == 0.5 else scalars.multiply(root, math.SqrtOp(root).result)
    return math.PowFOp(x, scalars.constant(exponent)).result
