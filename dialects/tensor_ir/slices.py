"""Strided blocks of tensors: extracted, and inserted."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects import tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX, DenseArrayBase, i64
from xdsl.dialects.utils import split_dynamic_index_list
from xdsl.ir import SSAValue

from stepwell.dialects.ir_builder import Index, IRBuilder, static_shape
from stepwell.dialects.tensor_ir.structured import tensor_element
from stepwell.dialects.types import ranked_tensor


@dataclass(frozen=True)
class Slice:
    """A strided block of a tensor, one offset, size and stride for each dimension."""

    offsets: tuple[Index, ...]
    sizes: tuple[Index, ...]
    strides: tuple[int, ...]


def extract_slice(emit: IRBuilder, source: SSAValue, block: Slice) -> SSAValue:
    """A strided block of a tensor, of the same rank."""
    type = ranked_tensor(tensor_element(source), tuple(static_shape(block.sizes)))
    return emit.value(tensor.ExtractSliceOp(source, block.offsets, block.sizes, block.strides, type))


def insert_slice(emit: IRBuilder, tile: SSAValue, into: SSAValue, block: Slice) -> SSAValue:
    """A tensor with a block replaced."""
    offsets, dynamic_offsets = split_dynamic_index_list(block.offsets, DYNAMIC_INDEX)
    sizes, dynamic_sizes = split_dynamic_index_list(block.sizes, DYNAMIC_INDEX)
    op = tensor.InsertSliceOp.build(
        operands=[tile, into, dynamic_offsets, dynamic_sizes, []],
        result_types=[into.type],
        properties={
            "static_offsets": DenseArrayBase.from_list(i64, offsets),
            "static_sizes": DenseArrayBase.from_list(i64, sizes),
            "static_strides": DenseArrayBase.from_list(i64, block.strides),
        },
    )
    return emit.value(op)
