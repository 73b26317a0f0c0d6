"""Definitions of data types: `adt.data`, its constructors, and the type of their values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self, cast

from xdsl.dialects.builtin import ArrayAttr, StringAttr, SymbolRefAttr
from xdsl.ir import Attribute, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import (
    IRDLOperation,
    irdl_attr_definition,
    irdl_op_definition,
    opt_prop_def,
    param_def,
    prop_def,
    region_def,
    traits_def,
)
from xdsl.parser import AttrParser, Parser
from xdsl.printer import Printer
from xdsl.traits import NoTerminator, SymbolOpInterface
from xdsl.utils.exceptions import VerifyException

from stepwell.dialects.type_variables import (
    ParamsAttr,
    has_parts,
    note_kinds,
    parse_params,
    print_params,
    substituted,
    variables_of,
)
from stepwell.runtime.errors import StepwellError, did_you_mean


@irdl_attr_definition
class DataType(ParametrizedAttribute, TypeAttribute):
    """
    The type of the values of a data type, applied to all its arguments.

    ```mlir
    !adt.data<@List, tensor<f32>>
    ```
    """

    name = "adt.data"

    definition: SymbolRefAttr = param_def()
    arguments: ArrayAttr[Attribute] = param_def()

    @staticmethod
    def of(name: str, *arguments: Attribute) -> DataType:
        """The type by the name of its definition."""
        return DataType(SymbolRefAttr(name), ArrayAttr(arguments))

    def verify(self) -> None:
        note_kinds()

    @property
    def symbol(self) -> str:
        """The name of the definition."""
        return self.definition.string_value()

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            definition = SymbolRefAttr(parser.parse_symbol_name())
            arguments: list[Attribute] = []
            while parser.parse_optional_punctuation(","):
                arguments.append(parser.parse_type())
        return [definition, ArrayAttr(arguments)]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_attribute(self.definition)
            for argument in self.arguments:
                printer.print_string(", ")
                printer.print_attribute(argument)


def _with_arguments(type: Attribute, arguments: Sequence[Attribute]) -> Attribute:
    return DataType(cast(DataType, type).definition, ArrayAttr(arguments))


has_parts(DataType.name, lambda type: cast(DataType, type).arguments.data, _with_arguments)


@irdl_op_definition
class ConstructorOp(IRDLOperation):
    """
    A constructor of the data type around: its name, and the types of its fields.

    ```mlir
    adt.data @List<"A"> {
      adt.constructor @Cons(!graph.var<"A">, !adt.data<@List, !graph.var<"A">>)
      adt.constructor @Nil()
    }
    ```
    Constraints:
      (C1) it is inside of an `adt.data`.
    """

    name = "adt.constructor"

    sym_name = prop_def(StringAttr)
    fields = prop_def(ArrayAttr[Attribute])

    traits = traits_def(SymbolOpInterface())

    def __init__(self, name: str, fields: Sequence[Attribute]):
        super().__init__(properties={"sym_name": StringAttr(name), "fields": ArrayAttr(fields)})

    def verify_(self) -> None:
        if not isinstance(self.parent_op(), DataOp):  # (C1)
            raise VerifyException("a constructor must be inside of an adt.data")

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        name = parser.parse_symbol_name()
        fields = parser.parse_comma_separated_list(Parser.Delimiter.PAREN, parser.parse_type)
        attributes = parser.parse_optional_attr_dict_with_keyword()
        return cls.create(
            properties={"sym_name": name, "fields": ArrayAttr(fields)},
            attributes=dict(attributes.data) if attributes is not None else {},
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_symbol_name(self.sym_name.data)
        with printer.in_parens():
            printer.print_list(self.fields.data, printer.print_attribute)
        printer.print_op_attributes(self.attributes, print_keyword=True)


@irdl_op_definition
class DataOp(IRDLOperation):
    """
    A data type: one constructor for each shape that a value can have. It may be recursive, or empty.

    ```mlir
    adt.data @List<"A"> {
      adt.constructor @Cons(!graph.var<"A">, !adt.data<@List, !graph.var<"A">>)
      adt.constructor @Nil()
    }
    ```
    The number of a constructor, from 0, is the tag of its values.

    Constraints:
      (C1) the region has constructors only, each with a name of its own.
      (C2) the fields' type variables are declared after the name.
    """

    name = "adt.data"

    sym_name = prop_def(StringAttr)
    params = opt_prop_def(ParamsAttr)
    body = region_def()

    traits = traits_def(SymbolOpInterface(), NoTerminator())

    @property
    def constructors(self) -> list[ConstructorOp]:
        """The constructors, in the order of their tags."""
        return [op for block in self.body.blocks for op in block.ops if isinstance(op, ConstructorOp)]

    @property
    def names(self) -> list[str]:
        """The names of the constructors, in the order of their tags."""
        return [each.sym_name.data for each in self.constructors]

    @property
    def variables(self) -> list[str]:
        """The names of the type variables."""
        return self.params.names if self.params is not None else []

    def tag(self, constructor: str) -> int:
        """
        The tag of a constructor.

        Raises: StepwellError `unknown-symbol`, with names that are near.
        """
        if constructor not in self.names:
            known = ", ".join(self.names) or "none"
            raise StepwellError(
                "unknown-symbol",
                self,
                f"@{self.sym_name.data} has no constructor {constructor}: it has {known}",
                help=did_you_mean(constructor, self.names) or None,
            )
        return self.names.index(constructor)

    def fields(self, constructor: str, type: DataType) -> list[Attribute]:
        """
        The types of the fields of a constructor in values of a type.

        Raises: StepwellError `unknown-symbol`.
        """
        arguments = dict(zip(self.variables, type.arguments, strict=False))
        fields = self.constructors[self.tag(constructor)].fields
        return [substituted(field, arguments) for field in fields]

    def applied(self, *arguments: Attribute) -> DataType:
        """The type of values with these type arguments."""
        return DataType.of(self.sym_name.data, *arguments)

    def verify_(self) -> None:
        ops = [op for block in self.body.blocks for op in block.ops]
        if other := next((op for op in ops if not isinstance(op, ConstructorOp)), None):  # (C1)
            raise VerifyException(f"a data type has constructors only, found {other.name}")
        if len(set(self.names)) != len(ops):
            raise VerifyException(f"a constructor of @{self.sym_name.data} is defined twice")
        used = variables_of(field for each in self.constructors for field in each.fields)
        if unknown := [name for name in used if name not in self.variables]:  # (C2)
            raise StepwellError(
                "bad-kind",
                self,
                f"@{self.sym_name.data} does not declare the type variable {unknown[0]}",
                help=f'write `adt.data @{self.sym_name.data}<"{unknown[0]}">`',
            )

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        properties: dict[str, Attribute] = {"sym_name": parser.parse_symbol_name()}
        if (params := parse_params(parser, Parser.Delimiter.ANGLE)) is not None:
            properties["params"] = params
        attributes = parser.parse_optional_attr_dict_with_keyword()
        region = parser.parse_region()
        return cls.create(
            properties=properties,
            attributes=dict(attributes.data) if attributes is not None else {},
            regions=[region],
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_symbol_name(self.sym_name.data)
        if self.params is not None:
            with printer.in_angle_brackets():
                print_params(self.params, printer)
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" ")
        printer.print_region(self.body)
