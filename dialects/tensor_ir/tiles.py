"""Tiling of structured ops: the loops over tiles, and the slices of operands that a tile reaches."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

from xdsl.dialects import arith, tensor
from xdsl.dialects.func import FuncOp
from xdsl.dialects.linalg import ops as linalg
from xdsl.ir import Attribute, BlockArgument, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineExpr, AffineMap

from stepwell.dialects.costs.schedules import TILES
from stepwell.dialects.ir_builder import Index, IRBuilder
from stepwell.dialects.sched_kernel import symbols_of
from stepwell.dialects.tensor_ir.sizes import declared_size, known_size
from stepwell.dialects.tensor_ir.slices import Slice
from stepwell.dialects.tensor_ir.structured import Structured, fill_with, generic, linear, tensor_shape


@dataclass(frozen=True)
class Tile:
    """A block of a loop's iterations."""

    offset: Index
    size: Index


@dataclass(frozen=True)
class TileLoop:
    """A loop to build over the blocks of one loop of an op, from `start` up to `stop`."""

    dim: int
    step: int
    start: Index
    stop: Index
    parallel: bool = False
    has_rest: bool = True
    """Whether there may be iterations after the full tiles."""
    shares_rest: bool = True
    """Whether iterations after the full tiles are for threads too, if the tiles are."""
    unrolled: bool = False
    """Whether the iterations are written out, whose number is known."""


Body = Callable[[IRBuilder, Mapping[int, Tile], Sequence[SSAValue]], Sequence[SSAValue]]


def build_loops(
    emit: IRBuilder,
    loops: Sequence[TileLoop],
    lanes: int | None,
    tiles: Mapping[int, Tile],
    carried: Sequence[SSAValue],
    body: Body,
) -> Sequence[SSAValue]:
    """
    Nest `loops` around `body`, which gets the tile of each loop and the carried values, and returns new ones.

    An extent that is no multiple of the tile gets a second copy of what is inside, with a narrower tile; a
    dynamic one a loop with tile 1 (after one with tile 16, for the loop whose steps are `lanes`).
    """
    if not loops:
        return body(emit, tiles, carried)
    loop, *inner = loops
    if not loop.has_rest:
        bounds = loop.start, loop.stop, loop.step
        return _one_loop(emit, loop, inner, lanes, tiles, carried, body, bounds)
    steps = [loop.step]
    extent = emit.minus(loop.stop, loop.start)
    if not isinstance(extent, int):
        steps += [TILES.tail_lanes] if loop.dim == lanes and loop.step > TILES.tail_lanes else []
        steps += [1] if loop.step > 1 else []
    start = loop.start
    for step in steps:
        stop = emit.plus(start, emit.rounded_down(emit.minus(loop.stop, start), step))
        parallel = loop.parallel and (step == loop.step or loop.shares_rest)
        carried = _one_loop(
            emit, replace(loop, parallel=parallel), inner, lanes, tiles, carried, body, (start, stop, step)
        )
        start = stop
    if isinstance(extent, int) and (rest := extent % loop.step):
        rest_tile = {**tiles, loop.dim: Tile(start, rest)}
        carried = build_loops(emit, inner, lanes, rest_tile, carried, body)
    return carried


def _one_loop(
    emit: IRBuilder,
    loop: TileLoop,
    inner: Sequence[TileLoop],
    lanes: int | None,
    tiles: Mapping[int, Tile],
    carried: Sequence[SSAValue],
    body: Body,
    bounds: tuple[Index, Index, int],
) -> Sequence[SSAValue]:
    """An `scf.for` over full tiles; no loop for a single tile, and nothing for an empty range."""
    start, stop, step = bounds
    if isinstance(start, int) and isinstance(stop, int) and stop - start <= step:
        if stop == start:
            return carried
        return build_loops(emit, inner, lanes, {**tiles, loop.dim: Tile(start, step)}, carried, body)
    if loop.unrolled and isinstance(start, int) and isinstance(stop, int):
        for at in range(start, stop, step):
            carried = build_loops(emit, inner, lanes, {**tiles, loop.dim: Tile(at, step)}, carried, body)
        return carried
    return emit.loop(
        start,
        stop,
        step,
        carried,
        lambda e, iv, args: build_loops(e, inner, lanes, {**tiles, loop.dim: Tile(iv, step)}, args, body),
        parallel=loop.parallel,
    )


