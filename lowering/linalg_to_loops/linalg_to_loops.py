"""`linalg-to-loops`: structured ops and copies of buffers → loops over single elements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects import memref
from xdsl.dialects.builtin import DYNAMIC_INDEX, AffineMapAttr, MemRefType, ModuleOp
from xdsl.dialects.linalg.abstract_ops import LinalgStructuredOperation
from xdsl.dialects.linalg.attrs import IteratorType, IteratorTypeAttr
from xdsl.dialects.linalg.ops import GenericOp, IndexOp, YieldOp
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineMap
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern
from xdsl.rewriter import Rewriter

from stepwell.dialects.sched import PARALLEL
from stepwell.lowering.linalg_to_loops.nest import LoopNest
from stepwell.patterns.driver.conversion import convert


@dataclass(frozen=True)
class LinalgToLoopsPass(ModulePass):
    """
    Rewrite what is left of `linalg` on buffers, and each `memref.copy` with gaps, to loops over elements.

    Parallel dimensions are the outer loops, in order; reductions are the inner ones, with their results in
    registers. With the attribute `sched.parallel` the outermost parallel loop becomes an `scf.parallel`.
    Leaves `scf`, `arith`, `memref` and the ops of the bodies. Fails when a structured op on tensors remains.
    """

    name = "linalg-to-loops"

    parallel: bool = False
    """Whether all parallel dimensions of an op are one `scf.parallel`, as devices with a grid need them."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Convert copies and structured ops, and erase allocas without uses."""
        convert(
            op,
            [CopyToGeneric(self.parallel), StructuredToLoops(self.parallel)],
            illegal=["linalg"],
            convert_new_ops=True,
        )
        for alloca in [inner for inner in op.walk() if isinstance(inner, memref.AllocaOp)]:
            if not alloca.memref.uses:
                Rewriter.erase_op(alloca)  # it only gave a window its extents


class CopyToGeneric(RewritePattern):
    """
    A copy as an elementwise op, unless both sides are contiguous along the last axis: then rows are moved.

    ```mlir
    "memref.copy"(%x, %y) : (memref<4xf32>, memref<4xf32, strided<[2]>>) -> ()
    // ->
    linalg.generic {
        indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]
      } ins(%x : memref<4xf32>) outs(%y : memref<4xf32, strided<[2]>>) {
    ^bb0(%a: f32, %b: f32):
      linalg.yield %a : f32
    }
    ```
    """

    def __init__(self, every: bool = False):
        """Args: `every` for copies of contiguous rows too."""
        self._every = every

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: memref.CopyOp, rewriter: PatternRewriter) -> None:
        """Emit a `linalg.generic` that yields its input, over all dimensions."""
        if not self._every and _last_stride(op.source) == _last_stride(op.destination) == 1:
            return
        type = cast("MemRefType[Attribute]", op.source.type)
        block = Block(arg_types=[type.element_type, type.element_type])
        block.add_op(YieldOp(block.args[0]))
        rank = len(type.get_shape())
        maps = [AffineMapAttr(AffineMap.identity(rank))] * 2
        iterators = [IteratorTypeAttr(IteratorType.PARALLEL)] * rank
        generic = GenericOp([op.source], [op.destination], Region(block), maps, iterators)
        rewriter.replace(op, generic)


def _last_stride(buffer: SSAValue) -> int | None:
    """The stride of the last dimension of a buffer; None for a scalar."""
    strides = cast("MemRefType[Attribute]", buffer.type).get_strides()
    return strides[-1] if strides else None


class StructuredToLoops(RewritePattern):
    """
    A structured op on buffers → a nest of loops.

    ```mlir
    linalg.generic {
        indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
        iterator_types = ["parallel", "reduction"]
      } ins(%x : memref<2x3xf32>) outs(%y : memref<2xf32>) {
    ^bb0(%a: f32, %acc: f32):
      %s = arith.addf %acc, %a : f32
      linalg.yield %s : f32
    }
    // ->
    %c2 = arith.constant 2 : index
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    scf.for %i = %c0 to %c2 step %c1 {
      %init = memref.load %y[%i] : memref<2xf32>
      %sum = scf.for %j = %c0 to %c3 step %c1 iter_args(%acc = %init) -> (f32) {
        %a = memref.load %x[%i, %j] : memref<2x3xf32>
        %s = arith.addf %acc, %a : f32
        scf.yield %s : f32
      }
      memref.store %sum, %y[%i] : memref<2xf32>
    }
    ```
    """

    def __init__(self, parallel: bool = False):
        """Args: `parallel` for one `scf.parallel` of all parallel dimensions."""
        self._parallel = parallel

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: LinalgStructuredOperation, rewriter: PatternRewriter) -> None:
        """Build the loops before the op and erase it; ops on tensors are left, and reported."""
        if not op.res:
            _StructuredLoops(op, self._parallel).build()
            rewriter.erase(op)


