"""The text of `graph.expression`: parser and printer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar, cast

from xdsl.dialects.builtin import ArrayAttr, IndexType, StringAttr, TensorType
from xdsl.ir import Attribute, Region, SSAValue
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer

from stepwell.dialects.graph.formula import FormulaOp, Sizes, argument_type
from stepwell.dialects.types import Tensor, tensor_of

ExpressionT = TypeVar("ExpressionT", bound=FormulaOp)


def print_expression(op: FormulaOp, printer: Printer) -> None:
    """Print the op after its name."""
    printer.print_string(" ")
    printer.print_attribute(op.formula)
    _print_axes(op.indices[: len(op.axes)], op.axes, printer)
    if len(op.reduce):
        printer.print_string(" reduce")
        _print_axes(op.indices[len(op.axes) :], op.reduce, printer)

    def print_input(binding: tuple[SSAValue, SSAValue, Sizes]) -> None:
        argument, value, sizes = binding
        printer.print_ssa_value(argument)
        printer.print_string(" = ")
        printer.print_ssa_value(value)
        printer.print_string(" ")
        printer.print_attribute(sizes)

    printer.print_string(" reads ")
    with printer.in_parens():
        printer.print_list(list(zip(op.tensors, op.inputs, op.sizes, strict=True)), print_input)
    printer.print_op_attributes(op.attributes, print_keyword=True)
    printer.print_string(" : ")
    printer.print_operation_type(op)
    printer.print_string(" ")
    printer.print_region(op.body, print_entry_block_args=False)
    if op.combine.blocks:
        printer.print_string(" combine ")
        printer.print_attribute(op.identity)
        printer.print_string(" ")
        printer.print_region(op.combine)


def _print_axes(indices: Sequence[SSAValue], sizes: Sizes, printer: Printer) -> None:
    def print_axis(axis: tuple[SSAValue, StringAttr]) -> None:
        printer.print_ssa_value(axis[0])
        printer.print_string(" < ")
        printer.print_attribute(axis[1])

    printer.print_string(" ")
    with printer.in_parens():
        printer.print_list(list(zip(indices, sizes, strict=True)), print_axis)


def parse_expression(parser: Parser, cls: type[ExpressionT]) -> ExpressionT:
    """Parse the op after its name. Raises: ParseError."""
    formula = StringAttr(parser.parse_str_literal())
    indices, axes = _parse_axes(parser)
    reduced, reduce = _parse_axes(parser) if parser.parse_optional_keyword("reduce") else ([], ArrayAttr([]))
    parser.parse_keyword("reads")
    start = parser.pos
    inputs = parser.parse_comma_separated_list(Parser.Delimiter.PAREN, lambda: _parse_input(parser))
    attributes = parser.parse_optional_attr_dict_with_keyword()
    parser.parse_punctuation(":")
    type = parser.parse_function_type()
    operands = parser.resolve_operands([value for _, value, _ in inputs], type.inputs.data, start)
    arguments = [
        argument.resolve(argument_type(tensor_of(operand), sizes))
        for (argument, _, sizes), operand in zip(inputs, operands, strict=True)
    ]
    body = parser.parse_region([*indices, *reduced, *arguments])
    identity, combine = ArrayAttr[Attribute]([]), Region()
    if parser.parse_optional_keyword("combine"):
        identity, combine = cast("ArrayAttr[Attribute]", parser.parse_attribute()), parser.parse_region()
    return cls.create(
        operands=operands,
        result_types=type.outputs.data,
        properties={
            "formula": formula,
            "sizes": ArrayAttr([sizes for _, _, sizes in inputs]),
            "axes": axes,
            "reduce": reduce,
            "identity": identity,
            "elements": ArrayAttr([_element(parser, output) for output in type.outputs]),
        },
        attributes=dict(attributes.data) if attributes is not None else {},
        regions=[body, combine],
    )


def _element(parser: Parser, type: Attribute) -> Attribute:
    if not isinstance(type, TensorType):
        parser.raise_error(f"expected tensors as results, found {type}")
    return cast(Tensor, type).element_type


def _parse_axes(parser: Parser) -> tuple[list[Parser.Argument], Sizes]:
    """Indices with the sizes that they stay below: `(%i < "m", %j < "n")`."""

    def parse_axis() -> tuple[Parser.Argument, StringAttr]:
        name = parser.parse_argument(expect_type=False)
        parser.parse_punctuation("<")
        return name.resolve(IndexType()), StringAttr(parser.parse_str_literal())

    axes = parser.parse_comma_separated_list(Parser.Delimiter.PAREN, parse_axis)
    return [index for index, _ in axes], ArrayAttr([size for _, size in axes])


def _parse_input(parser: Parser) -> tuple[Parser.UnresolvedArgument, UnresolvedOperand, Sizes]:
    """An argument of the body, the input that it stands for, and the sizes: `%a = %x ["m", "8"]`."""
    name = parser.parse_argument(expect_type=False)
    parser.parse_punctuation("=")
    value = parser.parse_unresolved_operand()
    sizes = parser.parse_comma_separated_list(
        Parser.Delimiter.SQUARE, lambda: StringAttr(parser.parse_str_literal())
    )
    return name, value, ArrayAttr(sizes)
