"""The arithmetic of a launch, for profiles."""

from __future__ import annotations

from xdsl.dialects.builtin import IndexType
from xdsl.ir import SSAValue
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, traits_def
from xdsl.traits import NoMemoryEffect


@irdl_op_definition
class WorkOp(IRDLOperation):
    """
    The number of arithmetic operations of the function's next launch; several such ops add up.

    ```mlir
    "gpu.work"(%n) : (index) -> ()
    ```
    MLIR has no such op: it is printed in the generic form, which all tools read.
    """

    name = "gpu.work"
    operations = operand_def(IndexType)
    traits = traits_def(NoMemoryEffect())

    def __init__(self, operations: SSAValue):
        super().__init__(operands=[operations])
