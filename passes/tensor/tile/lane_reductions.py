"""Reductions along the lanes: one partial result for each lane, combined when the loops are done."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from xdsl.dialects.builtin import AffineMapAttr
from xdsl.dialects.linalg import ops as linalg
from xdsl.dialects.linalg.attrs import IteratorType, IteratorTypeAttr
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineMap

from stepwell.dialects.costs.schedules import TILES
from stepwell.dialects.ir_builder import Constants, Index, IRBuilder
from stepwell.dialects.sched import SCHEDULE, Schedule, schedule_of
from stepwell.dialects.tensor_ir.combiners import Combiner
from stepwell.dialects.tensor_ir.sizes import known_size
from stepwell.dialects.tensor_ir.slices import extract_slice, insert_slice
from stepwell.dialects.tensor_ir.structured import (
    Structured,
    generic,
    projected_permutation,
    tensor_element,
    tensor_shape,
)
from stepwell.dialects.tensor_ir.tiles import Tile, TileLoop, build_loops, cut, dim_size, extent, rebuild

_PARALLEL = IteratorTypeAttr(IteratorType.PARALLEL)
_REDUCTION = IteratorTypeAttr(IteratorType.REDUCTION)


def tile_lane_reduction(
    view: Structured, schedule: Schedule, combiner: Combiner, constants: Constants
) -> None:
    """
    Build the reduction loops of an op whose lanes are steps of a reduction.

    ```mlir
    %s = linalg.generic {… iterator_types = ["parallel", "reduction"]} ins(%x : tensor<1x100xf32>)
         outs(%0 : tensor<1xf32>) attrs = {sched.schedule = #sched.schedule<tile = [0, 32], vectorize = 1>} …
    // ->
    %p = … zeros of tensor<1x32xf32> …
    %q = scf.for %j = %c0 to %c96 step %c32 iter_args(%t = %p) -> (tensor<1x32xf32>) {
      … %t + %x[0, %j] [1, 32], lane by lane …
    }
    %r = linalg.generic {… iterator_types = ["parallel", "reduction"]} ins(%q : tensor<1x32xf32>)
         outs(%0 : tensor<1xf32>) attrs = {sched.schedule = #sched.schedule<tile = [0, 0], vectorize = 1>} …
    %s = … %r + %x[0, 96] [1, 4] …
    ```
    An elementwise op that has the same loop for itself, and whose result the reduction reads, is computed in
    this loop: one pass over the row instead of two. The order of the sum changes: the rewrite is of the class
    *rounding*.
    """
    producer = _RowProducer.of(view, schedule)
    split = _LaneReduction(view, schedule, combiner, producer, constants)
    split.run()
    for op in (view.op, *(() if producer is None else (producer.view.op,))):
        op.detach()
        op.erase()


@dataclass(frozen=True)
class _RowProducer:
    """An elementwise op that produces, element by element, an input of a reduction along lanes."""

    view: Structured
    position: int
    """The number of the reduction's input that is the result of the op."""
    lanes: int
    """The loop of the op along the lanes of the reduction."""

    @staticmethod
    def of(reduction: Structured, schedule: Schedule) -> _RowProducer | None:
        """The producer that can share a reduction's only loop; the last one, where there are several."""
        if schedule.loops() != (schedule.vectorize,):
            return None
        found: _RowProducer | None = None
        for position, (value, map) in enumerate(zip(reduction.inputs, reduction.maps, strict=False)):
            owner = value.owner
            if not isinstance(owner, Operation) or (view := Structured.of(owner)) is None:
                continue
            candidate = _RowProducer._matching(view, reduction, map, schedule)
            if candidate is not None and candidate._can_move_to(reduction.op):
                found = replace(candidate, position=position)
        return found

    @staticmethod
    def _matching(
        view: Structured, reduction: Structured, read: AffineMap, schedule: Schedule
    ) -> _RowProducer | None:
        """`view` as a producer, if it has the reduction's lanes and is read element by element; else None."""
        own, read_dims = schedule_of(view.op), projected_permutation(read)
        if own is None or len(view.inits) != 1 or not all(view.parallel) or read_dims is None:
            return None
        written = projected_permutation(view.init_maps[0])
        if own.vectorize is None or own.loops() != (own.vectorize,) or written is None:
            return None
        at = written.index(own.vectorize) if own.vectorize in written else None
        if at is None or read_dims[at] != schedule.vectorize or len(written) != view.rank:
            return None
        return _RowProducer(view, 0, own.vectorize)

    def _can_move_to(self, reduction: Operation) -> bool:
        """Whether all other users of the result come after the reduction, in its block."""
        block, op = reduction.parent, self.view.op
        if op.parent is not block or block is None:
            return False
        users = [use.operation for use in op.results[0].uses]
        after = [user for user in users if user.parent is block and reduction.is_before_in_block(user)]
        return len(after) + 1 == len(users)

    def tile(self, emit: IRBuilder, tile: Tile, into: SSAValue) -> tuple[SSAValue, SSAValue]:
        """Compute a tile of the producer; returns the tile, and `into` with the tile inserted."""
        view, tiles = self.view, {self.lanes: tile}
        operands = [*view.inputs, into]
        reached = [cut(emit, view, v, m, tiles) for v, m in zip(operands, view.maps, strict=True)]
        *inputs, init = [
            value if at is None else extract_slice(emit, value, at)
            for value, (at, _) in zip(operands, reached, strict=True)
        ]
        attributes = {**view.op.attributes, SCHEDULE: Schedule((0,) * view.rank, vectorize=self.lanes).attr()}
        maps = [map for _, map in reached]
        (made,) = rebuild(emit, view, inputs, [init], maps, attributes, tiles)
        at = reached[-1][0]
        return made, made if at is None else insert_slice(emit, made, into, at)


