"""Control flow that op tables have besides: regions that return values, loops, and choices."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence

from xdsl.ir import Attribute, Region, SSAValue
from xdsl.irdl import IRDLOperation, traits_def, var_operand_def, var_region_def, var_result_def
from xdsl.traits import IsTerminator
from xdsl.utils.exceptions import VerifyException


class ForeignReturnOp(IRDLOperation):
    """The values that a region gives."""

    values = var_operand_def()
    traits = traits_def(IsTerminator())

    def __init__(self, values: Sequence[SSAValue]):
        super().__init__(operands=[values])


class ForeignRegionsOp(IRDLOperation, ABC):
    """An op whose regions see the values around it."""

    inputs = var_operand_def()
    outputs = var_result_def()
    bodies = var_region_def("single_block")

    def __init__(
        self, inputs: Sequence[SSAValue], result_types: Sequence[Attribute], bodies: Sequence[Region]
    ):
        super().__init__(operands=[inputs], result_types=[result_types], regions=[bodies])

    def verify_(self) -> None:
        for region in self.bodies:
            if not isinstance(region.block.last_op, ForeignReturnOp):
                dialect = self.name.partition(".")[0]
                raise VerifyException(f"a region of {self.name} must end in {dialect}.return")


class ForeignWhileOp(ForeignRegionsOp, ABC):
    """The second region again and again, as long as the first one returns true."""

    def verify_(self) -> None:
        super().verify_()
        if len(self.bodies) != 2:
            raise VerifyException(f"{self.name} must have 2 regions, found {len(self.bodies)}")
        if any(len(region.block.args) != len(self.inputs) for region in self.bodies):
            raise VerifyException(f"both regions must take {len(self.inputs)} values")


class ForeignChoiceOp(ForeignRegionsOp, ABC):
    """A choice between regions without arguments: by a truth value, or by a region's number."""

    def verify_(self) -> None:
        super().verify_()
        if len(self.inputs) != 1 or len(self.bodies) < 2:
            raise VerifyException(f"{self.name} must have an operand that chooses, and two regions or more")
