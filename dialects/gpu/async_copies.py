"""Copies to memory of the block that run beside the thread which starts them, in groups to wait for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import IndexType, IntegerAttr, IntegerType, MemRefType, i1, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    EqAttrConstraint,
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect
from xdsl.utils.exceptions import VerifyException

from stepwell.dialects.gpu.attributes import SPACES, space_of
from stepwell.dialects.types import element_bytes
from stepwell.runtime.machine.named_target import Target

ASYNC_COPY = "async-copy"
"""The feature of targets with these ops."""
COPIED_BYTES = (4, 8, 16)
"""The bytes that GPUs of NVIDIA copy beside the thread."""


def has_async_copies(target: Target) -> bool:
    """Whether a target has the feature `async-copy`."""
    return target.has_feature(ASYNC_COPY)


@irdl_op_definition
class AsyncCopyOp(IRDLOperation):
    """
    Start the copy of one element, or of several neighbouring ones, from the device's memory to memory of the
    block.

    The copy joins the open group of the thread. The target has the element once the thread has waited for the
    group; other threads see it after a barrier from then on. If `%exists` is false, the target becomes 0 and
    the source is not read. For several elements (`by 4`), the indices are the first element's, whose address
    is a multiple of the copied bytes in source and target.

    ```mlir
    gpu.async_copy %x[%i] to %s[%t] if %exists
        : memref<64xf32> to memref<8xf32, #gpu.address_space<workgroup>>
    gpu.async_copy %x[%i] to %s[%t] by 4
        : memref<64xf32> to memref<8xf32, #gpu.address_space<workgroup>>
    ```
    Constraints:
      (C1) the target is memory of the block, the source is not;
      (C2) both have the same type of elements; 4, 8 or 16 bytes are copied;
      (C3) there is an index for each dimension.
    """

    name = "gpu.async_copy"
    source = operand_def(MemRefType)
    source_indices = var_operand_def(IndexType)
    target = operand_def(MemRefType)
    target_indices = var_operand_def(IndexType)
    exists = opt_operand_def(i1)
    elements = opt_prop_def(IntegerAttr.constr(type=EqAttrConstraint(i64)))
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    assembly_format = (
        "$source `[` $source_indices `]` `to` $target `[` $target_indices `]` "
        "(`by` $elements^)? (`if` $exists^)? "
        "attr-dict "
        "`:` type($source) `to` type($target)"
    )

    def __init__(
        self,
        source: SSAValue,
        source_indices: Sequence[SSAValue],
        target: SSAValue,
        target_indices: Sequence[SSAValue],
        exists: SSAValue | None = None,
        count: int = 1,
    ):
        operands = [source, source_indices, target, target_indices, exists]
        super().__init__(
            operands=operands, properties={"elements": None if count == 1 else IntegerAttr(count, i64)}
        )

    @property
    def count(self) -> int:
        """The elements that are copied."""
        return 1 if self.elements is None else self.elements.value.data

    @property
    def copied_bytes(self) -> int:
        """The bytes that are copied."""
        return self.count * element_bytes(cast("MemRefType[Attribute]", self.source.type).element_type)

    def verify_(self) -> None:
        if space_of(self.target.type) != SPACES[1] or space_of(self.source.type) == SPACES[1]:  # (C1)
            raise VerifyException("the target is memory of the block, and the source is not")
        source = cast("MemRefType[Attribute]", self.source.type)
        target = cast("MemRefType[Attribute]", self.target.type)
        if source.element_type != target.element_type:  # (C2)
            message = f"expected elements of one type, found {source.element_type}, {target.element_type}"
            raise VerifyException(message)
        if self.count < 1 or self.copied_bytes not in COPIED_BYTES:  # (C2)
            what = f"{self.count} of {source.element_type}"
            raise VerifyException(f"4, 8 or 16 bytes are copied, found {what}")
        for type, indices in ((source, self.source_indices), (target, self.target_indices)):
            if type.get_num_dims() != len(indices):  # (C3)
                raise VerifyException(
                    f"expected {type.get_num_dims()} indices of {type}, found {len(indices)}"
                )


@irdl_op_definition
class AsyncCommitOp(IRDLOperation):
    """
    Close the open group of asynchronous copies of each thread, and open the next one.

    ```mlir
    gpu.async_commit
    ```
    """

    name = "gpu.async_commit"
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    assembly_format = "attr-dict"

    def __init__(self) -> None:
        super().__init__()


@irdl_op_definition
class AsyncWaitOp(IRDLOperation):
    """
    Wait until all closed groups of the thread are complete, except for the given number of latest ones.

    ```mlir
    gpu.async_wait 1
    ```
    Constraints:
      (C1) the number is not negative.
    """

    name = "gpu.async_wait"
    pending = prop_def(IntegerAttr[IntegerType])
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    assembly_format = "$pending attr-dict"

    def __init__(self, pending: int):
        super().__init__(properties={"pending": IntegerAttr(pending, i64)})

    def verify_(self) -> None:
        if self.pending.value.data < 0:  # (C1)
            raise VerifyException(f"the number of groups is not negative, found {self.pending.value.data}")
