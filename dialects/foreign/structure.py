"""Ops that each op table has besides: constants of the model, and operators without a signature."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import StringAttr, TensorType
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import IRDLOperation, prop_def, result_def, var_operand_def, var_result_def
from xdsl.utils.exceptions import VerifyException

from stepwell.dialects.constants import Constant
from stepwell.dialects.types import WeightAttr


class ForeignWeightOp(IRDLOperation):
    """A constant tensor of a model."""

    value = prop_def()
    result = result_def()

    def __init__(self, value: Constant):
        type = value.type if isinstance(value, WeightAttr) else value.get_type()
        super().__init__(properties={"value": value}, result_types=[type])

    def verify_(self) -> None:
        type: Attribute | None = getattr(self.value, "type", None)
        if not isinstance(type, TensorType) or type != self.result.type:
            raise VerifyException(f"the weight is {type}, the result {self.result.type}")


class ForeignOperatorOp(IRDLOperation):
    """A call of an operator that the table does not have."""

    inputs = var_operand_def()
    outputs = var_result_def()
    target = prop_def(StringAttr)

    def __init__(self, target: str, inputs: Sequence[SSAValue], result_types: Sequence[Attribute]):
        super().__init__(
            operands=[inputs], result_types=[result_types], properties={"target": StringAttr(target)}
        )
