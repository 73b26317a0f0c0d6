"""Programs of the accelerator as bytes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self, cast

from xdsl.dialects.builtin import ArrayAttr, MemRefType, StringAttr, SymbolNameConstraint, i8, i32
from xdsl.ir import Attribute
from xdsl.irdl import IRDLOperation, irdl_op_definition, prop_def, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import SymbolOpInterface
from xdsl.utils.exceptions import VerifyException

from stepwell.runtime.errors import StepwellError
from stepwell.runtime.npu.encoded import Encoded
from stepwell.runtime.npu.instructions import (
    INSTRUCTION_BYTES,
    UOP_BYTES,
    decode,
    decode_uops,
    encode,
    encode_uops,
)

ELEMENTS = {"i8": i8, "i32": i32}
"""The element types of arrays."""


@irdl_op_definition
class BinaryOp(IRDLOperation):
    """
    A program of the accelerator as `encode-npu` writes it: instructions and micro-ops in hexadecimal.

    ```mlir
    npu.binary @p(memref<1x1x16xi8>) config "pynq" instructions [
      "0000c03f000040000800010000000000", "02001000044000000000000000000004",
      "04000000000000000000000000000000"
    ] uops ["0000000000"]
    ```
    Constraints:
      (C1) the texts are bytes of instructions, 16 each, and of micro-ops, 5 each.
      (C2) arrays are of i8 or i32.
    """

    name = "npu.binary"

    sym_name = prop_def(SymbolNameConstraint())
    arguments = prop_def(ArrayAttr[MemRefType[Attribute]])
    config = prop_def(StringAttr)
    instructions = prop_def(ArrayAttr[StringAttr])
    uops = prop_def(ArrayAttr[StringAttr])

    traits = traits_def(SymbolOpInterface())

    @staticmethod
    def of(found: Encoded) -> BinaryOp:
        """The op of an encoded program. Raises: StepwellError `bad-npu-program`."""
        types = [MemRefType(ELEMENTS[dtype], shape) for shape, dtype in found.arguments]
        return BinaryOp.create(
            properties={
                "sym_name": StringAttr(found.name),
                "arguments": ArrayAttr(types),
                "config": StringAttr(found.config),
                "instructions": _texts(encode(found.instructions), INSTRUCTION_BYTES),
                "uops": _texts(encode_uops(found.uops), UOP_BYTES),
            }
        )

    def encoded(self) -> Encoded:
        """The program. Raises: StepwellError `bad-npu-program`."""
        types = cast("Sequence[MemRefType[Attribute]]", self.arguments.data)
        return Encoded(
            self.sym_name.data,
            self.config.data,
            tuple((tuple(type.get_shape()), str(type.element_type)) for type in types),
            tuple(decode(self._bytes(self.instructions, INSTRUCTION_BYTES))),
            tuple(decode_uops(self._bytes(self.uops, UOP_BYTES))),
        )

    def _bytes(self, texts: ArrayAttr[StringAttr], size: int) -> bytes:
        """The bytes of texts, each of so many bytes. Raises: StepwellError `bad-npu-program`."""
        for text in texts:
            try:
                found = bytes.fromhex(text.data)
            except ValueError:
                found = b""
            if len(found) != size:
                message = f"a text is {size} bytes in hexadecimal, found {text.data!r}"
                raise StepwellError("bad-npu-program", self, message)
        return bytes.fromhex("".join(text.data for text in texts))

    def verify_(self) -> None:
        try:
            self.encoded()  # (C1)
        except StepwellError as error:
            raise VerifyException(error.message) from None
        for type in self.arguments:
            if str(type.element_type) not in ELEMENTS:  # (C2)
                raise VerifyException(f"arrays are of {' or '.join(ELEMENTS)}, found {type}")

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_symbol_name(self.sym_name.data)
        with printer.in_parens():
            printer.print_list(self.arguments, printer.print_attribute)
        printer.print_string(" config ")
        printer.print_attribute(self.config)
        for name, texts in (("instructions", self.instructions), ("uops", self.uops)):
            printer.print_string(f" {name} ")
            printer.print_attribute(texts)
        printer.print_op_attributes(self.attributes, print_keyword=True)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        properties: dict[str, Attribute] = {"sym_name": parser.parse_symbol_name()}
        types = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
        properties["arguments"] = ArrayAttr(types)
        parser.parse_keyword("config")
        properties["config"] = StringAttr(parser.parse_str_literal())
        for name in ("instructions", "uops"):
            parser.parse_keyword(name)
            texts = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_str_literal)
            properties[name] = ArrayAttr([StringAttr(text) for text in texts])
        attributes = parser.parse_optional_attr_dict_with_keyword()
        return cls.create(
            properties=properties, attributes=dict(attributes.data) if attributes is not None else {}
        )


def _texts(data: bytes, size: int) -> ArrayAttr[StringAttr]:
    """Bytes in hexadecimal, so many in each text."""
    return ArrayAttr([StringAttr(data[at : at + size].hex()) for at in range(0, len(data), size)])
