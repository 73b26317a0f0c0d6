"""`choose-gpu-schedules`: schedules of blocks and threads, by shape and target."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.context import Context
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from stepwell.dialects.gpu.tensor_cores import F32_PRODUCTS, TF32
from stepwell.dialects.sched import SCHEDULE, TARGET, Schedule
from stepwell.dialects.sched_program import program_of
from stepwell.dialects.schedule_device import SHUFFLE, WARP_THREADS, OnDevice
from stepwell.dialects.schedule_levels import Level
from stepwell.dialects.target import SpecAttr
from stepwell.dialects.tensor_ir.structured import projected_permutation
from stepwell.dialects.types import element_bytes
from stepwell.passes.base import FunctionPass, Numerics
from stepwell.passes.loop.gpu.nests import Nest, buffer_type
from stepwell.passes.loop.gpu.product_copies import WIDEST_BYTES, has_sums_first, neighbours
from stepwell.passes.loop.gpu.products import Product, product_of_nest
from stepwell.passes.loop.gpu.row_chains import RowChain
from stepwell.passes.loop.gpu.tile_choices import (
    Limits,
    ProductTile,
    Shape,
    elementwise_threads,
    product_tile,
    row_threads,
)
from stepwell.runtime.machine.named_target import Target


@dataclass(frozen=True)
class ChooseGpuSchedulesPass(FunctionPass):
    """
    Give structured ops on buffers a `#sched.schedule` of blocks and threads that fits the target.

    Products get tiles in memory of the block, elementwise ops a thread an element. Ops with a schedule keep
    it. What has none afterwards is mapped a thread an element of its output by `map-loops-to-gpu`. Without a
    target (`sched.target` of the module, or the option) nothing changes. Class: rounding (sums of products).
    """

    name = "choose-gpu-schedules"
    numerics = Numerics.ROUNDING

    target: str = ""
    """A target as `--target` takes it, for modules without one."""

    def apply_to_function(self, ctx: Context, func: FuncOp) -> None:
        if program_of(func) is not None or (target := self._target(func)) is None:
            return
        limits = Limits.of(target)
        for op in func.body.block.ops:
            nest = Nest.of(op)
            if nest is None or SCHEDULE in op.attributes or not nest.has_extents():
                continue
            if (schedule := schedule_for(nest, limits)) is not None:
                op.attributes[SCHEDULE] = schedule.attr()

    def _target(self, func: FuncOp) -> Target | None:
        """The target of the module; None without one."""
        module: Operation | None = func.parent_op()
        spec = module.attributes.get(TARGET) if module is not None else None
        if isinstance(spec, SpecAttr):
            return spec.target()
        return Target(self.target) if self.target else None


def schedule_for(nest: Nest, limits: Limits) -> Schedule | None:
    """The schedule of an op within the limits of a target; None where each thread computes an element."""
    if (product := product_of_nest(nest)) is not None:
        tile = product_tile(shape_of(product), limits)
        return None if tile is None else product_schedule(product, tile)
    if RowChain.of(nest, None) is not None:
        return row_schedule(nest, limits)
    if all(nest.parallel) and len(nest.outputs) == 1 and nest.parallel:
        loops = projected_permutation(nest.output_maps[0])
        if loops is not None and len(loops) == len(nest.parallel):
            threads = elementwise_threads(limits, nest.extents)
            zeros = (0,) * (len(nest.parallel) - 1)
            return bound_schedule((*zeros, threads), (*zeros, 1))
    return None


def row_schedule(nest: Nest, limits: Limits) -> Schedule | None:
    """The schedule of a reduction over rows: a block a row; None where a thread computes it alone."""
    columns = [loop for loop, is_parallel in enumerate(nest.parallel) if not is_parallel]
    sizes = [nest.extents[loop] for loop in columns]
    threads = row_threads(limits, None if None in sizes else prod(size or 0 for size in sizes))
    if threads == 1:
        return None
    has_warps = limits.has_shuffles and threads % WARP_THREADS == 0
    outer, inner = ({columns[-1]: tile} for tile in (threads, WARP_THREADS if has_warps else 1))
    loops = range(len(nest.parallel))
    return bound_schedule(
        [outer.get(loop, 0) for loop in loops],
        [inner.get(loop, 0) for loop in loops],
        OnDevice(intrinsic=SHUFFLE if has_warps else ""),
    )


def shape_of(product: Product) -> Shape:
    """The sizes of a product, and its operands."""
    operands = product.left, product.right
    sizes = [
        element_bytes(buffer_type(product.nest.op.operands[operand]).element_type) for operand in operands
    ]
    firsts = [has_sums_first(product, operand) for operand in operands]
    rows, columns, sums = product.sizes()
    return Shape(
        rows, columns, sums, product.batches(), sizes[0], sizes[1], firsts[0], firsts[1],
        product.is_multiply_add, neighbours(product, operands[0]), neighbours(product, operands[1]),
        product.adds_up,
    )  # fmt: skip


def product_schedule(product: Product, tile: ProductTile) -> Schedule:
    """The schedule of a product with a tile: that of the last loop of each role."""
    rows, columns, sums = (loops[-1] for loops in product.roles)
    outer = {rows: tile.rows, columns: tile.columns, sums: tile.sums}
    inner = {rows: tile.thread_rows, columns: tile.thread_columns}
    loops = range(len(product.nest.parallel))
    intrinsic, split = (TF32, F32_PRODUCTS) if tile.has_warps else ("", 1)
    copy_bytes = WIDEST_BYTES if tile.is_wide else 1
    on_device = OnDevice((0, 1), tile.stages, copy_bytes, intrinsic, split, tile.parts)
    return bound_schedule(
        [outer.get(loop, 0) for loop in loops], [inner.get(loop, 0) for loop in loops], on_device
    )


def bound_schedule(outer: Sequence[int], inner: Sequence[int], on_device: OnDevice | None = None) -> Schedule:
    """A schedule of two levels, of blocks and of threads; of warps where it has an intrinsic."""
    on_device = on_device or OnDevice()
    bind = "warp" if on_device.intrinsic else "thread"
    levels = [Level(tuple(outer), bind="block"), Level(tuple(inner), bind=bind)]
    return Schedule.of_levels(levels, on_device=on_device)
