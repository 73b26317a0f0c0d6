"""Structure of a PyTorch program: its weights, and operators that are not in the table."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, opt_prop_def

from stepwell.dialects.foreign.structure import ForeignOperatorOp, ForeignWeightOp


@irdl_op_definition
class WeightOp(ForeignWeightOp):
    """
    A parameter, a buffer or a constant tensor of the program.

    ```mlir
    %w = "torch.weight"() <{value = dense<[1.0, 2.0]> : tensor<2xf32>}> : () -> tensor<2xf32>
    ```
    """

    name = "torch.weight"


@irdl_op_definition
class OperatorOp(ForeignOperatorOp):
    """
    A call of an operator that the table does not have, such as one of another library.

    `call` has its arguments as JSON, as `call_text` writes them.

    ```mlir
    %y = "torch.operator"(%x) <{target = "mylib.foo.default"}> : (tensor<4xf32>) -> tensor<4xf32>
    ```
    """

    name = "torch.operator"

    call = opt_prop_def(StringAttr)

    def __init__(
        self, target: str, inputs: Sequence[SSAValue], result_types: Sequence[Attribute], call: str = ""
    ):
        """Args: `call` is the text of the arguments, empty if they are not recorded."""
        super().__init__(target, inputs, result_types)
        if call:
            self.call = StringAttr(call)
