"""Strided blocks of tensors: extracted, and inserted."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects import tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX, DenseArrayBase, i32, i64
from xdsl.dialects.utils import split_dynamic_index_list
from xdsl.ir import Attribute, SSAValue

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
    dynamic, properties = _positions(block, 1)
    op = tensor.ExtractSliceOp.create(operands=[source, *dynamic], result_types=[type], properties=properties)
    return emit.value(op)


def insert_slice(emit: IRBuilder, tile: SSAValue, into: SSAValue, block: Slice) -> SSAValue:
    """A tensor with a block replaced."""
    dynamic, properties = _positions(block, 1, 1)
    op = tensor.InsertSliceOp.create(
        operands=[tile, into, *dynamic], result_types=[into.type], properties=properties
    )
    return emit.value(op)


def _positions(block: Slice, *tensors: int) -> tuple[list[SSAValue], dict[str, Attribute]]:
    """The values and properties of a slice op that say where a block is; `tensors` are its first segments."""
    offsets, dynamic_offsets = split_dynamic_index_list(block.offsets, DYNAMIC_INDEX)
    sizes, dynamic_sizes = split_dynamic_index_list(block.sizes, DYNAMIC_INDEX)
    segments = [*tensors, len(dynamic_offsets), len(dynamic_sizes), 0]
    return [*dynamic_offsets, *dynamic_sizes], {
        "static_offsets": DenseArrayBase.from_list(i64, offsets),
        "static_sizes": DenseArrayBase.from_list(i64, sizes),
        "static_strides": DenseArrayBase.from_list(i64, block.strides),
        "operandSegmentSizes": DenseArrayBase.from_list(i32, segments),
    }
