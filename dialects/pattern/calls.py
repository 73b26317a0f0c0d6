"""Pattern objects for ops and constructs: calls, tuples, branches, definitions, functions."""

from __future__ import annotations

from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr, StringAttr, UnitAttr, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def
from xdsl.parser import Parser
from xdsl.printer import Printer

from stepwell.dialects._xdsl import resume_at
from stepwell.dialects.pattern.base import NODE, CallLike, NodeOp, ThreeOp, parse_node


@irdl_op_definition
class OpOp(CallLike):
    """
    A result of an op by name or class: on these operands, on any, or whatever it has; with these attributes.

    ```mlir
    %x = pattern.any
    %conv = pattern.op "graph.conv"(%x, %x) {groups = 1 : i64}
    %relu = pattern.op "graph.relu"(...)
    %unary = pattern.op "trait:elementwise"
    ```
    """

    name = "pattern.op"
    op = prop_def(StringAttr)
    bare = opt_prop_def(UnitAttr)
    wanted = opt_prop_def(DictionaryAttr)

    @classmethod
    def parse(cls, parser: Parser) -> OpOp:
        properties: dict[str, Attribute] = {"op": StringAttr(parser.parse_str_literal("the name of an op"))}
        args: list[SSAValue] = []
        position = parser.pos
        if parser.parse_optional_punctuation("(") is None:
            properties["bare"] = UnitAttr()
        else:
            resume_at(parser, position)
            args, given = cls.parse_args(parser)
            properties |= given
        if wanted := parser.parse_optional_attr_dict():
            properties["wanted"] = DictionaryAttr(wanted)
        return cls.create(operands=args, properties=properties, result_types=[NODE])

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_string_literal(self.op.data)
        if self.bare is None:
            self.print_args(printer, self.args)
        if self.wanted is not None:
            printer.print_op_attributes(self.wanted.data)


@irdl_op_definition
class CallOp(CallLike):
    """
    A result of an op that another object matches: one of several ops, say.

    ```mlir
    %x = pattern.any
    %relu = pattern.op "graph.relu"
    %tanh = pattern.op "graph.tanh"
    %either = pattern.or %relu, %tanh
    %y = pattern.call %either(%x)
    ```
    """

    name = "pattern.call"
    callee = operand_def(NODE)

    @classmethod
    def parse(cls, parser: Parser) -> CallOp:
        callee = parse_node(parser)
        args, properties = cls.parse_args(parser)
        return cls.create(operands=[callee, *args], properties=properties, result_types=[NODE])

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.callee)
        self.print_args(printer, self.args)


@irdl_op_definition
class TupleOp(CallLike):
    """
    A tuple, or the variadic operands of an op.

    ```mlir
    %x = pattern.any
    %t = pattern.tuple(%x, %x)
    %any = pattern.tuple(...)
    ```
    """

    name = "pattern.tuple"

    @classmethod
    def parse(cls, parser: Parser) -> TupleOp:
        args, properties = cls.parse_args(parser)
        return cls.create(operands=args, properties=properties, result_types=[NODE])

    def print(self, printer: Printer) -> None:
        self.print_args(printer, self.args)


@irdl_op_definition
class FunctionOp(CallLike):
    """
    A match of an op with a closed region: the region's arguments and returned values.

    ```mlir
    %x = pattern.any
    %r = pattern.op "graph.relu"(%x)
    %f = pattern.function(%x) %r
    ```
    """

    name = "pattern.function"
    body = operand_def(NODE)

    @classmethod
    def parse(cls, parser: Parser) -> FunctionOp:
        args, properties = cls.parse_args(parser)
        return cls.create(operands=[parse_node(parser), *args], properties=properties, result_types=[NODE])

    def print(self, printer: Printer) -> None:
        self.print_args(printer, self.args)
        printer.print_string(" ")
        printer.print_ssa_value(self.body)


@irdl_op_definition
class GetOp(NodeOp):
    """
    A field of a tuple, or a result of an op that has several.

    ```mlir
    %t = pattern.tuple(...)
    %any = pattern.get %t
    %first = pattern.get %t [0]
    ```
    """

    name = "pattern.get"
    source = operand_def(NODE)
    index = opt_prop_def(IntegerAttr.constr(i64))
    assembly_format = "$source (`[` $index^ `]`)? attr-dict"


@irdl_op_definition
class IfOp(ThreeOp):
    """
    A branch: its condition, and what both sides return.

    ```mlir
    %x = pattern.any
    %y = pattern.if %x, %x, %x
    ```
    """

    name = "pattern.if"


@irdl_op_definition
class LetOp(ThreeOp):
    """
    A variable, the definition that it stands for, and a later value of the same block.

    ```mlir
    %v = pattern.var
    %r = pattern.op "graph.relu"(...)
    %a = pattern.op "graph.add"(%v, %v)
    %y = pattern.let %v, %r, %a
    ```
    """

    name = "pattern.let"
