"""Reductions along the lanes: one partial result for each lane, combined when the loops are done."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects.builtin import AffineMapAttr
from xdsl.dialects.linalg import ops as linalg
from xdsl.dialects.linalg.attrs import IteratorType, IteratorTypeAttr
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineMap

from stepwell.dialects.sched import SCHEDULE, Schedule
from stepwell.passes.tensor.combiners import Combiner
from stepwell.passes.tensor.emit import Constants, Emitter, Index, scalar_attr
from stepwell.passes.tensor.structured import Structured, generic, tensor_element, tensor_shape
from stepwell.passes.tensor.tiles import TAIL_LANES, Tile, TileLoop, build_loops, cut, extent, rebuild

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
    The order of the sum changes: the rule is of the class *rounding*.
    """
    split = _LaneReduction(view, schedule, combiner, constants)
    split.run()
    view.op.detach()
    view.op.erase()


class _LaneReduction:
    def __init__(self, view: Structured, schedule: Schedule, combiner: Combiner, constants: Constants):
        self.view = view
        self.schedule = schedule
        self.combiner = combiner
        self.emit = Emitter.before(view.op, constants)
        assert schedule.vectorize is not None
        self.lanes = schedule.vectorize
        self.width = schedule.tile[self.lanes]
        self.init = view.inits[0]
        self.shape = tensor_shape(self.init)
        self.element = tensor_element(self.init)

    def run(self) -> None:
        """Replace the result of the op."""
        length = extent(self.emit, self.view, self.lanes)
        full = self.emit.rounded_down(length, self.width)
        result = self.init if full == 0 else self._combine(self._partial(full))
        if full != length:
            result = self._rest(full, length, result)
        self.view.op.results[0].replace_all_uses_with(result)

    def _loops(self, step: int, start: Index, stop: Index, *, has_rest: bool) -> list[TileLoop]:
        """The reduction loops, the one along the lanes over part of its steps."""
        return [
            TileLoop(d, step, start, stop, has_rest=has_rest)
            if d == self.lanes
            else TileLoop(d, self.schedule.tile[d], 0, extent(self.emit, self.view, d))
            for d in self.schedule.loops()
        ]

    def _partial(self, full: Index) -> SSAValue:
        """One partial result for each lane of the full tiles."""
        emit, rank = self.emit, len(self.shape)
        neutral = emit.constants.of(scalar_attr(self.element, self.combiner.neutral), self.element)
        empty = emit.empty(self.element, [*self.shape, self.width])
        attributes: dict[str, Attribute] = {SCHEDULE: Schedule((0,) * (rank + 1), vectorize=rank).attr()}
        start = emit.value(linalg.FillOp([neutral], [empty], [empty.type], attributes))
        loops = self._loops(self.width, 0, full, has_rest=False)
        return build_loops(emit, loops, None, {}, [start], self._lane_by_lane)[0]

    def _lane_by_lane(
        self, emit: Emitter, tiles: Mapping[int, Tile], carried: Sequence[SSAValue]
    ) -> Sequence[SSAValue]:
        """The op on a tile, with the lanes kept apart."""
        view = self.view
        (made,) = self._tile(emit, tiles, carried[0])
        assert isinstance(op := made.owner, linalg.GenericOp)
        out = view.init_maps[0]
        kept = AffineMap(out.num_dims, 0, (*out.results, AffineDimExpr(self.lanes)))
        op.properties["indexing_maps"] = type(op.indexing_maps)(
            [*op.indexing_maps.data[:-1], AffineMapAttr(kept)]
        )
        kinds = [_PARALLEL if d == self.lanes else t for d, t in enumerate(op.iterator_types)]
        op.properties["iterator_types"] = type(op.iterator_types)(kinds)
        return [made]

    def _tile(self, emit: Emitter, tiles: Mapping[int, Tile], init: SSAValue) -> Sequence[SSAValue]:
        """The op on a tile, with another init."""
        view = self.view
        inputs: list[SSAValue] = []
        maps: list[AffineMap] = []
        for value, map in zip(view.inputs, view.maps, strict=False):
            at, local = cut(emit, view, value, map, tiles)
            inputs.append(value if at is None else emit.extract(value, at))
            maps.append(local)
        schedule = Schedule((0,) * view.rank, vectorize=self.lanes).attr()
        attributes = {**view.op.attributes, SCHEDULE: schedule}
        return rebuild(emit, view, inputs, [init], [*maps, *view.init_maps], attributes, tiles)

    def _combine(self, partial: SSAValue) -> SSAValue:
        """The partial results combined with the init."""
        rank = len(self.shape)
        block = Block(arg_types=[self.element, self.element])
        value, accumulator = block.args
        like = self.combiner.op
        made: Operation = type(like).create(
            operands=[accumulator, value], result_types=[self.element], properties=like.properties.copy()
        )
        inside = self.emit.inside(block)
        inside.add(made)
        inside.add(linalg.YieldOp(made.results[0]))
        identity = AffineMap.identity(rank + 1)
        maps = [identity, AffineMap(rank + 1, 0, identity.results[:-1])]
        kinds = [*[_PARALLEL] * rank, _REDUCTION]
        op = generic([partial], [self.init], Region(block), maps, kinds)
        op.attributes[SCHEDULE] = Schedule((0,) * (rank + 1), vectorize=rank).attr()
        return self.emit.value(op)

    def _rest(self, full: Index, length: Index, start: SSAValue) -> SSAValue:
        """What is left after the full tiles, combined with the result so far."""
        if isinstance(full, int) and isinstance(length, int):
            step = length - full
        else:
            step = TAIL_LANES if self.width > TAIL_LANES else 1
        loops = self._loops(step, full, length, has_rest=True)
        return build_loops(
            self.emit, loops, None, {}, [start], lambda e, tiles, carried: self._tile(e, tiles, carried[0])
        )[0]
