"""`amx` → the intrinsics of tile registers, which are released before a function returns."""

from __future__ import annotations

from xdsl.dialects import llvm
from xdsl.dialects.builtin import (
    BytesAttr,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    IntegerAttr,
    StringAttr,
    VectorType,
    i8,
    i32,
)
from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern

from stepwell.dialects import amx
from stepwell.dialects.types import int_attr
from stepwell.lowering.loops_to_llvm.code import Code
from stepwell.lowering.loops_to_llvm.pattern import LoopsToLLVMPattern
from stepwell.lowering.loops_to_llvm.stack import stack_slot

_CONFIGURATION_BYTES = 64
_PALETTE = 1
_FIRST_WIDTH, _FIRST_HEIGHT = 16, 48
_WORD_BYTES = 4
_RELEASE = "llvm.x86.tilerelease"


def configuration(op: amx.ConfigureOp) -> bytes:
    """
    The 64 bytes that `ldtilecfg` loads: palette, bytes in a row of each tile (16 bits each), rows of each.

    Source: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 1, section 18.2.
    """
    data = bytearray(_CONFIGURATION_BYTES)
    data[0] = _PALETTE
    for tile, (rows, words) in enumerate(zip(op.rows.get_values(), op.words.get_values(), strict=True)):
        data[_FIRST_WIDTH + 2 * tile] = _WORD_BYTES * words
        data[_FIRST_HEIGHT + tile] = rows
    return bytes(data)


class ConfigureLowering(LoopsToLLVMPattern):
    """
    ```mlir
    amx.configure rows [16, …] words [16, …]
    // ->
    llvm.store %numbers, %slot {alignment = 64 : i64} : vector<64xi8>, !llvm.ptr
    llvm.call_intrinsic "llvm.x86.ldtilecfg"(%slot) : (!llvm.ptr) -> ()
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: amx.ConfigureOp, rewriter: PatternRewriter) -> None:
        """Store the configuration on the stack and load it with `ldtilecfg`."""
        code, type = self.code_at(op), VectorType(i8, [_CONFIGURATION_BYTES])
        numbers = DenseIntOrFPElementsAttr(type, BytesAttr(configuration(op)))
        function, _ = self.state.function(op)
        slot = stack_slot(
            function, llvm.LLVMArrayType(_CONFIGURATION_BYTES, i8), _CONFIGURATION_BYTES, rewriter
        )
        value = code.make(llvm.ConstantOp, [], type, {"value": numbers})
        code.store(value, slot, _CONFIGURATION_BYTES)
        _call(code, "llvm.x86.ldtilecfg", [slot])
        self.state.uses_tiles = True
        rewriter.replace(op, code.ops, [])


class TileZeroLowering(LoopsToLLVMPattern):
    """
    ```mlir
    amx.tile_zero 0
    // ->
    llvm.call_intrinsic "llvm.x86.tilezero"(%0) : (i8) -> ()
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: amx.TileZeroOp, rewriter: PatternRewriter) -> None:
        """Call `tilezero` with the tile's number."""
        code = self.code_at(op)
        _call(code, "llvm.x86.tilezero", [_number(code, op.tile)])
        rewriter.replace(op, code.ops, [])


class TileMemoryLowering(LoopsToLLVMPattern):
    """
    ```mlir
    amx.tile_load 4, %a[%i, %k] along 0 step 1 : memref<32x64xi32>
    // ->
    %p = llvm.getelementptr inbounds %a[%offset] : (!llvm.ptr, i64) -> !llvm.ptr, i32
    llvm.call_intrinsic "llvm.x86.tileloadd64"(%4, %p, %256) : (i8, !llvm.ptr, i64) -> ()
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: amx.TileLoadOp | amx.TileStoreOp, rewriter: PatternRewriter) -> None:
        """Load or store a tile at an address, with the distance of its rows in bytes."""
        code, layout = self.code_at(op), self.state.layout(op.memref, op)
        pointer, _ = code.address(op.memref, list(op.indices), layout)
        stride = layout.strides[op.along.value.data]
        bytes = code.times(code.times(stride, op.step.value.data), _WORD_BYTES)
        name = "tileloadd64" if isinstance(op, amx.TileLoadOp) else "tilestored64"
        _call(code, f"llvm.x86.{name}", [_number(code, op.tile), pointer, code.materialize(bytes)])
        rewriter.replace(op, code.ops, [])


class TileMulLowering(LoopsToLLVMPattern):
    """
    ```mlir
    amx.tile_muli 0, 4, 6
    // ->
    llvm.call_intrinsic "llvm.x86.tdpbusd"(%0, %4, %6) : (i8, i8, i8) -> ()
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: amx.TileMulOp, rewriter: PatternRewriter) -> None:
        """Call `tdpbusd` with the numbers of three tiles."""
        code = self.code_at(op)
        _call(code, "llvm.x86.tdpbusd", [_number(code, tile) for tile in (op.acc, op.lhs, op.rhs)])
        rewriter.replace(op, code.ops, [])


def release_tiles(function: llvm.FuncOp) -> None:
    """
    Release the tile registers before each return of a function that uses them: they slow context switches.
    """
    ops = [op for block in function.body.blocks for op in block.ops]
    calls = [op for op in ops if isinstance(op, llvm.CallIntrinsicOp)]
    if not any(op.intrin.data == "llvm.x86.ldtilecfg" for op in calls):
        return
    for op in ops:
        if isinstance(op, llvm.ReturnOp) and (block := op.parent) is not None:
            release = _intrinsic(_RELEASE, [])
            release.location = op.location
            block.insert_op_before(release, op)


def _number(code: Code, tile: IntegerAttr) -> SSAValue:
    """A tile's number as an i8 constant."""
    return code.make(llvm.ConstantOp, [], i8, {"value": int_attr(tile.value.data, 8)})


def _call(code: Code, name: str, operands: list[SSAValue]) -> None:
    """Append a call of an intrinsic without a result."""
    code.insert(_intrinsic(name, operands))


def _intrinsic(name: str, operands: list[SSAValue]) -> llvm.CallIntrinsicOp:
    """A call of an intrinsic without a result."""
    return llvm.CallIntrinsicOp.create(
        operands=operands,
        properties={
            "intrin": StringAttr(name),
            "fastmathFlags": llvm.FastMathAttr(None),
            "op_bundle_sizes": DenseArrayBase.from_list(i32, []),
            "operandSegmentSizes": DenseArrayBase.from_list(i32, [len(operands), 0]),
        },
    )
