"""`vectorize`: structured ops on small static tiles become vector ops, whose values stay in registers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

from xdsl.context import Context
from xdsl.dialects import arith, tensor, vector
from xdsl.dialects.builtin import TensorType
from xdsl.dialects.func import FuncOp
from xdsl.dialects.linalg import ops as linalg
from xdsl.dialects.vector import CombiningKindAttr
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from stepwell.dialects.ir_builder import INDEX, Constants, IRBuilder, dense_attr
from stepwell.dialects.tensor_ir.dead import erase_dead
from stepwell.dialects.tensor_ir.element_reads import read_lanes
from stepwell.dialects.tensor_ir.transfers import vector_type
from stepwell.dialects.tensor_ir.vector_values import VectorValues
from stepwell.dialects.vector import MultiReductionOp
from stepwell.passes.tensor.scheduling_pass import SchedulingPass
from stepwell.passes.tensor.vector.access import read, write
from stepwell.passes.tensor.vector.forward import forward_tiles
from stepwell.passes.tensor.vector.vector_tiles import VectorTile, vector_tiles
from stepwell.patterns.driver.greedy import apply_patterns_once


class VectorizePass(SchedulingPass):
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
        tiles, constants = vector_tiles(func), Constants(func)
        patterns = [VectorizeParallelLanes(tiles, constants), VectorizeReducedLanes(tiles, constants)]
        apply_patterns_once(tiles, patterns)
        forward_tiles(func)
        erase_dead(func)


@dataclass
class VectorizeParallelLanes(RewritePattern):
    """
    A tile whose lanes are parallel: its body on vectors, once for each step of its reductions.

    ```mlir
    %y = linalg.generic {
        indexing_maps = [affine_map<(m, n, k) -> (k, m)>, affine_map<(m, n, k) -> (k, n)>,
                         affine_map<(m, n, k) -> (m, n)>],
        iterator_types = ["parallel", "parallel", "reduction"]
      } ins(%a, %b : tensor<2x4xf32>, tensor<2x8xf32>) outs(%c : tensor<4x8xf32>)
      attrs = {sched.schedule = #sched.schedule<tile = [0, 0, 0], vectorize = 1>} {
    ^bb0(%x: f32, %w: f32, %s: f32):
      %p = arith.mulf %x, %w : f32
      %t = arith.addf %s, %p : f32
      linalg.yield %t : f32
    } -> tensor<4x8xf32>
    // ->
    %c0 = arith.constant 0 : index
    %zero = arith.constant 0.0 : f32
    %c1 = arith.constant 1 : index
    %s = vector.transfer_read %c[%c0, %c0], %zero
        {in_bounds = [true, true]}
        : tensor<4x8xf32>, vector<4x8xf32>
    %a0 = vector.transfer_read %a[%c0, %c0], %zero
        {permutation_map = affine_map<(k, m) -> (m, 0)>, in_bounds = [true, true]}
        : tensor<2x4xf32>, vector<4x8xf32>
    %b0 = vector.transfer_read %b[%c0, %c0], %zero
        {permutation_map = affine_map<(k, n) -> (0, n)>, in_bounds = [true, true]}
        : tensor<2x8xf32>, vector<4x8xf32>
    %s0 = vector.fma %a0, %b0, %s : vector<4x8xf32>
    %a1 = vector.transfer_read %a[%c1, %c0], %zero
        {permutation_map = affine_map<(k, m) -> (m, 0)>, in_bounds = [true, true]}
        : tensor<2x4xf32>, vector<4x8xf32>
    %b1 = vector.transfer_read %b[%c1, %c0], %zero
        {permutation_map = affine_map<(k, n) -> (0, n)>, in_bounds = [true, true]}
        : tensor<2x8xf32>, vector<4x8xf32>
    %s1 = vector.fma %a1, %b1, %s0 : vector<4x8xf32>
    %y = vector.transfer_write %s1, %c[%c0, %c0] {in_bounds = [true, true]} : vector<4x8xf32>, tensor<4x8xf32>
    ```
    """

    tiles: Mapping[Operation, VectorTile]
    constants: Constants

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: linalg.GenericOp | linalg.FillOp, rewriter: PatternRewriter) -> None:
        tile = self.tiles.get(op)
        if tile is None or tile.combiner is not None:
            return
        emit = IRBuilder.on(rewriter, constants=self.constants)
        accumulators = tile.view.body.args[len(op.inputs) :]
        values = [
            init if arg.first_use is None else read(emit, init, block, tile.result_shape)
            for arg, init, block in zip(accumulators, op.outputs, tile.blocks, strict=True)
        ]
        for point in tile.points():
            known = _Body(emit, tile, point, dict(zip(accumulators, values, strict=True)))
            values = [known[value] for value in tile.results]
        _write_results(emit, rewriter, tile, values)


@dataclass
class VectorizeReducedLanes(RewritePattern):
    """
    A tile whose lanes are reduced: steps combined lane by lane, then all lanes with the accumulator.

    ```mlir
    %y = linalg.generic {
        indexing_maps = [affine_map<(i, k, j) -> (i, k, j)>, affine_map<(i, k, j) -> (i)>],
        iterator_types = ["parallel", "reduction", "reduction"]
      } ins(%x : tensor<4x2x8xf32>) outs(%e : tensor<4xf32>)
      attrs = {sched.schedule = #sched.schedule<tile = [0, 0, 0], vectorize = 2>} {
    ^bb0(%a: f32, %s: f32):
      %n = arith.negf %a : f32
      %t = arith.maximumf %s, %n : f32
      linalg.yield %t : f32
    } -> tensor<4xf32>
    // ->
    %c0 = arith.constant 0 : index
    %zero = arith.constant 0.0 : f32
    %c1 = arith.constant 1 : index
    %s = vector.transfer_read %e[%c0], %zero {in_bounds = [true]} : tensor<4xf32>, vector<4xf32>
    %a0 = vector.transfer_read %x[%c0, %c0, %c0], %zero
        {permutation_map = affine_map<(i, k, j) -> (i, j)>, in_bounds = [true, true]}
        : tensor<4x2x8xf32>, vector<4x8xf32>
    %n0 = arith.negf %a0 : vector<4x8xf32>
    %a1 = vector.transfer_read %x[%c0, %c1, %c0], %zero
        {permutation_map = affine_map<(i, k, j) -> (i, j)>, in_bounds = [true, true]}
        : tensor<4x2x8xf32>, vector<4x8xf32>
    %n1 = arith.negf %a1 : vector<4x8xf32>
    %m = arith.maximumf %n0, %n1 : vector<4x8xf32>
    %r = vector.multi_reduction <maximumf>, %m, %s [1] : vector<4x8xf32> to vector<4xf32>
    %y = vector.transfer_write %r, %e[%c0] {in_bounds = [true]} : vector<4xf32>, tensor<4xf32>
    ```
    """

    tiles: Mapping[Operation, VectorTile]
    constants: Constants

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: linalg.GenericOp, rewriter: PatternRewriter) -> None:
        tile = self.tiles.get(op)
        if tile is None or (combiner := tile.combiner) is None:
            return
        emit = IRBuilder.on(rewriter, constants=self.constants)

        def combined(lhs: SSAValue, rhs: SSAValue) -> SSAValue:
            like = combiner.op
            return emit.value(
                type(like).create(
                    operands=[lhs, rhs], result_types=[lhs.type], properties=like.properties.copy()
                )
            )

        start = read(emit, op.outputs[0], tile.blocks[0], tile.result_shape)
        steps = (_Body(emit, tile, point, {})[combiner.value] for point in tile.points())
        kind, lanes = CombiningKindAttr(combiner.kind), len(tile.shape) - 1
        total = emit.value(MultiReductionOp(kind, reduce(combined, steps), start, [lanes]))
        _write_results(emit, rewriter, tile, [total])


def _write_results(
    emit: IRBuilder, rewriter: PatternRewriter, tile: VectorTile, values: Sequence[SSAValue]
) -> None:
    """Replace a tile's op by writes of vectors to its inits."""
    op = tile.view.op
    triples = zip(values, op.outputs, tile.blocks, strict=True)
    rewriter.replace(op, [], [write(emit, value, init, block) for value, init, block in triples])


