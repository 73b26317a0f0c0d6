"""The type of the view that each view op makes of a buffer."""

from __future__ import annotations

from xdsl.dialects import tensor
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Operation

from stepwell.dialects.types import tensor_of
from stepwell.lowering.bufferize.layouts import (
    MemRef,
    collapsed_type,
    expanded_type,
    groups_of,
    kept_dims,
    slice_type,
)
from stepwell.runtime.errors import StepwellError


def view_type(op: Operation, source: MemRef) -> MemRef | None:
    """
    The type of the view that an op on tensors makes of its operand's buffer.

    Returns: None when the result needs another arrangement of the elements, so that a copy is needed.
    Raises: StepwellError `invalid-ir` when a slice's result has no shape that the slice can have.
    """
    match op:
        case tensor.ExtractSliceOp():
            return subview_type(op, source, tensor_of(op.result).get_shape())
        case tensor.CollapseShapeOp():
            return collapsed_type(source, groups_of(op.reassociation), tensor_of(op.result).get_shape())
        case tensor.ExpandShapeOp():
            return expanded_type(source, groups_of(op.reassociation), tensor_of(op.result).get_shape())
        case tensor.CastOp():
            assert not isinstance(op.dest.type, MemRefType)
            return MemRefType(source.element_type, tensor_of(op.dest).get_shape(), source.layout)
        case _:
            return None


def subview_type(
    op: tensor.ExtractSliceOp | tensor.InsertSliceOp, source: MemRef, shape: tuple[int, ...]
) -> MemRef:
    """The type of the part of a buffer that a slice op reads or replaces; `shape` drops extents of 1."""
    sizes: tuple[int, ...] = op.static_sizes.get_values()
    kept = kept_dims(sizes, shape)
    if kept is None:
        raise StepwellError(
            "invalid-ir", op, f"{op.name}: a slice of sizes {list(sizes)} cannot have the shape {shape}"
        )
    offsets, strides = op.static_offsets.get_values(), op.static_strides.get_values()
    return slice_type(source, offsets, sizes, strides, tuple(kept))
