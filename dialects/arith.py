"""
The `arith` dialect: xDSL's, whose comparisons, selection and casts take vectors here, as MLIR's do; and
`arith.dot_bytes`, `arith.dot_shorts` and `arith.scale`, which MLIR has for single machines only.

Each op is a subclass of xDSL's with wider constraints, so `isinstance` and patterns for xDSL's class hold.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import ClassVar, TypeVar, cast

from xdsl.dialects import arith as upstream
from xdsl.dialects.builtin import AnyFloatConstr, IndexType, IntegerType, VectorType, f32, i1, i32
from xdsl.ir import Attribute, Dialect, Operation, SSAValue
from xdsl.irdl import (
    AnyAttr,
    AttrConstraint,
    IRDLOperation,
    OpDef,
    OperandDef,
    ResultDef,
    VarConstraint,
    base,
    eq,
    irdl_op_definition,
    operand_def,
    result_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

_INT = base(IntegerType) | VectorType.constr(base(IntegerType))
_FLOAT = AnyFloatConstr | VectorType.constr(AnyFloatConstr)
_INT_OR_INDEX = _INT | base(IndexType) | VectorType.constr(base(IndexType))


@lru_cache(maxsize=1024)
def like(shape: Attribute, element: Attribute) -> Attribute:
    """`element`, or a vector of it when `shape` is a vector: `vector<4xf32>` and `i1` give `vector<4xi1>`."""
    return VectorType(element, shape.shape) if isinstance(shape, VectorType) else element


def _shape(type: Attribute) -> tuple[int, ...] | None:
    return type.get_shape() if isinstance(type, VectorType) else None


class _Elementwise(IRDLOperation):
    """An op of xDSL's with constraints of ours; all its types have one shape."""

    _definition: ClassVar[OpDef]

    def __init_subclass__(cls, *, operand: AttrConstraint, result: AttrConstraint) -> None:
        scalar = super().get_irdl_definition()
        cls._definition = replace(
            scalar,
            operands=[(name, OperandDef(operand)) for name, _ in scalar.operands],
            results=[(name, ResultDef(result)) for name, _ in scalar.results],
        )

    @classmethod
    def get_irdl_definition(cls) -> OpDef:
        return cls._definition

    def verify_(self) -> None:
        self._definition.verify(self)
        types = (*self.operand_types, *self.result_types)
        if len({_shape(type) for type in types}) > 1:
            raise VerifyException(f"{self.name} needs types of one shape, found {', '.join(map(str, types))}")


ComparisonT = TypeVar("ComparisonT", upstream.CmpiOp, upstream.CmpfOp)


def _with_condition_of_shape(op_type: type[ComparisonT], parsed: ComparisonT) -> ComparisonT:
    """A comparison whose result has the shape of its operands; xDSL's parser makes a scalar."""
    op = op_type.create(
        operands=parsed.operands, result_types=[like(parsed.lhs.type, i1)], properties=parsed.properties
    )
    parsed.erase()  # else it would stay a user of the operands
    return op


class CmpiOp(_Elementwise, upstream.CmpiOp, operand=_INT_OR_INDEX, result=_INT):
    """Compare integers, or vectors of them lane by lane: `arith.cmpi slt, %a, %b : vector<4xi32>`."""

    @classmethod
    def parse(cls, parser: Parser) -> CmpiOp:
        return _with_condition_of_shape(cls, super().parse(parser))


class CmpfOp(_Elementwise, upstream.CmpfOp, operand=_FLOAT, result=_INT):
    """Compare floats, or vectors of them lane by lane: `arith.cmpf olt, %a, %b : vector<4xf32>`."""

    @classmethod
    def parse(cls, parser: Parser) -> CmpfOp:
        return _with_condition_of_shape(cls, super().parse(parser))


class SelectOp(_Elementwise, upstream.SelectOp, operand=AnyAttr(), result=AnyAttr()):
    """Choose by one condition, or lane by lane: `arith.select %c, %a, %b : vector<4xi1>, vector<4xf32>`."""

    def verify_(self) -> None:
        cond, lhs, rhs = self.operand_types
        if not lhs == rhs == self.result.type or cond not in (i1, like(lhs, i1)):
            raise VerifyException(
                f"arith.select needs a condition i1 or {like(lhs, i1)} and operands of its result's type, "
                f"found {', '.join(map(str, self.operand_types))}"
            )

    @classmethod
    def parse(cls, parser: Parser) -> SelectOp:
        names = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_unresolved_operand)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
        cond = types[0] if len(types) == 2 else i1
        operands = parser.resolve_operands(names, [cond, types[-1], types[-1]], parser.pos)
        return cls.create(operands=operands, result_types=[types[-1]], attributes=attributes)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_list(self.operands, printer.print_ssa_value)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        if self.cond.type != i1:
            printer.print_attribute(self.cond.type)
            printer.print_string(", ")
        printer.print_attribute(self.result.type)


