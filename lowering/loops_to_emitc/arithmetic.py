"""
`arith` → operators of C.

Integers are added and multiplied as unsigned ones, of at least 32 bits: their overflow is defined, and
narrower types would be computed as `int`. Indices, which are in range by construction, are `ptrdiff_t`.
"""

from __future__ import annotations

from typing import cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    BFloat16Type,
    Float16Type,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    Signedness,
    f32,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern

from stepwell.dialects import emitc
from stepwell.dialects.emitc import expressions
from stepwell.dialects.ir_builder import number_attr
from stepwell.lowering.loops_to_emitc.pattern import DIVISIONS, I1, I64, INDEX, Code, LoopsToEmitCPattern
from stepwell.runtime.errors import StepwellError

_WRAPPING: dict[type[Operation], type[emitc.BinaryOp]] = {
    arith.AddiOp: expressions.AddOp,
    arith.SubiOp: expressions.SubOp,
    arith.MuliOp: expressions.MulOp,
    arith.ShLIOp: expressions.BitwiseLeftShiftOp,
}
_BITS: dict[type[Operation], type[emitc.BinaryOp]] = {
    arith.AndIOp: expressions.BitwiseAndOp,
    arith.OrIOp: expressions.BitwiseOrOp,
    arith.XOrIOp: expressions.BitwiseXorOp,
    arith.DivSIOp: expressions.DivOp,
    arith.RemSIOp: expressions.RemOp,
    arith.ShRSIOp: expressions.BitwiseRightShiftOp,
}
_UNSIGNED: dict[type[Operation], type[emitc.BinaryOp]] = {
    arith.DivUIOp: expressions.DivOp,
    arith.RemUIOp: expressions.RemOp,
    arith.ShRUIOp: expressions.BitwiseRightShiftOp,
}
_EXTREMA: dict[type[Operation], tuple[str, bool]] = {
    arith.MinSIOp: ("lt", True),
    arith.MaxSIOp: ("gt", True),
    arith.MinUIOp: ("lt", False),
    arith.MaxUIOp: ("gt", False),
}
_FLOATS: dict[type[Operation], type[emitc.BinaryOp]] = {
    arith.AddfOp: expressions.AddOp,
    arith.SubfOp: expressions.SubOp,
    arith.MulfOp: expressions.MulOp,
    arith.DivfOp: expressions.DivOp,
}
_FLOAT_EXTREMA: dict[type[Operation], str] = {
    arith.MaximumfOp: "maximum",
    arith.MinimumfOp: "minimum",
    arith.MaxnumfOp: "maxnum",
    arith.MinnumfOp: "minnum",
}
_INTEGER_PREDICATES = ("eq", "ne", "lt", "le", "gt", "ge", "lt", "le", "gt", "ge")
_FIRST_UNSIGNED = 6
# Of each ordered comparison; `not` is the opposite of another one, true where an operand is NaN.
_FLOAT_PREDICATES: dict[str, tuple[str, bool]] = {
    **{f"o{name}": (name, False) for name in ("eq", "gt", "ge", "lt", "le")},
    "une": ("ne", False),
    "ugt": ("le", True),
    "uge": ("lt", True),
    "ult": ("ge", True),
    "ule": ("gt", True),
}


def find(op: Operation, table: dict[type[Operation], object]) -> object:
    """The entry of a table for an op, by its class or a base class."""
    return next(table[base] for base in type(op).__mro__ if base in table)


def short_name(type: Attribute) -> str:
    """The name of a type in names of helpers: `f32`, `i8`, `u8`, `index`."""
    if isinstance(type, IntegerType):
        integer = cast(IntegerType, type)
        letter = "u" if integer.signedness.data is Signedness.UNSIGNED else "i"
        return f"{letter}{integer.width.data}"
    return str(type)


def unsigned(type: Attribute, least_bits: int = 8) -> IntegerType:
    """The unsigned type of an integer's width, or of at least some bits."""
    width = 64 if isinstance(type, IndexType) else cast(IntegerType, type).width.data
    return IntegerType(max(width, least_bits), Signedness.UNSIGNED)


def is_small_float(type: Attribute) -> bool:
    """Whether C has no such type, and values are computed in f32."""
    return isinstance(type, Float16Type | BFloat16Type)


def widened(code: Code, value: SSAValue) -> SSAValue:
    """A number of 16 bits as f32; others as they are."""
    if not is_small_float(value.type):
        return value
    return code.call(f"f32_of_{short_name(value.type)}", [value], f32)


