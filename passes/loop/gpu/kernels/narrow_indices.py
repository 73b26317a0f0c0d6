"""`narrow-indices`: arithmetic of indices in 32 bits, where no buffer is too large for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import DYNAMIC_INDEX, IndexType, IntegerAttr, ModuleOp, i32
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from stepwell.dialects import gpu
from stepwell.dialects.ir_builder import INDEX, IRBuilder
from stepwell.passes.loop.gpu.kernels.shared_places import constant_of
from stepwell.passes.loop.gpu.nests import buffer_type, is_buffer

_ARITHMETIC = (
    arith.AddiOp, arith.SubiOp, arith.MuliOp, arith.DivUIOp, arith.RemUIOp, arith.DivSIOp, arith.RemSIOp,
    arith.MinUIOp, arith.MaxUIOp, arith.MinSIOp, arith.MaxSIOp,
)  # fmt: skip
"""Ops with the same result in 32 bits, when both fit; level 4 rounds quotients of 64 bits alone."""
_MOST_ELEMS = 1 << 30
"""Elements of a buffer: numbers of iterations go up to a block further, and must stay below 2^31."""


@dataclass(frozen=True)
class NarrowIndicesPass(ModulePass):
    """
    Compute indices in 32 bits in kernels whose buffers all have a known size below 2^30 elements.

    Indices, and numbers of iterations, count elements of a buffer, so all fit; a GPU takes several times as
    long for 64 bits, and most for quotients. Accesses, views and loops take indices as before, by casts.
    Kernels with a buffer of unknown size stay as they are.

    ```mlir
    %q = arith.divui %i, %c7 : index
    // ->
    %n = arith.index_cast %i : index to i32
    %c = arith.constant 7 : i32
    %r = arith.divui %n, %c : i32
    %q = arith.index_cast %r : i32 to index
    ```
    """

    name = "narrow-indices"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Narrow each kernel."""
        for kernel in [each for each in op.walk() if isinstance(each, gpu.GPUFuncOp)]:
            if _is_small(kernel):
                _narrow(kernel)


def _is_small(kernel: gpu.GPUFuncOp) -> bool:
    """Whether all buffers, and all constants, are within 32 bits with room to spare."""
    values = [*kernel.body.block.args, *(result for op in kernel.walk() for result in op.results)]
    shapes = [buffer_type(value).get_shape() for value in values if is_buffer(value) and not _is_raw(value)]
    constants = [constant_of(value) or 0 for value in values if isinstance(value.type, IndexType)]
    if any(isinstance(argument.type, IndexType) for argument in kernel.arguments):
        return False  # a size that is known to the launch alone
    fits = all(DYNAMIC_INDEX not in shape and prod(shape) < _MOST_ELEMS for shape in shapes)
    return fits and all(abs(number) < _MOST_ELEMS for number in constants)


def _is_raw(value: SSAValue) -> bool:
    """Whether a value is memory of the block without a size, of which views have sizes."""
    return isinstance(value.owner, gpu.DynamicSharedMemoryOp)


def _narrow(kernel: gpu.GPUFuncOp) -> None:
    """Replace arithmetic on indices, in order, so that casts of casts are not made."""
    narrow: dict[SSAValue, SSAValue] = {}
    for op in list(kernel.walk()):
        if isinstance(op, _ARITHMETIC) and isinstance(op.result.type, IndexType):
            _replace(op, list(op.operands), narrow)
        elif isinstance(op, arith.CmpiOp) and isinstance(op.lhs.type, IndexType):
            operands = [_narrowed(value, op, narrow) for value in op.operands]
            op.operands = operands
        elif isinstance(op, arith.SelectOp) and isinstance(op.result.type, IndexType):
            _replace(op, [op.lhs, op.rhs], narrow)


def _replace(op: Operation, values: Sequence[SSAValue], narrow: dict[SSAValue, SSAValue]) -> None:
    """Replace an op by one in 32 bits, with a cast of the result to an index."""
    at = IRBuilder.before(op)
    wanted = {value: _narrowed(value, op, narrow) for value in values}
    operands = [wanted.get(value, value) for value in op.operands]
    made = at.value(type(op).create(operands=operands, result_types=[i32], properties=dict(op.properties)))
    cast = at.value(arith.IndexCastOp(made, INDEX))
    made.name_hint = op.results[0].name_hint
    narrow[cast] = made
    Rewriter.replace_op(op, [], [cast])


def _narrowed(value: SSAValue, user: Operation, narrow: dict[SSAValue, SSAValue]) -> SSAValue:
    """An index in 32 bits, made once for all users."""
    if value in narrow:
        return narrow[value]
    owner = value.owner
    at = IRBuilder.after(owner) if isinstance(owner, Operation) else _at_start(value, user)
    if (number := constant_of(value)) is not None:
        narrow[value] = at.value(arith.ConstantOp(IntegerAttr(number, i32)))
    else:
        narrow[value] = at.value(arith.IndexCastOp(value, i32))
    return narrow[value]


def _at_start(value: SSAValue, user: Operation) -> IRBuilder:
    """A builder at the start of the block with an argument."""
    block = value.owner
    assert isinstance(block, Block)
    return IRBuilder(InsertPoint.at_start(block), user.location)
