"""The primitives of schedule scripts: each one a decision about the loops of a stage, or about its form."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from typing import ClassVar, Self

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, StringAttr, i64
from xdsl.ir import SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, var_operand_def, var_result_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from stepwell.dialects.schedule_script.samples import SampleTileOp, number_chosen
from stepwell.dialects.schedule_script.text import (
    CHOSEN,
    PrimitiveOp,
    ToTextOp,
    parse_count,
    parse_factors,
    parse_loops,
    parse_operand,
    parse_sampled_factors,
    print_factors,
    print_operands_of,
)
from stepwell.dialects.schedule_script.types import (
    LOOP,
    STAGE,
    TILE,
    ChoiceType,
    LoopType,
    StageType,
    TileType,
)

MOST_LOOPS = 64
"""A stage has at most so many loops at a time."""
MOST_COPIES = 64
"""The copies that an unrolled loop becomes at most, unless the script says another limit."""


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
        return cls(parse_operand(parser, STAGE), getattr(parser, "bound_results", 0))

    def print(self, printer: Printer) -> None:
        print_operands_of(printer, self)

    def verify_(self) -> None:
        if len(self.loops) > MOST_LOOPS:
            raise VerifyException(f"a stage has at most {MOST_LOOPS} loops, found {len(self.loops)}")


@irdl_op_definition
class SplitOp(PrimitiveOp):
    """
    Parts of a loop, the outer one first (strip-mine): the iterations of all parts together are the loop's.

    The first factor can be `?`: as many iterations as there are. Narrower copies compute the remainder, so
    factors need not divide the extent.

    ```mlir
    %i0, %i1 = sched.split %i by [?, 6]
    %t = sched.sample_tile %j levels 2 max 16 : [8, 16]
    %j0, %j1 = sched.split %j by %t
    %n = sched.sample_choice of [4, 8] : 8
    %r0, %r1 = sched.split %r by [?, %n]
    ```
    All factors can come from one `sched.sample_tile`, or each from a `sched.sample_choice`.

    Constraints:
      (C1) two factors or more, each positive, the first one `?` perhaps; a result for each.
      (C2) a factor of `sched.sample_choice` is a number.
    """

    name = "sched.split"

    loop = operand_def(LoopType)
    sampled = var_operand_def(TileType | ChoiceType)
    factors = prop_def(DenseArrayBase.constr(i64))
    """`CHOSEN` for a factor of `sched.sample_choice`; empty where the factors are a tile's."""
    parts = var_result_def(LoopType)

    def __init__(
        self, loop: SSAValue, factors: Sequence[int], sampled: Sequence[SSAValue] = (), parts: int = 0
    ):
        """Args: `sampled` has the chosen factors, or a tile in place of `factors`, for so many `parts`."""
        super().__init__(
            operands=[loop, sampled],
            properties={"factors": DenseArrayBase.from_list(i64, list(factors))},
            result_types=[[LOOP] * (len(factors) or parts)],
        )

    @property
    def tile(self) -> SSAValue | None:
        """The tile that has all factors, if one does."""
        return None if len(self.factors) else next(iter(self.sampled), None)

    @property
    def sizes(self) -> list[int]:
        """The factors, with those that a search has chosen; empty where a tile has them."""
        chosen = iter(self.sampled)
        return [
            (number_chosen(next(chosen)) or 0) if n == CHOSEN else int(n) for n in self.factors.get_values()
        ]

    @classmethod
    def parse(cls, parser: Parser) -> SplitOp:
        loop = parse_operand(parser, LOOP)
        parser.parse_keyword("by")
        if (name := parser.parse_optional_unresolved_operand()) is not None:
            tile = parser.resolve_operand(name, TILE)
            # The text has the number of parts before the `=` alone.
            return cls(loop, [], [tile], getattr(parser, "bound_results", 0))
        return cls(loop, *parse_sampled_factors(parser))

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_operand(self.loop)
        printer.print_string(" by ")
        if self.tile is not None:
            printer.print_operand(self.tile)
        else:
            print_factors(printer, self.factors.get_values(), self.sampled)

    def verify_(self) -> None:
        owner = self.tile.owner if self.tile is not None else None
        factors = owner.factors if isinstance(owner, SampleTileOp) else self.factors
        if len(self.parts) != len(factors) or len(factors) > MOST_LOOPS:
            raise VerifyException(f"a split has a result for each factor, at most {MOST_LOOPS}")
        chosen = [number_chosen(value) for value in self.sampled] if self.tile is None else []
        if None in chosen or len(chosen) != [*self.factors.get_values()].count(CHOSEN):  # (C2)
            raise VerifyException("a factor of a split is a number, found the choice of a text")


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
        loops = parse_loops(parser)
        parser.parse_keyword("by")
        return cls(loops, parse_factors(parser))

    def print(self, printer: Printer) -> None:
        print_operands_of(printer, self)
        printer.print_string(" by ")
        print_factors(printer, self.factors.get_values())

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
        return cls(parse_loops(parser))

    def print(self, printer: Printer) -> None:
        print_operands_of(printer, self)

    def verify_(self) -> None:
        if not self.loops:
            raise VerifyException(f"{self.word} must name a loop")


@irdl_op_definition
class ReorderOp(_LoopsPrimitive):
    """
    The loops in another order (interchange), at the places of all of them before, from outer to inner.

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
        return cls(parse_operand(parser, LOOP))

    def print(self, printer: Printer) -> None:
        print_operands_of(printer, self)


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
        loop = parse_operand(parser, LOOP)
        has_limit = parser.parse_optional_keyword("limit") is not None
        return cls(loop, parse_count(parser) if has_limit else None)

    def print(self, printer: Printer) -> None:
        print_operands_of(printer, self)
        if self.limit is not None:
            printer.print_string(f" limit {self.limit.value.data}")


@irdl_op_definition
class InsideOp(_LoopsPrimitive):
    """
    Loops inside of all others, without tiles: short ones are written out, others are plain loops.

    ```mlir
    sched.inside %r
    ```
    """

    name = "sched.inside"


@irdl_op_definition
class BindOp(ToTextOp):
    """
    A loop on an axis of a grid of threads, which no CPU has: refused, with the step that threads share.

    ```mlir
    sched.bind %i to "block.x"
    ```
    """

    name = "sched.bind"
    OPERAND: ClassVar[StageType | LoopType] = LOOP
    TEXT: ClassVar[str] = "axis"

    loop = operand_def(LoopType)
    axis = prop_def(StringAttr)

    def __init__(self, loop: SSAValue, axis: str):
        super().__init__(operands=[loop], properties={"axis": StringAttr(axis)})