def cut(
    emit: IRBuilder, view: Structured, value: SSAValue, map: AffineMap, tiles: Mapping[int, Tile]
) -> tuple[Slice | None, AffineMap]:
    """
    The slice of an operand that a tile reaches, and the map from the tile's loops into that slice.

    None: all of the operand. Loops without a tile keep their whole extent.
    """
    shape = tensor_shape(value)
    regions = [
        _region(emit, view, expr, tiles) or (0, dim_size(emit, value, i), 1, expr)
        for i, expr in enumerate(map.results)
    ]
    local = AffineMap(map.num_dims, 0, tuple(r[3] for r in regions))
    if all(r[:3] == (0, n, 1) for r, n in zip(regions, shape, strict=True)) or not any(
        e.used_dims() & set(tiles) for e in map.results
    ):
        return None, local
    return Slice(
        tuple(r[0] for r in regions), tuple(r[1] for r in regions), tuple(r[2] for r in regions)
    ), local


def _region(
    emit: IRBuilder, view: Structured, expr: AffineExpr, tiles: Mapping[int, Tile]
) -> tuple[Index, Index, int, AffineExpr] | None:
    """Offset, size, stride and inner index along one dimension of an operand; None when no tile cuts it."""
    index = linear(expr)
    if not expr.used_dims() & set(tiles):
        return None
    assert index is not None  # `can_slice` has seen to that
    offset: Index = index.constant
    moving: list[tuple[int, int, Index]] = []
    for dim, factor in index.terms:
        tile = tiles.get(dim)
        extent = view.extents[dim] if tile is None else tile.size
        assert extent is not None
        if tile is not None:
            offset = emit.plus(offset, emit.times(tile.offset, factor))
        if extent != 1:
            moving.append((dim, factor, extent))
    if len(moving) <= 1:
        # One loop moves: a strided slice has just its elements. None moves: any loop of extent 1 is index 0.
        dim, stride, size = moving[0] if moving else (index.dims[0], 1, 1)
        return offset, size, stride, AffineDimExpr(dim)
    span = 1
    inner: AffineExpr = AffineConstantExpr(0)
    for dim, factor, size in moving:
        assert isinstance(size, int)
        span += factor * (size - 1)
        inner = inner + AffineDimExpr(dim) * factor
    return offset, span, 1, inner


def dim_size(emit: IRBuilder, value: SSAValue, position: int) -> Index:
    """The size of a dimension of a tensor: a number, an existing value, or else a `tensor.dim`."""
    size = known_size(value, position)
    if not isinstance(size, tuple):
        return size
    if (symbol := _symbol(*size)) is not None:
        return symbol
    source, dim = size
    return emit.value(tensor.DimOp(source, emit.materialize(dim)))


def _symbol(value: SSAValue, position: int) -> SSAValue | None:
    """The `index` argument of a kernel for the symbol of an argument's dimension; None if it has none."""
    if (size := declared_size(value, position)) is None:
        return None
    func, args = cast(BlockArgument, value).block.parent_op(), cast(BlockArgument, value).block.args
    names = symbols_of(cast(FuncOp, func))
    # The symbols are the last arguments.
    return args[len(args) - len(names) + names.index(str(size))] if str(size) in names else None


def extent(emit: IRBuilder, view: Structured, dim: int) -> Index:
    """The extent of a loop, as a number or as a value."""
    source = view.sources[dim]
    assert source is not None  # the verifier of linalg ops asks for it
    return dim_size(emit, *source)


def rebuild(
    emit: IRBuilder,
    view: Structured,
    inputs: Sequence[SSAValue],
    inits: Sequence[SSAValue],
    maps: Sequence[AffineMap],
    attributes: Mapping[str, Attribute],
    tiles: Mapping[int, Tile],
) -> Sequence[SSAValue]:
    """The op on other operands, such as its tiles; `linalg.index` in it counts from the tile's offset."""
    if isinstance(view.op, linalg.FillOp):
        return emit.insert(fill_with(inputs[0], inits[0], attributes)).results
    op = generic(inputs, inits, view.op.body.clone(), maps, view.op.iterator_types.data)
    op.attributes |= attributes
    emit.insert(op)
    for index in [inner for inner in op.body.block.ops if isinstance(inner, linalg.IndexOp)]:
        tile = tiles.get(index.dim.value.data)
        if tile is not None and tile.offset != 0:
            _shift(index, emit.materialize(tile.offset))
    return op.results


def _shift(index: linalg.IndexOp, offset: SSAValue) -> None:
    shifted = IRBuilder.after(index).insert(arith.AddiOp(index, offset))
    index.result.replace_uses_with_if(shifted.result, lambda use: use.operation is not shifted)
