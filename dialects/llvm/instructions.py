"""Instructions of LLVM that xDSL's dialect lacks, or has for scalars only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import (
    I1,
    AnyFloatConstr,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    IntegerAttr,
    IntegerType,
    StringAttr,
    VectorType,
    i1,
    i32,
)
from xdsl.dialects.llvm import FastMathAttr, FCmpPredicateFlag, GenericCastOp, LLVMPointerType
from xdsl.ir import Attribute, Block, SSAValue
from xdsl.irdl import (
    AnyAttr,
    AttrSizedOperandSegments,
    IRDLOperation,
    ParsePropInAttrDict,
    VarConstraint,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    successor_def,
    traits_def,
    var_operand_def,
    var_successor_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsTerminator, NoMemoryEffect, Pure
from xdsl.utils.exceptions import VerifyException

ATOMIC_KINDS = ("xchg", "add", "sub", "and", "or", "xor", "max", "min", "umax", "umin", "fadd")
ATOMIC_ORDERINGS = ("monotonic", "acquire", "release", "acq_rel", "seq_cst")
FCMP_PREDICATES = tuple(flag.value for flag in FCmpPredicateFlag)


@irdl_op_definition
class ExtractElementOp(IRDLOperation):
    """
    An element of a vector.

    ```mlir
    %e = llvm.extractelement %v[%i : i64] : vector<16xf32>
    ```
    """

    name = "llvm.extractelement"
    T: ClassVar = VarConstraint("T", AnyAttr())

    vector = operand_def(VectorType.constr(T))
    index = operand_def(IntegerType)
    res = result_def(T)
    traits = traits_def(Pure())
    assembly_format = "$vector `[` $index `:` type($index) `]` attr-dict `:` type($vector)"


@irdl_op_definition
class FPToSIOp(GenericCastOp):
    """
    A float to a signed integer, towards zero; poison when the value does not fit.

    ```mlir
    %i = llvm.fptosi %x : f32 to i32
    ```
    """

    name = "llvm.fptosi"


@irdl_op_definition
class FPToUIOp(GenericCastOp):
    """
    A float to an unsigned integer, towards zero; poison when the value does not fit.

    ```mlir
    %i = llvm.fptoui %x : f32 to i32
    ```
    """

    name = "llvm.fptoui"


@irdl_op_definition
class UIToFPOp(GenericCastOp):
    """
    An unsigned integer to a float, rounded to nearest even.

    ```mlir
    %x = llvm.uitofp %i : i32 to f32
    ```
    """

    name = "llvm.uitofp"


@irdl_op_definition
class AddrSpaceCastOp(GenericCastOp):
    """
    A pointer of an address space as a pointer of another one, mostly the generic one of a device.

    ```mlir
    %g = llvm.addrspacecast %p : !llvm.ptr<3> to !llvm.ptr
    ```
    """

    name = "llvm.addrspacecast"


@irdl_op_definition
class SelectOp(IRDLOperation):
    """
    The choice between two values; on vectors lane by lane when the condition is a vector.

    ```mlir
    %r = llvm.select %c, %a, %b : vector<16xi1>, vector<16xf32>
    ```
    """

    name = "llvm.select"
    T: ClassVar = VarConstraint("T", AnyAttr())

    cond = operand_def(I1 | VectorType[I1])
    lhs = operand_def(T)
    rhs = operand_def(T)
    res = result_def(T)
    fastmathFlags = prop_def(FastMathAttr, default_value=FastMathAttr(None))
    traits = traits_def(Pure())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$cond `,` $lhs `,` $rhs attr-dict `:` type($cond) `,` type($res)"


@irdl_op_definition
class FCmpOp(IRDLOperation):
    """
    Compare floats, ordered (`olt`: false on NaN) or unordered (`ult`: true on NaN).

    ```mlir
    %c = llvm.fcmp "olt" %a, %b : vector<16xf32>
    ```
    """

    name = "llvm.fcmp"
    T: ClassVar = VarConstraint("T", AnyFloatConstr | VectorType.constr(AnyFloatConstr))

    lhs = operand_def(T)
    rhs = operand_def(T)
    res = result_def(I1 | VectorType[I1])
    predicate = prop_def(IntegerAttr)
    fastmathFlags = prop_def(FastMathAttr, default_value=FastMathAttr(None))
    traits = traits_def(Pure())

    @classmethod
    def parse(cls, parser: Parser) -> FCmpOp:
        place = parser.pos
        predicate = parser.parse_str_literal()
        if predicate not in FCMP_PREDICATES:
            parser.raise_error(f"expected one of {', '.join(FCMP_PREDICATES)}", place)
        lhs = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        rhs = parser.parse_unresolved_operand()
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        type = parser.parse_type()
        properties: dict[str, Attribute] = {
            "predicate": IntegerAttr(FCMP_PREDICATES.index(predicate), 64),
            "fastmathFlags": attributes.pop("fastmathFlags", FastMathAttr(None)),
        }
        return cls.create(
            operands=parser.resolve_operands([lhs, rhs], [type, type], parser.pos),
            result_types=[VectorType(i1, type.get_shape()) if isinstance(type, VectorType) else i1],
            properties=properties,
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(f' "{FCMP_PREDICATES[self.predicate.value.data]}" ')
        printer.print_list(self.operands, printer.print_ssa_value)
        attributes = dict(self.attributes)
        if self.fastmathFlags != FastMathAttr(None):
            attributes["fastmathFlags"] = self.fastmathFlags
        printer.print_op_attributes(attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.lhs.type)

    def verify_(self) -> None:
        type = self.lhs.type
        expected = VectorType(i1, type.get_shape()) if isinstance(type, VectorType) else i1
        if self.res.type != expected:
            raise VerifyException(f"result must be {expected}, found {self.res.type}")


@irdl_op_definition
class FreezeOp(IRDLOperation):
    """
    The value itself; an arbitrary but fixed value for poison.

    ```mlir
    %y = llvm.freeze %x : i32
    ```
    """

    name = "llvm.freeze"
    T: ClassVar = VarConstraint("T", AnyAttr())

    val = operand_def(T)
    res = result_def(T)
    traits = traits_def(Pure())
    assembly_format = "$val attr-dict `:` type($val)"


@irdl_op_definition
class PoisonOp(IRDLOperation):
    """
    A value that nothing may depend on.

    ```mlir
    %p = llvm.mlir.poison : vector<16xf32>
    ```
    """

    name = "llvm.mlir.poison"
    res = result_def()
    traits = traits_def(Pure())
    assembly_format = "attr-dict `:` type($res)"


@irdl_op_definition
class ZeroOp(IRDLOperation):
    """
    All bits zero: a null pointer, or the zero of any other type.

    ```mlir
    %z = llvm.mlir.zero : vector<16xf32>
    ```
    """

    name = "llvm.mlir.zero"
    res = result_def()
    traits = traits_def(NoMemoryEffect())
    assembly_format = "attr-dict `:` type($res)"


@irdl_op_definition
class SwitchOp(IRDLOperation):
    """
    Branch by the value of an integer.

    The operands of the default successor come first, then those of each case: `case_segments` says how many.

    ```mlir
    llvm.func @f(%i: i32, %x: f32) {
      "llvm.switch"(%i, %x)[^default, ^one] <{
          case_values = dense<[1]> : vector<1xi32>, case_segments = array<i32: 0>,
          operandSegmentSizes = array<i32: 1, 1, 0>}> : (i32, f32) -> ()
    ^default(%y: f32):
      llvm.return
    ^one:
      llvm.return
    }
    ```
    """

    name = "llvm.switch"

    value = operand_def(IntegerType)
    default_arguments = var_operand_def()
    case_arguments = var_operand_def()
    case_values = prop_def(DenseIntOrFPElementsAttr)
    case_segments = prop_def(DenseArrayBase.constr(i32))
    default_block = successor_def()
    case_blocks = var_successor_def()
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(IsTerminator())

    def __init__(
        self,
        value: SSAValue,
        default: tuple[Block, Sequence[SSAValue]],
        cases: Sequence[tuple[int, Block, Sequence[SSAValue]]],
    ):
        """Args: `default` and each of `cases`: (value), block and the block's arguments."""
        type = SSAValue.get(value, type=IntegerType).type
        super().__init__(
            operands=[value, default[1], [argument for case in cases for argument in case[2]]],
            successors=[default[0], [case[1] for case in cases]],
            properties={
                "case_values": DenseIntOrFPElementsAttr.from_list(
                    VectorType(type, [len(cases)]), [case[0] for case in cases]
                ),
                "case_segments": DenseArrayBase.from_list(i32, [len(case[2]) for case in cases]),
            },
        )

    def arguments_by_case(self) -> list[list[SSAValue]]:
        """The arguments that each case passes to its block."""
        flat, start = list(self.case_arguments), 0
        groups: list[list[SSAValue]] = []
        for count in self.case_segments.get_values():
            groups.append(flat[start : start + int(count)])
            start += int(count)
        return groups

    def verify_(self) -> None:
        if not len(self.case_values) == len(self.case_segments) == len(self.case_blocks):
            raise VerifyException("expected one value, one block and one segment for each case")
        if sum(self.case_segments.get_values()) != len(self.case_arguments):
            raise VerifyException("case_segments must add up to the number of case arguments")


@irdl_op_definition
class AtomicRMWOp(IRDLOperation):
    """
    Read, combine and write memory as one step; the result is the value before.

    ```mlir
    %old = llvm.atomicrmw "add" "monotonic" %p, %x : !llvm.ptr, i64
    ```
    """

    name = "llvm.atomicrmw"
    T: ClassVar = VarConstraint("T", AnyAttr())

    bin_op = prop_def(StringAttr)
    ordering = prop_def(StringAttr)
    ptr = operand_def(LLVMPointerType)
    val = operand_def(T)
    res = result_def(T)
    assembly_format = "$bin_op $ordering $ptr `,` $val attr-dict `:` type($ptr) `,` type($val)"

    def verify_(self) -> None:
        if self.bin_op.data not in ATOMIC_KINDS:
            raise VerifyException(f"bin_op must be one of {', '.join(ATOMIC_KINDS)}")
        if self.ordering.data not in ATOMIC_ORDERINGS:
            raise VerifyException(f"ordering must be one of {', '.join(ATOMIC_ORDERINGS)}")
