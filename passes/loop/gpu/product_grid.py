"""The grid of a product: a block a tile of the output, operands in memory of the block, sums in registers."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import DYNAMIC_INDEX, f32
from xdsl.dialects.linalg.ops import FillOp
from xdsl.ir import SSAValue

from stepwell.dialects.ir_builder import Index, IRBuilder
from stepwell.dialects.sched import Schedule
from stepwell.passes.loop.gpu.chains import Chain
from stepwell.passes.loop.gpu.mapped_loops import open_grid
from stepwell.passes.loop.gpu.nests import buffer_type, product_of, split_number
from stepwell.passes.loop.gpu.product_frame import Frame, inside_condition, only_where
from stepwell.passes.loop.gpu.product_thread import ProductThread, StorePoint
from stepwell.passes.loop.gpu.product_warps import WarpThread
from stepwell.passes.loop.gpu.products import Product

_THREADS = 64
"""The threads of a block that adds up partial sums, an element each: such products have few elements."""


def build_product(
    before: IRBuilder, product: Product, schedule: Schedule, fill: FillOp | None, chain: Chain
) -> None:
    """Insert the grid of a product and of the chain after it; without a fill, sums start from the output."""
    output, start = product.nest.outputs[0], None if fill is None else fill.inputs[0]
    if schedule.on_device.split_k == 1:
        _insert_grid(
            before,
            product,
            schedule,
            start,
            lambda at, point, value: chain.points(at, {output: value}, point),
        )
        return
    sizes = _output_sizes(before, product)
    partial = _partial_sums(before, product, schedule.on_device.split_k, sizes)
    zero = before.number(0, f32)
    _insert_grid(before, product, schedule, zero, None, partial)
    _insert_sums(before, chain, partial, sizes, schedule.on_device.split_k, start)


def _insert_grid(
    before: IRBuilder,
    product: Product,
    schedule: Schedule,
    start: SSAValue | None,
    store: StorePoint | None,
    partial: SSAValue | None = None,
) -> None:
    """Insert the grid of a product; its parts of the sums are stored in a buffer of their own."""
    frame, at = Frame.open(before, product, schedule)

    def store_part(inside: IRBuilder, point: Sequence[Index], value: SSAValue) -> None:
        places = [inside.materialize(index) for index in (frame.part, *point)]
        assert partial is not None
        inside.insert(memref.StoreOp.get(value, partial, places))

    stages = schedule.on_device.stages
    if schedule.on_device.intrinsic:
        WarpThread(frame, store or store_part, at, stages, schedule.on_device.split).build(start)
    else:
        ProductThread(frame, store or store_part, at, stages).build(start)
    at.insert(scf.ReduceOp())


def _output_sizes(before: IRBuilder, product: Product) -> list[Index]:
    """The sizes of the output."""
    output = product.nest.outputs[0]
    return [
        before.value(memref.DimOp(output, before.materialize(axis))) if size == DYNAMIC_INDEX else size
        for axis, size in enumerate(buffer_type(output).get_shape())
    ]


def _partial_sums(before: IRBuilder, product: Product, parts: int, sizes: Sequence[Index]) -> SSAValue:
    """The buffer of partial sums, part after part."""
    element = buffer_type(product.nest.outputs[0]).element_type
    shape = [parts, *(size if isinstance(size, int) else DYNAMIC_INDEX for size in sizes)]
    dynamic = [size for size in sizes if not isinstance(size, int)]
    made = before.value(memref.AllocaOp.get(element, shape=shape, dynamic_sizes=dynamic))
    made.name_hint = "partial_sums"
    return made


def _insert_sums(
    before: IRBuilder,
    chain: Chain,
    partial: SSAValue,
    sizes: Sequence[Index],
    parts: int,
    start: SSAValue | None,
) -> None:
    """Insert the grid that adds up partial sums in their order, and computes the chain."""
    output, total = chain.nest.outputs[0], product_of(before, sizes)
    outer, at = open_grid(before, before.ceildiv(total, _THREADS), _THREADS)
    number = at.plus(at.times(outer.args[0], _THREADS), at.insertion_point.block.args[0])
    with only_where(at, [inside_condition(at, number, total, _THREADS)]) as place:
        point = split_number(place, number, sizes)
        places = [place.materialize(index) for index in point]
        first = place.value(memref.LoadOp.get(output, places)) if start is None else start

        def add(inside: IRBuilder, part: SSAValue, sums: Sequence[SSAValue]) -> Sequence[SSAValue]:
            value = inside.value(memref.LoadOp.get(partial, [part, *places]))
            return [inside.value(arith.AddfOp(sums[0], value))]

        (found,) = place.loop(0, parts, 1, [first], add)
        chain.points(place, {output: found}, point)
    at.insert(scf.ReduceOp())
