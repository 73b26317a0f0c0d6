"""Copies of values from one device to another."""

from __future__ import annotations

from typing import ClassVar, Self

from xdsl.dialects.builtin import SymbolRefAttr, TensorType, TupleType
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from stepwell.dialects.graph.base import Kind, SameTypeOp
from stepwell.dialects.type_variables import HoleType, VarType


@irdl_op_definition
class CopyOp(SameTypeOp):
    """
    A value on another device.

    ```mlir
    %1 = dev.copy %0 from @host to @gpu0 : tensor<5x7xf32>
    ```
    Constraints:
      (C1) the value is a tensor, or a tuple of tensors.
    """

    name = "dev.copy"
    KIND: ClassVar[Kind] = Kind.OPAQUE

    input = operand_def()
    source = prop_def(SymbolRefAttr)
    to = prop_def(SymbolRefAttr)
    result = result_def()

    traits = traits_def(Pure())

    def __init__(self, input: SSAValue, source: str, to: str):
        self.initialize([input], {"source": SymbolRefAttr(source), "to": SymbolRefAttr(to)})

    def check(self) -> None:
        if not _is_copied(self.input.type):  # (C1)
            raise VerifyException(f"a tensor is copied, or a tuple of tensors, found {self.input.type}")

    @property
    def devices(self) -> tuple[str, str]:
        """The names of the devices of the operand and of the result."""
        return self.source.string_value(), self.to.string_value()

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.input)
        for word, device in zip(("from", "to"), self.devices, strict=True):
            printer.print_string(f" {word} ")
            printer.print_symbol_name(device)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.result.type)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        value = parser.parse_unresolved_operand()
        devices: dict[str, SymbolRefAttr] = {}
        for word, key in (("from", "source"), ("to", "to")):
            parser.parse_keyword(word)
            devices[key] = SymbolRefAttr(parser.parse_symbol_name())
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        type = parser.parse_type()
        operand = parser.resolve_operand(value, type)
        return cls.create(
            operands=[operand], result_types=[type], properties={**devices}, attributes=attributes
        )


def _is_copied(type: Attribute) -> bool:
    """Whether values of a type are on one device: tensors and tuples of them; unknown types may be."""
    if isinstance(type, TupleType):
        return all(map(_is_copied, type.types.data))
    return isinstance(type, TensorType | HoleType | VarType)
