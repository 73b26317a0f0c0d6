"""`choose-gpu-schedules`: schedules of blocks and threads, by shape and target."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import i1
from xdsl.dialects.func import FuncOp
from xdsl.ir.affine import AffineMap

from stepwell.dialects.gpu.limits import bytes_in_block
from stepwell.dialects.gpu.tensor_cores import F32_PRODUCTS, TF32, has_tf32
from stepwell.dialects.linalg_ext import GridAttentionOp, GridOp, GridScanOp
from stepwell.dialects.sched import SCHEDULE, Schedule
from stepwell.dialects.sched_program import program_of
from stepwell.dialects.schedule_device import SHUFFLE, SUBGROUP, WARP_THREADS, OnDevice
from stepwell.dialects.schedule_levels import Level
from stepwell.dialects.tensor_ir.gpu_modules import target_of_module
from stepwell.dialects.tensor_ir.structured import projected_permutation
from stepwell.dialects.types import element_bytes
from stepwell.passes.base import FunctionPass, Numerics
from stepwell.passes.loop.gpu.attention_tiles import attention_tile
from stepwell.passes.loop.gpu.chains import Chain, followers
from stepwell.passes.loop.gpu.elementwise_grid import has_neighbours
from stepwell.passes.loop.gpu.nests import Nest, buffer_type, is_buffer, is_dense
from stepwell.passes.loop.gpu.product_copies import WIDEST_BYTES, has_sums_first, neighbours
from stepwell.passes.loop.gpu.products import Product, product_of_nest
from stepwell.passes.loop.gpu.row_chains import RowChain
from stepwell.passes.loop.gpu.scan_grid import scan_schedule
from stepwell.passes.loop.gpu.tile_choices import (
    Limits,
    ProductTile,
    Shape,
    elementwise_lanes,
    elementwise_threads,
    product_tile,
    row_threads,
    square_rows,
    transpose_threads,
    window_outputs,
)
from stepwell.passes.loop.gpu.transpose_grid import crossed_operand
from stepwell.passes.loop.gpu.window_grid import Windows, windows_of
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.machine import precisions
from stepwell.runtime.machine.named_target import Target


@dataclass(frozen=True)
class ChooseGpuSchedulesPass(FunctionPass):
    """
    Give structured ops on buffers a `#sched.schedule` of blocks and threads that fits the target.

    Products get tiles in memory of the block; in depthwise convolutions a thread computes neighbouring
    outputs, in elementwise ops one element or 16 bytes of neighbouring ones; transposing ops get squares in
    memory of the block; attention and scans get one schedule for their whole grid. Ops with a schedule keep
    it. For ops without one, `map-loops-to-gpu` uses a thread for each element of the output. Without a target
    (`sched.target` of the module, or the option) nothing changes. Class: rounding (sums of products);
    approximate with `precision=tf32`, which gives products on tensor cores the digits of TF32.
    """

    name = "choose-gpu-schedules"
    numerics = Numerics.ROUNDING

    target: str = ""
    """A target as `--target` takes it, for modules without one."""
    precision: str = precisions.F32
    """The precision of f32 products: `f32`, or `tf32` on targets with `mma-tf32`."""

    def apply_to_function(self, ctx: Context, func: FuncOp) -> None:
        if program_of(func) is not None or (target := self._target(func)) is None:
            return
        in_tf32 = self._is_in_tf32(target)
        limits = Limits.of(target, in_tf32=in_tf32)
        for op in func.body.block.ops:
            if isinstance(op, GridOp) and SCHEDULE not in op.attributes:
                op.attributes[SCHEDULE] = grid_schedule(op, limits, 1 if in_tf32 else F32_PRODUCTS).attr()
            nest = Nest.of(op)
            if nest is None or SCHEDULE in op.attributes or not nest.has_extents():
                continue
            if (schedule := schedule_for(nest, limits, 1 if in_tf32 else F32_PRODUCTS)) is not None:
                op.attributes[SCHEDULE] = schedule.attr()

    def _is_in_tf32(self, target: Target) -> bool:
        """Whether products have the digits of TF32. Raises: StepwellError `bad-option`."""
        if self.precision not in _PRECISIONS:
            message = f"precision of choose-gpu-schedules must be f32 or tf32, found {self.precision!r}"
            raise StepwellError("bad-option", None, message)
        in_tf32 = self.precision == precisions.TF32
        if in_tf32 and not has_tf32(target):
            message = f"precision is tf32, but {target} has no TF32 products"
            raise StepwellError("bad-option", None, message, help="--target cuda, of sm_80 and later")
        return in_tf32

    def _target(self, func: FuncOp) -> Target | None:
        """The target of the module; None without one."""
        return target_of_module(func.parent_op()) or (Target(self.target) if self.target else None)


_PRECISIONS = (precisions.F32, precisions.TF32)


def schedule_for(nest: Nest, limits: Limits, products: int = F32_PRODUCTS) -> Schedule | None:
    """
    The schedule of an op within the limits of a target; None if each thread should compute an element.

    Args: `products` is the number of tensor core products that replace one of f32.
    """
    if (product := product_of_nest(nest)) is not None:
        tile = product_tile(shape_of(product, limits.kind), limits)
        return None if tile is None else product_schedule(product, tile, products)
    if (windows := windows_of(nest)) is not None:
        return window_schedule(windows, limits)
    if RowChain.of(nest, None) is not None:
        return row_schedule(nest, limits)
    if all(nest.parallel) and len(nest.outputs) == 1 and nest.parallel:
        loops = projected_permutation(nest.output_maps[0])
        if loops is not None and len(loops) == len(nest.parallel):
            if (crossed := transpose_schedule(nest, limits)) is not None:
                return crossed
            return elementwise_schedule(nest, limits)
    return None


def window_schedule(windows: Windows, limits: Limits) -> Schedule:
    """The schedule of a depthwise convolution: a thread computes neighbouring outputs of a row."""
    along, nest = windows.outputs[-1], windows.nest
    outputs = window_outputs(windows.row, windows.loads)
    counts = [*(nest.extents[loop] for loop in windows.outputs[:-1]), -(-windows.row // outputs)]
    threads, loops = elementwise_threads(limits, counts), range(len(nest.parallel))
    outer, inner = ([tile if loop == along else 0 for loop in loops] for tile in (threads * outputs, outputs))
    return bound_schedule(outer, inner)


def elementwise_schedule(nest: Nest, limits: Limits) -> Schedule:
    """The schedule of an op with parallel loops only: a thread for each element, or vector of neighbours."""
    lanes, last = _lanes(nest), len(nest.parallel) - 1
    threads, zeros = elementwise_threads(limits, nest.extents), (0,) * last
    vectorize = last if lanes > 1 else None
    return bound_schedule((*zeros, threads * lanes), (*zeros, lanes), vectorize=vectorize)


def grid_schedule(op: GridOp, limits: Limits, products: int) -> Schedule:
    """
    The schedule of an op that is one grid.

    Raises: StepwellError `exceeds-target` for attention whose smallest tile the target is too small for.
    """
    if isinstance(op, GridScanOp):
        return scan_schedule(op, limits)
    assert isinstance(op, GridAttentionOp)
    if (tile := attention_tile(op.depth, op.columns, op.queries, limits)) is None:
        message = f"no tile of attention of {op.depth} and {op.columns} elements fits the target"
        raise StepwellError("exceeds-target", op, message, help="run `legalize{set=attention-parts}` before")
    return tile.schedule(op.rank, products)


def _lanes(nest: Nest) -> int:
    """The neighbouring elements that a thread of an elementwise op, and of later ones, accesses at once."""
    is_identity = nest.output_maps[0] == AffineMap.identity(len(nest.parallel))
    chain = Chain.of_points(nest)
    if not is_identity or not is_dense(nest.outputs[0]) or not chain.add(nest.op):
        return 1
    followers(chain, nest.op)
    buffers = [value for value in nest.op.operands if is_buffer(value) and is_dense(value)]
    widest = max(element_bytes(buffer_type(value).element_type) for value in buffers)
    lanes = elementwise_lanes(widest, nest.extents)
    return lanes if has_neighbours(chain, nest.extents, lanes) else 1


def transpose_schedule(nest: Nest, limits: Limits) -> Schedule | None:
    """The schedule of an op that reads an operand across, in squares; None for others, and for small ones."""
    if (found := crossed_operand(nest)) is None:
        return None
    operand, loops = found
    element = buffer_type(nest.op.operands[operand]).element_type
    extents = nest.extents[loops[0]], nest.extents[loops[1]]
    nbytes = bytes_in_block(element, limits.kind)
    if element == i1 or not (threads := transpose_threads(limits, extents, nbytes)):
        return None
    size, rows = square_rows(threads)
    inner = {loops[0]: rows, loops[1]: 1}
    every = range(len(nest.parallel))
    return bound_schedule(
        [size if loop in loops else 0 for loop in every],
        [inner.get(loop, 0) for loop in every],
        OnDevice((operand,)),
    )


def row_schedule(nest: Nest, limits: Limits) -> Schedule | None:
    """The schedule of a reduction over rows: a block a row; None where a thread computes it alone."""
    columns = [loop for loop, is_parallel in enumerate(nest.parallel) if not is_parallel]
    sizes = [nest.extents[loop] for loop in columns]
    threads = row_threads(limits, None if None in sizes else prod(size or 0 for size in sizes))
    if threads == 1:
        return None
    exchange = SHUFFLE if limits.has_shuffles else SUBGROUP if limits.has_subgroups else ""
    has_warps = bool(exchange) and threads % WARP_THREADS == 0
    outer, inner = ({columns[-1]: tile} for tile in (threads, WARP_THREADS if has_warps else 1))
    loops = range(len(nest.parallel))
    return bound_schedule(
        [outer.get(loop, 0) for loop in loops],
        [inner.get(loop, 0) for loop in loops],
        OnDevice(intrinsic=exchange if has_warps else ""),
    )


def shape_of(product: Product, kind: str) -> Shape:
    """The sizes of a product, and its operands in memory of a block of a kind of target."""
    operands = product.left, product.right
    sizes = [
        bytes_in_block(buffer_type(product.nest.op.operands[operand]).element_type, kind)
        for operand in operands
    ]
    firsts = [has_sums_first(product, operand) for operand in operands]
    rows, columns, sums = product.sizes()
    return Shape(
        rows, columns, sums, product.batches(), sizes[0], sizes[1], firsts[0], firsts[1],
        product.is_multiply_add, neighbours(product, operands[0]), neighbours(product, operands[1]),
        product.adds_up,
    )  # fmt: skip


def product_schedule(product: Product, tile: ProductTile, products: int) -> Schedule:
    """The schedule of a product with a tile: that of the last loop of each role."""
    rows, columns, sums = (loops[-1] for loops in product.roles)
    outer = {rows: tile.rows, columns: tile.columns, sums: tile.sums}
    inner = {rows: tile.thread_rows, columns: tile.thread_columns}
    loops = range(len(product.nest.parallel))
    intrinsic, split = (TF32, products) if tile.has_warps else ("", 1)
    copy_bytes = WIDEST_BYTES if tile.is_wide else 1
    on_device = OnDevice((0, 1), tile.stages, copy_bytes, intrinsic, split, tile.parts)
    return bound_schedule(
        [outer.get(loop, 0) for loop in loops], [inner.get(loop, 0) for loop in loops], on_device
    )


def bound_schedule(
    outer: Sequence[int],
    inner: Sequence[int],
    on_device: OnDevice | None = None,
    vectorize: int | None = None,
) -> Schedule:
    """
    A schedule of two levels, of blocks and of threads; of warps where it has an intrinsic.

    Args: `vectorize` is the loop along which a thread accesses its tile as vectors.
    """
    on_device = on_device or OnDevice()
    bind = "warp" if on_device.intrinsic else "thread"
    levels = [Level(tuple(outer), bind="block"), Level(tuple(inner), bind=bind)]
    return Schedule.of_levels(levels, vectorize, on_device=on_device)
