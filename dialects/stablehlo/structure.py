"""Structure of a StableHLO program: constants, control flow, and operations that are not in the table."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence

from xdsl.ir import Attribute, Region, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    traits_def,
    var_operand_def,
    var_region_def,
    var_result_def,
)
from xdsl.traits import IsTerminator
from xdsl.utils.exceptions import VerifyException

from stepwell.dialects.foreign.structure import ForeignOperatorOp, ForeignWeightOp


@irdl_op_definition
class WeightOp(ForeignWeightOp):
    """
    A constant of the program.

    ```mlir
    %w = "stablehlo.weight"() <{value = dense<[1.0, 2.0]> : tensor<2xf32>}> : () -> tensor<2xf32>
    ```
    """

    name = "stablehlo.weight"


@irdl_op_definition
class OperatorOp(ForeignOperatorOp):
    """
    An operation that the table does not have, or with a region that is not known.

    ```mlir
    %y = "stablehlo.operator"(%x) <{target = "rng_bit_generator"}> : (tensor<4xf32>) -> tensor<4xf32>
    ```
    """

    name = "stablehlo.operator"


@irdl_op_definition
class ReturnOp(IRDLOperation):
    """
    The values that a region gives.

    ```mlir
    "stablehlo.return"(%y) : (tensor<4xf32>) -> ()
    ```
    """

    name = "stablehlo.return"

    values = var_operand_def()
    traits = traits_def(IsTerminator())

    def __init__(self, values: Sequence[SSAValue]):
        super().__init__(operands=[values])


class RegionsOp(IRDLOperation, ABC):
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
            if not isinstance(region.block.last_op, ReturnOp):
                raise VerifyException(f"a region of {self.name} must end in stablehlo.return")


@irdl_op_definition
class WhileOp(RegionsOp):
    """
    The second region again and again, as long as the first one returns true.

    ```mlir
    %y = "stablehlo.while"(%x) ({
    ^bb0(%a: tensor<f32>):
      %c = "stablehlo.is_finite"(%a) : (tensor<f32>) -> tensor<i1>
      "stablehlo.return"(%c) : (tensor<i1>) -> ()
    }, {
    ^bb0(%b: tensor<f32>):
      %d = "stablehlo.add"(%b, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%d) : (tensor<f32>) -> ()
    }) : (tensor<f32>) -> tensor<f32>
    ```
    """

    name = "stablehlo.while"

    def verify_(self) -> None:
        super().verify_()
        if len(self.bodies) != 2:
            raise VerifyException(f"stablehlo.while must have 2 regions, found {len(self.bodies)}")
        if any(len(region.block.args) != len(self.inputs) for region in self.bodies):
            raise VerifyException(f"both regions must take {len(self.inputs)} values")


class ChoiceOp(RegionsOp, ABC):
    """A choice between regions without arguments."""

    def verify_(self) -> None:
        super().verify_()
        if len(self.inputs) != 1 or len(self.bodies) < 2:
            raise VerifyException(f"{self.name} must have an operand that chooses, and two regions or more")


@irdl_op_definition
class IfOp(ChoiceOp):
    """
    The first region's values where the operand is true, else the second's.

    ```mlir
    %y = "stablehlo.if"(%c) ({
      "stablehlo.return"(%a) : (tensor<4xf32>) -> ()
    }, {
      "stablehlo.return"(%b) : (tensor<4xf32>) -> ()
    }) : (tensor<i1>) -> tensor<4xf32>
    ```
    """

    name = "stablehlo.if"


@irdl_op_definition
class CaseOp(ChoiceOp):
    """
    The values of the region whose number the operand is; of the last one for a number out of range.

    ```mlir
    %y = "stablehlo.case"(%i) ({
      "stablehlo.return"(%a) : (tensor<4xf32>) -> ()
    }, {
      "stablehlo.return"(%b) : (tensor<4xf32>) -> ()
    }) : (tensor<i32>) -> tensor<4xf32>
    ```
    """

    name = "stablehlo.case"
