"""Common parts of the `pattern` dialect: the type of pattern objects, and checks of terminators."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence

from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import Attribute, Operation, ParametrizedAttribute, Region, SSAValue, TypeAttribute
from xdsl.irdl import (
    IRDLOperation,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsTerminator
from xdsl.utils.exceptions import VerifyException


@irdl_attr_definition
class NodeType(ParametrizedAttribute, TypeAttribute):
    """
    The type of pattern objects.

    ```mlir
    !pattern.node
    ```
    """

    name = "pattern.node"


NODE = NodeType()


class NodeOp(IRDLOperation, ABC):
    """An op that is a pattern object."""

    result = result_def(NODE)


class OneOp(NodeOp, ABC):
    """An op on one pattern object."""

    input = operand_def(NODE)


class TwoOp(NodeOp, ABC):
    """An op on two pattern objects."""

    left = operand_def(NODE)
    right = operand_def(NODE)
    assembly_format = "$left `,` $right attr-dict"


class ThreeOp(NodeOp, ABC):
    """An op on three pattern objects."""

    first = operand_def(NODE)
    second = operand_def(NODE)
    third = operand_def(NODE)
    assembly_format = "$first `,` $second `,` $third attr-dict"


class CallLike(NodeOp, ABC):
    """An op on pattern objects in parentheses: `(%a, %b)` exactly these, `(...)` any."""

    args = var_operand_def(NODE)
    any_args = opt_prop_def(UnitAttr)

    def print_args(self, printer: Printer, args: Sequence[SSAValue]) -> None:
        with printer.in_parens():
            if self.any_args is not None:
                printer.print_string("...")
            else:
                printer.print_list(args, printer.print_ssa_value)

    @staticmethod
    def parse_args(parser: Parser) -> tuple[list[SSAValue], dict[str, Attribute]]:
        """The operands in parentheses, with the property that says any."""
        parser.parse_punctuation("(")
        if parser.parse_optional_punctuation("...") is not None:
            parser.parse_punctuation(")")
            return [], {"any_args": UnitAttr()}
        if parser.parse_optional_punctuation(")") is not None:
            return [], {}

        def arg() -> SSAValue:
            if parser.parse_optional_punctuation("...") is not None:
                parser.raise_error("`...` stands alone; one operand of any kind is a pattern.any")
            return parse_node(parser)

        args = parser.parse_comma_separated_list(parser.Delimiter.NONE, arg)
        parser.parse_punctuation(")")
        return args, {}


def parse_node(parser: Parser) -> SSAValue:
    """A pattern object by name."""
    return parser.resolve_operand(parser.parse_unresolved_operand(), NODE)


def expect_last(body: Region, wanted: type[Operation]) -> None:
    """Require a region to end in an op. Raises: VerifyException."""
    last = body.block.last_op
    if not isinstance(last, wanted):
        found = last.name if last is not None else "nothing"
        raise VerifyException(f"the last op must be {wanted.name}, found {found}")


@irdl_op_definition
class YieldOp(IRDLOperation):
    """
    End a pattern with its root.

    ```mlir
    %x = pattern.any
    pattern.yield %x
    ```
    """

    name = "pattern.yield"
    root = var_operand_def(NODE)
    traits = traits_def(IsTerminator())
    assembly_format = "($root^)? attr-dict"

    def verify_(self) -> None:
        if len(self.root) != 1:
            raise VerifyException(f"a pattern yields one object, its root; found {len(self.root)}")
