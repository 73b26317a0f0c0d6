"""Producers computed inside of loops over their reader: for each tile the box that it reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

from xdsl.dialects import tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.dialects.linalg import ops as linalg
from xdsl.ir import Operation, SSAValue, Use

from stepwell.dialects.ir_builder import Index, IRBuilder
from stepwell.dialects.tensor_ir.slices import Slice, extract_slice, insert_slice
from stepwell.dialects.tensor_ir.structured import (
    Linear,
    Structured,
    linear,
    projected_permutation,
    tensor_element,
    tensor_shape,
)
from stepwell.dialects.tensor_ir.tiles import Tile, TileLoop, build_loops, cut, extent, rebuild


@dataclass(frozen=True)
class Read:
    """An operand of the reader that is a producer's result, or a slice of it from constant offsets on."""

    position: int
    offsets: tuple[int, ...]
    sizes: tuple[int, ...]


@dataclass(frozen=True)
class BuiltLoop:
    """A loop of the reader that is built around the producer: tiles of a step."""

    dim: int
    step: int
    is_parallel: bool


def reads_of(producer: Structured, reader: Structured) -> list[Read] | None:
    """The operands that are a producer's result, if the reader alone uses it; else None."""
    (result,) = producer.op.results
    found: list[Read] = []
    uses: list[Use] = list(result.uses)
    for use in uses:
        if use.operation is reader.op and use.index < len(reader.inputs):
            shape = tensor_shape(result)
            found.append(Read(use.index, (0,) * len(shape), shape))
        elif isinstance(view := use.operation, tensor.ExtractSliceOp):
            of: list[Use] = list(view.result.uses)
            if (read := plain_slice(view)) is None or any(u.operation is not reader.op for u in of):
                return None
            found += [Read(u.index, *read) for u in of if u.index < len(reader.inputs)]
        else:
            return None
    return found or None


def plain_slice(view: tensor.ExtractSliceOp) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """The offsets and sizes of a slice of constant ones, without strides and of full rank."""
    offsets, sizes, strides = (
        tuple(attr.get_values()) for attr in (view.static_offsets, view.static_sizes, view.static_strides)
    )
    is_open = DYNAMIC_INDEX in offsets or any(stride != 1 for stride in strides)
    return None if is_open or len(sizes) != len(tensor_shape(view.result)) else (offsets, sizes)


@dataclass(frozen=True)
class _Box:
    """The indices of a producer along one dimension that a tile reads: from `low` on, moved by `terms`."""

    terms: tuple[tuple[int, int], ...]
    low: int
    high: int


