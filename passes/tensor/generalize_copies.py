"""Make copies of slices elementwise ops, so that they get loops and vectors like all others."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects import tensor
from xdsl.dialects.builtin import AffineMapAttr
from xdsl.dialects.func import FuncOp
from xdsl.dialects.linalg import ops as linalg
from xdsl.dialects.linalg.attrs import IteratorTypeAttr
from xdsl.ir import Block, OpResult, Region, SSAValue
from xdsl.ir.affine import AffineMap

from stepwell.dialects.sched import KERNEL
from stepwell.passes.base import FunctionPass
from stepwell.passes.tensor.dead import erase_dead
from stepwell.passes.tensor.emit import Constants, Emitter, Slice
from stepwell.passes.tensor.memory import slice_offsets, slice_sizes
from stepwell.passes.tensor.structured import Structured, tensor_element, tensor_shape


class GeneralizeCopiesPass(FunctionPass):
    """
    Copy what a `tensor.insert_slice` inserts by a `linalg.generic`, unless an op can compute it in its place.

    ```mlir
    %1 = tensor.insert_slice %x into %0[0, 1] [4, 8] [1, 1] : tensor<4x8xf32> into tensor<4x10xf32>
    // ->
    %s = tensor.extract_slice %0[0, 1] [4, 8] [1, 1] : tensor<4x10xf32> to tensor<4x8xf32>
    %c = linalg.generic {… elementwise …} ins(%x : tensor<4x8xf32>) outs(%s : tensor<4x8xf32>) {
    ^bb0(%a: f32, %b: f32):
      linalg.yield %a : f32
    } -> tensor<4x8xf32>
    %1 = tensor.insert_slice %c into %0[0, 1] [4, 8] [1, 1] : tensor<4x8xf32> into tensor<4x10xf32>
    ```
    What nothing uses is erased, so that it does not stand between ops that could share loops.
    """

    name = "generalize-copies"

    def apply_to_function(self, ctx: Context, func: FuncOp) -> None:
        if KERNEL not in func.attributes:
            return
        constants = Constants(func)
        for op in list(func.body.block.ops):
            if isinstance(op, tensor.InsertSliceOp) and _is_copy(op):
                _generalize(op, constants)
        erase_dead(func)


def _is_copy(op: tensor.InsertSliceOp) -> bool:
    """Whether the inserted elements lie somewhere else: in an argument, or where another op needs them."""
    rank = len(tensor_shape(op.dest))
    if len(tensor_shape(op.source)) != rank or op.strides or not rank:
        return False
    if any(stride != 1 for stride in op.static_strides.get_values()):
        return False
    source = op.source
    return not (isinstance(source, OpResult) and Structured.of(source.op) is not None)


def _generalize(op: tensor.InsertSliceOp, constants: Constants) -> None:
    emit = Emitter.before(op, constants)
    offsets, sizes = tuple(slice_offsets(op)), tuple(slice_sizes(op))
    block = Slice(offsets, sizes, (1,) * len(offsets))
    op.operands[0] = _copy(emit, op.source, emit.extract(op.dest, block))


def _copy(emit: Emitter, source: SSAValue, into: SSAValue) -> SSAValue:
    """The elements of a tensor in the place of another one."""
    element, rank = tensor_element(source), len(tensor_shape(source))
    body = Block(arg_types=[element, element])
    emit.inside(body).add(linalg.YieldOp(body.args[0]))
    identity = AffineMapAttr(AffineMap.identity(rank))
    kinds = [IteratorTypeAttr.parallel()] * rank
    op = linalg.GenericOp([source], [into], Region(body), [identity, identity], kinds, [into.type])
    return emit.value(op)
