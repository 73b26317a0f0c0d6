"""The vectors of a function as a 1:N conversion: cut into pieces of one dimension that fit a register."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass

from xdsl.dialects.builtin import DenseArrayBase, IntegerType, VectorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.pattern_rewriter import RewritePattern

from stepwell.dialects.tensor_ir.pieces import Layout, Pieces
from stepwell.dialects.tensor_ir.transfers import vector_of
from stepwell.patterns.driver.one_to_many import OneToMany
from stepwell.runtime.errors import StepwellError


class CutVectors(OneToMany[Pieces]):
    """
    The pieces of each vector that was replaced.

    Args: `lanes` of a register, the number of `registers`, the vectors of `short_rows`.
    """

    def __init__(self, func: FuncOp, lanes: int, registers: int, short_rows: Set[SSAValue]):
        super().__init__(func)
        self.lanes = lanes
        self.registers = registers
        self.short_rows = short_rows
        self._layouts: dict[tuple[Attribute, bool], Layout] = {}

    def layout(self, value: SSAValue) -> Layout:
        """The pieces into which a vector is cut."""
        type, joined = vector_of(value), value in self.short_rows
        if (known := self._layouts.get((type, joined))) is None:
            known = self._layouts[type, joined] = Layout(type, self.lanes, joined=joined)
        return known

    def is_split(self, type: Attribute) -> bool:
        return isinstance(type, VectorType)

    def types(self, value: SSAValue) -> Sequence[Attribute]:
        return self.layout(value).types()

    def gathered(self, value: SSAValue, values: Sequence[SSAValue]) -> Pieces:
        return Pieces(self.layout(value), values)

    def values(self, pieces: Pieces) -> Sequence[SSAValue]:
        return pieces.all(self.builder)

    def whole(self, value: SSAValue) -> Pieces:
        pieces = Pieces(self.layout(value), [value])
        self.expect_one_piece(value, pieces.layout)
        return pieces

    def expect_one_piece(self, value: SSAValue, layout: Layout) -> None:
        """Require a vector to fit one register. Raises: StepwellError `unsupported`."""
        if layout.leading or len(layout.positions) > 1:
            owner = value.owner if isinstance(value.owner, Operation) else None
            message = f"no way to cut {value.type} for all that makes and uses it"
            raise StepwellError("unsupported", owner, message)

    def piece_and_lane(self, layout: Layout, position: DenseArrayBase[IntegerType]) -> tuple[int, int]:
        """The number of the piece that contains an element, and the lane in it."""
        *lead, last = (int(i) for i in position.get_values())
        start = last // self.lanes * self.lanes
        return layout.index(lead, start), last - start


@dataclass
class VectorPattern(RewritePattern):
    """The base class of patterns that replace an op on vectors by ops on their pieces."""

    vectors: CutVectors
