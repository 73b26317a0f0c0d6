"""The pass `stream-stores`: results too large to stay in a cache are written past it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from math import prod
from typing import TypeAlias, cast

from xdsl.context import Context
from xdsl.dialects import arith, memref, scf, vector
from xdsl.dialects.builtin import DYNAMIC_INDEX, BoolAttr, IntegerAttr, MemRefType, VectorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, Region, SSAValue
from xdsl.ir.affine import AffineDimExpr
from xdsl.rewriter import Rewriter

from stepwell.dialects._xdsl import target_of
from stepwell.dialects.ir_builder import IRBuilder
from stepwell.dialects.sched import STREAM
from stepwell.dialects.sched_kernel import is_kernel
from stepwell.dialects.types import element_bytes
from stepwell.passes.base import FunctionPass
from stepwell.passes.context import remark
from stepwell.runtime.machine.target import TargetDescription, target_from

_LINE_BYTES = 64
_VECTOR_BYTES = (16, 32, 64)
_Writes: TypeAlias = Sequence[vector.TransferWriteOp]
_VIEWS = (memref.CollapseShapeOp, memref.ExpandShapeOp)


@dataclass(frozen=True)
class StreamStoresPass(FunctionPass):
    """
    Write results by stores that bypass the caches, in kernels whose operands and results exceed the last one.

    An ordinary store first reads the line that it is about to overwrite, and pushes something else out of the
    cache. By the time when the next kernel reads the first element, the kernel has touched all its operands
    in between: when these are more than the last cache holds, the element would be gone anyway.

    ```mlir
    "scf.parallel"(%c0, %n, %c64) ({
    ^bb0(%i: index):
      vector.transfer_write %v, %out[%i] {in_bounds = [true]} : vector<16xf32>, memref<16777216xf32>
    })
    // ->
    %p = "memref.extract_aligned_pointer_as_index"(%out) : (memref<16777216xf32>) -> index
    %rest = arith.andi %p, %c63 : index
    %on_line = arith.cmpi eq, %rest, %c0 : index
    scf.if %on_line {
      %lines = memref.assume_alignment %out, 64 : memref<16777216xf32>
      "scf.parallel"(%c0, %n, %c64) ({
      ^bb0(%i: index):
        vector.store %v, %lines[%i] {nontemporal = true} : memref<16777216xf32>, vector<16xf32>
      })
    } else {
      … the loop as it was …
    }
    ```
    Also for results that a schedule streams (`sched.stream`), whatever the sizes.
    For loops whose iterations fill whole cache lines of dense results of known sizes. Such stores become
    visible to other threads with the next locked instruction, by which the pool hands a result over.
    Runs before `expand-math`, while bodies are short.
    """

    name = "stream-stores"

    mcpu: str = ""
    """The target, as `stepwell compile --mcpu` takes it; without it, the one of the compilation."""

    def apply_to_function(self, ctx: Context, func: FuncOp) -> None:
        target = target_from(self.mcpu) if self.mcpu else target_of(ctx)
        if not is_kernel(func):
            return
        asked = _requested(func)
        args = func.body.block.args if _exceeds_caches(func, target) else asked
        written = [arg for arg in args if _is_only_written(arg)]
        streamed: list[SSAValue] = []
        for op in list(func.body.block.ops):
            if isinstance(op, scf.ParallelOp) and not op.initVals and (writes := _whole_lines(op, written)):
                _stream(op, writes)
                streamed += [viewed_buffer(write.source) for write in writes]
        if any(arg not in streamed for arg in asked):
            remark(func, "not streamed: parallel loops do not write whole cache lines of the result")


def _requested(func: FuncOp) -> list[BlockArgument]:
    """The buffers of results that a schedule wants past the caches."""
    given = func.arg_attrs.data if func.arg_attrs is not None else ()
    return [arg for arg, each in zip(func.body.block.args, given, strict=False) if STREAM in each.data]


def _exceeds_caches(func: FuncOp, target: TargetDescription) -> bool:
    """Whether operands and results have known sizes whose sum is at least that of the last-level cache."""
    types = [cast("MemRefType[Attribute]", t) for t in func.function_type.inputs if isinstance(t, MemRefType)]
    shapes = [t.get_shape() for t in types]
    if any(DYNAMIC_INDEX in shape for shape in shapes):
        return False
    sizes = [prod(shape) * element_bytes(t.element_type) for shape, t in zip(shapes, types, strict=True)]
    return sum(sizes) >= target.l3_bytes


def _users(value: SSAValue) -> Iterator[Operation]:
    """The ops that use a buffer, directly or by a view of the whole of it; views left out."""
    for use in value.uses:
        if isinstance(use.operation, _VIEWS):
            yield from _users(use.operation.results[0])
        else:
            yield use.operation


def _is_only_written(value: SSAValue) -> bool:
    users = list(_users(value)) if isinstance(value.type, MemRefType) else []
    return bool(users) and all(isinstance(user, vector.TransferWriteOp) for user in users)


def _whole_lines(loop: scf.ParallelOp, written: Sequence[SSAValue]) -> _Writes:
    """The writes of a loop, if all are to `written` buffers and fill whole cache lines; none otherwise."""
    block = loop.body.block
    writes = [op for op in block.ops if isinstance(op, vector.TransferWriteOp)]
    steps = dict(zip(block.args, zip(loop.lowerBound, loop.step, strict=True), strict=True))
    fits = all(viewed_buffer(op.source) in written and _fills_lines(op, steps) for op in writes)
    return writes if fits else ()


def viewed_buffer(value: SSAValue) -> SSAValue:
    """The buffer under a chain of collapsed and expanded views; a value that is no view itself."""
    while isinstance(value, OpResult) and isinstance(value.op, _VIEWS):
        value = value.op.operands[0]
    return value


def _fills_lines(op: vector.TransferWriteOp, steps: dict[BlockArgument, tuple[SSAValue, SSAValue]]) -> bool:
    """
    Whether a vector write belongs to a tile that covers whole cache lines.

    It does when the loop along the last dimension starts on a line and advances by lines, and rows are lines:
    a tile writes all of its elements, vector by vector.
    """
    memory, type = (
        SSAValue.get(op.source, type=MemRefType).type,
        SSAValue.get(op.vector, type=VectorType).type,
    )
    size, last = element_bytes(memory.element_type), len(op.indices) - 1
    in_bounds = all(flag.value.data for flag in op.in_bounds)
    is_row = op.permutation_map.data.results == (AffineDimExpr(last),)
    if (
        op.mask is not None
        or not in_bounds
        or not is_row
        or prod(type.get_shape()) * size not in _VECTOR_BYTES
    ):
        return False
    if last and memory.get_shape()[-1] * size % _LINE_BYTES:
        return False
    index = op.indices[last]
    while isinstance(add := index.owner, arith.AddiOp):
        if not _is_multiple(add.rhs, prod(type.get_shape())):
            return False
        index = add.lhs
    if not isinstance(index, BlockArgument) or index not in steps:
        return False
    return all(_is_multiple(bound, _LINE_BYTES // size) for bound in steps[index])


def _is_multiple(value: SSAValue, number: int) -> bool:
    attr = value.owner.value if isinstance(value.owner, arith.ConstantOp) else None
    return isinstance(attr, IntegerAttr) and attr.value.data % number == 0


def _stream(loop: scf.ParallelOp, writes: _Writes) -> None:
    """Clone the loop with non-temporal stores, and branch to the clone when all results start on a line."""
    # The clone: its writes become non-temporal stores to buffers that are assumed to be aligned.
    streaming = loop.clone()
    mapping = dict(zip(loop.walk(), streaming.walk(), strict=True))
    bases = list(dict.fromkeys(op.source for op in writes))
    assumed = {base: memref.AssumeAlignmentOp(base, _LINE_BYTES) for base in bases}
    for op in writes:
        copy = mapping[op]
        assert isinstance(copy, vector.TransferWriteOp)
        flag = BoolAttr.from_bool(True)
        store = vector.StoreOp(copy.vector, assumed[op.source].result, list(copy.indices), flag)
        Rewriter.replace_op(copy, store, [])
    # `scf.if` on the addresses: the clone, else the loop as it was.
    then = Region(Block([*assumed.values(), streaming, scf.YieldOp()]))
    before, otherwise = IRBuilder.before(loop), Region(Block())
    before.insert(scf.IfOp(_on_lines(bases, before), [], then, otherwise))
    loop.detach()
    otherwise.block.add_ops([loop, scf.YieldOp()])


def _on_lines(bases: Sequence[SSAValue], builder: IRBuilder) -> SSAValue:
    """Whether all buffers start on a cache line, as an `i1`."""
    mask, zero = builder.materialize(_LINE_BYTES - 1), builder.materialize(0)
    addresses = [builder.value(memref.ExtractAlignedPointerAsIndexOp.get(base)) for base in bases]
    total = reduce(lambda a, b: builder.value(arith.OrIOp(a, b)), addresses)
    return builder.compare("eq", builder.value(arith.AndIOp(total, mask)), zero)