class FPToSIOp(_Elementwise, upstream.FPToSIOp, operand=_FLOAT, result=_INT):
    """
    Float to signed integer: `arith.fptosi %a : vector<4xf32> to vector<4xi32>`.

    Towards zero; the nearest bound where a number does not fit, 0 for NaN. Upstream leaves these open.
    """


class FPToUIOp(_Elementwise, upstream.FPToUIOp, operand=_FLOAT, result=_INT):
    """Float to unsigned integer: `arith.fptoui %a : vector<4xf32> to vector<4xi32>`."""


class SIToFPOp(_Elementwise, upstream.SIToFPOp, operand=_INT, result=_FLOAT):
    """Signed integer to float: `arith.sitofp %a : vector<4xi32> to vector<4xf32>`."""


class UIToFPOp(_Elementwise, upstream.UIToFPOp, operand=_INT, result=_FLOAT):
    """Unsigned integer to float: `arith.uitofp %a : vector<4xi32> to vector<4xf32>`."""


class ExtSIOp(_Elementwise, upstream.ExtSIOp, operand=_INT, result=_INT):
    """Widen signed integers: `arith.extsi %a : vector<4xi8> to vector<4xi32>`."""


class ExtUIOp(_Elementwise, upstream.ExtUIOp, operand=_INT, result=_INT):
    """Widen unsigned integers: `arith.extui %a : vector<4xi8> to vector<4xi32>`."""


class TruncIOp(_Elementwise, upstream.TruncIOp, operand=_INT, result=_INT):
    """Narrow integers: `arith.trunci %a : vector<4xi32> to vector<4xi8>`."""


class IndexCastOp(_Elementwise, upstream.IndexCastOp, operand=_INT_OR_INDEX, result=_INT_OR_INDEX):
    """Between indices and integers: `arith.index_cast %a : vector<4xindex> to vector<4xi64>`."""


@irdl_op_definition
class DotBytesOp(IRDLOperation):
    """
    Add to a sum four products of bytes: unsigned ones of `lhs`, signed ones of `rhs`, first byte lowest.

    ```mlir
    %r = arith.dot_bytes %a, %b, %acc : vector<16xi32>
    ```
    Exact, modulo 2^32: products are not saturated on the way. One instruction with VNNI.
    """

    name = "arith.dot_bytes"

    T: ClassVar = VarConstraint("T", eq(i32) | VectorType.constr(eq(i32)))

    lhs = operand_def(T)
    rhs = operand_def(T)
    acc = operand_def(T)
    result = result_def(T)

    traits = traits_def(Pure())
    assembly_format = "$lhs `,` $rhs `,` $acc attr-dict `:` type($result)"

    def __init__(self, lhs: SSAValue, rhs: SSAValue, acc: SSAValue):
        super().__init__(operands=[lhs, rhs, acc], result_types=[acc.type])


@irdl_op_definition
class DotShortsOp(IRDLOperation):
    """
    Add to a sum two products of signed 16-bit halves, the lower ones and the upper ones, modulo 2^32.

    ```mlir
    %r = arith.dot_shorts %a, %b, %acc : vector<8xi32>
    ```
    """

    name = "arith.dot_shorts"

    T: ClassVar = VarConstraint("T", eq(i32) | VectorType.constr(eq(i32)))

    lhs = operand_def(T)
    rhs = operand_def(T)
    acc = operand_def(T)
    result = result_def(T)

    traits = traits_def(Pure())
    assembly_format = "$lhs `,` $rhs `,` $acc attr-dict `:` type($result)"

    def __init__(self, lhs: SSAValue, rhs: SSAValue, acc: SSAValue):
        super().__init__(operands=[lhs, rhs, acc], result_types=[acc.type])


@irdl_op_definition
class DotPairsOp(IRDLOperation):
    """
    Add to each 16-bit half of a sum two products of bytes: unsigned ones of `lhs`, signed ones of `rhs`.

    ```mlir
    %r = arith.dot_pairs %a, %b, %acc : vector<8xi32>
    ```
    The lower two bytes of a lane go to its lower half. Sums are modulo 2^16; two products alone must fit 16
    bits, as they do for unsigned bytes up to 127: the instruction of x86 saturates there.
    """

    name = "arith.dot_pairs"

    T: ClassVar = VarConstraint("T", VectorType.constr(eq(i32)))

    lhs = operand_def(T)
    rhs = operand_def(T)
    acc = operand_def(T)
    result = result_def(T)

    traits = traits_def(Pure())
    assembly_format = "$lhs `,` $rhs `,` $acc attr-dict `:` type($result)"

    def __init__(self, lhs: SSAValue, rhs: SSAValue, acc: SSAValue):
        super().__init__(operands=[lhs, rhs, acc], result_types=[acc.type])


