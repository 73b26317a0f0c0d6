"""Integers of 64 bits that count elements, in 32 bits for languages without longer ones."""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr, i1, i32, i64
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import Rewriter

from stepwell.dialects import gpu
from stepwell.dialects._xdsl import set_type

_COUNTING = frozenset(
    (
        *("arith.addi", "arith.subi", "arith.muli", "arith.divsi", "arith.remsi"),
        *("arith.floordivsi", "arith.ceildivsi", "arith.minsi", "arith.maxsi", "math.absi"),
        *("arith.cmpi", "arith.select", "arith.index_cast", "arith.sitofp"),
        *("scf.for", "scf.if", "scf.yield"),
    )
)
"""Ops whose results are as small as indices if their operands are."""
_OF_INDICES = frozenset(("arith.addi", "arith.subi", "arith.minsi", "arith.maxsi", "arith.select"))
"""Ops that turn an index from memory (negative: counted from the end) into an index of elements."""
_MOST = 1 << 31


def with_short_integers(kernel: gpu.GPUFuncOp) -> gpu.GPUFuncOp:
    """
    A kernel with its integers of 64 bits narrowed to 32, if indices and small constants make all of them.

    Indices have 32 bits in these languages, so that what is computed from them fits as well as they do, and
    so do numbers of 32 bits from memory, and coordinates in floats, that become indices. A kernel with other
    integers of 64 bits, such as elements in memory, is returned as it is.
    """
    if not _has_long(kernel) or not all(map(_is_counting, kernel.walk())):
        return kernel
    short = kernel.clone()
    for op in list(short.walk()):
        for value in (*op.results, *(arg for region in op.regions for b in region.blocks for arg in b.args)):
            if value.type == i64:
                set_type(value, i32)
        if isinstance(op, arith.ConstantOp) and isinstance(op.value, IntegerAttr) and op.result.type == i32:
            op.properties["value"] = IntegerAttr(op.value.value.data, i32)
        elif isinstance(op, arith.TruncIOp | arith.ExtSIOp) and op.input.type == op.result.type:
            Rewriter.replace_op(op, [], [op.input])
    return short


def _has_long(kernel: gpu.GPUFuncOp) -> bool:
    return any(value.type == i64 for op in kernel.walk() for value in op.results)


def _is_counting(op: Operation) -> bool:
    """Whether an op has no integers of 64 bits, or computes such as count elements."""
    if isinstance(op, gpu.GPUFuncOp):
        return not any(argument.type == i64 for argument in op.arguments)
    blocks = (block for region in op.regions for block in region.blocks)
    values: list[SSAValue] = [*op.operands, *op.results, *(arg for block in blocks for arg in block.args)]
    if not any(value.type == i64 for value in values):
        return True
    if isinstance(op, arith.ConstantOp):
        return isinstance(op.value, IntegerAttr) and -_MOST <= op.value.value.data < _MOST
    if isinstance(op, arith.ExtUIOp | arith.ExtSIOp):
        is_index = isinstance(op, arith.ExtSIOp) and op.input.type == i32 and _becomes_index(op.result)
        return op.input.type == i1 or is_index
    if isinstance(op, arith.FPToSIOp):
        return _becomes_index(op.result)
    if isinstance(op, arith.TruncIOp):
        return op.result.type in (i1, i32)
    return op.name in _COUNTING


def _becomes_index(value: SSAValue) -> bool:
    """Whether a number from memory is compared, added to and chosen alone until it is an index."""
    for use in value.uses:
        op = use.operation
        if isinstance(op, arith.IndexCastOp | arith.CmpiOp):
            continue
        if op.name not in _OF_INDICES or not _becomes_index(op.results[0]):
            return False
    return True
