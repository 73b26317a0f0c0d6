"""Structure of a PyTorch program: its weights, and operators that are not in the table."""

from __future__ import annotations

from xdsl.dialects.builtin import StringAttr, TensorType
from xdsl.ir import Attribute
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    opt_prop_def,
    prop_def,
    result_def,
    var_operand_def,
    var_result_def,
)
from xdsl.utils.exceptions import VerifyException

from stepwell.dialects.constants import Constant
from stepwell.dialects.types import WeightAttr


@irdl_op_definition
class WeightOp(IRDLOperation):
    """
    A parameter, a buffer or a constant tensor of the program.

    ```mlir
    %w = "torch.weight"() <{value = dense<[1.0, 2.0]> : tensor<2xf32>}> : () -> tensor<2xf32>
    ```
    """

    name = "torch.weight"

    value = prop_def()
    result = result_def()

    def __init__(self, value: Constant):
        type = value.type if isinstance(value, WeightAttr) else value.get_type()
        super().__init__(properties={"value": value}, result_types=[type])

    def verify_(self) -> None:
        type: Attribute | None = getattr(self.value, "type", None)
        if not isinstance(type, TensorType) or type != self.result.type:
            raise VerifyException(f"the weight is {type}, the result {self.result.type}")


@irdl_op_definition
class OperatorOp(IRDLOperation):
    """
    A call of an operator that the table does not have, such as one of another library.

    `call` has its arguments as JSON, as `call_text` writes them.

    ```mlir
    %y = "torch.operator"(%x) <{target = "mylib.foo.default"}> : (tensor<4xf32>) -> tensor<4xf32>
    ```
    """

    name = "torch.operator"

    inputs = var_operand_def()
    outputs = var_result_def()
    target = prop_def(StringAttr)
    call = opt_prop_def(StringAttr)
