"""The primitives of schedule scripts: each one a decision about the loops of a stage, or about its form."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from typing import Self

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, StringAttr, i64
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from stepwell.dialects.schedule_script.types import LOOP, STAGE, LoopType, StageType

OPEN = -1
"""The factor `?` of a split: as many as there are."""
MOST_LOOPS = 64
"""A stage has at most so many loops at a time."""
MOST_COPIES = 64
"""The copies that an unrolled loop becomes at most, unless the script says another limit."""


class PrimitiveOp(IRDLOperation, ABC):
    """A step of a script."""

    @property
    def word(self) -> str:
        """The primitive's name as messages have it."""
        return self.name.partition(".")[2]


def _operand(parser: Parser, type: StageType | LoopType) -> SSAValue:
    return parser.resolve_operand(parser.parse_unresolved_operand(), type)


def _loops(parser: Parser) -> list[SSAValue]:
    names = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_unresolved_operand)
    return [parser.resolve_operand(name, LOOP) for name in names]


def _number(parser: Parser) -> int:
    at = parser.pos
    number = parser.parse_integer(allow_boolean=False)
    if not -(1 << 62) < number < 1 << 62:
        parser.raise_error(f"{number} is no number of iterations", at, parser.pos)
    return number


def _factors(parser: Parser) -> list[int]:
    def factor() -> int:
        return OPEN if parser.parse_optional_punctuation("?") is not None else _number(parser)

    return parser.parse_comma_separated_list(parser.Delimiter.SQUARE, factor)


def _print_factors(printer: Printer, factors: Sequence[int]) -> None:
    with printer.in_square_brackets():
        printer.print_list(factors, lambda n: printer.print_string("?" if n == OPEN else str(n)))


def _print_operands(printer: Printer, op: Operation) -> None:
    printer.print_string(" ")
    printer.print_list(op.operands, printer.print_operand)


@irdl_op_definition
class LoopsOp(PrimitiveOp):
    """
    The loops of a stage from the outermost to the innermost, a result for each: those of sums are last.

    From here on the script says all of the stage's schedule: each loop is one that runs a step at a time,
    until a primitive makes something else of it.

    ```mlir
    %i, %j, %r = sched.loops %c
    ```
    """

    name = "sched.loops"

    stage = operand_def(StageType)
    loops = var_result_def(LoopType)

    def __init__(self, stage: SSAValue, count: int):
        super().__init__(operands=[stage], result_types=[[LOOP] * count])

    @classmethod
    def parse(cls, parser: Parser) -> LoopsOp:
        # The text has the number of loops before the `=` alone.
        return cls(_operand(parser, STAGE), getattr(parser, "bound_results", 0))

    def print(self, printer: Printer) -> None:
        _print_operands(printer, self)

    def verify_(self) -> None:
        if len(self.loops) > MOST_LOOPS:
            raise VerifyException(f"a stage has at most {MOST_LOOPS} loops, found {len(self.loops)}")


@irdl_op_definition
class SplitOp(PrimitiveOp):
    """
    Parts of a loop, the outer one first (strip-mine): the iterations of all parts together are the loop's.

    The first factor may be `?`: as many as there are. What is left over at the end is computed by narrower
    copies, so factors need not divide the extent.

    ```mlir
    %i0, %i1 = sched.split %i by [?, 6]
    ```
    Constraints:
      (C1) two factors or more, each positive, the first one `?` perhaps; a result for each.
    """

    name = "sched.split"

    loop = operand_def(LoopType)
    factors = prop_def(DenseArrayBase.constr(i64))
    parts = var_result_def(LoopType)

    def __init__(self, loop: SSAValue, factors: Sequence[int]):
        super().__init__(
            operands=[loop],
            properties={"factors": DenseArrayBase.from_list(i64, list(factors))},
            result_types=[[LOOP] * len(factors)],
        )

    @classmethod
    def parse(cls, parser: Parser) -> SplitOp:
        loop = _operand(parser, LOOP)
        parser.parse_keyword("by")
        return cls(loop, _factors(parser))

    def print(self, printer: Printer) -> None:
        _print_operands(printer, self)
        printer.print_string(" by ")
        _print_factors(printer, self.factors.get_values())

    def verify_(self) -> None:
        if len(self.parts) != len(self.factors) or len(self.factors) > MOST_LOOPS:
            raise VerifyException(f"a split has a result for each factor, at most {MOST_LOOPS}")


@irdl_op_definition
class TileOp(PrimitiveOp):
    """
    Blocks of two loops: two splits, and the inner parts inside of both outer ones.

    ```mlir
    %i0, %j0, %i1, %j1 = sched.tile %i, %j by [6, 16]
    ```
    Constraints:
      (C1) two loops of a stage, two positive factors, four results.
    """

    name = "sched.tile"

    loops = var_operand_def(LoopType)
    factors = prop_def(DenseArrayBase.constr(i64))
    parts = var_result_def(LoopType)

    def __init__(self, loops: Sequence[SSAValue], factors: Sequence[int]):
        super().__init__(
            operands=[loops],
            properties={"factors": DenseArrayBase.from_list(i64, list(factors))},
            result_types=[[LOOP] * 4],
        )

    @classmethod
    def parse(cls, parser: Parser) -> TileOp:
        loops = _loops(parser)
        parser.parse_keyword("by")
        return cls(loops, _factors(parser))

    def print(self, printer: Printer) -> None:
        _print_operands(printer, self)
        printer.print_string(" by ")
        _print_factors(printer, self.factors.get_values())

    def verify_(self) -> None:
        if (len(self.loops), len(self.factors), len(self.parts)) != (2, 2, 4):  # (C1)
            raise VerifyException("a tile has two loops, two factors, and four results")


