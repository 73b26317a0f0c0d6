"""`convert-linalg-to-amx`: sums of products of bytes on buffers → tile registers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr
from xdsl.dialects.func import FuncOp
from xdsl.dialects.linalg.ops import FillOp, GenericOp
from xdsl.ir import Operation, OpResult, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern
from xdsl.traits import is_side_effect_free

from stepwell.dialects._xdsl import target_of
from stepwell.dialects.amx import (
    TILE_ROWS,
    TILE_WORDS,
    TILES,
    ConfigureOp,
    TileLoadOp,
    TileMulOp,
    TileStoreOp,
    TileZeroOp,
)
from stepwell.dialects.arith import DotBytesOp
from stepwell.dialects.ir_builder import Constants, Index, IRBuilder
from stepwell.dialects.tensor_ir.amx_product import Operand, TileProduct
from stepwell.passes.base import FunctionPass
from stepwell.passes.context import remark
from stepwell.patterns.driver.greedy import apply_patterns_once
from stepwell.runtime.machine.target import target_from

_SIDE = 2
"""Tiles of sums along each side of a block: four of the eight registers are sums."""
# The order of a block's products: each shares an operand with the one before it.
_ORDER = ((0, 0), (0, 1), (1, 1), (1, 0))


@dataclass(frozen=True)
class ConvertLinalgToAMXPass(FunctionPass):
    """
    Compute sums of products of bytes, whose extents are known, in tile registers.

    ```mlir
    linalg.fill ins(%zero : i32) outs(%c : memref<16x16xi32>)
    linalg.generic {…} ins(%a, %b : memref<16x32xi32>, memref<32x16xi32>) outs(%c : memref<16x16xi32>) {
    ^bb0(%x: i32, %y: i32, %acc: i32):
      %r = arith.dot_bytes %x, %y, %acc : i32
      linalg.yield %r : i32
    }
    // ->
    amx.configure rows [16, 0, 0, 0, 16, 0, 16, 0] words [16, 0, 0, 0, 16, 0, 16, 0]
    amx.tile_zero 0
    scf.for %k = %c0 to %c32 step %c16 {
      amx.tile_load 4, %a[%c0, %k] along 0 step 1 : memref<16x32xi32>
      amx.tile_load 6, %b[%k, %c0] along 0 step 1 : memref<32x16xi32>
      amx.tile_muli 0, 4, 6
    }
    amx.tile_store 0, %c[%c0, %c0] along 0 step 1 : memref<16x16xi32>
    ```
    Two by two tiles of sums share their operands; other sizes are several such blocks. Does nothing for a
    target without tile registers, and leaves products that tiles cannot compute to `linalg-to-loops`.
    Source: Intel 64 and IA-32 Architectures Optimization Reference Manual, chapter 20.
    """

    name = "convert-linalg-to-amx"

    mcpu: str = ""
    """The target, as `stepwell compile --mcpu` takes it; without it, the one of the compilation."""

    def apply_to_function(self, ctx: Context, func: FuncOp) -> None:
        """Rewrite all products of bytes in a function that tiles can compute, and remark on others."""
        target = target_from(self.mcpu) if self.mcpu else target_of(ctx)
        if not target.has_tile_products:
            return
        if products := _tile_products(func):
            constants = Constants(func)
            patterns = [FilledProductLowering(products, constants), ProductLowering(products, constants)]
            apply_patterns_once(products, patterns)


def _tile_products(func: FuncOp) -> dict[Operation, TileProduct]:
    """Maps the ops that tiles can compute to products; remarks on other products of bytes."""
    products: dict[Operation, TileProduct] = {}
    for op in func.walk():
        if not isinstance(op, GenericOp):
            continue
        if (product := TileProduct.of(op)) is not None:
            products[op] = product
        elif any(isinstance(inner, DotBytesOp) for inner in op.body.block.ops):
            remark(op, "not for tile registers: these products of bytes are added one by one")
    return products


@dataclass
class FilledProductLowering(RewritePattern):
    """
    A product whose result is filled with zeros just before it: its tiles start from zero, without the fill.

    ```mlir
    %zero = arith.constant 0 : i32
    linalg.fill ins(%zero : i32) outs(%c : memref<3x5xi32>)
    linalg.generic {
        indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
                         affine_map<(m, n, k) -> (m, n)>],
        iterator_types = ["parallel", "parallel", "reduction"]
      } ins(%a, %b : memref<3x4xi32>, memref<4x5xi32>) outs(%c : memref<3x5xi32>) {
    ^bb0(%x: i32, %y: i32, %s: i32):
      %r = arith.dot_bytes %x, %y, %s : i32
      linalg.yield %r : i32
    }
    // ->
    %c0 = arith.constant 0 : index
    amx.configure rows [3, 0, 0, 0, 3, 0, 4, 0] words [5, 0, 0, 0, 4, 0, 5, 0]
    amx.tile_zero 0
    amx.tile_load 4, %a[%c0, %c0] along 0 step 1 : memref<3x4xi32>
    amx.tile_load 6, %b[%c0, %c0] along 0 step 1 : memref<4x5xi32>
    amx.tile_muli 0, 4, 6
    amx.tile_store 0, %c[%c0, %c0] along 0 step 1 : memref<3x5xi32>
    ```
    """

    products: Mapping[Operation, TileProduct]
    constants: Constants

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: GenericOp, rewriter: PatternRewriter) -> None:
        """Emit the blocks before the op, and erase both ops."""
        product = self.products.get(op)
        if product is None or (fill := _fill_before(op, product.out.buffer)) is None:
            return
        _write_blocks(product, IRBuilder.on(rewriter, constants=self.constants), starts_at_zero=True)
        rewriter.erase(op)
        rewriter.erase(fill)


@dataclass
class ProductLowering(RewritePattern):
    """
    Any other product: its tiles start from what its result contains.

    ```mlir
    linalg.generic {
        indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
                         affine_map<(m, n, k) -> (m, n)>],
        iterator_types = ["parallel", "parallel", "reduction"]
      } ins(%a, %b : memref<3x36xi32>, memref<36x5xi32>) outs(%c : memref<3x5xi32>) {
    ^bb0(%x: i32, %y: i32, %s: i32):
      %r = arith.dot_bytes %x, %y, %s : i32
      linalg.yield %r : i32
    }
    // ->
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %c16 = arith.constant 16 : index
    amx.configure rows [3, 0, 0, 0, 3, 16, 3, 4] words [5, 0, 0, 0, 16, 5, 4, 5]
    amx.tile_load 0, %c[%c0, %c0] along 0 step 1 : memref<3x5xi32>
    scf.for %k = %c0 to %c32 step %c16 {
      amx.tile_load 4, %a[%c0, %k] along 0 step 1 : memref<3x36xi32>
      amx.tile_load 5, %b[%k, %c0] along 0 step 1 : memref<36x5xi32>
      amx.tile_muli 0, 4, 5
    }
    amx.tile_load 6, %a[%c0, %c32] along 0 step 1 : memref<3x36xi32>
    amx.tile_load 7, %b[%c32, %c0] along 0 step 1 : memref<36x5xi32>
    amx.tile_muli 0, 6, 7
    amx.tile_store 0, %c[%c0, %c0] along 0 step 1 : memref<3x5xi32>
    ```
    """

    products: Mapping[Operation, TileProduct]
    constants: Constants

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: GenericOp, rewriter: PatternRewriter) -> None:
        """Emit the blocks before the op, and erase it."""
        if (product := self.products.get(op)) is not None:
            _write_blocks(product, IRBuilder.on(rewriter, constants=self.constants), starts_at_zero=False)
            rewriter.erase(op)


def _write_blocks(product: TileProduct, emit: IRBuilder, *, starts_at_zero: bool) -> None:
    """Emit all blocks of a product."""
    rows = 1 if product.loops.rows is None else product.extents[product.loops.rows]
    for row in _cut(rows, TILE_ROWS):
        for column in _cut(product.extents[product.loops.columns], TILE_WORDS):
            _Block(product, row, column, emit).write(starts_at_zero=starts_at_zero)


def _fill_before(op: Operation, buffer: SSAValue) -> FillOp | None:
    """The op that fills `buffer` with zero before `op`, if no op in between has effects; else None."""
    before = op.prev_op
    while before is not None and is_side_effect_free(before):
        before = before.prev_op
    if not isinstance(before, FillOp) or before.outputs[0] is not buffer:
        return None
    value = before.inputs[0]
    constant = value.op if isinstance(value, OpResult) else None
    if not isinstance(constant, arith.ConstantOp) or not isinstance(constant.value, IntegerAttr):
        return None
    return before if constant.value.value.data == 0 else None


@dataclass(frozen=True)
class _Side:
    """The rows or columns of a block: one or two tiles of the same size."""

    offset: int
    size: int
    tiles: int


def _cut(extent: int, most: int) -> Iterator[_Side]:
    """The blocks of an extent: pairs of whole tiles, a single tile, and the remainder."""
    offset = 0
    while extent > offset:
        left = extent - offset
        tiles = _SIDE if left >= _SIDE * most else 1
        size = min(most, left)
        yield _Side(offset, size, tiles)
        offset += size * tiles


@dataclass(frozen=True)
class _Registers:
    """
    The tile registers of both operands for a length of the sum; a pair is one register where they are scarce.
    """

    lhs: tuple[int, int]
    rhs: tuple[int, int]
    words: int


class _Block:
    """The code of a block of sums: up to two by two tiles."""

    def __init__(self, product: TileProduct, rows: _Side, columns: _Side, emit: IRBuilder):
        self._product = product
        self._rows = rows
        self._columns = columns
        self._emit = emit
        self._sums = [(i, j) for i, j in _ORDER if i < rows.tiles and j < columns.tiles]
        self._whole, rest = divmod(product.extents[product.loops.sum], TILE_WORDS)
        if self._whole and rest:
            # Sums of 16 packed elements and of fewer need tiles of different sizes.
            self._main, self._rest = _Registers((4, 4), (5, 5), TILE_WORDS), _Registers((6, 6), (7, 7), rest)
        else:
            self._main = _Registers((4, 5), (6, 7), TILE_WORDS if self._whole else rest)
            self._rest = None if self._whole else self._main

    def write(self, *, starts_at_zero: bool) -> None:
        """Emit the block: configuration, initial sums, products, stores of the sums."""
        emit, out = self._emit, self._product.out
        emit.insert(self._configuration())
        for i, j in self._sums:
            if starts_at_zero:
                emit.insert(TileZeroOp(_SIDE * i + j))
            else:
                self._move(TileLoadOp, emit, _SIDE * i + j, out, self._position(i, j))
        self._sum_over(self._product.loops.sums, emit, {})
        for i, j in self._sums:
            self._move(TileStoreOp, emit, _SIDE * i + j, out, self._position(i, j))

    def _configuration(self) -> ConfigureOp:
        """The op that sets the rows and row lengths of all tiles that the block uses."""
        rows, words = [0] * TILES, [0] * TILES

        def set_size(tile: int, size: tuple[int, int]) -> None:
            rows[tile], words[tile] = size

        for i, j in self._sums:
            set_size(_SIDE * i + j, (self._rows.size, self._columns.size))
            for registers in (self._main, self._rest or self._main):
                set_size(registers.lhs[i], (self._rows.size, registers.words))
                set_size(registers.rhs[j], (registers.words, self._columns.size))
        return ConfigureOp(rows, words)

    def _sum_over(self, loops: Sequence[int], emit: IRBuilder, at: Mapping[int, Index]) -> None:
        """Emit the products inside the given reduction loops, at the indices `at` of the loops around."""
        if loops:
            first, *inner = loops
            self._loop(emit, first, self._product.extents[first], 1, at, partial(self._sum_over, inner))
            return
        dim, stop = self._product.loops.sum, self._whole * TILE_WORDS
        if self._whole:
            self._loop(emit, dim, stop, TILE_WORDS, at, partial(self._multiply, self._main))
        if self._rest is not None:
            self._multiply(self._rest, emit, {**at, dim: stop})

    @staticmethod
    def _loop(
        emit: IRBuilder,
        dim: int,
        stop: int,
        step: int,
        at: Mapping[int, Index],
        body: Callable[[IRBuilder, Mapping[int, Index]], None],
    ) -> None:
        """Emit a loop around what `body` emits at each index; a single step needs none."""
        if stop <= step:
            body(emit, {**at, dim: 0})
            return

        def in_loop(inside: IRBuilder, index: SSAValue, _: Sequence[SSAValue]) -> Sequence[SSAValue]:
            body(inside, {**at, dim: index})
            return ()

        emit.loop(0, stop, step, [], in_loop)

    def _multiply(self, registers: _Registers, emit: IRBuilder, at: Mapping[int, Index]) -> None:
        """Emit one step of all sums; an operand is loaded unless its tile register contains it already."""
        loaded: dict[int, int] = {}
        product = self._product
        for i, j in self._sums:
            for tile, number, operand in (
                (registers.lhs[i], i, product.lhs),
                (registers.rhs[j], j, product.rhs),
            ):
                if loaded.get(tile) != number:
                    loaded[tile] = number
                    self._move(TileLoadOp, emit, tile, operand, {**at, **self._position(i, j)})
            emit.insert(TileMulOp(_SIDE * i + j, registers.lhs[i], registers.rhs[j]))

    def _position(self, i: int, j: int) -> dict[int, Index]:
        """The first row and column of a tile of sums, by loop."""
        at: dict[int, Index] = {self._product.loops.columns: self._columns.offset + j * self._columns.size}
        if self._product.loops.rows is not None:
            at[self._product.loops.rows] = self._rows.offset + i * self._rows.size
        return at

    def _move(
        self,
        op_type: type[TileLoadOp | TileStoreOp],
        emit: IRBuilder,
        tile: int,
        operand: Operand,
        at: Mapping[int, Index],
    ) -> None:
        """Emit a load or store of a tile at the position of an operand for the loop indices `at`."""
        indices = [emit.materialize(index) for index in operand.indices(emit, at)]
        emit.insert(op_type(tile, operand.buffer, indices, operand.rows.along, operand.rows.step))
