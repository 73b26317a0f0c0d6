"""Elementwise graph ops → operators of ONNX."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from xdsl.dialects.builtin import IntegerType, Signedness, i1, i32, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern

from stepwell.dialects import graph, onnx
from stepwell.dialects.graph.base import GraphOp
from stepwell.dialects.graph.relations import broadcast, is_float, is_unsigned
from stepwell.dialects.types import dims_of, dtype_of, tensor_of, tensor_type
from stepwell.lowering.graph_to_onnx.nodes import insert_integers, insert_node, replace_by_node
from stepwell.lowering.graph_to_onnx.support import OnnxExport, cast_to, element_of
from stepwell.lowering.onnx_to_graph import ELEMENT_NUMBERS, UNARY, unary_op

# Ops of one operand and no attribute, the inverse of the import's table; `not` is two operators.
PLAIN_UNARY: Mapping[type[Operation], type[onnx.OnnxOp]] = {
    unary_op(title): onnx.op_class(f"onnx.{title}") for title, target in UNARY.items() if target != "NotOp"
}
BINARY: Mapping[type[Operation], type[onnx.OnnxOp]] = {
    graph.AddOp: onnx.AddOp,
    graph.SubtractOp: onnx.SubOp,
    graph.MultiplyOp: onnx.MulOp,
    graph.DivideOp: onnx.DivOp,
    graph.PowerOp: onnx.PowOp,
    graph.MaximumOp: onnx.MaxOp,
    graph.MinimumOp: onnx.MinOp,
    graph.EqualOp: onnx.EqualOp,
    graph.LessOp: onnx.LessOp,
    graph.LessEqualOp: onnx.LessOrEqualOp,
}
LOGIC: Mapping[type[Operation], tuple[type[onnx.OnnxOp], type[onnx.OnnxOp]]] = {
    graph.AndOp: (onnx.AndOp, onnx.BitwiseAndOp),
    graph.OrOp: (onnx.OrOp, onnx.BitwiseOrOp),
    graph.XorOp: (onnx.XorOp, onnx.BitwiseXorOp),
    graph.NotOp: (onnx.NotOp, onnx.BitwiseNotOp),
}
COMPOSED: Mapping[type[Operation], tuple[type[onnx.OnnxOp], type[onnx.OnnxOp]]] = {
    graph.NotEqualOp: (onnx.EqualOp, onnx.NotOp),
    graph.RsqrtOp: (onnx.SqrtOp, onnx.ReciprocalOp),
}
SHIFTS: Mapping[type[Operation], str] = {graph.ShiftLeftOp: "LEFT", graph.ShiftRightOp: "RIGHT"}
LAST_ELEMENT = 22
"""The number of the last element type of opset 21: signed integers of four bits."""


def is_in_opset(element: Attribute) -> bool:
    """Whether the exported opset has an element type."""
    return ELEMENT_NUMBERS.get(element, LAST_ELEMENT + 1) <= LAST_ELEMENT


class SimpleExport(OnnxExport):
    """An op without attributes → the operator in `PLAIN_UNARY`, `BINARY` or, by element type, in `LOGIC`."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: GraphOp, rewriter: PatternRewriter) -> None:
        """Look up the operator of the op's class; logic ops are bitwise except on truth values."""
        target = PLAIN_UNARY.get(type(op)) or BINARY.get(type(op))
        if target is None and type(op) in LOGIC:
            target = LOGIC[type(op)][element_of(op.operands[0]) != i1]
        if target is not None:
            replace_by_node(rewriter, op, target, op.operands)


class ComposedExport(OnnxExport):
    """`graph.not_equal` → `Not` of `Equal`; `graph.rsqrt` → `Reciprocal` of `Sqrt`."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.NotEqualOp | graph.RsqrtOp, rewriter: PatternRewriter) -> None:
        """Emit the two operators of the op."""
        inner, outer = COMPOSED[type(op)]
        value = insert_node(rewriter, inner, op.operands, op.result.type)
        replace_by_node(rewriter, op, outer, [value])


class TruncExport(OnnxExport):
    """`graph.trunc` → sign(x) · ⌊|x|⌋."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.TruncOp, rewriter: PatternRewriter) -> None:
        """Multiply the rounded absolute value by the sign."""
        type = op.result.type
        size = insert_node(rewriter, onnx.AbsOp, op.operands, type)
        whole = insert_node(rewriter, onnx.FloorOp, [size], type)
        sign = insert_node(rewriter, onnx.SignOp, op.operands, type)
        replace_by_node(rewriter, op, onnx.MulOp, [sign, whole])


