"""Pad the input of a window op channel by channel, so that the padded copy stays in the cache."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.context import Context
from xdsl.dialects import tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.dialects.linalg import ops as linalg
from xdsl.ir import OpResult, SSAValue
from xdsl.ir.affine import AffineMap

from stepwell.dialects.costs.schedules import BUFFERS
from stepwell.dialects.ir_builder import Constants, IRBuilder
from stepwell.dialects.sched import Schedule
from stepwell.dialects.sched_kernel import is_kernel
from stepwell.dialects.tensor_ir.dead import erase_dead
from stepwell.dialects.tensor_ir.groups import is_empty
from stepwell.dialects.tensor_ir.memory import slice_offsets, slice_sizes
from stepwell.dialects.tensor_ir.slices import Slice, extract_slice, insert_slice
from stepwell.dialects.tensor_ir.structured import (
    Structured,
    fill_with,
    linear,
    map_dims,
    projected_permutation,
    tensor_element,
    tensor_shape,
)
from stepwell.dialects.types import element_bytes
from stepwell.passes.tensor.scheduling_pass import SchedulingPass
from stepwell.passes.tensor.tile.tile_and_fuse import tile_shared_loops


class PadByChannelPass(SchedulingPass):
    """
    Build the loops over the channels of a window op that reads a padded feature map, and pad inside them.

    ```mlir
    %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<8x58x58xf32>) -> tensor<8x58x58xf32>
    %2 = tensor.insert_slice %x into %1[0, 1, 1] [8, 56, 56] [1, 1, 1] : …
    %3 = linalg.generic {…} ins(%2, %w : …) outs(%y : tensor<8x56x56xf32>) …  // one filter a channel
    // ->
    %3 = scf.for %c = %c0 to %c8 step %c1 iter_args(%o = %y) -> (tensor<8x56x56xf32>) {
      %xc = tensor.extract_slice %x[%c, 0, 0] [1, 56, 56] [1, 1, 1] : …
      %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<1x58x58xf32>) -> tensor<1x58x58xf32>
      %2 = tensor.insert_slice %xc into %1[0, 1, 1] [1, 56, 56] [1, 1, 1] : …
      %4 = linalg.generic {…} ins(%2, %wc : …) outs(%oc : tensor<1x56x56xf32>) …
      …
    } {sched.parallel}
    ```
    For depthwise and grouped convolutions and pools: each padded element is read for one channel only. The
    ops around them that share the channels are tiled with them. Else padded maps pass memory twice.
    """

    name = "pad-by-channel"

    def apply_to_function(self, ctx: Context, func: FuncOp) -> None:
        if not is_kernel(func):
            return
        constants = Constants(func)
        for op in list(func.body.block.ops):
            if op.parent is None or (view := Structured.of(op)) is None:
                continue
            if schedule := _channel_loops(view):
                tile_shared_loops(op, schedule, constants)
        for op in list(func.walk()):
            if isinstance(op, tensor.ExtractSliceOp):
                _pad_the_slice(op, constants)
        erase_dead(func)


def _channel_loops(view: Structured) -> Schedule | None:
    """A schedule of parallel loops over the channels of a padded operand; None where they do not pay."""
    reads = [
        (value, map)
        for value, map, arg in zip(view.inputs, view.maps, view.body.args, strict=False)
        if arg.first_use is not None and isinstance(value.type, TensorType)
    ]
    padded = [(value, map) for value, map in reads if _padding(value) is not None]
    if len(padded) != 1 or all(view.parallel) or not _is_large(padded[0][0]):
        return None
    # Loops that move no padded dimension.
    whole = _whole_dims(padded[0][0])
    own = set(range(view.rank))
    for dim, index in enumerate(padded[0][1].results):
        if dim not in whole:
            own -= index.used_dims()
    out = projected_permutation(view.init_maps[0]) or ()
    # The innermost loop has the lanes; one that moves the feature map only, a batch, would reread filters.
    own &= {d for d in out[:-1] if all(d in map_dims(map) for _, map in reads)}
    own = {d for d in own if view.parallel[d] and view.extents[d] not in (None, 1)}
    if not own or not view.can_slice(own) or not _fits(padded[0], view, own):
        return None
    loops = tuple(d for d in out if d in own)
    return Schedule(tuple(int(d in own) for d in range(view.rank)), parallel=loops)


def _padding(value: SSAValue) -> tensor.InsertSliceOp | None:
    """The `insert_slice` of an existing tensor into a `linalg.fill` that made the value; None for others."""
    op = value.owner
    if not isinstance(op, tensor.InsertSliceOp) or not isinstance(fill := op.dest.owner, linalg.FillOp):
        return None
    made_in_place = isinstance(op.source, OpResult) and Structured.of(op.source.op) is not None
    same_rank = len(tensor_shape(op.source)) == len(tensor_shape(op.dest))
    is_block = same_rank and set(op.static_strides.get_values()) == {1}
    return op if is_block and is_empty(fill.outputs[0]) and not made_in_place else None


def _whole_dims(value: SSAValue) -> set[int]:
    """The dimensions of a padded tensor that have no padding."""
    op = _padding(value)
    assert op is not None
    blocks = zip(slice_offsets(op), tensor_shape(op.source), tensor_shape(op.dest), strict=True)
    return {d for d, (offset, size, whole) in enumerate(blocks) if offset == 0 and size == whole}


def _bytes(value: SSAValue, shape: Sequence[int]) -> int | None:
    return None if DYNAMIC_INDEX in shape else prod(shape) * element_bytes(tensor_element(value))


def _is_large(value: SSAValue) -> bool:
    bytes = _bytes(value, tensor_shape(value))
    return bytes is not None and bytes > BUFFERS.padded_least_bytes


def _fits(padded: tuple[SSAValue, AffineMap], view: Structured, loops: set[int]) -> bool:
    """Whether the part of a padded operand that one iteration reads stays in the level-2 cache."""
    value, map = padded
    shape: list[int] = []
    for size, index in zip(tensor_shape(value), map.results, strict=True):
        if not index.used_dims() & loops:
            shape.append(size)
            continue
        terms = linear(index)
        assert terms is not None  # `can_slice` has seen to that
        rest = [(view.extents[d] or 1, factor) for d, factor in terms.terms if d not in loops]
        shape.append(1 + sum(factor * (extent - 1) for extent, factor in rest))
    bytes = _bytes(value, shape)
    return bytes is not None and bytes <= BUFFERS.padded_most_bytes


def _pad_the_slice(op: tensor.ExtractSliceOp, constants: Constants) -> None:
    """Replace a slice of a padded tensor by a padded slice, if it cuts only dimensions without padding."""
    padding = _padding(op.source)
    if padding is None or set(op.static_strides.get_values()) != {1}:
        return
    whole = _whole_dims(op.source)
    offsets, sizes = slice_offsets(op), slice_sizes(op)
    shape = tensor_shape(op.source)
    if any(d not in whole and (offsets[d], sizes[d]) != (0, n) for d, n in enumerate(shape)):
        return
    # The slice of the unpadded source.
    emit = IRBuilder.before(op, constants)
    inner = [n if d in whole else m for d, (n, m) in enumerate(zip(sizes, slice_sizes(padding), strict=True))]
    starts = [o if d in whole else 0 for d, o in enumerate(offsets)]
    source = extract_slice(emit, padding.source, Slice(tuple(starts), tuple(inner), (1,) * len(shape)))
    # A filled tensor of the slice's size, and the source slice inserted at its offset.
    fill = padding.dest.owner
    assert isinstance(fill, linalg.FillOp)
    empty = emit.empty(tensor_element(op.source), sizes)
    filled = emit.value(fill_with(fill.inputs[0], empty))
    before = [0 if d in whole else o for d, o in enumerate(slice_offsets(padding))]
    made = insert_slice(emit, source, filled, Slice(tuple(before), tuple(inner), (1,) * len(shape)))
    op.result.replace_all_uses_with(made)
