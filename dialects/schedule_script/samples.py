"""Decisions of a search in scripts: the text has the choice, so that a script is replayed without chance."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, i64
from xdsl.ir import SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from stepwell.dialects.schedule_script.text import (
    PrimitiveOp,
    parse_count,
    parse_factors,
    parse_operand,
    print_factors,
    print_operands_of,
)
from stepwell.dialects.schedule_script.types import LOOP, TILE, LoopType, TileType


@irdl_op_definition
class SampleTileOp(PrimitiveOp):
    """
    The factors of a split that a search has chosen, outer to inner: at most `max` for the innermost part.

    On a loop of fewer iterations the inner factors are clamped to it, with a remark. The first one becomes as
    many as there are.

    ```mlir
    %t = sched.sample_tile %i levels 2 max 16 : [32, 4]
    %i0, %i1 = sched.split %i by %t
    ```
    Constraints:
      (C1) a factor for each level, from 1 on, the innermost at most `max`.
    """

    name = "sched.sample_tile"

    loop = operand_def(LoopType)
    most = prop_def(IntegerAttr.constr(i64))
    seed = opt_prop_def(IntegerAttr.constr(i64))
    factors = prop_def(DenseArrayBase.constr(i64))
    result = result_def(TileType)

    def __init__(self, loop: SSAValue, most: int, factors: Sequence[int], seed: int | None = None):
        super().__init__(
            operands=[loop],
            properties={
                "most": IntegerAttr(most, i64),
                "seed": None if seed is None else IntegerAttr(seed, i64),
                "factors": DenseArrayBase.from_list(i64, list(factors)),
            },
            result_types=[TILE],
        )

    @classmethod
    def parse(cls, parser: Parser) -> SampleTileOp:
        loop = parse_operand(parser, LOOP)
        parser.parse_keyword("levels")
        levels = parse_count(parser)
        parser.parse_keyword("max")
        most = parse_count(parser)
        has_seed = parser.parse_optional_keyword("seed") is not None
        seed = parse_count(parser) if has_seed else None
        parser.parse_punctuation(":")
        factors = parse_factors(parser)
        if len(factors) != levels:
            parser.raise_error(f"{levels} levels have as many factors, found {len(factors)}")
        return cls(loop, most, factors, seed)

    def print(self, printer: Printer) -> None:
        print_operands_of(printer, self)
        seed = "" if self.seed is None else f" seed {self.seed.value.data}"
        printer.print_string(f" levels {len(self.factors)} max {self.most.value.data}{seed} : ")
        print_factors(printer, self.factors.get_values())

    def verify_(self) -> None:
        factors = self.factors.get_values()
        if not factors or min(factors) < 1 or factors[-1] > self.most.value.data:  # (C1)
            raise VerifyException(
                f"factors are 1 or more, the innermost at most {self.most.value.data}, found {list(factors)}"
            )
