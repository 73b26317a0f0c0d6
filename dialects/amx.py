"""
The `amx` dialect: the tile registers of Intel's Advanced Matrix Extensions, and their products of bytes.

MLIR's dialect of that name has tiles as values. Here an op names its registers: eight of them, which a kernel
deals out once, leave an allocator nothing to choose, and none of them may be spilled.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import DenseArrayBase, IndexType, IntegerAttr, MemRefType, i32, i64
from xdsl.ir import Attribute, Dialect, SSAValue
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, prop_def, var_operand_def
from xdsl.utils.exceptions import VerifyException

TILES = 8
"""Tile registers."""
TILE_ROWS = 16
"""The most rows of a tile."""
TILE_WORDS = 16
"""The most packed 32-bit elements in a row of a tile."""

_I64 = IntegerAttr.constr(i64)


@irdl_op_definition
class ConfigureOp(IRDLOperation):
    """
    Set the number of rows of each tile register, and of packed 32-bit elements a row; zero all elements.

    ```mlir
    amx.configure rows [16, 16, 16, 16, 16, 0, 0, 0] words [16, 16, 16, 16, 16, 0, 0, 0]
    ```
    Holds for the ops that follow in the same call of the function or of the body of a parallel loop.

    Constraints:
      (C1) `rows` and `words` have eight numbers from 0 to 16.
      (C2) both numbers of a tile are 0, or neither is.
    """

    name = "amx.configure"

    rows = prop_def(DenseArrayBase.constr(i64))
    words = prop_def(DenseArrayBase.constr(i64))

    assembly_format = "`rows` $rows `words` $words attr-dict"

    def __init__(self, rows: Sequence[int], words: Sequence[int]):
        super().__init__(
            properties={
                "rows": DenseArrayBase.from_list(i64, rows),
                "words": DenseArrayBase.from_list(i64, words),
            }
        )

    def verify_(self) -> None:
        for what, attr, most in (("rows", self.rows, TILE_ROWS), ("words", self.words, TILE_WORDS)):
            numbers = attr.get_values()
            if len(numbers) != TILES or not all(0 <= n <= most for n in numbers):  # (C1)
                raise VerifyException(f"{TILES} numbers of {what} from 0 to {most}, found {list(numbers)}")
        sizes = zip(self.rows.get_values(), self.words.get_values(), strict=True)
        if odd := [tile for tile, (rows, words) in enumerate(sizes) if bool(rows) != bool(words)]:  # (C2)
            raise VerifyException(f"tile {odd[0]} must have `rows` and `words`, or neither")


@irdl_op_definition
class TileZeroOp(IRDLOperation):
    """
    Set all of a tile to zero.

    ```mlir
    amx.tile_zero 0
    ```
    Constraints:
      (C1) the tile is one of eight.
    """

    name = "amx.tile_zero"

    tile = prop_def(_I64)

    assembly_format = "$tile attr-dict"

    def __init__(self, tile: int):
        super().__init__(properties={"tile": IntegerAttr(tile, i64)})

    def verify_(self) -> None:
        _expect_tiles(self.tile)  # (C1)


class _TileMemoryOp(IRDLOperation):
    """Base of tile loads and stores: rows `step` apart along dimension `along`, elements along the last."""

    tile = prop_def(_I64)
    memref = operand_def(MemRefType)
    indices = var_operand_def(IndexType)
    along = prop_def(_I64)
    step = prop_def(_I64)

    assembly_format = (
        "$tile `,` $memref `[` $indices `]` `along` $along `step` $step attr-dict `:` type($memref)"
    )

    def __init__(self, tile: int, memref: SSAValue, indices: Sequence[SSAValue], along: int, step: int = 1):
        numbers = {"tile": tile, "along": along, "step": step}
        super().__init__(
            operands=[memref, list(indices)],
            properties={name: IntegerAttr(number, i64) for name, number in numbers.items()},
        )

    def verify_(self) -> None:
        _expect_tiles(self.tile)  # (C1)
        type = cast("MemRefType[Attribute]", self.memref.type)
        rank, along = len(type.get_shape()), self.along.value.data
        if type.element_type != i32:  # (C2)
            raise VerifyException(f"tiles have elements of type i32, found {type.element_type}")
        if len(self.indices) != rank:  # (C3)
            raise VerifyException(f"{rank} indices for {type}, found {len(self.indices)}")
        strides = type.get_strides()
        if strides is None or strides[-1] != 1:  # (C4)
            raise VerifyException(f"the last dimension must have stride 1, found {type}")
        if not 0 <= along < rank - 1:  # (C5)
            raise VerifyException(f"`along` must be a dimension before the last, found {along} of {rank}")
        if (step := self.step.value.data) < 1:  # (C5)
            raise VerifyException(f"`step` must be positive, found {step}")


@irdl_op_definition
class TileLoadOp(_TileMemoryOp):
    """
    Read a tile from memory, its first element at the given indices.

    ```mlir
    amx.tile_load 4, %a[%i, %k] along 0 step 1 : memref<32x64xi32>
    ```
    Constraints:
      (C1) the tile is one of eight.
      (C2) elements are of type i32.
      (C3) an index for each dimension.
      (C4) the last dimension has stride 1.
      (C5) `along` is another dimension, `step` is positive.
    """

    name = "amx.tile_load"


@irdl_op_definition
class TileStoreOp(_TileMemoryOp):
    """
    Write a tile to memory, its first element at the given indices.

    ```mlir
    amx.tile_store 0, %c[%i, %j] along 0 step 1 : memref<32x32xi32>
    ```
    Constraints:
      (C1) the tile is one of eight.
      (C2) elements are of type i32.
      (C3) an index for each dimension.
      (C4) the last dimension has stride 1.
      (C5) `along` is another dimension, `step` is positive.
    """

    name = "amx.tile_store"


@irdl_op_definition
class TileMulOp(IRDLOperation):
    """
    Add to a tile the matrix product of two others whose elements pack four bytes along the sum: unsigned of
    `lhs` [m, k], signed of `rhs` [k, n]. Exact, modulo 2^32. MLIR: `amx.tile_muli` with a zero-extended
    left side.

    ```mlir
    amx.tile_muli 0, 4, 6
    ```
    Constraints:
      (C1) each tile is one of eight.
      (C2) the three are different.
    """

    name = "amx.tile_muli"

    acc = prop_def(_I64)
    lhs = prop_def(_I64)
    rhs = prop_def(_I64)

    assembly_format = "$acc `,` $lhs `,` $rhs attr-dict"

    def __init__(self, acc: int, lhs: int, rhs: int):
        tiles = {"acc": acc, "lhs": lhs, "rhs": rhs}
        super().__init__(properties={name: IntegerAttr(tile, i64) for name, tile in tiles.items()})

    def verify_(self) -> None:
        _expect_tiles(self.acc, self.lhs, self.rhs)  # (C1)
        tiles = [attr.value.data for attr in (self.acc, self.lhs, self.rhs)]
        if len(set(tiles)) != len(tiles):  # (C2)
            raise VerifyException(f"the tiles of a product must be different, found {tiles}")


def _expect_tiles(*tiles: IntegerAttr) -> None:
    if odd := [tile.value.data for tile in tiles if not 0 <= tile.value.data < TILES]:
        raise VerifyException(f"a tile must be one from 0 to {TILES - 1}, found {odd[0]}")


AMX = Dialect("amx", [ConfigureOp, TileZeroOp, TileLoadOp, TileStoreOp, TileMulOp])