class RemainderExport(OnnxExport):
    """`graph.remainder` → `Mod`, which rounds down for integers only: floats are corrected after it."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.RemainderOp, rewriter: PatternRewriter) -> None:
        """Set `fmod` for truncation and for floats; add the divisor to a remainder of the other sign."""
        truncates = op.rounding.data == "trunc"
        if truncates or not is_float(element_of(op.lhs)):
            replace_by_node(rewriter, op, onnx.ModOp, op.operands, fmod=truncates)
            return
        type = op.result.type
        truth = tensor_type(i1, dims_of(type))
        zero = self.scalar(0, op.lhs, rewriter)
        rest = insert_node(rewriter, onnx.ModOp, op.operands, type, fmod=True)
        signs = [
            insert_node(rewriter, onnx.LessOp, [value, zero], tensor_type(i1, dims_of(value.type)))
            for value in (rest, op.rhs)
        ]
        differs = insert_node(rewriter, onnx.XorOp, signs, truth)
        is_zero = insert_node(rewriter, onnx.EqualOp, [rest, zero], truth)
        is_rest = insert_node(rewriter, onnx.NotOp, [is_zero], truth)
        moves = insert_node(rewriter, onnx.AndOp, [differs, is_rest], truth)
        moved = insert_node(rewriter, onnx.AddOp, [rest, op.rhs], type)
        replace_by_node(rewriter, op, onnx.WhereOp, [moves, moved, rest])


class NearOneExport(OnnxExport):
    """
    `graph.log1p`, `graph.expm1` → `Log`, `Exp` of the rounded number, corrected for the rounding.

    Source: W. Kahan's compensation, in N. Higham, Accuracy and Stability of Numerical Algorithms, 1.14.1.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.Log1pOp | graph.Expm1Op, rewriter: PatternRewriter) -> None:
        """Log: x · log(u) / (u - 1) for u = 1 + x; Exp: (u - 1) · x / log(u) for u = exp(x)."""
        (x,), whole, one = op.operands, op.result.type, self.scalar(1, op.operands[0], rewriter)
        truth = tensor_type(i1, dims_of(whole))
        is_log = isinstance(op, graph.Log1pOp)

        def node(kind: type[onnx.OnnxOp], *operands: SSAValue, to: Attribute = whole) -> SSAValue:
            return insert_node(rewriter, kind, operands, to)

        u = node(onnx.AddOp, one, x) if is_log else node(onnx.ExpOp, x)
        above, log = node(onnx.SubOp, u, one), node(onnx.LogOp, u)
        product = node(onnx.MulOp, log, x) if is_log else node(onnx.MulOp, above, x)
        corrected = node(onnx.DivOp, product, above if is_log else log)
        # Both are the plain function where u is no number next to 1: at the ends, and beyond.
        plain = log if is_log else above
        size = node(onnx.AbsOp, above)
        is_near = node(onnx.LessOp, size, self.scalar(0.5, x, rewriter), to=truth)
        found = node(onnx.WhereOp, is_near, corrected, plain)
        is_one = node(onnx.EqualOp, u, one, to=truth)
        replace_by_node(rewriter, op, onnx.WhereOp, [is_one, x, found])


