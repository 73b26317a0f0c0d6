"""`vector` → `llvm` for ops in registers: vectors of one dimension, each in one register or a few."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import cast

from xdsl.dialects import llvm, math, vector
from xdsl.dialects.builtin import (
    BFloat16Type,
    DenseArrayBase,
    Float64Type,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    VectorType,
    i16,
)
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern

from stepwell.dialects.ir_builder import number_attr
from stepwell.dialects.llvm import instructions, intrinsics
from stepwell.dialects.vector import ShapeCastOp
from stepwell.lowering.loops_to_llvm.code import Code
from stepwell.lowering.loops_to_llvm.half import element_of_lane, is_soft, like, narrowed, widened
from stepwell.lowering.loops_to_llvm.odd_lanes import extracted, inserted
from stepwell.lowering.loops_to_llvm.pattern import LoopsToLLVMPattern
from stepwell.lowering.loops_to_llvm.state import I32, Extent, converted_type, has_odd_lanes
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.machine.target import TargetDescription

_REASSOCIATE = llvm.FastMathAttr([FastMathFlag.REASSOC])
_EITHER_ZERO = llvm.FastMathAttr([FastMathFlag.NO_SIGNED_ZEROS])
_EITHER_ZERO_NO_NAN = llvm.FastMathAttr([FastMathFlag.NO_NANS, FastMathFlag.NO_SIGNED_ZEROS])
_NO_FAST_MATH = llvm.FastMathAttr(None)


def broadcast(code: Code, value: SSAValue, type: Attribute) -> SSAValue:
    """A scalar in every lane; a constant becomes a constant vector."""
    match value.owner:
        case llvm.ConstantOp(value=FloatAttr(value=number) | IntegerAttr(value=number)):
            return code.make(llvm.ConstantOp, [], type, {"value": number_attr(number.data, type)})
        case _:
            pass
    first = first_lane(code, value, type)
    return code.make(
        llvm.ShuffleVectorOp, [first, code.poison(type)], type, {"mask": _zeros(lane_count(type))}
    )


def first_lane(code: Code, value: SSAValue, type: Attribute) -> SSAValue:
    """A vector whose first lane is a scalar and whose other lanes are undefined."""
    return code.make(llvm.InsertElementOp, [code.poison(type), value, code.integer(0)], type)


@cache
def _zeros(lanes: int) -> DenseArrayBase[IntegerType]:
    """A shuffle mask that selects lane 0 for all lanes."""
    return DenseArrayBase.from_list(I32, [0] * lanes)


def lane_count(type: Attribute) -> int:
    """The number of lanes of a vector."""
    return cast("VectorType[Attribute]", type).get_shape()[0]


class BroadcastLowering(LoopsToLLVMPattern):
    """
    ```mlir
    %v = vector.broadcast %x : f32 to vector<16xf32>
    // ->
    %first = llvm.insertelement %x, %poison[%zero : i64] : vector<16xf32>
    %v = llvm.shufflevector %first, %poison [0, 0, …] : vector<16xf32>
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: vector.BroadcastOp, rewriter: PatternRewriter) -> None:
        """Shuffle the scalar, or the only lane of a vector, into all lanes."""
        code, source, type = self.code_at(op), op.source, converted_type(op.vector.type)
        if source.type == type:
            result = source
        else:
            if has_odd_lanes(source.type):
                source = extracted(code, source, code.integer(0))
            elif source.type.__class__ is VectorType:
                element = element_of_lane(source.type)
                source = code.make(instructions.ExtractElementOp, [source, code.integer(0)], element)
            result = broadcast(code, source, type)
        rewriter.replace(op, code.ops, [result])


class FmaLowering(LoopsToLLVMPattern):
    """
    A multiply-add, fused on targets with the instruction; elsewhere LLVM would call the C library.

    ```mlir
    %r = math.fma %a, %b, %c : f32
    // ->
    %r = llvm.intr.fma(%a, %b, %c) : (f32, f32, f32) -> f32
    ```

    ```mlir
    %r = vector.fma %a, %b, %c : vector<16xf32>
    // ->
    %r = llvm.intr.fma(%a, %b, %c) : (vector<16xf32>, vector<16xf32>, vector<16xf32>) -> vector<16xf32>
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: math.FmaOp | vector.FMAOp, rewriter: PatternRewriter) -> None:
        """Emit the fused op or `fmuladd`, by target."""
        target, type = self.state.target, op.operands[0].type
        if not is_soft(type, target):
            self.become(op, _fused(target, type), rewriter, {"fastmathFlags": _NO_FAST_MATH})
            return
        code = self.code_at(op)
        result = fused_multiply_add(code, list(op.operands))
        rewriter.replace(op, code.ops, [result])


