"""Memory of a block whose size the launch decides."""

from __future__ import annotations

from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType, i8
from xdsl.irdl import IRDLOperation, irdl_op_definition, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from stepwell.dialects.gpu.attributes import WORKGROUP

DYNAMIC_BYTES = MemRefType(i8, [DYNAMIC_INDEX], memory_space=WORKGROUP)


@irdl_op_definition
class DynamicSharedMemoryOp(IRDLOperation):
    """
    The bytes that a launch passes to each block (`dynamic_shared_memory_size`), for arrays by `memref.view`.

    ```mlir
    %m = gpu.dynamic_shared_memory : memref<?xi8, #gpu.address_space<workgroup>>
    ```
    Each of these ops in a kernel is the same memory, which begins at a multiple of 16 bytes.

    Constraints:
      (C1) the result is `memref<?xi8, #gpu.address_space<workgroup>>`.
    """

    name = "gpu.dynamic_shared_memory"
    result = result_def(MemRefType)
    traits = traits_def(Pure())
    assembly_format = "attr-dict `:` type($result)"

    def __init__(self) -> None:
        super().__init__(result_types=[DYNAMIC_BYTES])

    def verify_(self) -> None:
        if self.result.type != DYNAMIC_BYTES:  # (C1)
            raise VerifyException(f"dynamic memory of a block is {DYNAMIC_BYTES}, found {self.result.type}")