class _LaneReduction:
    """Builds the loops of one reduction along lanes: full tiles lane by lane, their combination, the rest."""

    def __init__(
        self,
        view: Structured,
        schedule: Schedule,
        combiner: Combiner,
        producer: _RowProducer | None,
        constants: Constants,
    ):
        self.view = view
        self.producer = producer
        self.schedule = schedule
        self.combiner = combiner
        self.emit = IRBuilder.before(view.op, constants)
        assert schedule.vectorize is not None
        self.lanes = schedule.vectorize
        self.width = schedule.tile[self.lanes]
        self.init = view.inits[0]
        self.shape = tensor_shape(self.init)
        self.element = tensor_element(self.init)

    def run(self) -> None:
        """Replace the results of the reduction and of its producer by those of the loops."""
        length = extent(self.emit, self.view, self.lanes)
        full = self.emit.rounded_down(length, self.width)
        made: list[SSAValue] = [] if self.producer is None else [*self.producer.view.inits]
        result = self.init
        if full != 0:
            partial, *made = self._partial(full, made)
            result = self._combine(partial)
        if full != length:
            result, *made = self._rest(full, length, result, made)
        self.view.op.results[0].replace_all_uses_with(result)
        if self.producer is not None:
            self.producer.view.op.results[0].replace_all_uses_with(made[0])

    def _loops(self, step: int, start: Index, stop: Index, *, has_rest: bool) -> list[TileLoop]:
        """The reduction loops to build; that along the lanes goes from `start` to `stop` by `step`."""
        return [
            TileLoop(d, step, start, stop, has_rest=has_rest)
            if d == self.lanes
            else TileLoop(d, self.schedule.tile[d], 0, extent(self.emit, self.view, d))
            for d in self.schedule.loops()
        ]

    def _partial(self, full: Index, made: Sequence[SSAValue]) -> Sequence[SSAValue]:
        """Reduce the full tiles lane by lane; returns a partial result a lane, and the producer's result."""
        emit, rank = self.emit, len(self.shape)
        neutral = emit.number(self.combiner.neutral, self.element)
        sizes = [self._size(position) for position in range(rank)]
        empty = emit.empty(self.element, [*sizes, self.width])
        attributes: dict[str, Attribute] = {SCHEDULE: Schedule((0,) * (rank + 1), vectorize=rank).attr()}
        start = emit.value(linalg.FillOp([neutral], [empty], [empty.type], attributes))
        loops = self._loops(self.width, 0, full, has_rest=False)
        return build_loops(emit, loops, None, {}, [start, *made], self._lane_by_lane)

    def _size(self, position: int) -> Index:
        """The size of a dimension of the init, or of an input with its loop: a carried init has none."""
        view = self.view
        for value, map in zip((self.init, *view.inputs), (view.init_maps[0], *view.maps), strict=False):
            for at, expr in enumerate(map.results):
                if expr == view.init_maps[0].results[position]:
                    size = known_size(value, at)
                    if not isinstance(size, tuple):
                        return size
        return dim_size(self.emit, self.init, position)

    def _lane_by_lane(
        self, emit: IRBuilder, tiles: Mapping[int, Tile], carried: Sequence[SSAValue]
    ) -> Sequence[SSAValue]:
        """The reduction on a full tile with the lanes as a parallel loop: one result a lane."""
        view = self.view
        result, *made = self._tile(emit, tiles, carried)
        assert isinstance(op := result.owner, linalg.GenericOp)
        out = view.init_maps[0]
        kept = AffineMap(out.num_dims, 0, (*out.results, AffineDimExpr(self.lanes)))
        op.properties["indexing_maps"] = type(op.indexing_maps)(
            [*op.indexing_maps.data[:-1], AffineMapAttr(kept)]
        )
        kinds = [_PARALLEL if d == self.lanes else t for d, t in enumerate(op.iterator_types)]
        op.properties["iterator_types"] = type(op.iterator_types)(kinds)
        return [result, *made]

    def _tile(
        self, emit: IRBuilder, tiles: Mapping[int, Tile], carried: Sequence[SSAValue]
    ) -> Sequence[SSAValue]:
        """The reduction on a tile with the carried init, after the producer on the same tile."""
        view, producer, made = self.view, self.producer, list(carried[1:])
        inputs: list[SSAValue] = []
        maps: list[AffineMap] = []
        for position, (value, map) in enumerate(zip(view.inputs, view.maps, strict=False)):
            at, local = cut(emit, view, value, map, tiles)
            if producer is not None and position == producer.position:
                value, made[0] = producer.tile(emit, tiles[self.lanes], made[0])
            elif at is not None:
                value = extract_slice(emit, value, at)
            inputs.append(value)
            maps.append(local)
        schedule = Schedule((0,) * view.rank, vectorize=self.lanes).attr()
        attributes = {**view.op.attributes, SCHEDULE: schedule}
        maps += view.init_maps
        return [*rebuild(emit, view, inputs, carried[:1], maps, attributes, tiles), *made]

    def _combine(self, partial: SSAValue) -> SSAValue:
        """Reduce the partial results of all lanes into the init."""
        rank = len(self.shape)
        block = Block(arg_types=[self.element, self.element])
        value, accumulator = block.args
        like = self.combiner.op
        made: Operation = type(like).create(
            operands=[accumulator, value], result_types=[self.element], properties=like.properties.copy()
        )
        inside = self.emit.inside(block)
        inside.insert(made)
        inside.insert(linalg.YieldOp(made.results[0]))
        identity = AffineMap.identity(rank + 1)
        maps = [identity, AffineMap(rank + 1, 0, identity.results[:-1])]
        kinds = [*[_PARALLEL] * rank, _REDUCTION]
        op = generic([partial], [self.init], Region(block), maps, kinds)
        op.attributes[SCHEDULE] = Schedule((0,) * (rank + 1), vectorize=rank).attr()
        return self.emit.value(op)

    def _rest(
        self, full: Index, length: Index, start: SSAValue, made: Sequence[SSAValue]
    ) -> Sequence[SSAValue]:
        """Reduce the elements after the full tiles into `start`; returns that and the producer's result."""
        if isinstance(full, int) and isinstance(length, int):
            step = length - full
        else:
            step = TILES.tail_lanes if self.width > TILES.tail_lanes else 1
        loops = self._loops(step, full, length, has_rest=True)
        return build_loops(self.emit, loops, None, {}, [start, *made], self._tile)