class _LoopsPrimitive(PrimitiveOp, ABC):
    """A primitive about one or more loops of a stage, without a result."""

    loops = var_operand_def(LoopType)

    def __init__(self, loops: Sequence[SSAValue]):
        super().__init__(operands=[loops])

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        return cls(_loops(parser))

    def print(self, printer: Printer) -> None:
        _print_operands(printer, self)

    def verify_(self) -> None:
        if not self.loops:
            raise VerifyException(f"{self.word} must name a loop")


@irdl_op_definition
class ReorderOp(_LoopsPrimitive):
    """
    The loops in another order (interchange): they share the places that they had, outer to inner.

    ```mlir
    sched.reorder %j0, %i0, %r, %i1, %j1
    ```
    """

    name = "sched.reorder"


@irdl_op_definition
class ParallelOp(_LoopsPrimitive):
    """
    Loops whose iterations are independent: threads divide them, and the ops around the stage share them.

    ```mlir
    sched.parallel %j0, %i0
    ```
    """

    name = "sched.parallel"


@irdl_op_definition
class VectorizeOp(PrimitiveOp):
    """
    A loop whose iterations are the lanes of vectors.

    ```mlir
    sched.vectorize %j1
    ```
    """

    name = "sched.vectorize"

    loop = operand_def(LoopType)

    def __init__(self, loop: SSAValue):
        super().__init__(operands=[loop])

    @classmethod
    def parse(cls, parser: Parser) -> VectorizeOp:
        return cls(_operand(parser, LOOP))

    def print(self, printer: Printer) -> None:
        _print_operands(printer, self)


@irdl_op_definition
class UnrollOp(PrimitiveOp):
    """
    A loop that is written out, inside of all that stay loops; at most 64 copies, or as many as `limit` says.

    ```mlir
    sched.unroll %i1
    sched.unroll %r limit 128
    ```
    """

    name = "sched.unroll"

    loop = operand_def(LoopType)
    limit = opt_prop_def(IntegerAttr.constr(i64))

    def __init__(self, loop: SSAValue, limit: int | None = None):
        attr = None if limit is None else IntegerAttr(limit, i64)
        super().__init__(operands=[loop], properties={"limit": attr})

    @property
    def most(self) -> int:
        """The most copies."""
        return MOST_COPIES if self.limit is None else self.limit.value.data

    @classmethod
    def parse(cls, parser: Parser) -> UnrollOp:
        loop = _operand(parser, LOOP)
        has_limit = parser.parse_optional_keyword("limit") is not None
        return cls(loop, _number(parser) if has_limit else None)

    def print(self, printer: Printer) -> None:
        _print_operands(printer, self)
        if self.limit is not None:
            printer.print_string(f" limit {self.limit.value.data}")


@irdl_op_definition
class InsideOp(_LoopsPrimitive):
    """
    Loops that are left inside of all others, untiled: written out where they are short, else plain loops.

    ```mlir
    sched.inside %r
    ```
    """

    name = "sched.inside"


@irdl_op_definition
class SetFormOp(PrimitiveOp):
    """
    The way to compute an op of `linalg_ext`, with its own sizes until `sched.set_size` changes one.

    ```mlir
    sched.set_form %a to "online-softmax"
    ```
    """

    name = "sched.set_form"

    stage = operand_def(StageType)
    form = prop_def(StringAttr)

    def __init__(self, stage: SSAValue, form: str):
        super().__init__(operands=[stage], properties={"form": StringAttr(form)})

    @classmethod
    def parse(cls, parser: Parser) -> SetFormOp:
        stage = _operand(parser, STAGE)
        parser.parse_keyword("to")
        return cls(stage, parser.parse_str_literal())

    def print(self, printer: Printer) -> None:
        _print_operands(printer, self)
        printer.print_string(" to ")
        printer.print_attribute(self.form)


@irdl_op_definition
class SetSizeOp(PrimitiveOp):
    """
    A named size of the form of an op.

    ```mlir
    sched.set_size %a "queries" to 32
    ```
    """

    name = "sched.set_size"

    stage = operand_def(StageType)
    size = prop_def(StringAttr)
    value = prop_def(IntegerAttr.constr(i64))

    def __init__(self, stage: SSAValue, size: str, value: int):
        properties = {"size": StringAttr(size), "value": IntegerAttr(value, i64)}
        super().__init__(operands=[stage], properties=properties)

    @classmethod
    def parse(cls, parser: Parser) -> SetSizeOp:
        stage, size = _operand(parser, STAGE), parser.parse_str_literal()
        parser.parse_keyword("to")
        return cls(stage, size, _number(parser))

    def print(self, printer: Printer) -> None:
        _print_operands(printer, self)
        printer.print_string(" ")
        printer.print_attribute(self.size)
        printer.print_string(f" to {self.value.value.data}")


PRIMITIVES = (
    LoopsOp, SplitOp, TileOp, ReorderOp, ParallelOp, VectorizeOp, UnrollOp, InsideOp, SetFormOp, SetSizeOp,
)  # fmt: skip
"""The classes of all primitives."""