def fused_multiply_add(code: Code, operands: Sequence[SSAValue]) -> SSAValue:
    """a * b + c for scalars and vectors, fused if the target has the instruction."""
    type, wide = operands[0].type, [widened(code, v) for v in operands]
    op_class = _fused(code.state.target, type)
    result = code.make(op_class, wide, properties={"fastmathFlags": _NO_FAST_MATH})
    return narrowed(code, result, type)


def _fused(target: TargetDescription, type: Attribute) -> type[Operation]:
    """The op of a multiply-add on numbers of a type, fused if the target has the instruction."""
    fuses = target.has_fma and (target.has_double or not isinstance(element_of_lane(type), Float64Type))
    return llvm.FMAOp if fuses else intrinsics.FMulAddOp


class ExtractLowering(LoopsToLLVMPattern):
    """
    ```mlir
    %x = vector.extract %v[3] : f32 from vector<16xf32>
    // ->
    %x = llvm.extractelement %v[%three : i64] : vector<16xf32>
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: vector.ExtractOp, rewriter: PatternRewriter) -> None:
        """Extract a lane at a constant or computed position."""
        code = self.code_at(op)
        position = _position(op, code, op.get_mixed_position())
        if has_odd_lanes(op.vector.type):
            result = extracted(code, op.vector, position)
        else:
            type = converted_type(op.result.type)
            result = code.make(instructions.ExtractElementOp, [op.vector, position], type)
        rewriter.replace(op, code.ops, [result])


class InsertLowering(LoopsToLLVMPattern):
    """
    ```mlir
    %w = vector.insert %x, %v [3] : f32 into vector<16xf32>
    // ->
    %w = llvm.insertelement %x, %v[%three : i64] : vector<16xf32>
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: vector.InsertOp, rewriter: PatternRewriter) -> None:
        """Insert a scalar at a constant or computed position."""
        code = self.code_at(op)
        position = _position(op, code, op.get_mixed_position())
        if has_odd_lanes(op.dest.type):
            result = inserted(code, op.source, op.dest, position)
        else:
            type = converted_type(op.result.type)
            result = code.make(llvm.InsertElementOp, [op.dest, op.source, position], type)
        rewriter.replace(op, code.ops, [result])


def _position(op: Operation, code: Code, positions: Sequence[Extent]) -> SSAValue:
    """
    The position of a lane in a vector of one dimension.

    Raises: StepwellError `unsupported` for several dimensions.
    """
    if len(positions) != 1:
        raise StepwellError(
            "unsupported",
            op,
            f"{op.name} in a vector of several dimensions",
            help="run unroll-vectors first: machine code has vectors of one dimension",
        )
    return code.materialize(positions[0])


class ShuffleLowering(LoopsToLLVMPattern):
    """
    ```mlir
    %r = vector.shuffle %a, %b [0, 4, 1, 5] : vector<4xf32>, vector<4xf32>
    // ->
    %r = llvm.shufflevector %a, %b [0, 4, 1, 5] : vector<4xf32>
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: vector.ShuffleOp, rewriter: PatternRewriter) -> None:
        """Shuffle lanes by a constant mask."""
        code = self.code_at(op)
        lanes = [int(lane) for lane in cast("DenseArrayBase[IntegerType]", op.mask).get_values()]
        mask, type = DenseArrayBase.from_list(I32, lanes), converted_type(op.result.type)
        sources: list[SSAValue] = [op.v1, op.v2]
        if not isinstance(element_of_lane(type), BFloat16Type):
            code.make(llvm.ShuffleVectorOp, sources, type, {"mask": mask})
        else:  # LLVM fails on shuffles of some odd numbers of bf16 lanes: they are shuffled as i16
            bits = [code.make(llvm.BitcastOp, [v], like(v.type, i16)) for v in sources]
            moved = code.make(llvm.ShuffleVectorOp, bits, like(type, i16), {"mask": mask})
            code.make(llvm.BitcastOp, [moved], type)
        rewriter.replace(op, code.ops)


