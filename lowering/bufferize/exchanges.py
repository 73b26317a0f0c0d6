"""Loops that exchange the tensors they carry: each moves by way of a buffer of its own."""

from __future__ import annotations

from xdsl.builder import Builder
from xdsl.dialects import scf, tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Block, SSAValue
from xdsl.rewriter import InsertPoint

from stepwell.dialects.extents import ExtentBuilder
from stepwell.dialects.types import tensor_of
from stepwell.lowering.bufferize.accesses import carried_tensors, previous, viewed
from stepwell.lowering.bufferize.index_forms import IndexForms
from stepwell.lowering.bufferize.shapes import extents_of


def separate_exchanges(body: Block, forms: IndexForms) -> None:
    """
    Copy what a loop yields when it lies in the buffer of another tensor that the loop carries.

    ```mlir
    scf.yield %b, %a : tensor<4xf32>, tensor<4xf32>  // %a and %b are the first and second iteration argument
    // ->
    %e = tensor.empty() : tensor<4xf32>
    %c = tensor.insert_slice %b into %e[0] [4] [1] : tensor<4xf32> into tensor<4xf32>
    …
    scf.yield %c, %d : tensor<4xf32>, tensor<4xf32>
    ```
    """
    for op in list(body.walk()):
        if isinstance(op, scf.ForOp):
            for carried in carried_tensors(op):
                origin = _origin(carried.yielded, op)
                if origin is not None and origin is not carried.arg:
                    terminator = op.body.block.last_op
                    assert terminator is not None
                    terminator.operands[carried.index - 3] = _copy(carried.yielded, op, forms)


def _origin(value: SSAValue, loop: scf.ForOp) -> SSAValue | None:
    """The argument of a loop's body in whose buffer a value would lie."""
    while value.owner is not loop.body.block:
        source = viewed(value) or previous(value)
        if source is None:
            return None
        value = source
    return value


def _copy(value: SSAValue, loop: scf.ForOp, forms: IndexForms) -> SSAValue:
    terminator = loop.body.block.last_op
    assert terminator is not None
    builder = Builder(InsertPoint.before(terminator))
    type = tensor_of(value)
    extents = ExtentBuilder(builder, forms.values)
    sizes = [
        extents.extent(dim) if n == DYNAMIC_INDEX else n
        for n, dim in zip(type.get_shape(), extents_of(value, forms), strict=True)
    ]
    empty = builder.insert(tensor.EmptyOp([size for size in sizes if isinstance(size, SSAValue)], type))
    copy = tensor.InsertSliceOp.get(
        value,
        empty.tensor,
        static_sizes=type.get_shape(),
        static_offsets=[0] * len(sizes),
        static_strides=[1] * len(sizes),
        sizes=list(empty.dynamic_sizes),
    )
    empty.location = copy.location = loop.location
    return builder.insert(copy).result
