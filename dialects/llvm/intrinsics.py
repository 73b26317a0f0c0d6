"""LLVM's intrinsics on values as ops, named as MLIR names them: `llvm.intr.<name>`."""

from __future__ import annotations

from abc import ABC
from typing import ClassVar

from xdsl.dialects.builtin import AnyFloatConstr, BoolAttr, SignlessIntegerConstraint, VectorType
from xdsl.dialects.llvm import FastMathAttr, LLVMStructType
from xdsl.irdl import (
    IRDLOperation,
    ParsePropInAttrDict,
    VarConstraint,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure

_FLOATS = AnyFloatConstr | VectorType.constr(AnyFloatConstr)
_INTEGERS = SignlessIntegerConstraint | VectorType.constr(SignlessIntegerConstraint)


class Intrinsic(IRDLOperation, ABC):
    """A call without effects, written as a function's."""

    traits = traits_def(Pure())
    assembly_format = "`(` operands `)` attr-dict `:` functional-type(operands, results)"


class UnaryFloatIntrinsic(Intrinsic, ABC):
    """`%r = llvm.intr.rint(%x) : (f32) -> f32`, and so on."""

    T: ClassVar = VarConstraint("T", _FLOATS)
    arg = operand_def(T)
    res = result_def(T)
    fastmathFlags = prop_def(FastMathAttr, default_value=FastMathAttr(None))
    irdl_options = (ParsePropInAttrDict(),)


class BinaryFloatIntrinsic(Intrinsic, ABC):
    """`%r = llvm.intr.maximum(%a, %b) : (f32, f32) -> f32`, and so on."""

    T: ClassVar = VarConstraint("T", _FLOATS)
    lhs = operand_def(T)
    rhs = operand_def(T)
    res = result_def(T)
    fastmathFlags = prop_def(FastMathAttr, default_value=FastMathAttr(None))
    irdl_options = (ParsePropInAttrDict(),)


class BinaryIntegerIntrinsic(Intrinsic, ABC):
    """`%r = llvm.intr.smax(%a, %b) : (i32, i32) -> i32`, and so on."""

    T: ClassVar = VarConstraint("T", _INTEGERS)
    lhs = operand_def(T)
    rhs = operand_def(T)
    res = result_def(T)


class CountIntrinsic(Intrinsic, ABC):
    """
    `%r = llvm.intr.ctlz(%x) {is_zero_poison = false} : (i32) -> i32`.

    The flag says whether zero, the one input without a sensible answer, gives poison.
    """

    FLAG: ClassVar = "is_zero_poison"
    T: ClassVar = VarConstraint("T", _INTEGERS)
    arg = operand_def(T)
    res = result_def(T)
    is_zero_poison = prop_def(BoolAttr, default_value=BoolAttr.from_bool(False))
    irdl_options = (ParsePropInAttrDict(),)


class SaturatingCastIntrinsic(Intrinsic, ABC):
    """`%r = llvm.intr.fptosi.sat(%x) : (f32) -> i8`: what does not fit becomes the nearest bound, NaN 0."""

    arg = operand_def(_FLOATS)
    res = result_def(_INTEGERS)


class IntegerReduceIntrinsic(Intrinsic, ABC):
    """`%r = llvm.intr.vector.reduce.add(%v) : (vector<16xi32>) -> i32`, and so on."""

    T: ClassVar = VarConstraint("T", SignlessIntegerConstraint)
    arg = operand_def(VectorType.constr(T))
    res = result_def(T)


class FloatReduceIntrinsic(Intrinsic, ABC):
    """`%r = llvm.intr.vector.reduce.fmaximum(%v) : (vector<16xf32>) -> f32`, and so on."""

    T: ClassVar = VarConstraint("T", AnyFloatConstr)
    arg = operand_def(VectorType.constr(T))
    res = result_def(T)
    fastmathFlags = prop_def(FastMathAttr, default_value=FastMathAttr(None))
    irdl_options = (ParsePropInAttrDict(),)


@irdl_op_definition
class RoundEvenOp(UnaryFloatIntrinsic):
    """To the nearest integer, halves to even."""

    name = "llvm.intr.roundeven"


@irdl_op_definition
class RoundOp(UnaryFloatIntrinsic):
    """To the nearest integer, halves away from zero."""

    name = "llvm.intr.round"


@irdl_op_definition
class RintOp(UnaryFloatIntrinsic):
    """To an integer in the current rounding mode, which is to nearest even."""

    name = "llvm.intr.rint"


@irdl_op_definition
class TruncFOp(UnaryFloatIntrinsic):
    """To the next integer towards zero."""

    name = "llvm.intr.trunc"


@irdl_op_definition
class MaximumOp(BinaryFloatIntrinsic):
    """The greater one, NaN if either is NaN; +0 is greater than -0."""

    name = "llvm.intr.maximum"


@irdl_op_definition
class MinimumOp(BinaryFloatIntrinsic):
    """The lesser one, NaN if either is NaN; -0 is less than +0."""

    name = "llvm.intr.minimum"


@irdl_op_definition
class FMulAddOp(Intrinsic):
    """a * b + c, fused where the target has an FMA, else rounded twice."""

    name = "llvm.intr.fmuladd"
    T: ClassVar = VarConstraint("T", _FLOATS)
    a = operand_def(T)
    b = operand_def(T)
    c = operand_def(T)
    res = result_def(T)
    fastmathFlags = prop_def(FastMathAttr, default_value=FastMathAttr(None))
    irdl_options = (ParsePropInAttrDict(),)


class OverflowIntrinsic(Intrinsic, ABC):
    """`%r = llvm.intr.sadd.with.overflow(%a, %b) : (i64, i64) -> !llvm.struct<(i64, i1)>`, and so on."""

    T: ClassVar = VarConstraint("T", SignlessIntegerConstraint)
    lhs = operand_def(T)
    rhs = operand_def(T)
    res = result_def(LLVMStructType)


@irdl_op_definition
class SAddWithOverflowOp(OverflowIntrinsic):
    """The sum of signed integers, and whether it did not fit."""

    name = "llvm.intr.sadd.with.overflow"


@irdl_op_definition
class SMulWithOverflowOp(OverflowIntrinsic):
    """The product of signed integers, and whether it did not fit."""

    name = "llvm.intr.smul.with.overflow"


@irdl_op_definition
class SMaxOp(BinaryIntegerIntrinsic):
    """The greater signed integer."""

    name = "llvm.intr.smax"


@irdl_op_definition
class SMinOp(BinaryIntegerIntrinsic):
    """The lesser signed integer."""

    name = "llvm.intr.smin"


@irdl_op_definition
class UMaxOp(BinaryIntegerIntrinsic):
    """The greater unsigned integer."""

    name = "llvm.intr.umax"


@irdl_op_definition
class UMinOp(BinaryIntegerIntrinsic):
    """The lesser unsigned integer."""

    name = "llvm.intr.umin"


@irdl_op_definition
class AbsOp(Intrinsic):
    """The absolute value of a signed integer; the flag says whether that of the lowest number is poison."""

    name = "llvm.intr.abs"
    FLAG: ClassVar = "is_int_min_poison"
    T: ClassVar = VarConstraint("T", _INTEGERS)
    arg = operand_def(T)
    res = result_def(T)
    is_int_min_poison = prop_def(BoolAttr, default_value=BoolAttr.from_bool(False))
    irdl_options = (ParsePropInAttrDict(),)


@irdl_op_definition
class CtlzOp(CountIntrinsic):
    """The number of leading zero bits."""

    name = "llvm.intr.ctlz"


@irdl_op_definition
class CttzOp(CountIntrinsic):
    """The number of trailing zero bits."""

    name = "llvm.intr.cttz"


@irdl_op_definition
class CtpopOp(Intrinsic):
    """The number of bits that are one."""

    name = "llvm.intr.ctpop"
    T: ClassVar = VarConstraint("T", _INTEGERS)
    arg = operand_def(T)
    res = result_def(T)


@irdl_op_definition
class FPToSISatOp(SaturatingCastIntrinsic):
    """A float to a signed integer, saturating."""

    name = "llvm.intr.fptosi.sat"


@irdl_op_definition
class FPToUISatOp(SaturatingCastIntrinsic):
    """A float to an unsigned integer, saturating."""

    name = "llvm.intr.fptoui.sat"


@irdl_op_definition
class VectorReduceAddOp(IntegerReduceIntrinsic):
    """The sum of all lanes."""

    name = "llvm.intr.vector.reduce.add"


@irdl_op_definition
class VectorReduceMulOp(IntegerReduceIntrinsic):
    """The product of all lanes."""

    name = "llvm.intr.vector.reduce.mul"


@irdl_op_definition
class VectorReduceAndOp(IntegerReduceIntrinsic):
    """The conjunction of all lanes."""

    name = "llvm.intr.vector.reduce.and"


@irdl_op_definition
class VectorReduceOrOp(IntegerReduceIntrinsic):
    """The disjunction of all lanes."""

    name = "llvm.intr.vector.reduce.or"


@irdl_op_definition
class VectorReduceXorOp(IntegerReduceIntrinsic):
    """The exclusive disjunction of all lanes."""

    name = "llvm.intr.vector.reduce.xor"


@irdl_op_definition
class VectorReduceSMaxOp(IntegerReduceIntrinsic):
    """The greatest lane, signed."""

    name = "llvm.intr.vector.reduce.smax"


@irdl_op_definition
class VectorReduceSMinOp(IntegerReduceIntrinsic):
    """The least lane, signed."""

    name = "llvm.intr.vector.reduce.smin"


@irdl_op_definition
class VectorReduceUMaxOp(IntegerReduceIntrinsic):
    """The greatest lane, unsigned."""

    name = "llvm.intr.vector.reduce.umax"


@irdl_op_definition
class VectorReduceUMinOp(IntegerReduceIntrinsic):
    """The least lane, unsigned."""

    name = "llvm.intr.vector.reduce.umin"


@irdl_op_definition
class VectorReduceFMaxOp(FloatReduceIntrinsic):
    """The greatest lane that is not NaN."""

    name = "llvm.intr.vector.reduce.fmax"


@irdl_op_definition
class VectorReduceFMinOp(FloatReduceIntrinsic):
    """The least lane that is not NaN."""

    name = "llvm.intr.vector.reduce.fmin"


@irdl_op_definition
class VectorReduceFMaximumOp(FloatReduceIntrinsic):
    """The greatest lane, NaN if any is NaN."""

    name = "llvm.intr.vector.reduce.fmaximum"


@irdl_op_definition
class VectorReduceFMinimumOp(FloatReduceIntrinsic):
    """The least lane, NaN if any is NaN."""

    name = "llvm.intr.vector.reduce.fminimum"
