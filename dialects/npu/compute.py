"""Instructions on the buffers of the accelerator: products, elementwise operations, the end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self, cast

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import I64, BytesAttr, DenseArrayBase, IntegerAttr, StringAttr, UnitAttr, i64
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, opt_prop_def, prop_def, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsTerminator
from xdsl.utils.exceptions import VerifyException

from stepwell.dialects.npu.tokens import InstructionOp, OpT, TokenType, parse_after, print_after
from stepwell.dialects.npu.transfers import parse_list
from stepwell.dialects.types import int_attr
from stepwell.runtime.npu.instructions import Alu, AluKind, Finish, Gemm, Instruction, Stage, Tokens, Uop

Pair = tuple[int, int]
OPERANDS = ("dst", "src", "wgt")
"""The indices of a micro-op."""
_KINDS = [kind.name.lower() for kind in AluKind]


def dense(numbers: npt.NDArray[np.int64]) -> DenseArrayBase[I64]:
    """The attribute of numbers, without a check of each."""
    return DenseArrayBase(i64, BytesAttr(numbers.astype("<i8").tobytes()))


class LoopedOp(InstructionOp):
    """An instruction that runs its micro-ops for each of some outer and inner iterations."""

    uops = prop_def(DenseArrayBase.constr(i64))
    """The indices of each micro-op, three numbers: of `dst`, `src` and `wgt`."""
    loops = prop_def(DenseArrayBase.constr(i64))
    """The numbers of outer and inner iterations."""
    dst = prop_def(DenseArrayBase.constr(i64))
    """What an outer and an inner iteration add to an index."""
    src = prop_def(DenseArrayBase.constr(i64))
    wgt = prop_def(DenseArrayBase.constr(i64))

    @property
    def stage(self) -> Stage:
        return Stage.COMPUTE

    def micro_ops(self) -> list[Uop]:
        """The micro-ops."""
        return [Uop(*row) for row in self.table().tolist()]

    def table(self) -> npt.NDArray[np.int64]:
        """The micro-ops as an array: a row each, a column for each of `OPERANDS`."""
        return np.frombuffer(self.uops.data.data, "<i8").reshape(-1, len(OPERANDS))

    def pair(self, name: str) -> Pair:
        """Two numbers: `loops`, `dst`, `src` or `wgt`."""
        return cast(Pair, tuple(cast("DenseArrayBase[I64]", getattr(self, name)).get_values()))

    def verify_(self) -> None:
        numbers = np.frombuffer(self.uops.data.data, "<i8")
        if not numbers.size or numbers.size % len(OPERANDS) or numbers.min() < 0:
            raise VerifyException("uops are three indices each, at least one of them")
        for name in ("loops", "dst", "src", "wgt"):
            pair = self.pair(name)
            if len(pair) != 2 or min(pair) < (name == "loops"):
                raise VerifyException(f"{name} is two numbers, outer and inner, found {list(pair)}")
        self.expect_neighbours()

    def last_index(self, name: str) -> int:
        """The largest index of `dst`, `src` or `wgt`."""
        outer, inner = self.pair("loops")
        factors = self.pair(name)
        base = int(self.table()[:, OPERANDS.index(name)].max())
        return base + factors[0] * (outer - 1) + factors[1] * (inner - 1)

    def print_loops(self, printer: Printer, names: Sequence[str]) -> None:
        """Print micro-ops, loops and factors."""
        uops = ", ".join(f"({uop.dst}, {uop.src}, {uop.wgt})" for uop in self.micro_ops())
        printer.print_string(f" uops [{uops}]")
        for name in ("loops", *names):
            printer.print_string(f" {name} {list(self.pair(name))}")
        print_after(self, printer)


def _parse_loops(parser: Parser, names: Sequence[str]) -> dict[str, Attribute]:
    """Micro-ops, loops and factors, as `print_loops` writes them."""

    def parse_uop() -> list[int]:
        uop = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_integer)
        if len(uop) != 3:
            parser.raise_error("expected three indices: dst, src, wgt")
        return uop

    parser.parse_keyword("uops")
    uops = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parse_uop)
    found: dict[str, Attribute] = {"uops": DenseArrayBase.from_list(i64, [n for uop in uops for n in uop])}
    for name in ("loops", *names):
        parser.parse_keyword(name)
        found[name] = parse_list(parser)
    return found


@irdl_op_definition
class GemmOp(LoopedOp):
    """
    Products of blocks: `acc[dst] += inp[src] x wgt[w] transposed`; `reset` sets `acc[dst]` to 0.

    ```mlir
    npu.program @p() config "pynq" {
      %z = npu.gemm reset uops [(0, 0, 0)] loops [1, 4] dst [0, 1] src [0, 0] wgt [0, 0]
      %g = npu.gemm uops [(0, 0, 0), (0, 1, 1)] loops [1, 4] dst [0, 1] src [0, 2] wgt [0, 0]
      %f = npu.finish
    }
    ```
    Indices of a micro-op are those of the first iteration; `dst`, `src` and `wgt` are what an outer and an
    inner iteration add.
    """

    name = "npu.gemm"

    reset = opt_prop_def(UnitAttr)

    def instruction(self, tokens: Tokens) -> Instruction:
        outer, inner = self.pair("loops")
        count = len(self.micro_ops())
        dst, src, wgt = (self.pair(name) for name in ("dst", "src", "wgt"))
        return Gemm(0, count, outer, inner, dst, src, wgt, self.reset is not None, tokens)

    def print(self, printer: Printer) -> None:
        printer.print_string(" reset" if self.reset is not None else "")
        self.print_loops(printer, ("dst", "src", "wgt"))

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        properties: dict[str, Attribute] = {}
        if parser.parse_optional_keyword("reset"):
            properties["reset"] = UnitAttr()
        properties |= _parse_loops(parser, ("dst", "src", "wgt"))
        return _parsed(cls, parser, properties)


@irdl_op_definition
class AluOp(LoopedOp):
    """
    An elementwise operation on sums: `acc[dst] = acc[dst] OP acc[src]`, or OP a number.

    ```mlir
    npu.program @p() config "pynq" {
      %r = npu.alu max imm 0 uops [(0, 0, 0)] loops [1, 4] dst [0, 1] src [0, 0]
      %m = npu.alu mulshift uops [(0, 4, 5)] loops [1, 4] dst [0, 1] src [0, 0]
      %f = npu.finish
    }
    ```
    `min`, `max`, `add`, `shr` (to the right with the sign; to the left by a negative number), and `mulshift`:
    `(a * m + 2^(s-1)) >> s` in 64 bits, where m is `acc[src]` and s is `acc` at the third index.

    Constraints:
      (C1) the operation is one of the five above; `mulshift` has no number.
    """

    name = "npu.alu"

    kind = prop_def(StringAttr)
    immediate = opt_prop_def(IntegerAttr.constr(i64))

    def instruction(self, tokens: Tokens) -> Instruction:
        outer, inner = self.pair("loops")
        number = None if self.immediate is None else self.immediate.value.data
        kind, count = AluKind[self.kind.data.upper()], len(self.micro_ops())
        return Alu(kind, 0, count, outer, inner, self.pair("dst"), self.pair("src"), number, tokens)

    def verify_(self) -> None:
        if self.kind.data not in _KINDS:  # (C1)
            raise VerifyException(f"an operation is {', '.join(_KINDS)}, found {self.kind.data}")
        if self.kind.data == "mulshift" and self.immediate is not None:
            raise VerifyException("mulshift takes its numbers from acc, not an immediate")
        super().verify_()

    def print(self, printer: Printer) -> None:
        printer.print_string(f" {self.kind.data}")
        if self.immediate is not None:
            printer.print_string(f" imm {self.immediate.value.data}")
        self.print_loops(printer, ("dst", "src"))

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        properties: dict[str, Attribute] = {"kind": StringAttr(parser.parse_identifier())}
        if parser.parse_optional_keyword("imm"):
            properties["immediate"] = int_attr(parser.parse_integer())
        properties |= _parse_loops(parser, ("dst", "src"))
        properties["wgt"] = DenseArrayBase.from_list(i64, [0, 0])
        return _parsed(cls, parser, properties)


@irdl_op_definition
class FinishOp(InstructionOp):
    """
    The end of a program.

    ```mlir
    npu.program @p() config "pynq" {
      %f = npu.finish
    }
    ```
    """

    name = "npu.finish"

    traits = traits_def(IsTerminator())

    @property
    def stage(self) -> Stage:
        return Stage.COMPUTE

    def instruction(self, tokens: Tokens) -> Instruction:
        return Finish(tokens)

    def verify_(self) -> None:
        self.expect_neighbours()

    def print(self, printer: Printer) -> None:
        print_after(self, printer)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        return _parsed(cls, parser, {})


def _parsed(cls: type[OpT], parser: Parser, properties: dict[str, Attribute]) -> OpT:
    after, more, attributes = parse_after(parser)
    return cls.create(
        operands=after, result_types=[TokenType()], properties={**properties, **more}, attributes=attributes
    )
