"""Ops of the `sched` dialect by which `@main` on buffers reaches the runtime: memory, checks, host calls."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    DenseArrayBase,
    IndexType,
    IntegerAttr,
    MemRefType,
    i1,
    i8,
    i64,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    var_operand_def,
    var_result_def,
)
from xdsl.utils.exceptions import VerifyException

BYTES: MemRefType[Attribute] = MemRefType(i8, [DYNAMIC_INDEX])
"""Memory whose size only the program knows."""


@irdl_op_definition
class AllocateOp(IRDLOperation):
    """
    Memory whose size depends on data, at least that many bytes, aligned to 64.

    Each op of a program has a slot of its own. A slot grows and is used again, also by the next iteration
    of a loop: the old contents are lost. The first slots are those of the model's outputs: the caller
    takes them over.

    ```mlir
    %m = sched.allocate slot 2, %bytes : memref<?xi8>
    ```
    """

    name = "sched.allocate"

    slot = prop_def(IntegerAttr.constr(i64))
    bytes = operand_def(IndexType)
    memory = result_def(MemRefType)

    assembly_format = "`slot` $slot `,` $bytes attr-dict `:` type($memory)"

    def __init__(self, slot: int, bytes: SSAValue):
        super().__init__(operands=[bytes], properties={"slot": IntegerAttr(slot, i64)}, result_types=[BYTES])


@irdl_op_definition
class CheckOp(IRDLOperation):
    """
    End the call with a row of the run-time error table, and two numbers for its message, unless `ok` holds.

    ```mlir
    sched.check %ok row 3 shows %found, %limit
    ```
    """

    name = "sched.check"

    row = prop_def(IntegerAttr.constr(i64))
    ok = operand_def(i1)
    found = operand_def(IndexType)
    expected = operand_def(IndexType)

    assembly_format = "$ok `row` $row `shows` $found `,` $expected attr-dict"

    def __init__(self, ok: SSAValue, row: int, found: SSAValue, expected: SSAValue):
        super().__init__(operands=[ok, found, expected], properties={"row": IntegerAttr(row, i64)})


@irdl_op_definition
class PublishOp(IRDLOperation):
    """
    Report the value of a symbol found at run time to the caller, in `dims` after the inputs' symbols.

    ```mlir
    sched.publish %n at 3
    ```
    """

    name = "sched.publish"

    value = operand_def(IndexType)
    place = prop_def(IntegerAttr.constr(i64))

    assembly_format = "$value `at` $place attr-dict"

    def __init__(self, place: int, value: SSAValue):
        super().__init__(operands=[value], properties={"place": IntegerAttr(place, i64)})


@irdl_op_definition
class HostCallOp(IRDLOperation):
    """
    Call row `callee` of the table of callees with 64-bit values: addresses, dimensions, numbers of objects.

    The values at `reads` are read back when the callee has written them, and are the results.

    ```mlir
    %p, %n = sched.host_call 0 (%x, %four, %zero, %zero) reads [2, 3] :
      (memref<4xf32>, index, index, index) -> (memref<?xi8>, index)
    ```
    Constraints:
      (C1) a result for each position in `reads`, which is one of an operand.
    """

    name = "sched.host_call"

    callee = prop_def(IntegerAttr.constr(i64))
    reads = prop_def(DenseArrayBase.constr(i64))
    words = var_operand_def()
    read = var_result_def()

    assembly_format = "$callee `(` $words `)` `reads` $reads attr-dict `:` functional-type($words, $read)"

    def __init__(
        self, callee: int, words: Sequence[SSAValue], reads: Sequence[int], result_types: Sequence[Attribute]
    ):
        super().__init__(
            operands=[words],
            properties={
                "callee": IntegerAttr(callee, i64),
                "reads": DenseArrayBase.from_list(i64, list(reads)),
            },
            result_types=[result_types],
        )

    def verify_(self) -> None:
        reads = self.reads.get_values()
        if len(reads) != len(self.results) or not all(0 <= i < len(self.words) for i in reads):  # (C1)
            raise VerifyException(f"reads must name a word for each result, found {list(reads)}")


@irdl_op_definition
class ClockOp(IRDLOperation):
    """
    Write the time to the context's times: at index 2 i when call i of `@main` begins, at 2 i + 1 when call i
    ends, which adds to the sum of the call's times. Calls are measured on request only.

    ```mlir
    sched.clock at 3
    ```
    """

    name = "sched.clock"

    place = prop_def(IntegerAttr.constr(i64))

    assembly_format = "`at` $place attr-dict"

    def __init__(self, place: int):
        super().__init__(properties={"place": IntegerAttr(place, i64)})
