"""The arithmetic of a launch, for profiles."""

from __future__ import annotations

from xdsl.dialects.builtin import IndexType
from xdsl.ir import SSAValue
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, traits_def
from xdsl.traits import NoMemoryEffect


@irdl_op_definition
class WorkOp(IRDLOperation):
    """
    A number of arithmetic operations that the next launch of the function does; several add up.

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
