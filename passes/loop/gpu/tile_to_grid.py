"""`tile-to-grid`: structured ops on buffers with bound schedules → parallel loops of blocks and threads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.func import FuncOp
from xdsl.dialects.linalg.ops import FillOp
from xdsl.ir import Operation
from xdsl.rewriter import InsertPoint, Rewriter

from stepwell.dialects import gpu
from stepwell.dialects.gpu.tensor_cores import TF32
from stepwell.dialects.ir_builder import Constants, IRBuilder
from stepwell.dialects.linalg_ext import GridAttentionOp, GridOp, GridScanOp
from stepwell.dialects.sched import Schedule, schedule_of
from stepwell.dialects.sched_program import program_of
from stepwell.dialects.schedule_device import SHUFFLE, SUBGROUP
from stepwell.passes.base import FunctionPass, Numerics
from stepwell.passes.loop.gpu.attention_grid import build_attention
from stepwell.passes.loop.gpu.chains import Chain, followers, sink_fills, touches
from stepwell.passes.loop.gpu.elementwise_grid import build_elementwise
from stepwell.passes.loop.gpu.nests import Nest, root_of
from stepwell.passes.loop.gpu.product_grid import build_product
from stepwell.passes.loop.gpu.product_warps import expect_fragments
from stepwell.passes.loop.gpu.products import Product, product_of_nest
from stepwell.passes.loop.gpu.row_chains import RowChain
from stepwell.passes.loop.gpu.row_grid import build_rows
from stepwell.passes.loop.gpu.scan_grid import build_scan
from stepwell.passes.loop.gpu.window_grid import build_windows, windows_of
from stepwell.runtime.errors import StepwellError


@dataclass(frozen=True)
class TileToGridPass(FunctionPass):
    """
    Make one grid of each structured op whose schedule has levels of blocks and threads.

    A block of a product computes a tile of the output: its threads copy tiles of both operands to memory of
    the block (`stage`), and each adds up its elements in registers. Rows and columns beyond the last are
    guarded by conditions on their numbers. With `split_k` several blocks add up parts of the sums for a tile,
    and a second grid adds these up in their order. A thread of a depthwise convolution has neighbouring
    outputs of a row, whose windows overlap. A thread of an elementwise op loads and stores its tile along the
    loop `vectorize` at once, where buffers have it in a row; the last elements of a size that vectors do not
    divide are computed one after the other. An operand of an elementwise op that is dense along
    another loop than the output (`stage`) goes through memory of the block in squares, so that threads read
    and write neighbours. Elementwise ops that follow, and read what a thread has just computed, join the
    grid; so does the fill that a product starts from. Of attention a block computes some queries, with keys
    and values step by step in its memory; of a scan it computes a row, or a thread a column. The copies and
    the products still lack barriers, which `insert-gpu-barriers` adds. Class: rounding (products and sums in
    one step).
    """

    name = "tile-to-grid"
    numerics = Numerics.ROUNDING

    def apply_to_function(self, ctx: Context, func: FuncOp) -> None:
        if program_of(func) is not None:
            return
        ops = func.body.block.ops
        if not any(_bound(op) for op in ops):
            return
        works = {op.next_op: op for op in ops if isinstance(op, gpu.WorkOp)}
        sink_fills(ops)
        constants = Constants(func)
        # Fills last: those that a product starts from are gone by then.
        for op in sorted(ops, key=lambda op: isinstance(op, FillOp)):
            if op.parent is not None and (schedule := _bound(op)) is not None:
                _tile(op, schedule, _After(op, constants, works))


def _bound(op: Operation) -> Schedule | None:
    """The schedule of an op if its levels are bound to processors of a device."""
    schedule = schedule_of(op)
    return schedule if schedule is not None and schedule.bind else None


@dataclass(frozen=True)
class _After:
    """The place of an op's grid."""

    op: Operation
    constants: Constants
    works: Mapping[Operation | None, gpu.WorkOp]
    """The counts of operations before ops, which move to the grid that the ops join."""

    def build(self, joined: Sequence[Operation]) -> IRBuilder:
        """A builder after the last of the ops of a grid, with the location of the first one."""
        build = IRBuilder(InsertPoint.after(joined[-1]), self.op.location, constants=self.constants)
        for op in joined:
            if (work := self.works.get(op)) is not None:
                work.detach()
                build.insert(work)
        return build


