"""`affine` → `llvm` arithmetic for maps; accesses and loops → `memref` and `scf` ops, lowered in turn."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import affine, memref, scf
from xdsl.dialects.builtin import AffineMapAttr
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern

from stepwell.dialects.llvm.intrinsics import SMaxOp, SMinOp
from stepwell.dialects.tensor_ir.affine_values import affine_value
from stepwell.lowering.loops_to_llvm.code import Code
from stepwell.lowering.loops_to_llvm.pattern import LoopsToLLVMPattern


def map_values(code: Code, attribute: AffineMapAttr, operands: Sequence[SSAValue]) -> list[SSAValue]:
    """The results of an affine map as i64 values; `operands` are its dimensions, then its symbols."""
    map = attribute.data
    dims, symbols = operands[: map.num_dims], operands[map.num_dims :]
    return [code.materialize(affine_value(code, result, dims, symbols)) for result in map.results]


class ApplyLowering(LoopsToLLVMPattern):
    """
    ```mlir
    %r = affine.apply affine_map<(d0) -> (d0 * 4 + 1)> (%i)
    // ->
    %four_i = llvm.mul %i, %four : i64
    %r = llvm.add %four_i, %one : i64
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: affine.ApplyOp | affine.MinOp, rewriter: PatternRewriter) -> None:
        """Evaluate the map; `affine.min` is the least of its results."""
        code = self.code_at(op)
        result, *others = map_values(code, op.map, list(op.operands))
        for other in others:
            result = code.make(SMinOp, [result, other])
        rewriter.replace(op, code.ops, [result])


class LoadLowering(LoopsToLLVMPattern):
    """
    ```mlir
    %x = affine.load %m[%i + 1] : memref<8xf32>
    // ->
    %x = memref.load %m[%next] : memref<8xf32>
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: affine.LoadOp, rewriter: PatternRewriter) -> None:
        """Evaluate the map and load at the resulting indices."""
        code = self.code_at(op)
        indices = map_values(code, op.map, list(op.indices))
        code.make(memref.LoadOp, [op.memref, *indices], op.result.type)
        rewriter.replace(op, code.ops)


class StoreLowering(LoopsToLLVMPattern):
    """
    ```mlir
    affine.store %x, %m[%i + 1] : memref<8xf32>
    // ->
    memref.store %x, %m[%next] : memref<8xf32>
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: affine.StoreOp, rewriter: PatternRewriter) -> None:
        """Evaluate the map and store at the resulting indices."""
        code = self.code_at(op)
        indices = map_values(code, op.map, list(op.indices))
        store = memref.StoreOp.create(operands=[op.value, op.memref, *indices])
        rewriter.replace(op, [*code.ops, store], [])


class ForLowering(LoopsToLLVMPattern):
    """
    An `affine.for` whose lower bound is the greatest result of its map, the upper bound the least of its own.

    ```mlir
    affine.for %i = 0 to min affine_map<(d0) -> (d0, 8)>(%n) { … }
    // ->
    scf.for %i = %zero to %least step %one { … }
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: affine.ForOp, rewriter: PatternRewriter) -> None:
        """Evaluate both bounds and move the body into an `scf.for`."""
        code = self.code_at(op)
        lower = self._bound(code, op.lowerBoundMap, list(op.lowerBoundOperands), SMaxOp)
        upper = self._bound(code, op.upperBoundMap, list(op.upperBoundOperands), SMinOp)
        step = code.integer(op.step.value.data)
        body = op.body.block
        if isinstance(last := body.last_op, affine.YieldOp):
            rewriter.replace(last, scf.YieldOp(*last.arguments), [])
        loop = scf.ForOp.create(
            operands=[lower, upper, step, *op.inits],
            result_types=[result.type for result in op.results],
            regions=[rewriter.move_region_contents_to_new_regions(op.body)],
        )
        rewriter.replace(op, [*code.ops, loop], loop.results)

    def _bound(
        self, code: Code, map: AffineMapAttr, operands: Sequence[SSAValue], combine: type[Operation]
    ) -> SSAValue:
        """The greatest or least result of a bound's map, as `combine` says."""
        result, *others = map_values(code, map, operands)
        for other in others:
            result = code.make(combine, [result, other])
        return result
