"""Copies between arrays and the buffers of the accelerator."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Self, cast

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    I64,
    DenseArrayBase,
    IntegerAttr,
    MemRefType,
    StringAttr,
    UnitAttr,
    i64,
)
from xdsl.ir import Attribute, BlockArgument, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from stepwell.dialects.npu.tokens import InstructionOp, OpT, TokenType, parse_after, print_after
from stepwell.dialects.types import int_attr
from stepwell.runtime.npu.instructions import Buffer, Instruction, Load, Stage, Store, Tokens

_BUFFERS = [buffer.name.lower() for buffer in Buffer if buffer is not Buffer.UOP]


class TransferOp(InstructionOp):
    """A copy between `y` rows of `x` elements of an array, `stride` apart, and a buffer, without gaps."""

    array = operand_def(MemRefType)
    dram = prop_def(IntegerAttr.constr(i64))
    sram = prop_def(IntegerAttr.constr(i64))
    size = prop_def(DenseArrayBase.constr(i64))
    stride = prop_def(IntegerAttr.constr(i64))

    @property
    def argument(self) -> int:
        """The number of the array among the program's arguments. Raises: VerifyException."""
        if not isinstance(self.array, BlockArgument):
            raise VerifyException("the array must be an argument of the program")
        return self.array.index

    def numbers(self) -> tuple[int, int, int, int, int]:
        """First element of the buffer and of the array, rows, elements a row, distance of rows."""
        y, x = cast("tuple[int, int]", self.size.get_values())
        return self.sram.value.data, self.dram.value.data, y, x, self.stride.value.data

    def expect_extent(self, element: tuple[int, ...]) -> None:
        """Require the array to have such elements, and the rows to be in it. Raises: VerifyException."""
        shape = cast("MemRefType[Attribute]", self.array.type).get_shape()
        if len(self.size.get_values()) != 2:
            raise VerifyException(f"size is two numbers, rows and elements, found {self.size}")
        if shape[-len(element) :] != element:
            text = "x".join(map(str, element))
            raise VerifyException(f"the last dimensions must be an element, {text}, found {self.array.type}")
        if DYNAMIC_INDEX in shape:
            raise VerifyException(f"the sizes of arrays must be known, found {self.array.type}")
        count = prod(shape[: -len(element)])
        sram, dram, y, x, stride = self.numbers()
        if min(sram, dram, stride) < 0 or min(y, x) < 1:
            found = f"to {sram} size [{y}, {x}] stride {stride}"
            raise VerifyException(f"places are from 0 on, and sizes from 1 on, found [{dram}] {found}")
        last = dram + (y - 1) * stride + x - 1
        if last >= count:
            raise VerifyException(f"elements {dram} to {last} of an array that has {count}")


@irdl_op_definition
class LoadOp(TransferOp):
    """
    Fill a buffer from an array: `inp`, `wgt` or `acc`; padding has a value of its own.

    ```mlir
    npu.program @p(%x: memref<4x4x1x16xi8>) config "pynq" {
      %a = npu.load inp %x[5] to 0 size [2, 2] stride 4 pad [1, 1, 1, 1] value 0 : memref<4x4x1x16xi8>
      %f = npu.finish after(%a)
    }
    ```
    Constraints:
      (C1) the buffer is inp, wgt or acc; micro-ops are loaded where the program is encoded.
      (C2) the last dimensions of the array are an element of the buffer; rows are within it.
    """

    name = "npu.load"

    buffer = prop_def(StringAttr)
    pad = opt_prop_def(DenseArrayBase.constr(i64))
    value = prop_def(IntegerAttr.constr(i64), default_value=int_attr(0))

    @property
    def stage(self) -> Stage:
        return self.instruction(Tokens()).stage

    def instruction(self, tokens: Tokens) -> Load:
        buffer = Buffer[self.buffer.data.upper()]
        pad = tuple(self.pad.get_values()) if self.pad is not None else (0, 0, 0, 0)
        sram, dram, y, x, stride = self.numbers()
        sizes = cast("tuple[int, int, int, int]", pad)
        return Load(buffer, sram, self.argument, dram, y, x, stride, sizes, self.value.value.data, tokens)

    def verify_(self) -> None:
        if self.buffer.data not in _BUFFERS:  # (C1)
            raise VerifyException(f"a buffer is {', '.join(_BUFFERS)}, found {self.buffer.data}")
        if self.pad is not None and (len(self.pad.get_values()) != 4 or min(self.pad.get_values()) < 0):
            raise VerifyException(f"pad is four sizes: above, below, left, right, found {self.pad}")
        self.expect_neighbours()

    def print(self, printer: Printer) -> None:
        sram, dram, y, x, stride = self.numbers()
        printer.print_string(f" {self.buffer.data} ")
        printer.print_ssa_value(self.array)
        printer.print_string(f"[{dram}] to {sram} size [{y}, {x}] stride {stride}")
        if self.pad is not None:
            printer.print_string(f" pad {list(self.pad.get_values())} value {self.value.value.data}")
        print_after(self, printer)
        printer.print_string(" : ")
        printer.print_attribute(self.array.type)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        properties: dict[str, Attribute] = {"buffer": StringAttr(parser.parse_identifier())}
        array, properties["dram"] = _parse_place(parser)
        parser.parse_keyword("to")
        properties |= _parse_numbers(parser)
        if parser.parse_optional_keyword("pad"):
            properties["pad"] = parse_list(parser)
            parser.parse_keyword("value")
            properties["value"] = int_attr(parser.parse_integer())
        return _parsed(cls, parser, array, properties)