def _tile(op: Operation, schedule: Schedule, after: _After) -> None:
    """Replace an op and the chain after it by a grid. Raises: StepwellError `unsupported`."""
    if isinstance(op, GridOp):
        _build_whole(op, schedule, after.build([op]))
        Rewriter.erase_op(op)
        return
    nest = Nest.of(op)
    if nest is None or len(nest.outputs) != 1 or not nest.has_extents():
        raise StepwellError("unsupported", op, f"a schedule of blocks and threads for {op.name}")
    if all(nest.parallel):
        joined = _tile_points(op, nest, schedule, after)
    elif (product := product_of_nest(nest)) is not None:
        joined = _tile_product(op, product, schedule, after)
    elif (windows := windows_of(nest)) is not None and schedule.tile[windows.outputs[-1]]:
        _expect_carried_out(op, schedule, "")
        chain, fill, joined = _chained(op, nest)
        build_windows(after.build(joined), windows, schedule, fill, chain)
    elif (rows := RowChain.of(nest, _fill_before(op, nest))) is not None:
        _expect_carried_out(op, schedule, SHUFFLE, SUBGROUP)
        rows.extend(op)
        joined = [each for step in rows.steps for each in step.ops]
        build_rows(after.build(joined), schedule, rows)
    else:
        raise StepwellError("unsupported", op, "a schedule of blocks and threads for this reduction")
    for each in reversed(joined):
        Rewriter.erase_op(each)


def _tile_points(op: Operation, nest: Nest, schedule: Schedule, after: _After) -> list[Operation]:
    """Make the grid of an elementwise op; returns the ops in it. Raises: StepwellError `unsupported`."""
    _expect_carried_out(op, schedule)
    chain = Chain.of_points(nest)
    if not chain.add(op):
        message = "a schedule of blocks and threads for an op that does not write each element once"
        raise StepwellError("unsupported", op, message)
    joined = [op, *followers(chain, op)]
    build_elementwise(after.build(joined), nest, schedule, chain)
    return joined


def _tile_product(op: Operation, product: Product, schedule: Schedule, after: _After) -> list[Operation]:
    """Make the grid of a product; returns the ops in it. Raises: StepwellError `unsupported`."""
    _expect_carried_out(op, schedule, TF32)
    if schedule.on_device.intrinsic:
        expect_fragments(product, schedule)
    if schedule.on_device.split_k > 1 and not product.adds_up:
        message = f"split_k = {schedule.on_device.split_k} for an op that does not add up numbers of f32"
        raise StepwellError("unsupported", op, message, help="leave split_k out")
    chain, fill, joined = _chained(op, product.nest)
    build_product(after.build(joined), product, schedule, fill, chain)
    return joined


def _chained(op: Operation, nest: Nest) -> tuple[Chain, FillOp | None, list[Operation]]:
    """The chain after an op that adds up, the fill of its output, and all of these ops."""
    chain, fill = Chain.after(nest), _fill_before(op, nest)
    return chain, fill, [*([fill] if fill is not None else []), op, *followers(chain, op)]


def _build_whole(op: GridOp, schedule: Schedule, build: IRBuilder) -> None:
    """Insert the grid of an op that is one. Raises: StepwellError `unsupported`."""
    if isinstance(op, GridAttentionOp):
        build_attention(build, op, schedule)
    elif isinstance(op, GridScanOp):
        build_scan(build, op, schedule)


def _expect_carried_out(op: Operation, schedule: Schedule, *intrinsics: str) -> None:
    """Refuse what a schedule asks for and an op's grid lacks. Raises: StepwellError `unsupported`."""
    on_device = schedule.on_device
    is_known = on_device.intrinsic in ("", *intrinsics)
    is_product = TF32 in intrinsics
    for asked, is_asked, help in (
        (
            f"stages = {on_device.stages}",
            on_device.stages > 1 and not is_product,
            "leave the stages out: only products have them",
        ),
        (f'intrinsic = "{on_device.intrinsic}"', not is_known, "leave the intrinsic out"),
        (f"split = {on_device.split}", on_device.split > 1 and not is_product, "leave the split out"),
        (f"split_k = {on_device.split_k}", on_device.split_k > 1 and not is_product, "leave split_k out"),
        (
            f"vectorize = {schedule.vectorize}",
            schedule.vectorize is not None and bool(intrinsics or on_device.stage),
            "leave vectorize out: only elementwise ops have it",
        ),
    ):
        if is_asked:
            message = f"{asked} in a schedule of blocks and threads is not carried out"
            raise StepwellError("unsupported", op, message, help=help)


def _fill_before(op: Operation, nest: Nest) -> FillOp | None:
    """The fill of an op's output, if no op between accesses it."""
    root = root_of(nest.outputs[0])
    before = op.prev_op
    while before is not None and not touches(before, root):
        before = before.prev_op
    is_fill = isinstance(before, FillOp) and before.outputs[0] is nest.outputs[0]
    return before if is_fill and isinstance(before, FillOp) else None