class CastLowering(LoopsToLLVMPattern):
    """
    ```mlir
    %r = vector.bitcast %v : vector<16xf32> to vector<16xi32>
    // ->
    %r = llvm.bitcast %v : vector<16xf32> to vector<16xi32>
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: vector.BitcastOp | ShapeCastOp, rewriter: PatternRewriter) -> None:
        """Reinterpret a vector's bits; casts of shape only are removed."""
        source, type = op.operands[0], converted_type(op.results[0].type)
        if source.type == type:
            rewriter.replace(op, [], [source])
            return
        rewriter.replace(op, llvm.BitcastOp.create(operands=[source], result_types=[type]))


_REDUCTIONS: dict[str, type[Operation]] = {
    "mul": intrinsics.VectorReduceMulOp,
    "and": intrinsics.VectorReduceAndOp,
    "or": intrinsics.VectorReduceOrOp,
    "xor": intrinsics.VectorReduceXorOp,
    "minsi": intrinsics.VectorReduceSMinOp,
    "maxsi": intrinsics.VectorReduceSMaxOp,
    "minui": intrinsics.VectorReduceUMinOp,
    "maxui": intrinsics.VectorReduceUMaxOp,
    "minnumf": intrinsics.VectorReduceFMinOp,
    "maxnumf": intrinsics.VectorReduceFMaxOp,
    "minimumf": intrinsics.VectorReduceFMinimumOp,
    "maximumf": intrinsics.VectorReduceFMaximumOp,
}
# The op that combines an accumulator with the reduced lanes, where it is not an operand of the intrinsic.
_COMBINE: dict[str, type[Operation]] = {
    "add": llvm.AddOp,
    "mul": llvm.MulOp,
    "and": llvm.AndOp,
    "or": llvm.OrOp,
    "xor": llvm.XOrOp,
    "minsi": intrinsics.SMinOp,
    "maxsi": intrinsics.SMaxOp,
    "minui": intrinsics.UMinOp,
    "maxui": intrinsics.UMaxOp,
    "minnumf": llvm.VectorFMinOp,
    "maxnumf": llvm.VectorFMaxOp,
    "minimumf": intrinsics.MinimumOp,
    "maximumf": intrinsics.MaximumOp,
}
_FLOAT_SUMS: dict[str, tuple[type[Operation], float]] = {
    "add": (llvm.VectorReduceFAddOp, -0.0),
    "mul": (llvm.VectorReduceFMulOp, 1.0),
}


class ReductionLowering(LoopsToLLVMPattern):
    """
    A reduction of all lanes to a scalar.

    Sums of floats are reassociated to pairwise sums: in order, each would wait for the one before. Extrema
    with `fastmath<nnan>` skip the check for NaN.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: vector.ReductionOp, rewriter: PatternRewriter) -> None:
        """Emit the reduction intrinsic of the op's kind and combine it with the accumulator."""
        code, kind = self.code_at(op), op.kind.data.value
        lanes = widened(code, op.vector)
        acc = None if op.acc is None else widened(code, op.acc)
        element = element_of_lane(lanes.type)
        if element.__class__ is IntegerType:
            result = code.make(_REDUCTIONS.get(kind, intrinsics.VectorReduceAddOp), [lanes], element)
            result = result if acc is None else code.make(_COMBINE[kind], [acc, result])
        elif kind in _FLOAT_SUMS:
            reduce, neutral = _FLOAT_SUMS[kind]
            if acc is None:
                acc = code.make(llvm.ConstantOp, [], element, {"value": number_attr(neutral, element)})
            result = code.make(reduce, [acc, lanes], element, {"fastmathFlags": _REASSOCIATE})
        else:
            numbers = FastMathFlag.NO_NANS in op.fastmath.data
            flags = {"fastmathFlags": _EITHER_ZERO_NO_NAN if numbers else _EITHER_ZERO}
            result = code.make(_REDUCTIONS[kind], [lanes], element, flags)
            if acc is not None:
                result = code.make(_COMBINE[kind], [acc, result], None, flags)
        rewriter.replace(op, code.ops, [narrowed(code, result, op.dest.type)])
