"""Functions as values: `graph.lambda`, `graph.function`, and `graph.call` of either."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar, Self, cast

from xdsl.dialects.builtin import ArrayAttr, FunctionType, SymbolRefAttr, UnitAttr
from xdsl.ir import Attribute, BlockArgument, Operation, Region, SSAValue
from xdsl.irdl import (
    irdl_op_definition,
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
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from stepwell.dialects.graph.base import GraphOp, Kind, OrUnknown
from stepwell.dialects.graph.control_flow import expect_yield, yield_of
from stepwell.dialects.type_variables import (
    HoleType,
    parse_type_arguments,
    print_type_arguments,
    types_inside,
)


def captured_values(region: Region) -> Sequence[SSAValue]:
    """The values from outside that a region uses, in the order of their first use."""
    inside: set[SSAValue] = set()
    found: dict[SSAValue, None] = {}
    for block in region.blocks:
        inside.update(block.args)
    for op in region.walk():
        found.update(dict.fromkeys(value for value in op.operands if value not in inside))
        inside.update(op.results)
        for inner in op.regions:
            inside.update(arg for block in inner.blocks for arg in block.args)
    return list(found)


def values_read(op: Operation) -> Iterable[SSAValue]:
    """The operands of an op and the values captured by its regions."""
    yield from op.operands
    for region in op.regions:
        yield from captured_values(region)


@irdl_op_definition
class LambdaOp(GraphOp):
    """
    A closure: a function without a name, as a value, whose region may use the values around it.

    ```mlir
    %f = graph.lambda (%a: tensor<4xf32>) -> (tensor<4xf32>) {
      %b = graph.add %a, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      graph.yield %b : tensor<4xf32>
    }
    ```
    The op itself runs nothing: a region with effects has them where it is called. A function that calls
    itself has a name for itself, the region's first argument, of the lambda's own type:

    ```mlir
    %f = graph.lambda self %loop (%n: tensor<i64>) -> (tensor<i64>) {
      %m = graph.call %loop(%n) : (tensor<i64>) -> tensor<i64>
      graph.yield %m : tensor<i64>
    }
    ```
    Constraints:
      (C1) the region ends in a `graph.yield`.
      (C2) the result's type is a function from the region's arguments to the values that it yields.
      (C3) the name for itself is an argument of the result's type.
    """

    name = "graph.lambda"
    KIND: ClassVar[Kind] = Kind.STRUCTURE

    recursive = opt_prop_def(UnitAttr)
    result = result_def(OrUnknown(FunctionType))
    body = region_def("single_block")

    traits = traits_def(Pure())

    def __init__(self, body: Region):
        """The type is inferred. Raises: VerifyException."""
        super().__init__(result_types=[FunctionType.from_lists([], [])], regions=[body])
        self.set_result_types()

    @property
    def itself(self) -> BlockArgument | None:
        """The function's own value inside its region; None if it has no name there."""
        return self.body.block.args[0] if self.recursive is not None else None

    @property
    def arguments(self) -> Sequence[BlockArgument]:
        """The arguments of a call, within the region."""
        return self.body.block.args[1:] if self.recursive is not None else self.body.block.args

    def infer(self) -> Sequence[Attribute]:
        arguments = [argument.type for argument in self.arguments]
        return [FunctionType.from_lists(arguments, list(yield_of(self.body).operand_types))]

    def equal_types(self) -> Sequence[tuple[Attribute, Attribute]]:
        itself = [] if self.itself is None else [(self.itself.type, self.result.type)]
        return [(self.result.type, self.infer()[0]), *itself]

    def check(self) -> None:
        last = self.body.block.last_op
        expect_yield(self.body, len(last.operands) if last is not None else 0)  # (C1)
        if self.recursive is not None and not self.body.block.args:  # (C3)
            raise VerifyException("a lambda with a name for itself has an argument for it")
        if (itself := self.itself) is not None and itself.type != self.result.type:
            raise VerifyException(
                f"the name for itself has type {itself.type}, the lambda {self.result.type}"
            )

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        itself = parser.parse_argument(expect_type=False) if parser.parse_optional_keyword("self") else None
        arguments = parser.parse_comma_separated_list(Parser.Delimiter.PAREN, parser.parse_argument)
        parser.parse_punctuation("->")
        results = parser.parse_comma_separated_list(Parser.Delimiter.PAREN, parser.parse_type)
        attributes = parser.parse_optional_attr_dict_with_keyword()
        type = FunctionType.from_lists([argument.type for argument in arguments], results)
        if itself is not None:
            arguments = [Parser.Argument(itself.name, type), *arguments]
        return cls.create(
            result_types=[type],
            properties={"recursive": UnitAttr()} if itself is not None else {},
            regions=[parser.parse_region(arguments)],
            attributes=dict(attributes.data) if attributes is not None else {},
        )

    def print(self, printer: Printer) -> None:
        if self.itself is not None:
            printer.print_string(" self ")
            printer.print_block_argument(self.itself, print_type=False)
        printer.print_string(" ")
        with printer.in_parens():
            printer.print_list(self.arguments, printer.print_block_argument)
        printer.print_string(" -> ")
        with printer.in_parens():
            printer.print_list(self.result.type.outputs, printer.print_attribute)
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False)


