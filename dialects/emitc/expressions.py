"""Ops of `emitc` that are expressions: operators, constants, casts, elements of arrays."""

from __future__ import annotations

from xdsl.dialects.builtin import FloatAttr, IndexType, IntegerAttr, IntegerType, StringAttr, TypedAttribute
from xdsl.dialects.emitc import (
    EmitC_ArrayType,
    EmitC_BinaryOperation,
    EmitC_LValueType,
    EmitC_PointerType,
    EmitCTypeConstr,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

PREDICATES = ("eq", "ne", "lt", "le", "gt", "ge")
"""The comparisons, which are numbered in this order."""


class BinaryOp(EmitC_BinaryOperation):
    """
    An operator on two values; operands and result have the same type.

    Constraints:
      (C1) operands and result have one type.
    """

    traits = traits_def(Pure())

    def __init__(self, lhs: SSAValue, rhs: SSAValue):
        super().__init__(lhs, rhs, lhs.type)

    def verify_(self) -> None:
        if not self.lhs.type == self.rhs.type == self.result.type:  # (C1)
            types = ", ".join(str(v.type) for v in (self.lhs, self.rhs, self.result))
            raise VerifyException(f"operands and result must have one type, found {types}")


@irdl_op_definition
class AddOp(BinaryOp):
    """
    A sum: `a + b`; of a pointer and an index, the address of an element.

    ```mlir
    %c = emitc.add %a, %b : (f32, f32) -> f32
    %p = emitc.add %array, %i : (!emitc.ptr<f32>, index) -> !emitc.ptr<f32>
    ```
    """

    name = "emitc.add"

    def verify_(self) -> None:
        if isinstance(self.lhs.type, EmitC_PointerType) and isinstance(self.rhs.type, IndexType):
            if self.result.type != self.lhs.type:
                raise VerifyException(f"expected an address of {self.lhs.type}, found {self.result.type}")
            return
        super().verify_()


@irdl_op_definition
class SubOp(BinaryOp):
    """
    A difference: `a - b`.

    ```mlir
    %c = emitc.sub %a, %b : (f32, f32) -> f32
    ```
    """

    name = "emitc.sub"


@irdl_op_definition
class MulOp(BinaryOp):
    """
    A product: `a * b`.

    ```mlir
    %c = emitc.mul %a, %b : (f32, f32) -> f32
    ```
    """

    name = "emitc.mul"


@irdl_op_definition
class DivOp(BinaryOp):
    """
    A quotient, of integers rounded to 0: `a / b`.

    ```mlir
    %c = emitc.div %a, %b : (index, index) -> index
    ```
    """

    name = "emitc.div"


@irdl_op_definition
class RemOp(BinaryOp):
    """
    The remainder of a division, with the sign of the dividend: `a % b`.

    ```mlir
    %c = emitc.rem %a, %b : (index, index) -> index
    ```
    """

    name = "emitc.rem"


@irdl_op_definition
class BitwiseAndOp(BinaryOp):
    """
    The bits that both operands have: `a & b`.

    ```mlir
    %c = emitc.bitwise_and %a, %b : (i32, i32) -> i32
    ```
    """

    name = "emitc.bitwise_and"


@irdl_op_definition
class BitwiseOrOp(BinaryOp):
    """
    The bits that one of the operands has: `a | b`.

    ```mlir
    %c = emitc.bitwise_or %a, %b : (i32, i32) -> i32
    ```
    """

    name = "emitc.bitwise_or"


@irdl_op_definition
class BitwiseXorOp(BinaryOp):
    """
    The bits in which operands differ: `a ^ b`.

    ```mlir
    %c = emitc.bitwise_xor %a, %b : (i32, i32) -> i32
    ```
    """

    name = "emitc.bitwise_xor"


@irdl_op_definition
class BitwiseLeftShiftOp(BinaryOp):
    """
    Bits moved up: `a << b`; C defines it for unsigned types.

    ```mlir
    %c = emitc.bitwise_left_shift %a, %b : (ui32, ui32) -> ui32
    ```
    """

    name = "emitc.bitwise_left_shift"


@irdl_op_definition
class BitwiseRightShiftOp(BinaryOp):
    """
    Bits moved down: `a >> b`; a negative number's sign fills up, as every compiler in use does it.

    ```mlir
    %c = emitc.bitwise_right_shift %a, %b : (i32, i32) -> i32
    ```
    """

    name = "emitc.bitwise_right_shift"


class UnaryOp(IRDLOperation):
    """An operator on one value, whose type the result has."""

    operand = operand_def(EmitCTypeConstr)
    result = result_def(EmitCTypeConstr)

    traits = traits_def(Pure())
    assembly_format = "operands attr-dict `:` functional-type(operands, results)"

    def __init__(self, operand: SSAValue):
        super().__init__(operands=[operand], result_types=[operand.type])


@irdl_op_definition
class UnaryMinusOp(UnaryOp):
    """
    The negative: `-a`.

    ```mlir
    %b = emitc.unary_minus %a : (f32) -> f32
    ```
    """

    name = "emitc.unary_minus"


@irdl_op_definition
class LogicalNotOp(UnaryOp):
    """
    True where the operand is false: `!a`.

    ```mlir
    %b = emitc.logical_not %a : (i1) -> i1
    ```
    """

    name = "emitc.logical_not"


@irdl_op_definition
class CmpOp(IRDLOperation):
    """
    A comparison: `a < b` and so on; `predicate` is `eq`, `ne`, `lt`, `le`, `gt` or `ge`, as a number.

    ```mlir
    %c = emitc.cmp 2 : i64, %a, %b : (f32, f32) -> i1
    ```
    Constraints:
      (C1) operands have one type.
      (C2) the predicate is one of the six.
    """

    name = "emitc.cmp"

    predicate = prop_def(IntegerAttr)
    lhs = operand_def(EmitCTypeConstr)
    rhs = operand_def(EmitCTypeConstr)
    result = result_def(IntegerType(1))

    traits = traits_def(Pure())
    assembly_format = "$predicate `,` operands attr-dict `:` functional-type(operands, results)"

    def __init__(self, predicate: str, lhs: SSAValue, rhs: SSAValue):
        number = IntegerAttr(PREDICATES.index(predicate), 64)
        super().__init__(operands=[lhs, rhs], result_types=[IntegerType(1)], properties={"predicate": number})

    def verify_(self) -> None:
        if self.lhs.type != self.rhs.type:  # (C1)
            raise VerifyException(f"operands must have one type, found {self.lhs.type} and {self.rhs.type}")
        if not 0 <= self.predicate.value.data < len(PREDICATES):  # (C2)
            raise VerifyException(
                f"predicate must be 0 to {len(PREDICATES) - 1}, found {self.predicate.value.data}"
            )


@irdl_op_definition
class CastOp(IRDLOperation):
    """
    A value in another type: `(float)a`.

    ```mlir
    %b = emitc.cast %a : i32 to f32
    ```
    """

    name = "emitc.cast"

    source = operand_def(EmitCTypeConstr)
    dest = result_def(EmitCTypeConstr)

    traits = traits_def(Pure())
    assembly_format = "$source attr-dict `:` type($source) `to` type($dest)"

    def __init__(self, source: SSAValue, type: Attribute):
        super().__init__(operands=[source], result_types=[type])


@irdl_op_definition
class ConditionalOp(IRDLOperation):
    """
    The choice between two values by a condition: `c ? a : b`.

    ```mlir
    %r = emitc.conditional %c, %a, %b : f32, f32, f32
    ```
    """

    name = "emitc.conditional"

    condition = operand_def(IntegerType(1))
    true_value = operand_def(EmitCTypeConstr)
    false_value = operand_def(EmitCTypeConstr)
    result = result_def(EmitCTypeConstr)

    traits = traits_def(Pure())
    assembly_format = (
        "$condition `,` $true_value `,` $false_value attr-dict `:` type($true_value) `,` "
        "type($false_value) `,` type($result)"
    )

    def __init__(self, condition: SSAValue, yes: SSAValue, no: SSAValue):
        super().__init__(operands=[condition, yes, no], result_types=[yes.type])

    def verify_(self) -> None:
        if not self.true_value.type == self.false_value.type == self.result.type:
            raise VerifyException("both values and the result must have one type")


@irdl_op_definition
class ConstantOp(IRDLOperation):
    """
    A number.

    ```mlir
    %c = emitc.constant 4 : index
    ```
    Constraints:
      (C1) the result has the type of the number.
    """

    name = "emitc.constant"

    value = prop_def(FloatAttr | IntegerAttr)
    result = result_def(EmitCTypeConstr)

    traits = traits_def(Pure())

    def __init__(self, value: Attribute):
        assert isinstance(value, TypedAttribute)
        super().__init__(properties={"value": value}, result_types=[value.get_type()])

    @classmethod
    def parse(cls, parser: Parser) -> ConstantOp:
        value = parser.parse_attribute()
        if not isinstance(value, FloatAttr | IntegerAttr):
            parser.raise_error(f"expected a number, found {value}")
        return cls(value)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_attribute(self.value)

    def verify_(self) -> None:
        if self.value.get_type() != self.result.type:  # (C1)
            raise VerifyException(f"a number of type {self.value.get_type()} is no {self.result.type}")


@irdl_op_definition
class LiteralOp(IRDLOperation):
    """
    Text that is an expression, such as the name of a macro.

    ```mlir
    %w = emitc.literal "tiny_w0" : !emitc.ptr<f32>
    ```
    """

    name = "emitc.literal"

    value = prop_def(StringAttr)
    result = result_def(EmitCTypeConstr)

    traits = traits_def(Pure())
    assembly_format = "$value attr-dict `:` type($result)"

    def __init__(self, value: str, type: Attribute):
        super().__init__(properties={"value": StringAttr(value)}, result_types=[type])


@irdl_op_definition
class SubscriptOp(IRDLOperation):
    """
    An element of an array, to be read or written: `a[i]`.

    ```mlir
    %e = emitc.subscript %a[%i] : (!emitc.ptr<f32>, index) -> !emitc.lvalue<f32>
    ```
    Constraints:
      (C1) an array of several dimensions has as many indices, a pointer one.
      (C2) the result is an lvalue of the element's type.
    """

    name = "emitc.subscript"

    value = operand_def(EmitC_ArrayType | EmitC_PointerType)
    indices = var_operand_def()
    result = result_def(EmitC_LValueType)

    traits = traits_def(Pure())
    assembly_format = "$value `[` $indices `]` attr-dict `:` functional-type(operands, results)"

    def __init__(self, value: SSAValue, *indices: SSAValue):
        super().__init__(
            operands=[value, list(indices)], result_types=[EmitC_LValueType(element_type(value.type))]
        )

    def verify_(self) -> None:
        type = self.value.type
        expected = type.get_num_dims() if isinstance(type, EmitC_ArrayType) else 1
        if len(self.indices) != expected or not all(isinstance(i.type, IndexType) for i in self.indices):
            raise VerifyException(f"{type} takes {expected} of type index")  # (C1)
        if self.result.type != EmitC_LValueType(element_type(type)):  # (C2)
            raise VerifyException(f"expected an lvalue of {element_type(type)}, found {self.result.type}")


@irdl_op_definition
class LoadOp(IRDLOperation):
    """
    The value that a variable or element has when the op runs.

    ```mlir
    %x = emitc.load %e : !emitc.lvalue<f32> to f32
    ```
    """

    name = "emitc.load"

    operand = operand_def(EmitC_LValueType)
    result = result_def(EmitCTypeConstr)

    assembly_format = "$operand attr-dict `:` type($operand) `to` type($result)"

    def __init__(self, operand: SSAValue):
        assert isinstance(operand.type, EmitC_LValueType)
        super().__init__(operands=[operand], result_types=[operand.type.value_type])

    def verify_(self) -> None:
        assert isinstance(self.operand.type, EmitC_LValueType)
        if self.operand.type.value_type != self.result.type:
            raise VerifyException(f"{self.operand.type} does not contain {self.result.type}")


def element_type(type: Attribute) -> Attribute:
    """The type of the elements of an array or pointer."""
    if isinstance(type, EmitC_PointerType):
        return type.pointee_type
    assert isinstance(type, EmitC_ArrayType)
    return type.element_type


EXPRESSIONS: list[type[Operation]] = [
    AddOp,
    SubOp,
    MulOp,
    DivOp,
    RemOp,
    BitwiseAndOp,
    BitwiseOrOp,
    BitwiseXorOp,
    BitwiseLeftShiftOp,
    BitwiseRightShiftOp,
    UnaryMinusOp,
    LogicalNotOp,
    CmpOp,
    CastOp,
    ConditionalOp,
    ConstantOp,
    LiteralOp,
    SubscriptOp,
    LoadOp,
]
"""The ops of this file; xDSL's `add` takes no index."""
