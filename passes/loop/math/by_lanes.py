"""Functions without a recipe, computed lane by lane, and sin, cos, tan, whose recipe ends at `FARTHEST`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias, cast

from xdsl.dialects import math, scf, vector
from xdsl.dialects.builtin import Float32Type, VectorType, i1
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern
from xdsl.rewriter import InsertPoint

from stepwell.dialects.ir_builder import IRBuilder
from stepwell.passes.loop.math import circular, trigonometric
from stepwell.passes.loop.math.lanes import Lanes
from stepwell.runtime.machine.target import TargetDescription

Transcendental: TypeAlias = (
    math.AcosOp | math.AcoshOp | math.AsinOp | math.AsinhOp | math.AtanOp | math.Atan2Op | math.AtanhOp
    | math.CbrtOp | math.CosOp | math.CoshOp | math.ErfOp | math.Exp2Op | math.ExpM1Op | math.ExpOp
    | math.IPowIOp | math.Log10Op | math.Log1pOp | math.Log2Op | math.LogOp | math.PowFOp | math.SinOp
    | math.SinhOp | math.TanOp | math.TanhOp
)  # fmt: skip
"""Ops of `math` that no target has an instruction for."""


def element_of(type: Attribute) -> Attribute:
    """The type of a scalar, or of a vector's lanes."""
    return cast("VectorType[Attribute]", type).element_type if isinstance(type, VectorType) else type


def lanes_of(value: SSAValue, target: TargetDescription, rewriter: PatternRewriter) -> Lanes:
    """A scalar or a vector of f32 as `Lanes`, with the instructions that the target has."""
    type = value.type
    lane_count = cast("VectorType[Attribute]", type).get_shape()[-1] if isinstance(type, VectorType) else 1
    return Lanes(rewriter, value, scales=target.scales_by_powers(lane_count))


class UnrollLanes(RewritePattern):
    """
    Compute a function without a recipe lane by lane, each a call of the C library (exact: the same call).

    ```mlir
    %y = math.sin %x : vector<2xf32>
    // ->
    %zero = arith.constant dense<0.0> : vector<2xf32>
    %x0 = vector.extract %x[0] : f32 from vector<2xf32>
    %y0 = math.sin %x0 : f32
    %v0 = vector.insert %y0, %zero [0] : f32 into vector<2xf32>
    %x1 = vector.extract %x[1] : f32 from vector<2xf32>
    %y1 = math.sin %x1 : f32
    %y = vector.insert %y1, %v0 [1] : f32 into vector<2xf32>
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: Transcendental, rewriter: PatternRewriter) -> None:
        type = op.results[0].type
        if not isinstance(type, VectorType) or type.get_num_dims() != 1:
            return
        rewriter.replace(op, [], [_by_lanes(op, IRBuilder.on(rewriter))])


def _by_lanes(op: Operation, builder: IRBuilder) -> SSAValue:
    """The vector of an op's scalar results, one for each lane of its operands."""
    type = cast("VectorType[Attribute]", op.results[0].type)
    element, lane_count = type.element_type, type.get_shape()[0]
    result = builder.number(0, type)
    for lane in range(lane_count):
        lanes = [builder.value(vector.ExtractOp(operand, [lane], element)) for operand in op.operands]
        scalar = op.create(operands=lanes, result_types=[element], properties=op.properties)
        result = builder.value(vector.InsertOp(builder.value(scalar), result, [lane]))
    return result


_ANY_ANGLE: dict[type[Operation], Callable[[Lanes], Lanes]] = {
    math.CosOp: circular.cos,
    math.SinOp: circular.sin,
    math.TanOp: circular.tan,
}


@dataclass
class ExpandCircular(RewritePattern):
    """
    Circular functions of any f32 by integers and polynomials (approximate: 2 units in the last place).

    ```mlir
    %y = math.sin %x : f32
    // ->
    %bits = arith.bitcast %x : f32 to i32
    …
    %y = arith.select %infinite, %nan, %signed : f32
    ```
    """

    target: TargetDescription

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: math.SinOp | math.CosOp | math.TanOp, rewriter: PatternRewriter) -> None:
        if isinstance(element_of(op.result.type), Float32Type):
            result = _ANY_ANGLE[op.__class__](lanes_of(op.operand, self.target, rewriter))
            rewriter.replace(op, [], [result.value])


_PERIODIC: dict[type[Operation], Callable[[Lanes], Lanes]] = {
    math.CosOp: trigonometric.cos,
    math.SinOp: trigonometric.sin,
    math.TanOp: trigonometric.tan,
}


@dataclass
class ExpandPeriodic(RewritePattern):
    """
    Circular functions as polynomials (approximate: 2 units in the last place), for vectors of f32 whose lanes
    are all near enough; the C library's otherwise.

    ```mlir
    %y = math.sin %x : vector<16xf32>
    // ->
    %near = arith.select %straight, %x, %polynomial : vector<16xi1>, vector<16xf32>
    %far = arith.cmpf ogt, %size, %farthest : vector<16xf32>
    %any = vector.reduction <or>, %far : vector<16xi1> into i1
    %y = scf.if %any -> (vector<16xf32>) {
      … lane by lane
    } else {
      scf.yield %near : vector<16xf32>
    }
    ```
    """

    target: TargetDescription

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: math.SinOp | math.CosOp | math.TanOp, rewriter: PatternRewriter) -> None:
        type = op.result.type
        if not isinstance(type, VectorType) or type.get_num_dims() != 1 or not self.target.has_fma:
            return
        if not isinstance(element_of(type), Float32Type):
            return
        # The polynomial for all lanes, and whether any lane is too far for it.
        x = lanes_of(op.operand, self.target, rewriter)
        near = _PERIODIC[op.__class__](x).value
        far = x.absolute().compare("ogt", trigonometric.FARTHEST).value
        kind = vector.CombiningKindAttr(vector.CombiningKindFlag.OR)
        any_far = vector.ReductionOp.create(operands=[far], result_types=[i1], properties={"kind": kind})
        rewriter.insert(any_far)
        # `scf.if`: calls of the C library for each lane, else the polynomial.
        exact, simple = Block(), Block([scf.YieldOp(near)])
        inside = IRBuilder.on(rewriter, at=InsertPoint.at_end(exact))
        inside.insert(scf.YieldOp(_by_lanes(op, inside)))
        rewriter.replace(op, scf.IfOp(any_far.results[0], [type], Region(exact), Region(simple)))
