"""The code that combines two values of a reduction."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.builder import ImplicitBuilder
from xdsl.ir import Block, SSAValue

from stepwell.dialects.linalg_builder.scalars import Scalars
from stepwell.frontend.te.expressions import Expr
from stepwell.frontend.te.scalar_code import ScalarCode, element_named
from stepwell.frontend.te.tensors import Stage


def combined(stage: Stage, block: Block, values: Sequence[SSAValue]) -> list[SSAValue]:
    """The results so far combined with new values, all of them given, at the end of a block."""
    assert stage.reduction is not None
    sides = [[_Argument(value) for value in stage.values] for _ in range(2)]
    bound: dict[Expr, SSAValue] = dict(
        zip([*sides[0], *sides[1]], _widened(block, stage.values, values), strict=True)
    )
    results = stage.reduction.reducer.combined(*sides)
    code = ScalarCode(block, {}, {}, bound)
    return [code.stored(result) for result in results]


class _Argument(Expr):
    """A value that a reducer combines."""

    def __init__(self, value: Expr):
        super().__init__(value.dtype)

    def __str__(self) -> str:
        return "x"


def _widened(block: Block, values: Sequence[Expr], given: Sequence[SSAValue]) -> list[SSAValue]:
    """Stored values of both sides in the types that they compute in."""
    with ImplicitBuilder(block):
        scalars = [Scalars(element_named(value.dtype)) for value in values] * 2
        return [s.widen(argument) for s, argument in zip(scalars, given, strict=True)]
