"""`bound-stack`: large arrays on the stack of kernels become parts of their scratch memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.context import Context
from xdsl.dialects import memref, scf
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType
from xdsl.dialects.func import FuncOp
from xdsl.ir import BlockArgument
from xdsl.rewriter import InsertPoint

from stepwell.dialects.ir_builder import IRBuilder
from stepwell.dialects.runtime_calls import BYTES
from stepwell.dialects.sched_kernel import KernelAttr, kernel_of, set_kernel, symbols_of
from stepwell.dialects.types import element_bytes
from stepwell.passes.analysis.arena import aligned
from stepwell.passes.base import FunctionPass
from stepwell.passes.context import remark


@dataclass(frozen=True)
class BoundStackPass(FunctionPass):
    """
    Move arrays of more than some bytes from the stack of a kernel to its scratch memory, which the arena has.

    Needs kernels on buffers (`bufferize`), before `plan-memory` gives each its scratch. In a parallel loop an
    array is moved only where iterations run one after the other (`sequential`); a remark names the others.
    """

    name = "bound-stack"

    bytes: int = 32 << 10
    """The largest array that stays on the stack."""
    sequential: bool = False
    """Whether parallel loops run on one thread, so that their iterations can share an array."""

    def apply_to_function(self, ctx: Context, func: FuncOp) -> None:
        if (kernel := kernel_of(func)) is None:
            return
        large = [op for op in func.walk() if isinstance(op, memref.AllocaOp) and _bytes(op) > self.bytes]
        moved = [op for op in large if self.sequential or not _is_in_parallel_loop(op)]
        for op in large:
            if op not in moved:
                remark(
                    op,
                    f"an array of {_bytes(op)} bytes stays on the stack: threads would share scratch memory",
                )
        if moved:
            _move(func, kernel, moved)


def _move(func: FuncOp, kernel: KernelAttr, arrays: Sequence[memref.AllocaOp]) -> None:
    """Replace arrays by views of the kernel's scratch, one after the other at its end."""
    indices = func.body.block.args[len(func.body.block.args) - len(symbols_of(func)) :]
    symbols = dict(zip(symbols_of(func), indices, strict=True))
    end, scratch = aligned(kernel.scratch_bytes), _scratch(func, kernel)
    for op in arrays:
        build = IRBuilder.before(op, symbols=symbols)
        # Sizes over symbols are computed at the start, where they dominate all uses.
        start = IRBuilder(InsertPoint.at_start(func.body.block), op.location, symbols=symbols)
        type = op.memref.type
        view = memref.ViewOp(scratch, start.extent(end), [], type)
        op.memref.replace_all_uses_with(build.value(view))
        end = aligned(end + _bytes(op))
        op.detach()
        op.erase()
    set_kernel(func, kernel.with_scratch(end))


def _scratch(func: FuncOp, kernel: KernelAttr) -> BlockArgument:
    """The argument for scratch memory, which is added where there is none."""
    index, block = kernel.inputs.data + kernel.outputs.data, func.body.block
    if kernel.scratch_bytes != 0:
        return block.args[index]
    scratch = block.insert_arg(BYTES, index)
    scratch.name_hint = "scratch"
    types = [arg.type for arg in block.args]
    func.properties["function_type"] = FunctionType.from_lists(types, func.function_type.outputs.data)
    if func.arg_attrs is not None:
        attributes = [*func.arg_attrs.data]
        attributes.insert(index, DictionaryAttr({}))
        func.properties["arg_attrs"] = ArrayAttr(attributes)
    return scratch


def _bytes(op: memref.AllocaOp) -> int:
    """The bytes of an array; 0 for a size that is known at run time only."""
    type = op.memref.type
    return 0 if op.dynamic_sizes else prod(type.get_shape()) * element_bytes(type.element_type)


def _is_in_parallel_loop(op: memref.AllocaOp) -> bool:
    parent = op.parent_op()
    while parent is not None and not isinstance(parent, scf.ParallelOp):
        parent = parent.parent_op()
    return parent is not None