@irdl_op_definition
class DotBfloatsOp(IRDLOperation):
    """
    Add to a sum two products of bf16: of the upper halves, then of the lower ones, rounding after each.

    ```mlir
    %r = arith.dot_bfloats %a, %b, %acc : vector<16xi32>, vector<16xf32>
    ```
    Products are exact. Denormal numbers may count as zeros, operands and sums: the instruction of x86 has no
    other way.
    """

    name = "arith.dot_bfloats"

    T: ClassVar = VarConstraint("T", eq(i32) | VectorType.constr(eq(i32)))
    F: ClassVar = VarConstraint("F", eq(f32) | VectorType.constr(eq(f32)))

    lhs = operand_def(T)
    rhs = operand_def(T)
    acc = operand_def(F)
    result = result_def(F)

    traits = traits_def(Pure())
    assembly_format = "$lhs `,` $rhs `,` $acc attr-dict `:` type($lhs) `,` type($result)"

    def __init__(self, lhs: SSAValue, rhs: SSAValue, acc: SSAValue):
        super().__init__(operands=[lhs, rhs, acc], result_types=[acc.type])


@irdl_op_definition
class PackBfloatsOp(IRDLOperation):
    """
    Round the lanes of a vector to bf16, to nearest even, and pack neighbours in 32 bits, the first one lower.

    ```mlir
    %r = arith.pack_bfloats %x : vector<16xf32> -> vector<8xi32>
    ```
    Denormal numbers may count as zeros, as in `arith.dot_bfloats`.
    Constraints:
      (C1) the result has half as many lanes.
    """

    name = "arith.pack_bfloats"

    value = operand_def(VectorType.constr(eq(f32)))
    result = result_def(VectorType.constr(eq(i32)))

    traits = traits_def(Pure())
    assembly_format = "$value attr-dict `:` type($value) `->` type($result)"

    def __init__(self, value: SSAValue):
        type = cast("VectorType[Attribute]", value.type)
        *outer, lanes = type.get_shape()
        super().__init__(operands=[value], result_types=[VectorType(i32, [*outer, lanes // 2])])

    def verify_(self) -> None:
        *outer, lanes = cast("VectorType[Attribute]", self.value.type).get_shape()
        shape = cast("VectorType[Attribute]", self.result.type).get_shape()
        if lanes % 2 or shape != (*outer, lanes // 2):  # (C1)
            raise VerifyException(
                f"expected a lane for each pair of lanes of {self.value.type}, found {self.result.type}"
            )


@irdl_op_definition
class PairBfloatsOp(IRDLOperation):
    """
    Round two numbers to bf16, to nearest even, and pack them in 32 bits, the first one lower.

    ```mlir
    %r = arith.pair_bfloats %low, %high : vector<16xf32> -> vector<16xi32>
    ```
    Denormal numbers may count as zeros, as in `arith.dot_bfloats`.
    """

    name = "arith.pair_bfloats"

    F: ClassVar = VarConstraint("F", eq(f32) | VectorType.constr(eq(f32)))

    low = operand_def(F)
    high = operand_def(F)
    result = result_def(eq(i32) | VectorType.constr(eq(i32)))

    traits = traits_def(Pure())
    assembly_format = "$low `,` $high attr-dict `:` type($low) `->` type($result)"

    def __init__(self, low: SSAValue, high: SSAValue):
        super().__init__(operands=[low, high], result_types=[like(low.type, i32)])

    def verify_(self) -> None:
        if self.result.type != like(self.low.type, i32):
            raise VerifyException(f"pairs of {self.low.type} are {like(self.low.type, i32)}")


@irdl_op_definition
class ScaleOp(IRDLOperation):
    """
    Multiply by 2 to the power of an integer that is given as a float; results round once, denormal ones too.
    An exponent that is NaN makes NaN.

    ```mlir
    %r = arith.scale %x, %n : vector<16xf32>
    ```
    """

    name = "arith.scale"

    T: ClassVar = VarConstraint("T", eq(f32) | VectorType.constr(eq(f32)))

    value = operand_def(T)
    exponent = operand_def(T)
    result = result_def(T)

    traits = traits_def(Pure())
    assembly_format = "$value `,` $exponent attr-dict `:` type($result)"

    def __init__(self, value: SSAValue, exponent: SSAValue):
        super().__init__(operands=[value, exponent], result_types=[value.type])


_WIDE: dict[type[Operation], type[Operation]] = {
    op.__mro__[2]: op
    for op in (
        CmpiOp, CmpfOp, SelectOp, FPToSIOp, FPToUIOp, SIToFPOp, UIToFPOp, ExtSIOp, ExtUIOp, TruncIOp,
        IndexCastOp,
    )
}  # fmt: skip


def vector_form(op_type: type[Operation]) -> type[Operation]:
    """The class for vectors of an elementwise op: ours where xDSL's takes scalars only."""
    return _WIDE.get(op_type, op_type)


Arith = Dialect(
    "arith",
    [
        *(vector_form(op) for op in upstream.Arith.operations),
        DotBytesOp,
        DotShortsOp,
        DotPairsOp,
        DotBfloatsOp,
        PackBfloatsOp,
        PairBfloatsOp,
        ScaleOp,
    ],
    list(upstream.Arith.attributes),
)
