"""The grid of a product: a block a tile of the output, operands in memory of the block, sums in registers."""

from __future__ import annotations

from xdsl.dialects import scf
from xdsl.dialects.linalg.ops import FillOp

from stepwell.dialects.ir_builder import IRBuilder
from stepwell.dialects.sched import Schedule
from stepwell.passes.loop.gpu.chains import Chain
from stepwell.passes.loop.gpu.product_frame import Frame
from stepwell.passes.loop.gpu.product_thread import ProductThread
from stepwell.passes.loop.gpu.product_warps import WarpThread
from stepwell.passes.loop.gpu.products import Product


def build_product(
    before: IRBuilder, product: Product, schedule: Schedule, fill: FillOp | None, chain: Chain
) -> None:
    """Insert the grid of a product and of the chain after it; without a fill, sums start from the output."""
    frame, at = Frame.open(before, product, schedule)
    stages = schedule.on_device.stages
    if schedule.on_device.intrinsic:
        WarpThread(frame, chain, at, stages, schedule.on_device.split).build(fill)
    else:
        ProductThread(frame, chain, at, stages).build(fill)
    at.insert(scf.ReduceOp())