class _StructuredLoops:
    """The loops of a structured op under construction."""

    def __init__(self, op: LinalgStructuredOperation, in_parallel: bool):
        self._op = op
        self._in_parallel = in_parallel
        self._nest = LoopNest(op)
        self._maps = [attr.data for attr in op.get_indexing_maps()]
        reductions = [it.data == IteratorType.REDUCTION for it in op.get_iterator_types()]
        self._parallel = [dim for dim, is_reduction in enumerate(reductions) if not is_reduction]
        self._reductions = [dim for dim, is_reduction in enumerate(reductions) if is_reduction]
        self._output_maps = self._maps[len(op.inputs) :]
        # An output indexed by a reduction loop cannot stay in a register: it is read and written each time.
        moves = any(m.used_dims() & set(self._reductions) for m in self._output_maps)
        self._keeps = bool(self._reductions) and not moves

    def build(self) -> None:
        """Insert the loops before the op and move its body into them."""
        opened = self._open_grid() if self._in_parallel else self._open_loops()
        if self._keeps:
            self._store(self._reduce(self._reductions, self._load_outputs()))
        else:
            self._reduce(self._reductions, [])
        for _ in range(opened):
            self._nest.close()

    def _open_loops(self) -> int:
        """Open a loop for each parallel dimension; returns their number."""
        return sum(self._open_parallel(dim) for dim in self._parallel)

    def _open_grid(self) -> int:
        """Open one parallel loop with all parallel dimensions; returns the number of loops, 0 for none."""
        extents = {dim: self._extent(dim) for dim in self._parallel}
        for dim, extent in extents.items():
            if extent is None:
                self._nest.skip(dim)
        if not (found := {dim: extent for dim, extent in extents.items() if extent is not None}):
            return 0
        self._nest.open_grid(found)
        return 1

    def _open_parallel(self, dim: int) -> bool:
        """Open the loop of a parallel dimension; False if its extent is 1."""
        if (extent := self._extent(dim)) is None:
            self._nest.skip(dim)
            return False
        if PARALLEL in self._op.attributes and self._nest.depth == 0:
            self._nest.open_parallel(dim, extent)
        else:
            self._nest.open(dim, extent)
        return True

    def _reduce(self, dims: Sequence[int], carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
        """The final values of the reduction loops, emitted around the body."""
        if not dims:
            return self._inline_body(carried)
        if (extent := self._extent(dims[0])) is None:
            self._nest.skip(dims[0])
            return self._reduce(dims[1:], carried)
        loop = self._nest.open(dims[0], extent, carried)
        self._nest.close(self._reduce(dims[1:], loop.body.block.args[1:]))
        return loop.results

    def _inline_body(self, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
        """The values that the innermost loop carries on, after the body is moved there; others are stored."""
        body = self._op.body.block
        for k, arg in enumerate(body.args):
            if self._keeps and k >= len(self._op.inputs):
                arg.replace_all_uses_with(carried[k - len(self._op.inputs)])
            elif arg.uses:
                arg.replace_all_uses_with(self._element(self._op.operands[k], self._maps[k]))
        *ops, terminator = body.ops
        results = list(terminator.operands)
        for inner in ops:
            inner.detach()
            self._nest.insert(inner)
            for op in list(inner.walk()):
                if isinstance(op, IndexOp):
                    value = self._nest.index(AffineDimExpr(op.dim.value.data))
                    results = [value if result is op.result else result for result in results]
                    Rewriter.replace_op(op, [], [value])
        if self._keeps:
            return results
        self._store(results)
        return ()

    def _element(self, operand: SSAValue, map: AffineMap) -> SSAValue:
        """The value of an operand in the body: a loaded element, or the operand itself if it is a scalar."""
        return self._nest.load(operand, map.results) if isinstance(operand.type, MemRefType) else operand

    def _load_outputs(self) -> list[SSAValue]:
        """The initial elements of all outputs."""
        pairs = zip(self._op.outputs, self._output_maps, strict=True)
        return [self._element(output, map) for output, map in pairs]

    def _store(self, values: Sequence[SSAValue]) -> None:
        """Store one element in each output."""
        for value, output, map in zip(values, self._op.outputs, self._output_maps, strict=True):
            self._nest.store(value, output, map.results)

    def _extent(self, dim: int) -> SSAValue | None:
        """The extent of a dimension, which an operand has; None when it is known to be 1."""
        sources = [
            (operand, position, cast("MemRefType[Attribute]", operand.type).get_shape()[position])
            for operand, map in zip(self._op.operands, self._maps, strict=True)
            for position, expr in enumerate(map.results)
            if expr == AffineDimExpr(dim)
        ]
        operand, position, extent = min(sources, key=lambda source: source[2] == DYNAMIC_INDEX)
        if extent != DYNAMIC_INDEX:
            return None if extent == 1 else self._nest.constant(extent)
        if isinstance(operand.owner, memref.AllocaOp):
            shape = operand.owner.memref.type.get_shape()
            return operand.owner.dynamic_sizes[shape[:position].count(DYNAMIC_INDEX)]
        return self._nest.insert(memref.DimOp(operand, self._nest.constant(position)), 0).result
