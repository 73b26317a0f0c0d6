"""Ops of `emitc` that are statements and declarations: functions, loops, branches, variables, calls."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FunctionType,
    IndexType,
    IntegerType,
    StringAttr,
    SymbolNameConstraint,
    SymbolRefAttr,
    UnitAttr,
)
from xdsl.dialects.emitc import EmitC_ArrayType, EmitC_LValueType, EmitC_PointerType, EmitCTypeConstr
from xdsl.dialects.utils import parse_func_op_like, print_func_op_like
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsolatedFromAbove, IsTerminator, Pure, SymbolOpInterface
from xdsl.utils.exceptions import VerifyException

_HIDDEN = ("sym_name", "function_type", "arg_attrs")


@irdl_op_definition
class FuncOp(IRDLOperation):
    """
    A function; `specifiers`, such as `static`, begin its declaration.

    ```mlir
    emitc.func @k(%x: !emitc.ptr<f32>, %n: index) attributes {specifiers = ["static"]} {
      emitc.return
    }
    ```
    Constraints:
      (C1) the body's arguments have the types of the function's.
      (C2) it returns one value, or none.
    """

    name = "emitc.func"

    sym_name = prop_def(SymbolNameConstraint())
    function_type = prop_def(FunctionType)
    arg_attrs = opt_prop_def(ArrayAttr[DictionaryAttr])
    body = region_def("single_block")

    traits = traits_def(IsolatedFromAbove(), SymbolOpInterface())

    def __init__(
        self, name: str, type: FunctionType, body: Region, arg_attrs: ArrayAttr[DictionaryAttr] | None = None
    ):
        super().__init__(
            properties={"sym_name": StringAttr(name), "function_type": type, "arg_attrs": arg_attrs},
            regions=[body],
        )

    @classmethod
    def parse(cls, parser: Parser) -> FuncOp:
        name, inputs, outputs, region, extra, arg_attrs, _ = parse_func_op_like(
            parser, reserved_attr_names=_HIDDEN
        )
        op = cls(name, FunctionType.from_lists(inputs, outputs), region, arg_attrs)
        if extra is not None:
            op.attributes |= extra.data
        return op

    def print(self, printer: Printer) -> None:
        print_func_op_like(
            printer,
            self.sym_name,
            self.function_type,
            self.body,
            self.attributes,
            arg_attrs=self.arg_attrs,
            reserved_attr_names=_HIDDEN,
        )

    def verify_(self) -> None:
        if tuple(self.body.block.arg_types) != self.function_type.inputs.data:  # (C1)
            raise VerifyException("the body's arguments must have the types of the function's")
        if len(self.function_type.outputs) > 1:  # (C2)
            raise VerifyException(f"a function in C returns one value, not {len(self.function_type.outputs)}")


@irdl_op_definition
class ReturnOp(IRDLOperation):
    """
    The end of a function, with its value.

    ```mlir
    emitc.return %status : i32
    ```
    """

    name = "emitc.return"

    operand = opt_operand_def(EmitCTypeConstr)

    traits = traits_def(IsTerminator())
    assembly_format = "attr-dict ($operand^ `:` type($operand))?"

    def __init__(self, operand: SSAValue | None = None):
        super().__init__(operands=[operand])


@irdl_op_definition
class CallOp(IRDLOperation):
    """
    A call of a function of the module.

    ```mlir
    emitc.call @k(%x, %n) : (!emitc.ptr<f32>, index) -> ()
    ```
    """

    name = "emitc.call"

    callee = prop_def(SymbolRefAttr)
    arguments = var_operand_def(EmitCTypeConstr)
    res = var_result_def(EmitCTypeConstr)

    assembly_format = "$callee `(` $arguments `)` attr-dict `:` functional-type($arguments, results)"

    def __init__(self, callee: str, arguments: Sequence[SSAValue], result_types: Sequence[Attribute] = ()):
        super().__init__(
            operands=[list(arguments)],
            result_types=[list(result_types)],
            properties={"callee": SymbolRefAttr(callee)},
        )

    def verify_(self) -> None:
        if len(self.res) > 1:
            raise VerifyException(f"a function in C returns one value, not {len(self.res)}")


@irdl_op_definition
class YieldOp(IRDLOperation):
    """
    The end of a body; in the condition of `emitc.do`, it has the condition's value.

    ```mlir
    emitc.yield %more : i1
    ```
    """

    name = "emitc.yield"

    value = opt_operand_def(EmitCTypeConstr)

    traits = traits_def(IsTerminator())
    assembly_format = "attr-dict ($value^ `:` type($value))?"

    def __init__(self, value: SSAValue | None = None):
        super().__init__(operands=[value])


@irdl_op_definition
class ForOp(IRDLOperation):
    """
    A loop over `for (i = lower; i < upper; i += step)`.

    ```mlir
    emitc.for (%a, %b, %s) {
    ^bb0(%i: index):
      emitc.yield
    }
    ```
    Constraints:
      (C1) the body has one argument, of type index.
    """

    name = "emitc.for"

    lower = operand_def(IndexType)
    upper = operand_def(IndexType)
    step = operand_def(IndexType)
    body = region_def("single_block")

    assembly_format = "`(` $lower `,` $upper `,` $step `)` $body attr-dict"

    def __init__(self, lower: SSAValue, upper: SSAValue, step: SSAValue, body: Region):
        super().__init__(operands=[lower, upper, step], regions=[body])

    def verify_(self) -> None:
        if tuple(self.body.block.arg_types) != (IndexType(),):  # (C1)
            raise VerifyException("the body must have one argument, of type index")


@irdl_op_definition
class IfOp(IRDLOperation):
    """
    A branch; without an else, its second region is empty.

    ```mlir
    emitc.if %c {
      emitc.yield
    } {
    }
    ```
    """

    name = "emitc.if"

    condition = operand_def(IntegerType(1))
    then_region = region_def("single_block")
    else_region = region_def()

    assembly_format = "$condition $then_region $else_region attr-dict"

    def __init__(self, condition: SSAValue, then: Region, otherwise: Region):
        super().__init__(operands=[condition], regions=[then, otherwise])


@irdl_op_definition
class DoOp(IRDLOperation):
    """
    A loop with its test at the end, a region of its own.

    ```mlir
    emitc.do {
      emitc.yield
    } while {
      %c = emitc.load %flag : !emitc.lvalue<i1> to i1
      emitc.yield %c : i1
    }
    ```
    Constraints:
      (C1) the condition ends in a value of type i1.
    """

    name = "emitc.do"

    body = region_def("single_block")
    condition = region_def("single_block")

    assembly_format = "$body `while` $condition attr-dict"

    def __init__(self, body: Region, condition: Region):
        super().__init__(regions=[body, condition])

    def verify_(self) -> None:
        last = self.condition.block.last_op
        if not isinstance(last, YieldOp) or last.value is None or last.value.type != IntegerType(1):  # (C1)
            raise VerifyException("the condition must end in emitc.yield of an i1")


@irdl_op_definition
class VariableOp(IRDLOperation):
    """
    A variable, or an array on the stack; its value is undefined until one is assigned.

    ```mlir
    %v = emitc.variable : !emitc.lvalue<f32>
    %a = emitc.variable : !emitc.array<96xf32>
    ```
    """

    name = "emitc.variable"

    result = result_def(EmitC_LValueType | EmitC_ArrayType)

    assembly_format = "attr-dict `:` type($result)"

    def __init__(self, type: Attribute, name_hint: str | None = None):
        super().__init__(result_types=[type])
        self.result.name_hint = name_hint


@irdl_op_definition
class AssignOp(IRDLOperation):
    """
    A value stored in a variable or element: `v = x;`.

    ```mlir
    emitc.assign %x : f32 to %v : !emitc.lvalue<f32>
    ```
    Constraints:
      (C1) the lvalue contains the type of the value.
    """

    name = "emitc.assign"

    value = operand_def(EmitCTypeConstr)
    var = operand_def(EmitC_LValueType)

    assembly_format = "$value `:` type($value) `to` $var `:` type($var) attr-dict"

    def __init__(self, value: SSAValue, var: SSAValue):
        super().__init__(operands=[value, var])

    def verify_(self) -> None:
        if self.var.type != EmitC_LValueType(self.value.type):  # (C1)
            raise VerifyException(f"{self.var.type} does not contain {self.value.type}")


@irdl_op_definition
class GlobalOp(IRDLOperation):
    """
    An array outside of functions; with `initial_value` it is defined, else only declared.

    ```mlir
    emitc.global @w : !emitc.array<4xf32> = dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
    ```
    """

    name = "emitc.global"

    sym_name = prop_def(SymbolNameConstraint())
    type: EmitC_ArrayType = prop_def(EmitC_ArrayType | EmitC_PointerType)  # pyright: ignore
    initial_value = opt_prop_def(Attribute)
    const_specifier = opt_prop_def(UnitAttr)

    traits = traits_def(SymbolOpInterface())
    assembly_format = "(`const` $const_specifier^)? $sym_name `:` $type (`=` $initial_value^)? attr-dict"

    def __init__(self, name: str, type: EmitC_ArrayType, value: Attribute | None = None):
        super().__init__(
            properties={
                "sym_name": StringAttr(name),
                "type": type,
                "initial_value": value,
                "const_specifier": UnitAttr(),
            }
        )


@irdl_op_definition
class GetGlobalOp(IRDLOperation):
    """
    A global array as a value.

    ```mlir
    %w = emitc.get_global @w : !emitc.ptr<f32>
    ```
    """

    name = "emitc.get_global"

    global_name = prop_def(SymbolRefAttr, prop_name="name")
    result = result_def(EmitC_PointerType | EmitC_ArrayType)

    traits = traits_def(Pure())
    assembly_format = "$name attr-dict `:` type($result)"

    def __init__(self, name: str, type: Attribute):
        super().__init__(properties={"name": SymbolRefAttr(name)}, result_types=[type])


@irdl_op_definition
class IncludeOp(IRDLOperation):
    """
    The text of a header: `#include <stdint.h>`.

    ```mlir
    emitc.include "stdint.h" {is_standard_include}
    ```
    """

    name = "emitc.include"

    include = prop_def(StringAttr)

    assembly_format = "$include attr-dict"

    def __init__(self, include: str, *, is_standard: bool = False):
        super().__init__(
            properties={"include": StringAttr(include)},
            attributes={"is_standard_include": UnitAttr()} if is_standard else {},
        )


@irdl_op_definition
class VerbatimOp(IRDLOperation):
    """
    A line of text, in which each `{}` is an argument.

    ```mlir
    emitc.verbatim "if (!{}) return 3;" args %ok : i1
    ```
    Constraints:
      (C1) as many arguments as `{}`.
    """

    name = "emitc.verbatim"

    value = prop_def(StringAttr)
    fmt_args = var_operand_def()

    assembly_format = "$value (`args` $fmt_args^ `:` type($fmt_args))? attr-dict"

    def __init__(self, value: str, *args: SSAValue):
        super().__init__(properties={"value": StringAttr(value)}, operands=[list(args)])

    def verify_(self) -> None:
        if (holes := self.value.data.count("{}")) != len(self.fmt_args):  # (C1)
            raise VerifyException(f"the text has {holes} places for {len(self.fmt_args)} arguments")


def body_of(block: Block) -> Region:
    """A region of one block that ends in `emitc.yield`."""
    if not isinstance(block.last_op, YieldOp):
        block.add_op(YieldOp())
    return Region(block)


STATEMENTS: list[type[Operation]] = [
    FuncOp,
    ReturnOp,
    CallOp,
    YieldOp,
    ForOp,
    IfOp,
    DoOp,
    VariableOp,
    AssignOp,
    GlobalOp,
    GetGlobalOp,
    IncludeOp,
    VerbatimOp,
]
"""The ops of this file."""
