"""Programs of the accelerator."""

from __future__ import annotations

from typing import Self

from xdsl.dialects.builtin import MemRefType, StringAttr, SymbolNameConstraint
from xdsl.irdl import IRDLOperation, irdl_op_definition, prop_def, region_def, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsolatedFromAbove, SymbolOpInterface
from xdsl.utils.exceptions import VerifyException

from stepwell.dialects.npu.compute import FinishOp, GemmOp, LoopedOp
from stepwell.dialects.npu.tokens import InstructionOp, instructions_of
from stepwell.dialects.npu.transfers import LoadOp, StoreOp
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.npu.config import Config, config_of
from stepwell.runtime.npu.instructions import Tokens
from stepwell.runtime.npu.order import expect_ending


@irdl_op_definition
class ProgramOp(IRDLOperation):
    """
    A program of the accelerator, on arrays of its elements.

    ```mlir
    npu.program @p(%x: memref<1x1x16xi8>, %w: memref<1x16x16xi8>, %y: memref<1x1x16xi8>) config "pynq" {
      %a = npu.load inp %x[0] to 0 size [1, 1] stride 1 : memref<1x1x16xi8>
      %b = npu.load wgt %w[0] to 0 size [1, 1] stride 1 : memref<1x16x16xi8>
      %z = npu.gemm reset uops [(0, 0, 0)] loops [1, 1] dst [0, 0] src [0, 0] wgt [0, 0]
      %g = npu.gemm uops [(0, 0, 0)] loops [1, 1] dst [0, 0] src [0, 0] wgt [0, 0] after(%a, %b)
      %s = npu.store %y[0] from 0 size [1, 1] stride 1 after(%g) : memref<1x1x16xi8>
      %f = npu.finish after(%s)
    }
    ```
    Constraints:
      (C1) arguments are arrays; instructions alone are in the program, whose last one is `npu.finish`.
      (C2) the configuration is a known one, or a file.
      (C3) copies are of whole elements, within arrays and buffers; products are within buffers.
      (C4) with tokens assigned, the program ends, and no token is left.
    """

    name = "npu.program"

    sym_name = prop_def(SymbolNameConstraint())
    config = prop_def(StringAttr)
    body = region_def("single_block")

    traits = traits_def(SymbolOpInterface(), IsolatedFromAbove())

    @property
    def instructions(self) -> list[InstructionOp]:
        """The instructions in the order of the text."""
        return instructions_of(list(self.body.block.ops))

    def sizes(self) -> Config:
        """The configuration. Raises: StepwellError `bad-target`."""
        return config_of(self.config.data)

    def verify_(self) -> None:
        ops = list(self.body.block.ops)
        if not all(isinstance(type, MemRefType) for type in self.body.block.arg_types):  # (C1)
            raise VerifyException("the arguments of a program are arrays: memref<…>")
        others = [op.name for op in ops if not isinstance(op, InstructionOp)]
        if others or not ops or not isinstance(ops[-1], FinishOp):
            found = others[0] if others else ops[-1].name if ops else "nothing"
            raise VerifyException(f"a program is instructions with npu.finish at the end, found {found}")
        try:
            config = self.sizes()  # (C2)
        except StepwellError as error:
            raise VerifyException(error.message) from None
        for op in self.instructions:  # (C3)
            _expect_within(op, config)
        if any(op.tokens is not None for op in self.instructions):  # (C4)
            try:
                expect_ending([op.instruction(assigned(op)) for op in self.instructions])
            except StepwellError as error:
                raise VerifyException(error.message) from None

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_symbol_name(self.sym_name.data)
        with printer.in_parens():
            printer.print_list(self.body.block.args, printer.print_block_argument)
        printer.print_string(" config ")
        printer.print_attribute(self.config)
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        name = parser.parse_symbol_name()
        arguments = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_argument)
        parser.parse_keyword("config")
        config = StringAttr(parser.parse_str_literal())
        attributes = parser.parse_optional_attr_dict_with_keyword()
        body = parser.parse_region(arguments)
        return cls.create(
            properties={"sym_name": name, "config": config},
            attributes=dict(attributes.data) if attributes is not None else {},
            regions=[body],
        )


def assigned(op: InstructionOp) -> Tokens:
    """The tokens of an instruction; empty if they are not assigned."""
    return op.tokens.tokens() if op.tokens is not None else Tokens()


def _expect_within(op: InstructionOp, config: Config) -> None:
    """Require an instruction to stay within arrays and buffers. Raises: VerifyException."""
    wanted: dict[str, int] = {}
    if isinstance(op, LoadOp):
        op.expect_extent(config.element(op.buffer.data))
        load = op.instruction(Tokens())
        wanted[op.buffer.data] = load.sram + load.elements - 1
    elif isinstance(op, StoreOp):
        op.expect_extent(config.element("out"))
        sram, _, y, x, _ = op.numbers()
        wanted["acc"] = sram + y * x - 1
    elif isinstance(op, LoopedOp):
        wanted["acc"] = op.last_index("dst")
        if isinstance(op, GemmOp):
            wanted |= {"inp": op.last_index("src"), "wgt": op.last_index("wgt")}
        else:
            wanted["acc"] = max(wanted["acc"], op.last_index("src"), op.last_index("wgt"))
    for buffer, last in wanted.items():
        if last >= (size := getattr(config, buffer)):
            raise VerifyException(f"{op.name} accesses element {last} of {buffer}, which has {size}")