@irdl_op_definition
class FunctionOp(GraphOp):
    """
    A function of the module as a value.

    ```mlir
    %f = graph.function @f : (tensor<4xf32>) -> tensor<4xf32>
    %g = graph.function @map<i64> : (tensor<?xi64>) -> tensor<?xi64>
    %h = graph.function @List::@Cons<i64> : (i64, !adt.data<@List, i64>) -> !adt.data<@List, i64>
    ```
    A polymorphic function has its type arguments after the name; a constructor is a function too.
    """

    name = "graph.function"
    KIND: ClassVar[Kind] = Kind.STRUCTURE

    callee = prop_def(SymbolRefAttr)
    type_args = opt_prop_def(ArrayAttr)
    result = result_def(OrUnknown(FunctionType))

    traits = traits_def(Pure())

    def __init__(self, callee: str, type: FunctionType):
        super().__init__(properties={"callee": SymbolRefAttr(callee)}, result_types=[type])

    def infer(self) -> Sequence[Attribute]:
        return self.result_types  # as for graph.call

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        callee = parser.parse_attribute()
        if not isinstance(callee, SymbolRefAttr):
            parser.raise_error("expected the name of a function: `@f`")
        properties = _callee_properties(callee, parse_type_arguments(parser))
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        return cls.create(result_types=[parser.parse_type()], properties=properties, attributes=attributes)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_attribute(self.callee)
        print_type_arguments(self.type_args, printer)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.result.type)


def _has_hole(type: Attribute) -> bool:
    return any(isinstance(part, HoleType) for part in types_inside(type))


def _callee_properties(
    callee: SymbolRefAttr | None, arguments: ArrayAttr[Attribute] | None
) -> dict[str, Attribute]:
    """The properties of an op that names a function with its type arguments."""
    properties: dict[str, Attribute] = {} if callee is None else {"callee": callee}
    return properties if arguments is None else {**properties, "type_args": arguments}


