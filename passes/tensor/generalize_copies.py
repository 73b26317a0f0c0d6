"""Make copies of slices elementwise ops, so that they get loops and vectors like all others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.context import Context
from xdsl.dialects import tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.dialects.func import FuncOp
from xdsl.dialects.linalg import ops as linalg
from xdsl.dialects.linalg.attrs import IteratorTypeAttr
from xdsl.ir import Block, OpResult, Region, SSAValue
from xdsl.ir.affine import AffineMap

from stepwell.dialects.ir_builder import Constants, Index, IRBuilder
from stepwell.dialects.sched_kernel import is_kernel
from stepwell.dialects.tensor_ir.dead import erase_dead
from stepwell.dialects.tensor_ir.memory import slice_offsets, slice_sizes
from stepwell.dialects.tensor_ir.reshapes import collapse, expand
from stepwell.dialects.tensor_ir.slices import Slice, insert_slice
from stepwell.dialects.tensor_ir.structured import Structured, generic, tensor_element, tensor_shape
from stepwell.passes.tensor.scheduling_pass import SchedulingPass


class GeneralizeCopiesPass(SchedulingPass):
    """
    Copy the source of each `tensor.insert_slice` by a `linalg.generic`, unless an op can compute it in place.

    ```mlir
    %1 = tensor.insert_slice %x into %0[0, 1] [4, 8] [1, 1] : tensor<4x8xf32> into tensor<4x10xf32>
    // ->
    %e = tensor.empty() : tensor<4x8xf32>
    %c = linalg.generic {… elementwise …} ins(%x : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) {
    ^bb0(%a: f32, %b: f32):
      linalg.yield %a : f32
    } -> tensor<4x8xf32>
    %1 = tensor.insert_slice %c into %0[0, 1] [4, 8] [1, 1] : tensor<4x8xf32> into tensor<4x10xf32>
    ```
    `bufferize` lets the copy write into the slice itself. A dimension that is inserted whole is merged with
    the dimension before it: a feature map of a batch is one long row. Unused ops are erased, so that they do
    not separate ops that could share loops.
    """

    name = "generalize-copies"

    def apply_to_function(self, ctx: Context, func: FuncOp) -> None:
        if not is_kernel(func):
            return
        rows = _Rows(Constants(func), {})
        for op in list(func.walk()):
            if isinstance(op, tensor.InsertSliceOp) and _is_copy(op):
                rows.copy(op)
        erase_dead(func)


def _is_copy(op: tensor.InsertSliceOp) -> bool:
    """Whether an unstrided insertion of the same rank has a source that no structured op computes."""
    rank = len(tensor_shape(op.dest))
    if len(tensor_shape(op.source)) != rank or op.strides or not rank:
        return False
    if any(stride != 1 for stride in op.static_strides.get_values()):
        return False
    source = op.source
    return not (isinstance(source, OpResult) and Structured.of(source.op) is not None)


@dataclass(frozen=True)
class _Rows:
    """Builds copies with merged dimensions; `merged` caches views by tensor and first merged dimension."""

    constants: Constants
    merged: dict[tuple[SSAValue, int], SSAValue]

    def copy(self, op: tensor.InsertSliceOp) -> None:
        """Replace an `insert_slice` by an elementwise copy into the slice, on merged dimensions."""
        # Source and destination with the dimensions from `first` on merged into the one before.
        emit, first = IRBuilder.before(op, self.constants), _first_whole(op)
        row = prod(tensor_shape(op.dest)[first:])
        dest = self._merge(emit, op.dest, first)
        source = collapse(emit, op.source, _groups(op.source, first))
        # The slice counts rows of merged dimensions in elements.
        offsets, sizes = slice_offsets(op), slice_sizes(op)
        block = Slice(
            tuple(_times_last(emit, offsets[:first], row)),
            tuple(_times_last(emit, sizes[:first], row)),
            (1,) * first,
        )
        result = insert_slice(emit, _copy(emit, source, block.sizes), dest, block)
        whole = expand(emit, result, op.dest, _groups(op.dest, first))
        self.merged[whole, first] = result
        op.result.replace_all_uses_with(whole)

    def _merge(self, emit: IRBuilder, value: SSAValue, first: int) -> SSAValue:
        if (value, first) not in self.merged:
            self.merged[value, first] = collapse(emit, value, _groups(value, first))
        return self.merged[value, first]


def _first_whole(op: tensor.InsertSliceOp) -> int:
    """The first of the trailing dimensions that are inserted whole and static; at least 1."""
    outer, inner = tensor_shape(op.dest), tensor_shape(op.source)
    first = len(outer)
    while first > 1 and outer[first - 1] == inner[first - 1] != DYNAMIC_INDEX:
        first -= 1
    return first


def _groups(value: SSAValue, first: int) -> list[list[int]]:
    """The reassociation of a tensor that merges the dimensions from `first` on with the one before."""
    rank = len(tensor_shape(value))
    return [*([d] for d in range(first - 1)), list(range(first - 1, rank))]


def _times_last(emit: IRBuilder, numbers: Sequence[Index], factor: int) -> list[Index]:
    return [*numbers[:-1], emit.times(numbers[-1], factor)]


def _copy(emit: IRBuilder, source: SSAValue, sizes: Sequence[Index]) -> SSAValue:
    """A copy of a tensor by an elementwise `linalg.generic` into an empty one."""
    element, rank = tensor_element(source), len(tensor_shape(source))
    into = emit.empty(element, sizes)
    body = Block(arg_types=[element, element])
    emit.inside(body).insert(linalg.YieldOp(body.args[0]))
    identity = AffineMap.identity(rank)
    kinds = [IteratorTypeAttr.parallel()] * rank
    return emit.value(generic([source], [into], Region(body), [identity, identity], kinds))
