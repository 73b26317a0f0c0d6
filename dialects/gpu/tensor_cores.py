"""Products of small matrices by the threads of a subgroup together, on tensor cores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, cast

from xdsl.dialects.builtin import Float32Type, IndexType, MemRefType, StringAttr, f32
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import MemoryReadEffect, Pure
from xdsl.utils.exceptions import VerifyException

from stepwell.dialects.gpu.attributes import SPACES, space_of
from stepwell.runtime.machine.named_target import Target

_FEATURE = "mma-tf32"


def has_tf32(target: Target) -> bool:
    """Whether a target has products of TF32, `mma-tf32`."""
    return target.has_feature(_FEATURE)


class Fragments(NamedTuple):
    """The sizes of a product, and the elements of each matrix that a thread has."""

    rows: int
    columns: int
    sums: int
    left: int
    right: int
    result: int


TF32 = "m16n8k8.tf32"
F32_PRODUCTS = 3
"""
The number of TF32 products that give the digits of an f32 product; the one of both low parts is left out.
"""
SHAPES: Mapping[str, Fragments] = {TF32: Fragments(16, 8, 8, 4, 2, 4)}


@irdl_op_definition
class ToTf32Op(IRDLOperation):
    """
    A number of f32 with the 10 bits of fraction that tensor cores read, rounded to nearest, ties away from 0.

    ```mlir
    %t = gpu.to_tf32 %a : f32
    ```
    """

    name = "gpu.to_tf32"
    value = operand_def(Float32Type)
    result = result_def(Float32Type)
    traits = traits_def(Pure())
    assembly_format = "$value attr-dict `:` type($result)"

    def __init__(self, value: SSAValue):
        super().__init__(operands=[value], result_types=[f32])


@irdl_op_definition
class MmaSyncOp(IRDLOperation):
    """
    `c + a b` by the 32 threads of a subgroup, each with some elements of the three matrices.

    With g = lane / 4 and t = lane mod 4, for `m16n8k8.tf32`: `a` is 16 x 8, of which the thread has (g, t),
    (g + 8, t), (g, t + 4), (g + 8, t + 4); `b` is 8 x 8, of which the thread has (t, g), (t + 4, g); `c` and
    the result are 16 x 8, of which the thread has (g, 2 t), (g, 2 t + 1), (g + 8, 2 t), (g + 8, 2 t + 1). Of
    `a` and `b` the lower 13 bits are ignored.

    ```mlir
    %d0, %d1, %d2, %d3 = gpu.mma_sync "m16n8k8.tf32" a(%a0, %a1, %a2, %a3) b(%b0, %b1)
        c(%c0, %c1, %c2, %c3) : f32, f32, f32, f32
    ```
    Constraints:
      (C1) the shape is `m16n8k8.tf32`;
      (C2) each matrix has as many elements a thread as the shape says.
    """

    name = "gpu.mma_sync"
    shape = prop_def(StringAttr)
    a = var_operand_def(Float32Type)
    b = var_operand_def(Float32Type)
    c = var_operand_def(Float32Type)
    totals = var_result_def(Float32Type)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    assembly_format = "$shape `a` `(` $a `)` `b` `(` $b `)` `c` `(` $c `)` attr-dict `:` type($totals)"

    def __init__(self, shape: str, a: Sequence[SSAValue], b: Sequence[SSAValue], c: Sequence[SSAValue]):
        super().__init__(
            operands=[a, b, c], result_types=[[f32] * len(c)], properties={"shape": StringAttr(shape)}
        )

    def verify_(self) -> None:
        if (fragments := SHAPES.get(self.shape.data)) is None:  # (C1)
            raise VerifyException(f"the shape is {', '.join(SHAPES)}, found {self.shape.data}")
        wanted = (fragments.left, fragments.right, fragments.result, fragments.result)
        found = tuple(len(each) for each in (self.a, self.b, self.c, self.totals))
        if found != wanted:  # (C2)
            raise VerifyException(f"{self.shape.data} has {wanted} elements a thread, found {found}")


MATRIX_ROWS, MATRIX_COLUMNS = 8, 4
"""The rows and the columns of a matrix of f32 that `gpu.ldmatrix` loads."""
_MATRICES = (1, 2, 4)


@irdl_op_definition
class LdmatrixOp(IRDLOperation):
    """
    Loads of matrices of 8 x 4 elements from memory of the block, by the 32 threads of a subgroup together.

    With g = lane / 4 and t = lane mod 4, the thread has element (g, t) of each matrix. The indices of a lane
    are those of the first element of row lane mod 8 of matrix lane / 8; of lanes past the last matrix they
    are ignored. Four matrices are the fragment `a` of `gpu.mma_sync`, two its `b`, transposed.

    ```mlir
    %a0, %a1, %a2, %a3 = gpu.ldmatrix %s[%row, %column]
        : memref<64x68xf32, #gpu.address_space<workgroup>> -> f32, f32, f32, f32
    ```
    Constraints:
      (C1) the buffer is memory of the block, of f32, with an index for each dimension;
      (C2) 1, 2 or 4 matrices are loaded;
      (C3) the last size is a multiple of 4: rows begin at multiples of 16 bytes.
    """

    name = "gpu.ldmatrix"
    memref = operand_def(MemRefType)
    indices = var_operand_def(IndexType)
    parts = var_result_def(Float32Type)
    traits = traits_def(MemoryReadEffect())
    assembly_format = "$memref `[` $indices `]` attr-dict `:` type($memref) `->` type($parts)"

    def __init__(self, memory: SSAValue, indices: Sequence[SSAValue], count: int):
        super().__init__(operands=[memory, indices], result_types=[[f32] * count])

    def verify_(self) -> None:
        type = cast("MemRefType[Attribute]", self.memref.type)
        shape: Sequence[int] = type.get_shape()
        is_shared = space_of(type) == SPACES[1] and type.element_type == f32
        if not is_shared or len(self.indices) != len(shape):  # (C1)
            message = f"a matrix is of f32 in memory of the block, by {len(shape)} indices"
            raise VerifyException(f"{message}, found {type} and {len(self.indices)}")
        if len(self.parts) not in _MATRICES:  # (C2)
            raise VerifyException(f"1, 2 or 4 matrices are loaded, found {len(self.parts)}")
        if not shape or shape[-1] % MATRIX_COLUMNS:  # (C3)
            raise VerifyException(f"the last size must be a multiple of {MATRIX_COLUMNS}, found {type}")


def takes_ldmatrix(row_elems: int) -> bool:
    """Whether the eight rows of a matrix begin at multiples of 16 bytes, in different ones of 32 banks."""
    quarters = {row * row_elems // MATRIX_COLUMNS % MATRIX_ROWS for row in range(MATRIX_ROWS)}
    return row_elems % MATRIX_COLUMNS == 0 and len(quarters) == MATRIX_ROWS