@irdl_op_definition
class ClosureOp(GraphOp):
    """
    A function of the module with its first arguments given, as a value: a lambda that has been lifted.

    ```mlir
    %f = graph.closure @f(%y) : (tensor<4xf32>) -> ((tensor<4xf32>) -> tensor<4xf32>)
    ```
    """

    name = "graph.closure"
    KIND: ClassVar[Kind] = Kind.STRUCTURE

    callee = prop_def(SymbolRefAttr)
    captured = var_operand_def()
    result = result_def(OrUnknown(FunctionType))

    traits = traits_def(Pure())

    def __init__(self, callee: str, captured: Sequence[SSAValue], type: FunctionType):
        super().__init__(
            operands=[captured], properties={"callee": SymbolRefAttr(callee)}, result_types=[type]
        )

    def infer(self) -> Sequence[Attribute]:
        return self.result_types  # as for graph.call

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        callee = SymbolRefAttr(parser.parse_symbol_name())
        operands, results, attributes = _parse_arguments(parser)
        return cls.create(
            operands=operands, result_types=results, properties={"callee": callee}, attributes=attributes
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_attribute(self.callee)
        _print_arguments(self, self.captured, printer)


def _parse_arguments(parser: Parser) -> tuple[list[SSAValue], Sequence[Attribute], dict[str, Attribute]]:
    """The arguments, result types and attributes of a call, as `_print_arguments` writes them."""
    position = parser.pos
    names = parser.parse_comma_separated_list(Parser.Delimiter.PAREN, parser.parse_unresolved_operand)
    attributes = parser.parse_optional_attr_dict()
    parser.parse_punctuation(":")
    type = parser.parse_type()
    if not isinstance(type, FunctionType):
        parser.raise_error("expected a function type")
    return list(parser.resolve_operands(names, type.inputs.data, position)), type.outputs.data, attributes


def _print_arguments(op: Operation, arguments: Sequence[SSAValue], printer: Printer) -> None:
    """Print `(%x, %y) {…} : (A, B) -> C`."""
    with printer.in_parens():
        printer.print_list(arguments, printer.print_ssa_value)
    printer.print_op_attributes(op.attributes)
    printer.print_string(" : ")
    printer.print_attribute(FunctionType.from_lists([a.type for a in arguments], list(op.result_types)))


@irdl_op_definition
class CallOp(GraphOp):
    """
    Call a function: one of the module by its symbol, or a function value.

    ```mlir
    %y = graph.call @f(%x) : (tensor<4xf32>) -> tensor<4xf32>
    %g = graph.function @f : (tensor<4xf32>) -> tensor<4xf32>
    %z = graph.call %g(%x) : (tensor<4xf32>) -> tensor<4xf32>
    %u = graph.call @id<tensor<4xf32>>(%x) : (tensor<4xf32>) -> tensor<4xf32>
    ```
    A polymorphic function has its type arguments after the name.

    Constraints:
      (C1) without a symbol the first operand is a function value.
      (C2) a function value has the type of the call.
    """

    name = "graph.call"
    KIND: ClassVar[Kind] = Kind.STRUCTURE

    callee = opt_prop_def(SymbolRefAttr)
    type_args = opt_prop_def(ArrayAttr)
    inputs = var_operand_def()
    """The function value first, where there is no symbol; then the arguments."""
    outputs = var_result_def()

    def __init__(
        self,
        callee: str | SSAValue,
        arguments: Sequence[SSAValue],
        result_types: Sequence[Attribute],
        type_args: Sequence[Attribute] = (),
    ):
        by_name = isinstance(callee, str)
        symbol = SymbolRefAttr(callee) if by_name else None
        super().__init__(
            operands=[arguments if by_name else [callee, *arguments]],
            properties=_callee_properties(symbol, ArrayAttr(type_args) if type_args else None),
            result_types=[result_types],
        )

    @property
    def function(self) -> SSAValue | None:
        """The function value that is called; None for a function of the module."""
        return self.inputs[0] if self.callee is None else None

    @property
    def arguments(self) -> Sequence[SSAValue]:
        """The arguments of the call."""
        return self.inputs if self.callee is not None else self.inputs[1:]

    def infer(self) -> Sequence[Attribute]:
        if self.function is None:
            return self.result_types  # the callee's type is checked where functions are
        return cast(FunctionType, self.function.type).outputs.data

    def equal_types(self) -> Sequence[tuple[Attribute, Attribute]]:
        if self.function is None:
            return ()
        arguments = [argument.type for argument in self.arguments]
        return [(self.function.type, FunctionType.from_lists(arguments, list(self.result_types)))]

    def check(self) -> None:
        if self.callee is not None:
            return
        if not self.inputs or not isinstance(type := self.inputs[0].type, FunctionType):  # (C1)
            raise VerifyException("a call without a symbol needs a function value as its first operand")
        given = FunctionType.from_lists([a.type for a in self.arguments], list(self.result_types))
        if type.inputs != given.inputs or len(type.outputs) != len(given.outputs):  # (C2)
            raise VerifyException(f"a function of type {type} is called as {given}")

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        symbol = parser.parse_optional_symbol_name()
        type_args = parse_type_arguments(parser) if symbol is not None else None
        value = parser.parse_unresolved_operand() if symbol is None else None
        operands, results, attributes = _parse_arguments(parser)
        if value is not None:
            type = FunctionType.from_lists([operand.type for operand in operands], list(results))
            known = parser.ssa_values.get(value.operand_name, ())
            if value.index < len(known) and _has_hole(known[value.index].type):
                operands.insert(0, known[value.index])  # its type has a hole, and so differs from this one
            else:
                operands.insert(0, parser.resolve_operand(value, type))
        return cls.create(
            operands=operands,
            result_types=results,
            properties=_callee_properties(None if symbol is None else SymbolRefAttr(symbol), type_args),
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        if self.callee is not None:
            printer.print_attribute(self.callee)
            print_type_arguments(self.type_args, printer)
        else:
            printer.print_ssa_value(self.inputs[0])
        _print_arguments(self, self.arguments, printer)
