"""`adt.match`: the first case whose pattern fits a value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Self, cast

from xdsl.dialects.builtin import ArrayAttr, TupleType, UnitAttr
from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    traits_def,
    var_region_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import RecursiveMemoryEffect
from xdsl.utils.exceptions import VerifyException

from stepwell.dialects.adt.data import DataType
from stepwell.dialects.adt.definitions import definition_of
from stepwell.dialects.adt.exhaustive import missing_cases
from stepwell.dialects.adt.make import fits
from stepwell.dialects.adt.patterns import BOUND, TUPLE, PatternAttr, parse_case, print_pattern
from stepwell.dialects.graph.base import GraphOp, Kind
from stepwell.dialects.graph.control_flow import expect_yield, joined_type, yield_of, yielded_and_given
from stepwell.runtime.errors import StepwellError


def bound_types(pattern: PatternAttr, type: Attribute, at: Operation) -> list[Attribute]:
    """
    The types of the values that a pattern binds in a value of a type, in the order of its text.

    Raises: StepwellError `unknown-symbol` for an unknown constructor, `type-mismatch` for another number of
    fields, or a pattern of another kind of value.
    """
    types: list[Attribute] = []
    pending = [(pattern, type)]
    while pending:
        part, of = pending.pop()
        if part.kind == BOUND:
            types.append(of)
        elif not part.fits_all:
            pending += reversed(list(zip(part.parts, fields_of(part, of, at), strict=True)))
    return types


def fields_of(pattern: PatternAttr, type: Attribute, at: Operation) -> Sequence[Attribute]:
    """The types of the fields that a pattern of a constructor or of a tuple takes apart."""
    if pattern.kind == TUPLE and isinstance(type, TupleType):
        fields, what = cast("Sequence[Attribute]", type.types.data), "the tuple"
    elif pattern.is_constructor and isinstance(type, DataType):
        fields, what = definition_of(type, at).fields(pattern.kind, type), pattern.kind
    else:
        wanted = "a tuple" if pattern.kind == TUPLE else f"the constructor {pattern.kind}"
        raise StepwellError("type-mismatch", at, f"the pattern is of {wanted}, the value has type {type}")
    if len(fields) != len(pattern.parts):
        message = f"{what} has {len(fields)} fields, the pattern {len(pattern.parts)}"
        help = f"give each of {', '.join(map(str, fields)) or 'none'} a pattern; `_` fits anything"
        raise StepwellError("type-mismatch", at, message, help=help)
    return fields


@irdl_op_definition
class MatchOp(GraphOp):
    """
    The results of the first case whose pattern fits a value. Cases see the values around the op.

    ```mlir
    %r = adt.match %l : !adt.data<@List, tensor<f32>> -> (tensor<f32>)
    case Cons(%a: tensor<f32>, _) {
      graph.yield %a : tensor<f32>
    } case Nil {
      graph.yield %zero : tensor<f32>
    }
    ```
    A name in a pattern binds that part of the value. `adt.match partial` may leave out cases: a value that
    none fits then ends the call with `error[no-case]`.

    Constraints:
      (C1) there is one pattern for each case; a pattern fits the type of the value.
      (C2) the bound names are the arguments of the case, of the types of those parts.
      (C3) a case ends in a `graph.yield` of one value for each result, of its type.
      (C4) the cases cover every value, unless the op is partial.
    """

    name = "adt.match"
    KIND: ClassVar[Kind] = Kind.STRUCTURE

    value = operand_def()
    patterns = prop_def(ArrayAttr[PatternAttr])
    partial = opt_prop_def(UnitAttr)
    outputs = var_result_def()
    cases = var_region_def("single_block")

    traits = traits_def(RecursiveMemoryEffect())

    def __init__(
        self,
        value: SSAValue,
        patterns: Sequence[PatternAttr],
        cases: Sequence[Region],
        result_types: Sequence[Attribute],
        *,
        partial: bool = False,
    ):
        super().__init__(
            operands=[value],
            properties={"patterns": ArrayAttr(patterns), "partial": UnitAttr() if partial else None},
            result_types=[result_types],
            regions=[cases],
        )

    @property
    def is_partial(self) -> bool:
        """Whether values may have no case."""
        return self.partial is not None

    def infer(self) -> Sequence[Attribute]:
        types = list(self.result_types)
        if self.cases:
            types = list(yield_of(self.cases[0]).operand_types)
        for case in self.cases[1:]:
            pairs = zip(types, yield_of(case).operand_types, strict=True)
            types = [joined_type(a, b) or a for a, b in pairs]
        return types

    def equal_types(self) -> Sequence[tuple[Attribute, Attribute]]:
        pairs: list[tuple[Attribute, Attribute]] = []
        for pattern, case in zip(self.patterns, self.cases, strict=True):
            pairs += zip(bound_types(pattern, self.value.type, self), case.block.arg_types, strict=True)
        return pairs

    def likely_types(self) -> Sequence[tuple[Attribute, Attribute]]:
        return yielded_and_given(self.cases, self.results)

    def check(self) -> None:
        if len(self.patterns) != len(self.cases):  # (C1)
            raise VerifyException(f"{len(self.cases)} cases have {len(self.patterns)} patterns")
        for number, (pattern, case) in enumerate(zip(self.patterns, self.cases, strict=True), start=1):
            bound, found = bound_types(pattern, self.value.type, self), case.block.arg_types
            if not fits(found, bound):  # (C2)
                wanted, actual = (", ".join(map(str, types)) or "nothing" for types in (bound, found))
                message = f"case {number} binds values of types {wanted}, its names have {actual}"
                raise StepwellError("type-mismatch", self, message)
            expect_yield(case, len(self.outputs))  # (C3)
            if not fits(yielded := yield_of(case).operand_types, self.result_types):
                pairs = zip(yielded, self.result_types, strict=True)
                a, b = next((a, b) for a, b in pairs if a != b and joined_type(a, b) is None)
                raise StepwellError(
                    "type-mismatch", self, f"case {number} yields {a} where the result is {b}"
                )
        if not self.is_partial:  # (C4)
            self._check_cases()

    def _check_cases(self) -> None:
        """Require the cases to cover every value. Raises: StepwellError `unmatched`, `too-large`."""
        if missing := missing_cases(self.patterns.data, self.value.type, self):
            raise StepwellError(
                "unmatched",
                self,
                f"match does not cover {', '.join(missing)}",
                help="add a case, end with `case _`, or write `adt.match partial`",
            )

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        properties: dict[str, Attribute] = {}
        if parser.parse_optional_keyword("partial"):
            properties["partial"] = UnitAttr()
        name = parser.parse_unresolved_operand()
        parser.parse_punctuation(":")
        value = parser.resolve_operand(name, parser.parse_type())
        parser.parse_punctuation("->")
        types = parser.parse_comma_separated_list(Parser.Delimiter.PAREN, parser.parse_type)
        attributes = parser.parse_optional_attr_dict_with_keyword()
        patterns: list[PatternAttr] = []
        regions: list[Region] = []
        while parser.parse_optional_keyword("case"):
            pattern, arguments = parse_case(parser)
            patterns.append(pattern)
            regions.append(parser.parse_region(arguments))
        return cls.create(
            operands=[value],
            result_types=types,
            properties={**properties, "patterns": ArrayAttr(patterns)},
            attributes=dict(attributes.data) if attributes is not None else {},
            regions=regions,
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" partial " if self.is_partial else " ")
        printer.print_ssa_value(self.value)
        printer.print_string(" : ")
        printer.print_attribute(self.value.type)
        printer.print_string(" -> ")
        with printer.in_parens():
            printer.print_list(self.result_types, printer.print_attribute)
        printer.print_op_attributes(self.attributes, print_keyword=True)
        for pattern, case in zip(self.patterns, self.cases, strict=True):
            arguments = iter(case.block.args)
            printer.print_string(" case ")
            print_pattern(pattern, printer, lambda a=arguments: printer.print_block_argument(next(a)))
            printer.print_string(" ")
            printer.print_region(case, print_entry_block_args=False)