@dataclass(frozen=True)
class ComputedInside:
    """A producer in the loops of its reader."""

    producer: Structured
    reader: Structured
    loops: tuple[BuiltLoop, ...]
    reads: tuple[Read, ...]

    @cached_property
    def steps(self) -> dict[int, int]:
        """The step of each loop that is built."""
        return {loop.dim: loop.step for loop in self.loops}

    def box(self, steps: Mapping[int, int]) -> list[_Box] | None:
        """The box read by tiles of some steps, which moves with the loops; None where it is none."""
        rank = len(self.producer.init_maps[0].results)
        boxes = [self._along(axis, steps) for axis in range(rank)]
        known = [box for box in boxes if box is not None]
        return known if len(known) == rank else None

    def _along(self, axis: int, steps: Mapping[int, int]) -> _Box | None:
        terms: set[tuple[tuple[int, int], ...]] = set()
        lows: list[int] = []
        highs: list[int] = []
        for read in self.reads:
            index = linear(self.reader.maps[read.position].results[axis])
            if index is None or (span := self._span(index, steps)) is None:
                return None
            terms.add(tuple((d, c) for d, c in index.terms if d in steps))
            lows.append(index.constant + read.offsets[axis])
            highs.append(lows[-1] + span)
        return _Box(terms.pop(), min(lows), max(highs)) if len(terms) == 1 else None

    def _span(self, index: Linear, steps: Mapping[int, int]) -> int | None:
        """The number of indices that a tile reaches."""
        span = 1
        for dim, factor in index.terms:
            count = steps.get(dim, self.reader.extents[dim])
            if count is None or factor < 0:
                return None
            span += factor * (count - 1)
        return span

    @property
    def times(self) -> float:
        """The computations of an element, in the mean: 1 for each element once."""
        (boxes, shape), tiles = (self.box(self.steps), tensor_shape(self.producer.op.results[0])), 1
        for loop in self.loops:
            tiles *= -(-(self.reader.extents[loop.dim] or loop.step) // loop.step)
        made = tiles * prod(box.high - box.low for box in boxes or ())
        return made / max(1, prod(n for n in shape if n != DYNAMIC_INDEX))

    def write(self) -> None:
        """Build the loops, with the producer and its reader inside, in place of both."""
        emit = IRBuilder.before(self.reader.op)
        loops = [
            TileLoop(loop.dim, loop.step, 0, extent(emit, self.reader, loop.dim), parallel=loop.is_parallel)
            for loop in self.loops
        ]
        final = build_loops(emit, loops, None, {}, list(self.reader.inits), self._tile)
        for result, value in zip(self.reader.op.results, final, strict=True):
            value.name_hint = result.name_hint
            result.replace_all_uses_with(value)
        _erase(self.reader.op)
        _erase_with_views(self.producer.op)

    def _tile(
        self, emit: IRBuilder, tiles: Mapping[int, Tile], carried: Sequence[SSAValue]
    ) -> Sequence[SSAValue]:
        """A tile of the reader, after what it reads of the producer."""
        steps = {dim: tile.size for dim, tile in tiles.items() if isinstance(tile.size, int)}
        boxes = self.box(steps)
        assert boxes is not None  # as of the full tiles
        local = self._produced(emit, tiles, boxes)
        view, count = self.reader, len(self.reader.inputs)
        reached = [cut(emit, view, v, m, tiles) for v, m in zip(view.op.operands, view.maps, strict=True)]
        inputs = [_sliced(emit, v, at) for v, (at, _) in zip(view.inputs, reached, strict=False)]
        for read in self.reads:
            inputs[read.position] = self._within(emit, read, local, boxes, steps)
        inits = [_sliced(emit, v, at) for v, (at, _) in zip(carried, reached[count:], strict=True)]
        made = rebuild(emit, view, inputs, inits, [m for _, m in reached], view.op.attributes, tiles)
        written: list[SSAValue] = []
        for new, old, into, (at, _) in zip(made, view.op.results, carried, reached[count:], strict=True):
            new.name_hint = old.name_hint
            written.append(new if at is None else insert_slice(emit, new, into, at))
        return written

    def _produced(self, emit: IRBuilder, tiles: Mapping[int, Tile], boxes: Sequence[_Box]) -> SSAValue:
        """The box of the producer's result that a tile reads."""
        view = self.producer
        dims = projected_permutation(view.init_maps[0])
        assert dims is not None
        own: dict[int, Tile] = {}
        for dim, box in zip(dims, boxes, strict=True):
            offset: Index = box.low
            for loop, factor in box.terms:
                offset = emit.plus(offset, emit.times(tiles[loop].offset, factor))
            own[dim] = Tile(offset, box.high - box.low)
        reached = [cut(emit, view, v, m, own) for v, m in zip(view.op.operands, view.maps, strict=True)]
        inputs = [_sliced(emit, v, at) for v, (at, _) in zip(view.inputs, reached, strict=False)]
        init = self._start(emit, [own[dim].size for dim in dims], reached[-1][0])
        (made,) = rebuild(emit, view, inputs, [init], [m for _, m in reached], view.op.attributes, own)
        made.name_hint = view.op.results[0].name_hint
        return made

    def _start(self, emit: IRBuilder, sizes: Sequence[Index], at: Slice | None) -> SSAValue:
        """The box of the tensor that the producer starts from."""
        init = self.producer.inits[0]
        empty = emit.empty(tensor_element(init), sizes)
        match init.owner:
            case tensor.EmptyOp():
                return empty
            case linalg.FillOp() as fill:
                return emit.insert(linalg.FillOp(list(fill.inputs), [empty], [empty.type])).results[0]
            case _:
                return _sliced(emit, init, at)

    def _within(
        self, emit: IRBuilder, read: Read, local: SSAValue, boxes: Sequence[_Box], steps: Mapping[int, int]
    ) -> SSAValue:
        """The part of the box read by an operand, as a slice."""
        map = self.reader.maps[read.position]
        operand = self.reader.inputs[read.position]
        still = {dim: Tile(0, step) for dim, step in steps.items()}
        at, _ = cut(emit, self.reader, operand, map, still)
        at = at or Slice((0,) * len(boxes), read.sizes, (1,) * len(boxes))
        offsets = [
            emit.plus(offset, start - box.low)
            for offset, start, box in zip(at.offsets, read.offsets, boxes, strict=True)
        ]
        block = Slice(tuple(offsets), at.sizes, at.strides)
        shape = tensor_shape(local)
        is_all = all(n == size for n, size in zip(shape, at.sizes, strict=True)) and not any(offsets)
        return local if is_all else extract_slice(emit, local, block)


def _sliced(emit: IRBuilder, value: SSAValue, at: Slice | None) -> SSAValue:
    return value if at is None or not tensor_shape(value) else extract_slice(emit, value, at)


def _erase_with_views(op: Operation) -> None:
    """Erase an op and the views of its result, which nothing uses."""
    uses: list[Use] = [use for result in op.results for use in result.uses]
    for use in uses:
        _erase_with_views(use.operation)
    _erase(op)


def _erase(op: Operation) -> None:
    op.detach()
    op.erase()
