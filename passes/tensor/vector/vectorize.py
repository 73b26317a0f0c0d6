"""`vectorize`: structured ops on small static tiles become vector ops, whose values stay in registers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from math import prod

from xdsl.context import Context
from xdsl.dialects import arith, tensor, vector
from xdsl.dialects.builtin import TensorType
from xdsl.dialects.func import FuncOp
from xdsl.dialects.linalg import ops as linalg
from xdsl.dialects.vector import CombiningKindAttr
from xdsl.ir import Operation, OpResult, SSAValue
from xdsl.ir.affine import AffineMap

from stepwell.dialects.costs.schedules import VECTORS
from stepwell.dialects.ir_builder import INDEX, Constants, IRBuilder, dense_attr
from stepwell.dialects.sched import schedule_of
from stepwell.dialects.tensor_ir.combiners import Combiner, combiner_of
from stepwell.dialects.tensor_ir.dead import erase_dead
from stepwell.dialects.tensor_ir.element_reads import is_element_read, read_lanes
from stepwell.dialects.tensor_ir.structured import Structured
from stepwell.dialects.tensor_ir.transfers import element_type, vector_type
from stepwell.dialects.tensor_ir.vector_values import (
    MAX_ELEMENTS,
    MAX_STEPS,
    VectorValues,
    has_vector_form,
    is_number,
)
from stepwell.dialects.vector import MultiReductionOp
from stepwell.passes.base import FunctionPass
from stepwell.passes.context import remark
from stepwell.passes.tensor.vector.access import Access, access, read, write
from stepwell.passes.tensor.vector.forward import forward_tiles


class VectorizePass(FunctionPass):
    """
    Compute each tile whose schedule says `vectorize` on vectors of the tile's shape.

    A tile is a structured op of static extents whose schedule has no tiled loops. Its operands are read
    whole, with the broadcasts and permutations of its maps; reductions are unrolled, or, along the lanes,
    combined at the end; a product added to an accumulator becomes `vector.fma`. A tile that one op writes and
    another reads stays a vector. An op that vectors cannot express stays as it is, with a remark. Needs
    `tile-and-fuse` before it.
    """

    name = "vectorize"

    def apply_to_function(self, ctx: Context, func: FuncOp) -> None:
        constants = Constants(func)
        for op in list(func.walk()):
            schedule = schedule_of(op)
            if schedule is None or schedule.vectorize is None or schedule.loops():
                continue
            if (view := Structured.of(op)) is None:
                continue
            tile = _TileVectorizer.of(view, schedule.vectorize, constants)
            if isinstance(tile, str):
                remark(op, f"not vectorized: {tile}")
            else:
                tile.run()
        forward_tiles(func)
        erase_dead(func)


class _TileVectorizer:
    """Rewrites one structured op to vectors over its parallel loops, the lanes last."""

    def __init__(self, view: Structured, lanes: int, extents: Sequence[int], constants: Constants):
        self.view = view
        self.lanes = lanes
        self.extents = extents
        self.dims = (*(d for d, p in enumerate(view.parallel) if p and d != lanes), lanes)
        self.shape = tuple(extents[d] for d in self.dims)
        self.kept = self.dims if view.parallel[lanes] else self.dims[:-1]
        self.steps = [d for d in range(view.rank) if d not in self.dims]
        self.combiner: Combiner | None = None if view.parallel[lanes] else combiner_of(view.body)
        self.emit = IRBuilder.before(view.op, constants)
        self.fused = _products_to_fuse(view)

    @staticmethod
    def of(view: Structured, lanes: int, constants: Constants) -> _TileVectorizer | str:
        """The vectorizer of an op, or the reason why vectors cannot express it."""
        extents = [n for n in view.extents if n is not None]
        if len(extents) != view.rank:
            return "its tile has an extent that is not known here"
        tile = _TileVectorizer(view, lanes, extents, constants)
        return tile.obstacle() or tile

    def obstacle(self) -> str | None:
        """The reason why vectors cannot express the op; None when they can."""
        steps = prod(self.extents[d] for d in self.steps)
        if prod(self.shape) > MAX_ELEMENTS or steps > MAX_STEPS or 0 in self.extents:
            return f"{prod(self.shape)} elements and {steps} steps are no tile for registers"
        if not self.view.parallel[self.lanes] and self.combiner is None:
            return "no vector operation combines the lanes of its reduction"
        point = dict.fromkeys(self.steps, 0)
        for map, value in zip(self.view.maps, self.view.op.operands, strict=True):
            if access(map, self.dims, self.extents, point) is None or not is_number(element_type(value.type)):
                return f"it reaches an operand of type {value.type} by {map}"
        for map in self.view.init_maps:
            at = access(map, self.kept, self.extents, point)
            if at is None or None in at.dim_of or any(s != 1 for s in at.stride):
                return f"it writes its result by {map}"
        for op in self.view.body.ops:
            if is_element_read(op) and prod(self.shape) > VECTORS.computed_reads:
                return f"{prod(self.shape)} elements at positions of their own are no tile for registers"
            if isinstance(op, linalg.IndexOp | linalg.YieldOp) or is_element_read(op):
                continue
            if not has_vector_form(op):
                return f"{op.name} has no form on vectors"
        return None

    def run(self) -> None:
        """Replace the op by reads, vector ops for its body, and writes."""
        # Accumulators start from the inits.
        body, count = self.view.body, len(self.view.inputs)
        last = body.last_op
        assert last is not None
        accumulators = list(body.args[count:])
        used = [arg.first_use is not None for arg in accumulators]
        origin = dict.fromkeys(self.steps, 0)
        blocks = [self._access(m, self.kept, origin) for m in self.view.init_maps]
        shape = tuple(self.extents[d] for d in self.kept)
        values = [
            read(self.emit, init, at, shape) if is_used else init
            for init, at, is_used in zip(self.view.inits, blocks, used, strict=True)
        ]
        # The body, step by step of the reductions, or once for lanes that are combined.
        if self.combiner is None:
            for point in self._points():
                known = self._evaluate(point, dict(zip(accumulators, values, strict=True)))
                values = [known[value] for value in last.operands]
        else:
            values = [self._reduce_lanes(self.combiner, values[0])]
        results = [
            write(self.emit, value, init, at)
            for value, init, at in zip(values, self.view.inits, blocks, strict=True)
        ]
        for old, new in zip(self.view.op.results, results, strict=True):
            old.replace_all_uses_with(new)
        self.view.op.detach()
        self.view.op.erase()

    def _points(self) -> list[dict[int, int]]:
        """The steps of the reductions, which are unrolled."""
        ranges = [range(self.extents[d]) for d in self.steps]
        return [dict(zip(self.steps, point, strict=True)) for point in product(*ranges)]

    def _reduce_lanes(self, combiner: Combiner, accumulator: SSAValue) -> SSAValue:
        """The reduction along lanes: steps combined lane by lane, then all lanes with the accumulator."""
        total: SSAValue | None = None
        for point in self._points():
            known = self._evaluate(point, {}, skip=combiner.op)
            value = known[combiner.value]
            total = value if total is None else self._combine(combiner.op, total, value)
        assert total is not None
        kind = CombiningKindAttr(combiner.kind)
        return self.emit.value(MultiReductionOp(kind, total, accumulator, [len(self.shape) - 1]))

    def _combine(self, like: Operation, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        op = type(like).create(
            operands=[lhs, rhs], result_types=[lhs.type], properties=like.properties.copy()
        )
        return self.emit.value(op)

    def _access(self, map: AffineMap, dims: Sequence[int], point: Mapping[int, int]) -> Access:
        found = access(map, dims, self.extents, point)
        assert found is not None  # `obstacle` has seen to that
        return found

    def _evaluate(
        self, point: Mapping[int, int], known: Mapping[SSAValue, SSAValue], skip: Operation | None = None
    ) -> VectorValues:
        """The values of the body on vectors, at one step of the reductions."""
        view, values = self.view, VectorValues(self.emit, self.shape, known)
        for arg, value, map in zip(view.body.args, view.inputs, view.maps, strict=False):
            if arg.first_use is None:
                continue
            if isinstance(value.type, TensorType):
                values[arg] = read(self.emit, value, self._access(map, self.dims, point), self.shape)
            else:
                values[arg] = values.broadcast(value)
        # A product is computed with its sum as one FMA, unless that sum is the op to skip.
        absorbed = {skip, *(product_op for sum_op, product_op in self.fused.items() if sum_op is not skip)}
        for op in view.body.ops:
            if isinstance(op, linalg.IndexOp):
                values[op.result] = self._steps_of(op.dim.value.data, point, values)
            elif isinstance(op, linalg.YieldOp) or op in absorbed:
                continue
            elif (product_op := self.fused.get(op)) is not None:
                values[op.results[0]] = self._multiplied_and_added(op, product_op, values)
            elif isinstance(op, tensor.ExtractOp):
                loops = {dim: self._lanes_of(dim, point) for dim in range(view.rank)}
                read_lanes(op, values, loops)
            else:
                values.compute(op)
        return values

    def _multiplied_and_added(self, op: Operation, product_op: Operation, values: VectorValues) -> SSAValue:
        accumulator = next(v for v in op.operands if v is not product_op.results[0])
        operands = [values[v] for v in (*product_op.operands, accumulator)]
        return self.emit.value(vector.FMAOp.create(operands=operands, result_types=[operands[-1].type]))

    def _steps_of(self, dim: int, point: Mapping[int, int], values: VectorValues) -> SSAValue:
        """The value of `linalg.index` on a vector."""
        if dim not in self.dims:
            return values.broadcast(self.emit.materialize(point[dim]))
        type = vector_type(INDEX, self.shape)
        return self.emit.constant(dense_attr(type, self._lanes_of(dim, point)), type)

    def _lanes_of(self, dim: int, point: Mapping[int, int]) -> list[int]:
        """The step of a loop in each lane."""
        if dim not in self.dims:
            return [point[dim]] * prod(self.shape)
        position = self.dims.index(dim)
        inner = prod(self.shape[position + 1 :])
        return [i // inner % self.shape[position] for i in range(prod(self.shape))]


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