class ShiftExport(OnnxExport):
    """
    A shift → `BitShift` of unsigned integers; signed integers are converted, and negative ones complemented
    before and after a shift to the right.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(
        self, op: graph.ShiftLeftOp | graph.ShiftRightOp, rewriter: PatternRewriter
    ) -> None:
        """Set the direction, and convert signed integers."""
        direction = SHIFTS[type(op)]
        if is_unsigned(element_of(op.lhs)):
            replace_by_node(rewriter, op, onnx.BitShiftOp, op.operands, direction=direction)
            return
        rewriter.replace(op, [], [_signed_shift(op, direction, self, rewriter)])


def _signed_shift(
    op: graph.ShiftLeftOp | graph.ShiftRightOp, direction: str, export: OnnxExport, rewriter: PatternRewriter
) -> SSAValue:
    """The shift of signed integers, in 32 or 64 bits; 0 or the sign for an amount outside of the bits."""
    element = cast("IntegerType", element_of(op.lhs))
    wide = i64 if element.width.data == i64.width.data else i32
    value, count = (cast_to(each, wide, rewriter) for each in op.operands)
    own, whole, bits = value.type, tensor_type(wide, dims_of(op.result.type)), wide.width.data
    none, minus_one, limit = (export.scalar(number, value, rewriter) for number in (0, -1, bits))

    def node(kind: type[onnx.OnnxOp], *operands: SSAValue, to: Attribute) -> SSAValue:
        return insert_node(rewriter, kind, operands, to)

    signs = None
    if isinstance(op, graph.ShiftRightOp):
        negative = node(onnx.LessOp, value, none, to=tensor_type(i1, dims_of(own)))
        signs = node(onnx.WhereOp, negative, minus_one, none, to=own)
        value = node(onnx.BitwiseXorOp, value, signs, to=own)
    unsigned = IntegerType(bits, Signedness.UNSIGNED)
    operands = [cast_to(each, unsigned, rewriter) for each in (value, count)]
    found = tensor_type(unsigned, dims_of(whole))
    shifted = insert_node(rewriter, onnx.BitShiftOp, operands, found, direction=direction)
    truth = tensor_type(i1, dims_of(count.type))
    above, below = node(onnx.LessOp, minus_one, count, to=truth), node(onnx.LessOp, count, limit, to=truth)
    inside = node(onnx.AndOp, above, below, to=truth)
    result = node(onnx.WhereOp, inside, cast_to(shifted, wide, rewriter), none, to=whole)
    if signs is not None:
        result = node(onnx.BitwiseXorOp, result, signs, to=whole)
    return cast_to(result, element, rewriter)


class WhereExport(OnnxExport):
    """`graph.where` → `Where`; of truth values (c and a) or (not c and b), which every engine has."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.WhereOp, rewriter: PatternRewriter) -> None:
        """Look at the element type."""
        if element_of(op.result) != i1:
            replace_by_node(rewriter, op, onnx.WhereOp, op.operands)
            return
        condition, yes, no = op.operands
        other = insert_node(rewriter, onnx.NotOp, [condition], condition.type)
        parts = [
            insert_node(
                rewriter, onnx.AndOp, pair, tensor_type(i1, broadcast([dims_of(v.type) for v in pair]))
            )
            for pair in ((condition, yes), (other, no))
        ]
        replace_by_node(rewriter, op, onnx.OrOp, parts)


class CastExport(OnnxExport):
    """`graph.cast` → `Cast`, for the element types that opset 21 has."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.CastOp, rewriter: PatternRewriter) -> None:
        """Set target type and saturation; decline types that opset 21 lacks."""
        element = element_of(op.result)
        if not is_in_opset(element) or not is_in_opset(element_of(op.input)):
            return
        narrows = dtype_of(element).name.startswith("float8")  # the only types that have the attribute
        saturate = 0 if narrows and not op.saturate.value.data else None
        to = ELEMENT_NUMBERS[element]
        replace_by_node(rewriter, op, onnx.CastOp, op.operands, to=to, saturate=saturate)


class BiasAddExport(OnnxExport):
    """`graph.bias_add` → `Add` of the bias with trailing dimensions of 1; not of blocked channels."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.BiasAddOp, rewriter: PatternRewriter) -> None:
        """Unsqueeze the bias after the channel axis, then add."""
        dims, rank = dims_of(op.b.type), len(dims_of(op.x.type))
        if len(dims) != 1:
            return
        bias, trailing = op.b, rank - 1 - op.axis.value.data
        if trailing:
            axes = insert_integers(rewriter, range(1, trailing + 1))
            type = tensor_type(tensor_of(bias).element_type, [*dims, *[1] * trailing])
            bias = insert_node(rewriter, onnx.UnsqueezeOp, [bias, axes], type)
        replace_by_node(rewriter, op, onnx.AddOp, [op.x, bias])
