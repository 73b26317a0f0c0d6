"""The analysis of `vectorize`: the tiles of a function that vectors can compute, and obstacles of others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import product
from math import prod

from xdsl.dialects import arith
from xdsl.dialects.func import FuncOp
from xdsl.dialects.linalg import ops as linalg
from xdsl.ir import Block, Operation, OpResult, SSAValue
from xdsl.ir.affine import AffineMap

from stepwell.dialects.costs.schedules import VECTORS
from stepwell.dialects.sched import schedule_of
from stepwell.dialects.tensor_ir.combiners import Combiner, combiner_of
from stepwell.dialects.tensor_ir.element_reads import is_element_read
from stepwell.dialects.tensor_ir.structured import Structured
from stepwell.dialects.tensor_ir.transfers import element_type
from stepwell.dialects.tensor_ir.vector_values import MAX_ELEMENTS, MAX_STEPS, has_vector_form, is_number
from stepwell.passes.context import remark
from stepwell.passes.tensor.vector.access import Access, access


@dataclass(frozen=True, eq=False)
class VectorTile:
    """A structured op as vectors over its parallel loops and the lanes, which come last."""

    view: Structured
    extents: Sequence[int]
    dims: Sequence[int]
    """The loops of the vectors."""
    steps: Sequence[int]
    """The loops that are unrolled: those of reductions that are not lanes."""
    combiner: Combiner | None
    """The combination of reduced lanes; None where lanes are parallel."""
    blocks: Sequence[Access]
    """The block of each init that the op reads and writes."""
    results: Sequence[SSAValue]
    """The values that the body yields."""
    fused: Mapping[Operation, Operation]
    """Maps each sum that is computed with its product, as one FMA, to that product."""
    skipped: Set[Operation]
    """The ops of the body that have no value of their own: products of FMAs, the combiner, and the yield."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the vectors."""
        return tuple(self.extents[d] for d in self.dims)

    @property
    def result_shape(self) -> tuple[int, ...]:
        """The shape of the results: without lanes that are reduced."""
        return self.shape if self.combiner is None else self.shape[:-1]

    def points(self) -> Iterator[Mapping[int, int]]:
        """Yields each combination of steps of the unrolled loops."""
        for point in product(*(range(self.extents[d]) for d in self.steps)):
            yield dict(zip(self.steps, point, strict=True))

    def access(self, map: AffineMap, point: Mapping[int, int]) -> Access:
        """The block of an operand that the vectors cover at one point."""
        found = access(map, self.dims, self.extents, point)
        assert found is not None  # `_tile` has seen to that
        return found

    def lanes_of(self, dim: int, point: Mapping[int, int]) -> list[int]:
        """The step of a loop in each lane of a vector."""
        elements = prod(self.shape)
        if dim not in self.dims:
            return [point[dim]] * elements
        position = self.dims.index(dim)
        inner = prod(self.shape[position + 1 :])
        return [i // inner % self.shape[position] for i in range(elements)]


def vector_tiles(func: FuncOp) -> dict[Operation, VectorTile]:
    """
    Maps the ops of a function that vectors can compute to their tiles; a remark has the obstacle of another.

    Considered are structured ops whose schedule says `vectorize`, without tiled loops.
    """
    tiles: dict[Operation, VectorTile] = {}
    for op in func.walk():
        schedule = schedule_of(op)
        if schedule is None or schedule.vectorize is None or schedule.loops():
            continue
        if (view := Structured.of(op)) is None:
            continue
        if isinstance(tile := _tile(view, schedule.vectorize), str):
            remark(op, f"not vectorized: {tile}")
        else:
            tiles[op] = tile
    return tiles


def _tile(view: Structured, lanes: int) -> VectorTile | str:
    """The tile of an op, or the reason why vectors cannot express it."""
    extents = [n for n in view.extents if n is not None]
    if len(extents) != view.rank:
        return "its tile has an extent that is not known here"
    kept = [d for d, is_parallel in enumerate(view.parallel) if is_parallel and d != lanes]
    dims = (*kept, lanes)
    steps = [d for d in range(view.rank) if d not in dims]
    elements, points = (prod(extents[d] for d in loops) for loops in (dims, steps))
    if elements > MAX_ELEMENTS or points > MAX_STEPS or 0 in extents:
        return f"{elements} elements and {points} steps are no tile for registers"
    combiner = None if view.parallel[lanes] else combiner_of(view.body)
    if combiner is None and not view.parallel[lanes]:
        return "no vector operation combines the lanes of its reduction"
    origin = dict.fromkeys(steps, 0)
    for map, value in zip(view.maps, view.op.operands, strict=True):
        if access(map, dims, extents, origin) is None or not is_number(element_type(value.type)):
            return f"it reaches an operand of type {value.type} by {map}"
    blocks: list[Access] = []
    for map in view.init_maps:
        block = access(map, dims if combiner is None else kept, extents, origin)
        if block is None or None in block.dim_of or any(s != 1 for s in block.stride):
            return f"it writes its result by {map}"
        blocks.append(block)
    if obstacle := _obstacle(view.body, elements):
        return obstacle
    fused = _products_to_fuse(view)
    # The lanes of a product are combined by themselves, not with an accumulator of as many lanes.
    others = fused.values() if combiner is None else (combiner.op,)
    assert (last := view.body.last_op) is not None
    return VectorTile(view, extents, dims, steps, combiner, blocks, last.operands, fused, {last, *others})


def _obstacle(body: Block, elements: int) -> str | None:
    """The reason why an op of a body cannot be computed on vectors; None when all can."""
    for op in body.ops:
        if is_element_read(op):
            if elements > VECTORS.computed_reads:
                return f"{elements} elements at positions of their own are no tile for registers"
        elif not isinstance(op, linalg.IndexOp | linalg.YieldOp) and not has_vector_form(op):
            return f"{op.name} has no form on vectors"
    return None


def _products_to_fuse(view: Structured) -> dict[Operation, Operation]:
    """Maps each `arith.addf` of an accumulator and a product with no other use to that product."""
    found: dict[Operation, Operation] = {}
    accumulators = view.body.args[len(view.inputs) :]
    for op in view.body.ops:
        if not isinstance(op, arith.AddfOp):
            continue
        lhs, rhs = op.operands
        factor = rhs if lhs in accumulators else lhs if rhs in accumulators else None
        if isinstance(factor, OpResult) and isinstance(factor.op, arith.MulfOp) and factor.has_one_use():
            found[op] = factor.op
    return found