def narrowed(code: Code, value: SSAValue, type: Attribute) -> SSAValue:
    """An f32 rounded to a type of 16 bits; others as they are."""
    if not is_small_float(type):
        return value
    wide = code.cast(value, f32)
    return code.call(f"{short_name(type)}_of_f32", [wide], type)


def float_call(op: Operation, function: str, rewriter: PatternRewriter) -> None:
    """Replace an op on floats by a call of a helper, such as `f32_floor`."""
    code = Code.before(op)
    operands = [widened(code, value) for value in op.operands]
    result = code.call(f"{short_name(operands[0].type)}_{function}", operands, operands[0].type)
    rewriter.replace(op, code.ops, [narrowed(code, result, op.operands[0].type)])


class IntegerOpLowering(LoopsToEmitCPattern):
    """
    ```mlir
    %r = arith.addi %a, %b : i32
    // ->
    %ua = emitc.cast %a : i32 to ui32
    %ub = emitc.cast %b : i32 to ui32
    %sum = emitc.add %ua, %ub : (ui32, ui32) -> ui32
    %r = emitc.cast %sum : ui32 to i32
    ```
    """

    takes = (*_WRAPPING, *_BITS, *_UNSIGNED)

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        """Compute on unsigned types where the op may overflow or is of such, and cast back."""
        code, (lhs, rhs), type = Code.before(op), op.operands, op.operands[0].type
        table = next(t for t in (_WRAPPING, _BITS, _UNSIGNED) if any(b in t for b in op.__class__.__mro__))
        new = cast("type[emitc.BinaryOp]", find(op, dict(table)))
        is_shift = new is expressions.BitwiseLeftShiftOp
        if type == INDEX and not is_shift:
            rewriter.replace(op, new(lhs, rhs))
            return
        if table is not _BITS:
            lhs, rhs = (self._unsigned(code, v, least=table is _WRAPPING) for v in (lhs, rhs))
        rewriter.replace(op, code.ops, [code.cast(code.value(new(lhs, rhs)), type)])

    def _unsigned(self, code: Code, value: SSAValue, *, least: bool) -> SSAValue:
        """A value as unsigned, of its width first, then of at least 32 bits."""
        exact = value if value.type == I1 else code.cast(value, unsigned(value.type))
        return code.cast(exact, unsigned(value.type, 32)) if least or value.type == I1 else exact


class IntegerExtremumLowering(LoopsToEmitCPattern):
    """
    ```mlir
    %r = arith.minsi %a, %b : index
    // ->
    %c = emitc.cmp 2 : i64, %a, %b : (index, index) -> i1
    %r = emitc.conditional %c, %a, %b : index, index, index
    ```
    """

    takes = tuple(_EXTREMA)

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        """Choose by a comparison."""
        predicate, is_signed = cast("tuple[str, bool]", find(op, dict(_EXTREMA)))
        code, (lhs, rhs) = Code.before(op), op.operands
        pair = [lhs, rhs] if is_signed else [code.cast(v, unsigned(v.type)) for v in (lhs, rhs)]
        condition = code.value(emitc.CmpOp(predicate, *pair))
        rewriter.replace(op, code.ops, [code.value(emitc.ConditionalOp(condition, lhs, rhs))])


class FloatOpLowering(LoopsToEmitCPattern):
    """
    ```mlir
    %r = arith.mulf %a, %b : f32
    // ->
    %r = emitc.mul %a, %b : (f32, f32) -> f32
    ```
    """

    takes = tuple(_FLOATS)

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        """Replace an op by the operator of `_FLOATS`; numbers of 16 bits are computed in f32."""
        code, type = Code.before(op), op.operands[0].type
        lhs, rhs = (widened(code, value) for value in op.operands)
        new = cast("type[emitc.BinaryOp]", find(op, dict(_FLOATS)))
        rewriter.replace(op, code.ops, [narrowed(code, code.value(new(lhs, rhs)), type)])


