"""Arithmetic on the sizes of a call by C: values are i64, and a flag says whether all of them are valid."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects import llvm
from xdsl.dialects.builtin import DenseArrayBase, i64
from xdsl.ir import Operation, SSAValue

from stepwell.dialects.llvm.instructions import SelectOp
from stepwell.dialects.llvm.intrinsics import SAddWithOverflowOp, SMaxOp, SMinOp, SMulWithOverflowOp
from stepwell.lowering.loops_to_llvm.code import Code
from stepwell.lowering.loops_to_llvm.state import I1, I64
from stepwell.runtime.dims import Dim
from stepwell.runtime.integers.expression_text import Algebra

_PAIR = llvm.LLVMStructType.from_type_list([I64, I1])


class CheckedSizes:
    """
    Dimension expressions as code in which no overflow and no division by zero goes unnoticed.

    `bad` becomes true where one occurs; the values after it are meaningless.
    """

    def __init__(self, code: Code, symbols: Mapping[str, SSAValue]):
        self._code, self._symbols = code, symbols
        self.bad = code.integer(0, I1)
        self._algebra = Algebra[SSAValue](
            number=code.integer,
            add=lambda a, b: self._checked(SAddWithOverflowOp, a, b),
            multiply=lambda a, b: self._checked(SMulWithOverflowOp, a, b),
            floordiv=self._floordiv,
            ceildiv=self._ceildiv,
            minimum=lambda a, b: code.make(SMinOp, [a, b]),
            maximum=lambda a, b: code.make(SMaxOp, [a, b]),
        )

    def value(self, size: Dim) -> SSAValue:
        """The value of a size."""
        return size.build(self._symbols.__getitem__, self._algebra)

    def expect(self, predicate: str, a: SSAValue, b: SSAValue) -> None:
        """Require a comparison of two values to hold, such as `sle`."""
        wrong = self._code.make(llvm.XOrOp, [self._code.compare(predicate, a, b), self._code.integer(1, I1)])
        self._note(wrong)

    def expect_between(self, value: SSAValue, least: int, most: int) -> None:
        """Require a value to be in a range, both ends included."""
        self.expect("sge", value, self._code.integer(least))
        self.expect("sle", value, self._code.integer(most))

    def _note(self, wrong: SSAValue) -> None:
        self.bad = self._code.make(llvm.OrOp, [self.bad, wrong])

    def _checked(self, op_type: type[Operation], a: SSAValue, b: SSAValue) -> SSAValue:
        """A sum or product that fits 64 bits."""
        pair = self._code.make(op_type, [a, b], _PAIR)
        result, overflow = (
            self._code.make(
                llvm.ExtractValueOp, [pair], type, {"position": DenseArrayBase.from_list(i64, [index])}
            )
            for index, type in enumerate((I64, I1))
        )
        self._note(overflow)
        return result

    def _floordiv(self, a: SSAValue, b: SSAValue) -> SSAValue:
        """⌊a / b⌋ for a positive b; any other is noted as wrong."""
        code = self._code
        self.expect("sgt", b, code.integer(0))
        divisor = code.make(SMaxOp, [b, code.integer(1)])
        quotient, rest = code.make(llvm.SDivOp, [a, divisor]), code.make(llvm.SRemOp, [a, divisor])
        below = code.compare("slt", rest, code.integer(0))
        return code.make(SelectOp, [below, code.plus(quotient, -1), quotient], I64)

    def _ceildiv(self, a: SSAValue, b: SSAValue) -> SSAValue:
        """⌈a / b⌉ for a positive b."""
        code = self._code
        floor = self._floordiv(a, b)
        exact = code.make(llvm.MulOp, [floor, code.make(SMaxOp, [b, code.integer(1)])])
        return code.make(SelectOp, [code.compare("slt", exact, a), code.plus(floor, 1), floor], I64)