@irdl_op_definition
class StoreOp(TransferOp):
    """
    Write sums of `acc`, clipped to bytes, into an array; `unsigned` bytes are 0 to 255.

    ```mlir
    npu.program @p(%y: memref<8x1x16xi8>) config "pynq" {
      %s = npu.store %y[0] from 0 size [2, 2] stride 4 : memref<8x1x16xi8>
      %z = npu.gemm reset uops [(0, 0, 0)] loops [1, 1] dst [0, 0] src [0, 0] wgt [0, 0] after(%s)
      %f = npu.finish
    }
    ```
    Constraints:
      (C1) the last dimensions of the array are an element of `acc`; rows are within it.
    """

    name = "npu.store"

    unsigned = opt_prop_def(UnitAttr)

    @property
    def stage(self) -> Stage:
        return Stage.STORE

    def instruction(self, tokens: Tokens) -> Instruction:
        sram, dram, y, x, stride = self.numbers()
        return Store(sram, self.argument, dram, y, x, stride, self.unsigned is not None, tokens)

    def verify_(self) -> None:
        self.expect_neighbours()

    def print(self, printer: Printer) -> None:
        sram, dram, y, x, stride = self.numbers()
        printer.print_string(" unsigned " if self.unsigned is not None else " ")
        printer.print_ssa_value(self.array)
        printer.print_string(f"[{dram}] from {sram} size [{y}, {x}] stride {stride}")
        print_after(self, printer)
        printer.print_string(" : ")
        printer.print_attribute(self.array.type)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        properties: dict[str, Attribute] = {}
        if parser.parse_optional_keyword("unsigned"):
            properties["unsigned"] = UnitAttr()
        array, properties["dram"] = _parse_place(parser)
        parser.parse_keyword("from")
        properties |= _parse_numbers(parser)
        return _parsed(cls, parser, array, properties)


def _parse_place(parser: Parser) -> tuple[UnresolvedOperand, Attribute]:
    """`%x[5]`: an array and its first element."""
    array = parser.parse_unresolved_operand()
    with parser.in_square_brackets():
        return array, int_attr(parser.parse_integer())


def _parse_numbers(parser: Parser) -> dict[str, Attribute]:
    """`0 size [2, 2] stride 4`."""
    found: dict[str, Attribute] = {"sram": int_attr(parser.parse_integer())}
    parser.parse_keyword("size")
    found["size"] = parse_list(parser)
    parser.parse_keyword("stride")
    return found | {"stride": int_attr(parser.parse_integer())}


def parse_list(parser: Parser) -> DenseArrayBase[I64]:
    """`[1, 2]`."""
    numbers = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer)
    return DenseArrayBase.from_list(i64, numbers)


def _parsed(
    cls: type[OpT], parser: Parser, array: UnresolvedOperand, properties: dict[str, Attribute]
) -> OpT:
    after, more, attributes = parse_after(parser)
    parser.parse_punctuation(":")
    value = parser.resolve_operand(array, parser.parse_type())
    operands: Sequence[SSAValue] = [value, *after]
    return cls.create(
        operands=operands,
        result_types=[TokenType()],
        properties={**properties, **more},
        attributes=attributes,
    )