class _Body(VectorValues):
    """The values of a tile's body on vectors, at one point of the unrolled loops."""

    def __init__(
        self, emit: IRBuilder, tile: VectorTile, point: Mapping[int, int], known: Mapping[SSAValue, SSAValue]
    ):
        super().__init__(emit, tile.shape, known)
        self.tile = tile
        self.point = point
        view = tile.view
        for arg, value, map in zip(view.body.args, view.inputs, view.maps, strict=False):
            if arg.first_use is None:
                continue
            if isinstance(value.type, TensorType):
                self[arg] = read(emit, value, tile.access(map, point), tile.shape)
            else:
                self[arg] = self.broadcast(value)
        for op in view.body.ops:
            if op not in tile.skipped:
                _FORMS.get(type(op), _Body.compute)(self, op)

    def index(self, op: linalg.IndexOp) -> None:
        """The step of a loop in each lane."""
        dim = op.dim.value.data
        if dim in self.tile.dims:
            type = vector_type(INDEX, self.shape)
            self[op.result] = self.emit.constant(dense_attr(type, self.tile.lanes_of(dim, self.point)), type)
        else:
            self[op.result] = self.broadcast(self.emit.materialize(self.point[dim]))

    def element(self, op: tensor.ExtractOp) -> None:
        """An element at a computed position for each lane."""
        read_lanes(op, self, {dim: self.tile.lanes_of(dim, self.point) for dim in range(self.tile.view.rank)})

    def sum(self, op: arith.AddfOp) -> None:
        """A sum, as one FMA with a product that has no other use."""
        if (product := self.tile.fused.get(op)) is None:
            self.compute(op)
            return
        accumulator = next(v for v in op.operands if v is not product.results[0])
        operands = [self[v] for v in (*product.operands, accumulator)]
        self[op.result] = self.emit.value(
            vector.FMAOp.create(operands=operands, result_types=[operands[-1].type])
        )


_FORMS: Mapping[type[Operation], Callable[[_Body, Any], None]] = {
    linalg.IndexOp: _Body.index,
    tensor.ExtractOp: _Body.element,
    arith.AddfOp: _Body.sum,
}
"""The forms on vectors of ops of a body; all others have vectors for their scalars."""
