"""Schedules of sums of products: matrix products and convolutions, in any layout."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil, prod

from xdsl.dialects import arith
from xdsl.dialects.builtin import Float32Type, TensorType
from xdsl.dialects.vector import CombiningKindFlag
from xdsl.ir import Block, OpResult, SSAValue
from xdsl.ir.affine import AffineMap

from stepwell.dialects.arith import DotBfloatsOp, DotBytesOp, DotShortsOp
from stepwell.dialects.costs.machine import rows_in_cache
from stepwell.dialects.costs.schedules import PRODUCTS
from stepwell.dialects.sched import Schedule
from stepwell.dialects.tensor_ir.combiners import combiner_of
from stepwell.dialects.tensor_ir.padding import Inside, PaddedTensors, share_inside
from stepwell.dialects.tensor_ir.register_file import RegisterFile, register_file
from stepwell.dialects.tensor_ir.structured import Structured, linear, map_dims, projected_permutation
from stepwell.dialects.tensor_ir.transfers import element_type
from stepwell.dialects.types import element_bytes
from stepwell.passes.analysis.manager import analysis
from stepwell.passes.tensor.schedule.loop_order import Roles, loop_order
from stepwell.passes.tensor.schedule.register_tile import choose_register_tile
from stepwell.passes.tensor.schedule.tile_product import TileBlock, tile_block
from stepwell.runtime.machine.target import TargetDescription


@dataclass(frozen=True)
class Product:
    """A structured op that sums products of two operands, by the part each loop has in it."""

    view: Structured
    operands: tuple[int, int]
    """Positions of the factors among the inputs."""

    @staticmethod
    def of(view: Structured) -> Product | None:
        """The view of an op as a sum of products; None when it is none."""
        factors = _factors(view.body) if len(view.inits) == 1 else ()
        arguments = [_computed_from(_source(v), view) for v in factors]
        args: list[SSAValue] = list(view.body.args[: len(view.inputs)])
        positions = [args.index(a) for a in arguments if a in args]
        if len(positions) != 2 or positions[0] == positions[1]:
            return None
        if not all(isinstance(view.inputs[i].type, TensorType) for i in positions):
            return None
        return Product(view, (positions[0], positions[1]))


def _factors(body: Block) -> tuple[SSAValue, ...]:
    """The two factors of the product, or dot product of packed parts, that a body accumulates; else empty."""
    last = body.last_op
    added = last.operands[0].owner if last is not None and len(last.operands) == 1 else None
    if isinstance(added, DotBytesOp | DotShortsOp | DotBfloatsOp):
        return (added.lhs, added.rhs) if added.acc is body.args[-1] else ()
    combiner = combiner_of(body)
    if combiner is None or combiner.kind is not CombiningKindFlag.ADD:
        return ()
    product = combiner.value.owner
    return (product.lhs, product.rhs) if isinstance(product, arith.MulfOp | arith.MuliOp) else ()


def _source(value: SSAValue) -> SSAValue:
    """The value that a chain of casts starts from."""
    while isinstance(value, OpResult) and isinstance(
        value.op, arith.ExtFOp | arith.ExtSIOp | arith.ExtUIOp | arith.SIToFPOp | arith.UIToFPOp
    ):
        value = value.op.operands[0]
    return value


def _computed_from(value: SSAValue, view: Structured) -> SSAValue:
    """
    The body argument with the most loops from which a factor is computed; else the factor itself.

    Only an argument whose lanes are the result's counts: `compute-in-products` makes such bodies.
    """
    if not isinstance(value, OpResult) or not isinstance(value.type, Float32Type):
        return value
    args: list[SSAValue] = list(view.body.args[: len(view.inputs)])
    reached: list[SSAValue] = [value]
    for each in reached:
        if isinstance(each, OpResult):
            reached += each.op.operands
    out, read = projected_permutation(view.init_maps[0]), [arg for arg in args if arg in reached]
    if not out or not read:
        return value
    most = max(read, key=lambda arg: len(map_dims(view.maps[args.index(arg)])))
    return most if neighbours(view.maps[args.index(most)]) == out[-1] else value


def schedule_product(product: Product, target: TargetDescription) -> Schedule | None:
    """
    The schedule of a sum of products.

    Lanes run along the results when one operand is contiguous along them (elements of the other are
    broadcast), or along the sum when both operands are contiguous along it, as in a product with a transposed
    matrix.
    """
    view = product.view
    out = projected_permutation(view.init_maps[0])
    if not out:
        return None
    maps = [view.maps[i] for i in product.operands]
    registers = register_file(view, target)
    along = [map for map in maps if neighbours(map) == out[-1]]
    if (steps := common_sum(product, target)) is not None:
        return _along_the_sum(view, maps, out, steps, registers)
    reaching = along or [map for map in maps if out[-1] in map_dims(map)]
    if not reaching:
        return None
    # Where both have the lanes (one filter a channel), the one with fewer loops is read again and again.
    first = maps[0] is min(reaching, key=lambda map: len(map_dims(map)))
    vector, other = product.operands if first else product.operands[::-1]
    return _along_results(view, Roles.of(view, vector, other, out), registers, target)


def neighbours(map: AffineMap) -> int | None:
    """The loop with coefficient 1 in the last index: its steps are contiguous; None when there is none."""
    index = linear(map.results[-1]) if map.results else None
    terms = index.terms if index is not None else ()
    return next((d for d, factor in terms if factor == 1), None)


def common_sum(product: Product, target: TargetDescription) -> int | None:
    """The summed loop along which both operands are contiguous, if it fills a register; else None."""
    view = product.view
    last = {neighbours(view.maps[i]) for i in product.operands}
    dim = last.pop()
    if last or dim is None or view.parallel[dim]:
        return None
    extent = view.extents[dim]
    return dim if extent is None or extent >= register_file(view, target).lanes else None


def _along_results(
    view: Structured, roles: Roles, registers: RegisterFile, target: TargetDescription
) -> Schedule:
    extents = view.extents
    row = _longest_inner(_rows_inside(view, roles), extents)
    if row is not None and (block := tile_block(view, target, row, roles.lanes)) is not None:
        return _by_tiles(view, roles, row, block, target)
    # The summed loops: few steps of a window are unrolled, the others are looped.
    panel = roles.panels[-1] if roles.panels else None
    sums = [d for d in range(view.rank) if not view.parallel[d] and extents[d] != 1]
    lengths = [extents[d] for d in sums]
    length = None if None in lengths else prod(n or 1 for n in lengths)
    unrolled = _unrolled(view, roles, sums)
    # The register tile: rows, panels and lanes.
    limit = PRODUCTS.unrolled_sums if roles.lanes_in_both else PRODUCTS.unrolled_registers
    registers = replace(registers, conversions=_conversions(view, roles.vector))
    rows = 1 if row is None else extents[row]
    tile = choose_register_tile(
        rows,
        # Memory bounds a product of one row: the prefetcher follows one stream through all panels (512x2048
        # from memory: 30 GB/s, 26 with two panels at a time; in the caches they are equal).
        1 if panel is None or (rows == 1 and not unrolled) else extents[panel],
        extents[roles.lanes],
        length,
        replace(registers, count=limit, shares={}) if unrolled else registers,
        rows_in_cache(view.stride_bytes(roles.other, row), target),
    )
    # Steps of all loops, in tiles or by ones.
    looped = [d for d in sums if d not in unrolled]
    steps = dict.fromkeys((*roles.both, *roles.panels, *roles.rows, *looped), 1)
    steps |= {
        d: n for d, n in ((row, tile.rows), (panel, tile.panels), (roles.lanes, tile.lanes)) if d is not None
    }
    # A loop of a single tile needs no loop around the tile.
    steps = {d: n for d, n in steps.items() if n != extents[d]}
    parallel = tuple(d for d in loop_order(view, roles, row, target) if d in steps)
    return Schedule(
        tile=tuple(steps.get(d, 0) for d in range(view.rank)),
        order=(*parallel, *(d for d in looped if d in steps)),
        parallel=parallel,
        vectorize=roles.lanes,
    )


def _by_tiles(
    view: Structured, roles: Roles, row: int, block: TileBlock, target: TargetDescription
) -> Schedule:
    """The schedule for tile registers: parallel loops over blocks of whole sums, none over a single block."""
    extents = view.extents
    steps = dict.fromkeys((*roles.both, *roles.panels, *roles.rows), 1)
    steps |= {row: block.rows, roles.lanes: block.columns}
    steps = {d: n for d, n in steps.items() if n != extents[d]}
    parallel = tuple(d for d in loop_order(view, roles, row, target) if d in steps)
    return Schedule(tuple(steps.get(d, 0) for d in range(view.rank)), parallel=parallel)


def _conversions(view: Structured, operand: int) -> int:
    """
    The instructions that widen a vector of an operand to the type of the sums; 0 where they do not matter.

    When rows are far apart in memory, wide tiles read whole lines, which is worth more (100x1000x2048 in f16:
    90 GFLOP/s with 4 vectors, 78 with 3).
    """
    elements = [element_type(value.type) for value in (view.inputs[operand], view.inits[0])]
    read, summed_in = (element_bytes(element) for element in elements)
    summed = [d for d in range(view.rank) if not view.parallel[d] and view.extents[d] != 1]
    is_near = all(view.stride_bytes(operand, d) <= PRODUCTS.near_bytes for d in summed[-1:])
    return PRODUCTS.widening if read < summed_in and is_near else 0


def _unrolled(view: Structured, roles: Roles, sums: Sequence[int]) -> Sequence[int]:
    """
    The inner loops of a sum that are unrolled: few steps, of a window or a depthwise convolution.

    There is no long loop to amortize the start of a tile, and neighbouring points of a window share elements.
    """
    slides = all(_slides(view, dim) for dim in sums)
    chosen: list[int] = []
    steps = 1
    for dim in reversed(sums):
        steps *= view.extents[dim] or PRODUCTS.unrolled_steps + 1
        if steps > PRODUCTS.unrolled_steps:
            return chosen if slides else []
        chosen.append(dim)
    return chosen if slides or roles.lanes_in_both else []


def _slides(view: Structured, dim: int) -> bool:
    """Whether a summed loop moves a window that a loop of results moves too."""
    reached = [expr.used_dims() for map in view.maps for expr in map.results if dim in expr.used_dims()]
    return any(view.parallel[d] for dims in reached for d in dims)


def _rows_inside(view: Structured, roles: Roles) -> Sequence[int]:
    """
    The row loops that a tile can contain: without those that read much zero padding, unless all do.

    Outside of the tile, such a loop leaves out the steps of a sum that read padding only (1x7 of 240, dilated
    by 2, at 144x5: 5.4 to 3.6 ms).
    """
    kernel = view.op.parent_op()
    assert kernel is not None, "structured ops are in functions"
    inside: Inside = analysis(kernel, PaddedTensors).inside.get(view.inputs[roles.other], {})
    long = [d for d in roles.rows if (view.extents[d] or PRODUCTS.enough_rows) >= PRODUCTS.enough_rows]
    left = [d for d in roles.rows if share_inside(view, roles.other, d, inside) >= PRODUCTS.mostly_inside]
    return left if any(d in long for d in left) else roles.rows


def _longest_inner(rows: Sequence[int], extents: Sequence[int | None]) -> int | None:
    """The innermost loop over rows that is long enough for a tile, or the longest one."""
    long = [d for d in rows if (extents[d] or PRODUCTS.enough_rows) >= PRODUCTS.enough_rows]
    return long[-1] if long else max(rows, key=lambda d: extents[d] or 0, default=None)


def _along_the_sum(
    view: Structured, maps: Sequence[AffineMap], out: Sequence[int], lanes: int, registers: RegisterFile
) -> Schedule:
    """
    The schedule of sums along the lanes: blocks of dot products, rows by columns, that share vector reads.

    A loop that shifts the lanes (a window's position) is no row of a block: its vectors overlap.
    """
    shifting = set[int]().union(*(map.results[-1].used_dims() for map in maps))
    dims = [
        [d for d in out if d in map_dims(map) and d not in map_dims(other) | shifting]
        for map, other in (maps, maps[::-1])
    ]
    long = [[d for d in own if view.extents[d] != 1] for own in dims]
    inner = [own[-1] if own else None for own in long]
    sizes = _dot_block([1 if d is None else view.extents[d] for d in inner], registers)
    steps = {d: 1 for d in range(view.rank) if view.extents[d] != 1}
    steps |= {d: n for d, n in zip(inner, sizes, strict=True) if d is not None}
    # A single dot product needs several partial sums in flight.
    width = registers.lanes * (PRODUCTS.lone_registers if prod(sizes) == 1 else 1)
    steps[lanes] = min(width, view.extents[lanes] or width)
    steps = {d: n for d, n in steps.items() if n != view.extents[d]}
    parallel = tuple(d for d in out if d in steps)
    return Schedule(tile=tuple(steps.get(d, 0) for d in range(view.rank)), parallel=parallel, vectorize=lanes)


def _dot_block(extents: Sequence[int | None], registers: RegisterFile) -> tuple[int, int]:
    """Rows and columns of a block of dot products: as square as registers and extents allow."""

    def cost(block: tuple[int, int]) -> tuple[float, int]:
        waste = [ceil(n / b) * b / n if n is not None else 1 for n, b in zip(extents, block, strict=True)]
        return waste[0] * waste[1] * max(1, (block[0] + block[1]) / (block[0] * block[1]) * 2), -prod(block)

    limit = 4 if registers.count >= 32 else 2
    sides = [range(1, min(n or limit, limit) + 1) for n in extents]
    return min(((a, b) for a in sides[0] for b in sides[1]), key=cost)
