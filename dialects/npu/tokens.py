"""Tokens between the stages of the accelerator, and the base of all instructions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TypeVar

from xdsl.dialects.builtin import ArrayAttr, StringAttr
from xdsl.ir import Attribute, Operation, ParametrizedAttribute, SSAValue, TypeAttribute
from xdsl.irdl import (
    IRDLOperation,
    irdl_attr_definition,
    opt_prop_def,
    param_def,
    result_def,
    var_operand_def,
)
from xdsl.parser import AttrParser, Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from stepwell.runtime.npu.instructions import Instruction, Stage, Tokens

NAMES = {"pop-prev": "pop_prev", "pop-next": "pop_next", "push-prev": "push_prev", "push-next": "push_next"}


@irdl_attr_definition
class TokenType(ParametrizedAttribute, TypeAttribute):
    """
    The type of a token: that an instruction has ended.

    ```mlir
    !npu.token
    ```
    """

    name = "npu.token"


@irdl_attr_definition
class TokensAttr(ParametrizedAttribute):
    """
    The tokens that an instruction takes from its neighbours and gives them, as `assign-tokens` decides.

    ```mlir
    #npu.tokens<[pop-prev, push-next]>
    ```
    Constraints:
      (C1) names are pop-prev, pop-next, push-prev and push-next, each once.
    """

    name = "npu.tokens"

    names: ArrayAttr[StringAttr] = param_def()

    @staticmethod
    def of(tokens: Tokens) -> TokensAttr:
        """The attribute of the tokens of an instruction."""
        return TokensAttr(ArrayAttr([StringAttr(n) for n, field in NAMES.items() if getattr(tokens, field)]))

    def tokens(self) -> Tokens:
        """The tokens of the instruction."""
        return Tokens(**{NAMES[name.data]: True for name in self.names})

    def verify(self) -> None:
        given = [name.data for name in self.names]
        if not {*given} <= {*NAMES} or len({*given}) != len(given):  # (C1)
            raise VerifyException(f"tokens are {', '.join(NAMES)}, each once, found {', '.join(given)}")

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets(), printer.in_square_brackets():
            printer.print_string(", ".join(name.data for name in self.names))

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> list[Attribute]:
        with parser.in_angle_brackets():
            return [_parse_names(parser)]


def _parse_names(parser: AttrParser) -> ArrayAttr[StringAttr]:
    """`[pop-prev, push-next]`."""

    def parse_name() -> StringAttr:
        first = parser.parse_identifier()
        parser.parse_punctuation("-")
        return StringAttr(f"{first}-{parser.parse_identifier()}")

    return ArrayAttr(parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parse_name))


class InstructionOp(IRDLOperation, ABC):
    """
    An instruction: it begins after the tokens of `after`, and gives a token at its end.

    Tokens of its own stage are in the order of the queue. Tokens of stages that are not neighbours are
    refused.
    """

    after = var_operand_def(TokenType)
    tokens = opt_prop_def(TokensAttr)
    token = result_def(TokenType)

    @property
    @abstractmethod
    def stage(self) -> Stage:
        """The stage that executes the instruction."""

    @abstractmethod
    def instruction(self, tokens: Tokens) -> Instruction:
        """The instruction; its micro-ops are counted from 0."""

    def expect_neighbours(self) -> None:
        """Require the tokens to come from this stage, or one beside it. Raises: VerifyException."""
        for value in self.after:
            source = value.owner
            if isinstance(source, InstructionOp) and abs(source.stage - self.stage) > 1:
                what = f"{source.name}, of the stage {source.stage.name.lower()}"
                raise VerifyException(
                    f"{self.name} cannot wait for {what}: no queue leads to {self.stage.name.lower()}"
                )


OpT = TypeVar("OpT", bound=InstructionOp)


def print_after(op: InstructionOp, printer: Printer) -> None:
    """Print `after(%a, %b)`, `tokens […]` and the attributes."""
    if op.after:
        printer.print_string(" after")
        with printer.in_parens():
            printer.print_list(op.after, printer.print_ssa_value)
    if op.tokens is not None:
        printer.print_string(" tokens [" + ", ".join(name.data for name in op.tokens.names) + "]")
    printer.print_op_attributes(op.attributes)


def parse_after(parser: Parser) -> tuple[list[SSAValue], dict[str, Attribute], dict[str, Attribute]]:
    """Operands, properties and attributes, as `print_after` writes them."""
    operands: list[SSAValue] = []
    properties: dict[str, Attribute] = {}
    if parser.parse_optional_keyword("after"):
        given = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_unresolved_operand)
        operands = [parser.resolve_operand(each, TokenType()) for each in given]
    if parser.parse_optional_keyword("tokens"):
        properties["tokens"] = TokensAttr(_parse_names(parser))
    return operands, properties, dict(parser.parse_optional_attr_dict())


def instructions_of(ops: Sequence[Operation]) -> list[InstructionOp]:
    """The instructions among ops."""
    return [op for op in ops if isinstance(op, InstructionOp)]
