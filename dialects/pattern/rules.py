"""Named patterns, rules that rewrite matches, and ordered tables of patterns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    IntAttr,
    StringAttr,
    SymbolNameConstraint,
    SymbolRefAttr,
    UnitAttr,
)
from xdsl.ir import Attribute, ParametrizedAttribute, SSAValue, TypeAttribute
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    base,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    param_def,
    prop_def,
    region_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import AttrParser, Parser
from xdsl.printer import Printer
from xdsl.traits import IsTerminator, SymbolOpInterface
from xdsl.utils.exceptions import VerifyException

from stepwell.dialects.pattern.base import NODE, NodeOp, YieldOp, expect_last, parse_node


@irdl_attr_definition
class FromAttr(ParametrizedAttribute):
    """
    An attribute of the op that a pattern matched; only `pattern.make` has them, and gives the pattern.

    ```mlir
    #pattern.from<0, "groups">
    ```
    """

    name = "pattern.from"

    source: Attribute = param_def()
    key: StringAttr = param_def()

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            operand = parser.parse_optional_unresolved_operand() if isinstance(parser, Parser) else None
            source = StringAttr(operand.operand_name) if operand else IntAttr(parser.parse_integer())
            parser.parse_punctuation(",")
            return [source, StringAttr(parser.parse_str_literal())]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(f"{cast(IntAttr, self.source).data}, ")
            printer.print_string_literal(self.key.data)


@irdl_op_definition
class DefOp(IRDLOperation):
    """
    A pattern by name.

    ```mlir
    pattern.def @relu {
      %x = pattern.any
      %root = pattern.op "graph.relu"(%x)
      pattern.yield %root
    }
    ```
    """

    name = "pattern.def"
    sym_name = prop_def(SymbolNameConstraint())
    body = region_def("single_block")
    traits = traits_def(SymbolOpInterface())
    assembly_format = "$sym_name $body attr-dict"

    def verify_(self) -> None:
        expect_last(self.body, YieldOp)


@irdl_op_definition
class ReplaceOp(IRDLOperation):
    """
    End a rule: the root, and the node that replaces it, or a registered callback.

    ```mlir
    %x = pattern.any
    %root = pattern.op "graph.neg"(%x)
    pattern.replace %root, %x
    ```
    ```mlir
    %root = pattern.op "graph.neg"(...)
    pattern.replace %root by @registered_callback
    ```
    Constraints:
      (C1) there is a node or a callback, not both.
    """

    name = "pattern.replace"
    root = operand_def(NODE)
    value = opt_operand_def(NODE)
    callback = opt_prop_def(SymbolRefAttr)
    traits = traits_def(IsTerminator())
    assembly_format = "$root (`,` $value^)? (`by` $callback^)? attr-dict"

    def verify_(self) -> None:
        if (self.value is None) == (self.callback is None):  # (C1)
            raise VerifyException("a root is replaced by a node or by a callback: give one of them")


@irdl_op_definition
class MakeOp(NodeOp):
    """
    A new op in place of what a rule matched, with attributes of its own or of a matched op.

    Without a type it has the one that its type relation infers.

    ```mlir
    %x = pattern.any
    %conv = pattern.op "graph.conv"(%x, %x)
    %new = pattern.make "acme.conv"(%x, %x) {groups = #pattern.from<%conv, "groups">} -> type_of(%conv)
    %relu = pattern.make "graph.relu"(%new)
    ```
    """

    name = "pattern.make"
    op = prop_def(StringAttr)
    given = prop_def(DictionaryAttr)
    type = opt_prop_def(base(TypeAttribute))
    args = var_operand_def(NODE)
    sources = var_operand_def(NODE)
    typed_as = opt_operand_def(NODE)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    @classmethod
    def parse(cls, parser: Parser) -> MakeOp:
        name = parser.parse_str_literal("the name of an op")
        args = parser.parse_comma_separated_list(Parser.Delimiter.PAREN, lambda: parse_node(parser))
        sources: list[SSAValue] = []
        given: dict[str, Attribute] = {}
        for key, value in parser.parse_optional_attr_dict().items():
            if isinstance(value, FromAttr) and isinstance(value.source, StringAttr):
                if (values := parser.ssa_values.get(value.source.data)) is None:
                    parser.raise_error(f"no pattern is named %{value.source.data}")
                value = FromAttr(IntAttr(len(sources)), value.key)
                sources.append(values[0])
            given[key] = value
        typed_as: SSAValue | None = None
        type: Attribute | None = None
        if parser.parse_optional_punctuation("->") is not None:
            if parser.parse_optional_keyword("type_of") is not None:
                with parser.in_parens():
                    typed_as = parse_node(parser)
            else:
                type = parser.parse_type()
        return cls(
            operands=[args, sources, typed_as],
            properties={"op": StringAttr(name), "given": DictionaryAttr(given), "type": type},
            result_types=[NODE],
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_string_literal(self.op.data)
        with printer.in_parens():
            printer.print_list(self.args, printer.print_ssa_value)
        if self.given.data:
            printer.print_string(" ")
            with printer.in_braces():
                printer.print_list(self.given.data.items(), lambda item: self._print_attribute(printer, item))
        if self.typed_as is not None:
            printer.print_string(" -> type_of")
            with printer.in_parens():
                printer.print_ssa_value(self.typed_as)
        elif self.type is not None:
            printer.print_string(" -> ")
            printer.print_attribute(self.type)

    def _print_attribute(self, printer: Printer, item: tuple[str, Attribute]) -> None:
        key, value = item
        printer.print_identifier_or_string_literal(key)
        printer.print_string(" = ")
        if not isinstance(value, FromAttr):
            printer.print_attribute(value)
            return
        printer.print_string("#pattern.from<")
        printer.print_ssa_value(self.sources[cast(IntAttr, value.source).data])
        printer.print_string(", ")
        printer.print_string_literal(value.key.data)
        printer.print_string(">")


@irdl_op_definition
class RuleOp(IRDLOperation):
    """
    A pattern, and what replaces its root.

    ```mlir
    pattern.rule @drop_double_neg {
      %x = pattern.any
      %inner = pattern.op "graph.neg"(%x)
      %root = pattern.op "graph.neg"(%inner)
      pattern.replace %root, %x
    }
    ```
    """

    name = "pattern.rule"
    sym_name = prop_def(SymbolNameConstraint())
    rewrite_once = opt_prop_def(UnitAttr)
    require_type = opt_prop_def(UnitAttr)
    body = region_def("single_block")
    traits = traits_def(SymbolOpInterface())
    assembly_format = "$sym_name (`once` $rewrite_once^)? (`same_type` $require_type^)? $body attr-dict"

    def verify_(self) -> None:
        expect_last(self.body, ReplaceOp)


@irdl_op_definition
class TableOp(IRDLOperation):
    """
    Patterns in order of preference, each with a registered check of its matches or without one.

    ```mlir
    pattern.table @acme [@conv_bias_relu check @fits_in_sram, @conv_bias, @conv]
    ```
    """

    name = "pattern.table"
    sym_name = prop_def(SymbolNameConstraint())
    patterns = prop_def(ArrayAttr[SymbolRefAttr])
    checks = prop_def(ArrayAttr[SymbolRefAttr | UnitAttr])
    traits = traits_def(SymbolOpInterface())

    def entries(self) -> list[tuple[str, str | None]]:
        """The names of the patterns, each with that of its check."""
        return [
            (pattern.string_value(), check.string_value() if isinstance(check, SymbolRefAttr) else None)
            for pattern, check in zip(self.patterns, self.checks, strict=True)
        ]

    @classmethod
    def parse(cls, parser: Parser) -> TableOp:
        name = parser.parse_symbol_name()

        def parse_entry() -> tuple[SymbolRefAttr, SymbolRefAttr | UnitAttr]:
            pattern = SymbolRefAttr(parser.parse_symbol_name())
            if parser.parse_optional_keyword("check") is None:
                return pattern, UnitAttr()
            return pattern, SymbolRefAttr(parser.parse_symbol_name())

        entries = parser.parse_comma_separated_list(Parser.Delimiter.SQUARE, parse_entry)
        return cls(
            properties={
                "sym_name": name,
                "patterns": ArrayAttr([pattern for pattern, _ in entries]),
                "checks": ArrayAttr([check for _, check in entries]),
            }
        )

    def print(self, printer: Printer) -> None:
        def print_entry(entry: tuple[str, str | None]) -> None:
            printer.print_symbol_name(entry[0])
            if entry[1] is not None:
                printer.print_string(" check ")
                printer.print_symbol_name(entry[1])

        printer.print_string(" ")
        printer.print_symbol_name(self.sym_name.data)
        printer.print_string(" ")
        with printer.in_square_brackets():
            printer.print_list(self.entries(), print_entry)

    def verify_(self) -> None:
        if len(self.patterns) != len(self.checks):
            raise VerifyException(
                f"{len(self.patterns)} patterns need as many checks, found {len(self.checks)}"
            )