class NegLowering(LoopsToEmitCPattern):
    """
    ```mlir
    %r = arith.negf %a : f32
    // ->
    %r = emitc.unary_minus %a : (f32) -> f32
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: arith.NegfOp, rewriter: PatternRewriter) -> None:
        """Negate."""
        code, type = Code.before(op), op.operands[0].type
        result = code.value(expressions.UnaryMinusOp(widened(code, op.operands[0])))
        rewriter.replace(op, code.ops, [narrowed(code, result, type)])


class FloatExtremumLowering(LoopsToEmitCPattern):
    """
    ```mlir
    %r = arith.maximumf %a, %b : f32
    // ->
    %r = emitc.call_opaque "f32_maximum"(%a, %b) : (f32, f32) -> f32
    ```
    """

    takes = tuple(_FLOAT_EXTREMA)

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        """Call the helper of `_FLOAT_EXTREMA`."""
        float_call(op, cast(str, find(op, dict(_FLOAT_EXTREMA))), rewriter)


class RoundingDivisionLowering(LoopsToEmitCPattern):
    """
    ```mlir
    %r = arith.floordivsi %a, %b : index
    // ->
    %r = emitc.call_opaque "floor_division"(%a, %b) : (index, index) -> index
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(
        self, op: arith.FloorDivSIOp | arith.CeilDivSIOp | arith.CeilDivUIOp, rewriter: PatternRewriter
    ) -> None:
        """Call the helper for indices and i64."""
        type = op.operands[0].type
        if type not in (INDEX, I64):
            raise StepwellError("unsupported", op, f"{op.name} of {type}: only index and i64 are divided so")
        code = Code.before(op)
        name = cast(str, find(op, dict(DIVISIONS)))
        operands = [code.cast(value, I64) for value in op.operands]
        rewriter.replace(op, code.ops, [code.cast(code.call(name, operands, I64), type)])


class ConstantLowering(LoopsToEmitCPattern):
    """
    ```mlir
    %c = arith.constant 4 : index
    // ->
    %c = emitc.constant 4 : index
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: arith.ConstantOp, rewriter: PatternRewriter) -> None:
        """Replace a number by one of C."""
        if not isinstance(op.value, IntegerAttr | FloatAttr):
            help = "run scalarize-vectors first"
            raise StepwellError("unsupported", op, f"constant {op.value} is no number of C", help=help)
        rewriter.replace(op, emitc.ConstantOp(op.value))


class CompareLowering(LoopsToEmitCPattern):
    """
    ```mlir
    %c = arith.cmpf ult, %a, %b : f32
    // ->
    %d = emitc.cmp 5 : i64, %a, %b : (f32, f32) -> i1
    %c = emitc.logical_not %d : (i1) -> i1
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: arith.CmpiOp | arith.CmpfOp, rewriter: PatternRewriter) -> None:
        """Compare as C does, with NaN never equal, less or greater."""
        code, number = Code.before(op), op.predicate.value.data
        if isinstance(op, arith.CmpfOp):
            lhs, rhs = (widened(code, value) for value in op.operands)
            name = arith.CMPF_COMPARISON_OPERATIONS[number]
            rewriter.replace(op, code.ops, [_compare(code, name, lhs, rhs)])
            return
        lhs, rhs = op.operands
        if number >= _FIRST_UNSIGNED:
            lhs, rhs = (code.cast(value, unsigned(value.type)) for value in (lhs, rhs))
        rewriter.replace(op, code.ops, [code.value(emitc.CmpOp(_INTEGER_PREDICATES[number], lhs, rhs))])


def _compare(code: Code, name: str, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
    """A comparison of floats by its name in `arith`."""

    def cmp(predicate: str, a: SSAValue, b: SSAValue) -> SSAValue:
        return code.value(emitc.CmpOp(predicate, a, b))

    def negated(value: SSAValue) -> SSAValue:
        return code.value(expressions.LogicalNotOp(value))

    if name in _FLOAT_PREDICATES:
        predicate, is_opposite = _FLOAT_PREDICATES[name]
        result = cmp(predicate, lhs, rhs)
        return negated(result) if is_opposite else result
    match name:
        case "one" | "ueq":
            either = code.value(expressions.BitwiseOrOp(cmp("lt", lhs, rhs), cmp("gt", lhs, rhs)))
            return either if name == "one" else negated(either)
        case "ord" | "uno":
            both = code.value(expressions.BitwiseAndOp(cmp("eq", lhs, lhs), cmp("eq", rhs, rhs)))
            return both if name == "ord" else negated(both)
        case _:
            return code.value(emitc.ConstantOp(number_attr(int(name == "true"), I1)))


class SelectLowering(LoopsToEmitCPattern):
    """
    ```mlir
    %r = arith.select %c, %a, %b : f32
    // ->
    %r = emitc.conditional %c, %a, %b : f32, f32, f32
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: arith.SelectOp, rewriter: PatternRewriter) -> None:
        """Choose by `?:`."""
        rewriter.replace(op, emitc.ConditionalOp(*op.operands))
