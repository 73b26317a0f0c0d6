"""Patterns of `scalarize-vectors` for ops in registers: a scalar op for each lane, or none."""

from __future__ import annotations

from typing import cast

from xdsl.dialects import arith, math, scf, vector
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    IntegerType,
    VectorType,
)
from xdsl.ir import Operation, Region, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern

from stepwell.dialects.ir_builder import INDEX, number_attr
from stepwell.dialects.tensor_ir.combiners import combined
from stepwell.dialects.vector import ShapeCastOp
from stepwell.passes.loop.scalarize.scalar_lanes import LanePattern
from stepwell.runtime.errors import StepwellError


class ScalarBroadcast(LanePattern):
    """
    The scalar itself in every lane.

    ```mlir
    %v = vector.broadcast %s : f32 to vector<2xf32>
    %y = vector.extract %v[1] : f32 from vector<2xf32>
    %z = arith.negf %y : f32
    // ->
    %z = arith.negf %s : f32
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: vector.BroadcastOp, rewriter: PatternRewriter) -> None:
        count = len(self.lanes.types(op.vector))
        values = [op.source]
        if isinstance(op.source.type, VectorType):
            values = self.lanes.pieces(op.source)
        self.lanes.replace(op, list(values) if len(values) == count else values * count)


class ScalarConstants(LanePattern):
    """
    A constant for each lane.

    ```mlir
    %v = arith.constant dense<[1.0, 2.0]> : vector<2xf32>
    %y = vector.extract %v[1] : f32 from vector<2xf32>
    %z = arith.negf %y : f32
    // ->
    %c = arith.constant 2.0 : f32
    %z = arith.negf %c : f32
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: arith.ConstantOp, rewriter: PatternRewriter) -> None:
        if not isinstance(op.result.type, VectorType) or not isinstance(op.value, DenseIntOrFPElementsAttr):
            return
        types, numbers = self.lanes.types(op.result), cast("tuple[float, ...]", op.value.get_values())
        numbers = numbers if len(numbers) == len(types) else numbers * len(types)
        attributes = [number_attr(number, type) for number, type in zip(numbers, types, strict=True)]
        self.lanes.replace(
            op, [self.lanes.builder.constant(a, t) for a, t in zip(attributes, types, strict=True)]
        )


class ScalarElementwise(LanePattern):
    """
    An elementwise op for each lane.

    ```mlir
    %v = vector.broadcast %s : f32 to vector<1xf32>
    %w = arith.addf %v, %v : vector<1xf32>
    %y = vector.extract %w[0] : f32 from vector<1xf32>
    %z = arith.negf %y : f32
    // ->
    %y = arith.addf %s, %s : f32
    %z = arith.negf %y : f32
    ```
    """

    takes = (Operation,)

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        lanes = self.lanes
        is_vector = any(lanes.is_split(result.type) for result in op.results)
        if not is_vector or not op.name.startswith(("arith.", "math.", "vector.fma")) or not op.operands:
            return
        op_type = math.FmaOp if isinstance(op, vector.FMAOp) else type(op)
        pieces = [lanes.pieces(v) if lanes.is_split(v.type) else None for v in op.operands]
        results: list[SSAValue] = []
        for lane, type_ in enumerate(lanes.types(op.results[0])):
            operands = [v if p is None else p[lane] for v, p in zip(op.operands, pieces, strict=True)]
            properties = {} if op_type is math.FmaOp else op.properties.copy()
            if op_type is math.FmaOp:
                properties["fastmath"] = op.properties.get("fastmath", arith.FastMathFlagsAttr("none"))
            results.append(
                lanes.builder.value(
                    op_type.create(
                        operands=operands,
                        result_types=[type_],
                        properties=properties,
                        attributes=op.attributes.copy(),
                    )
                )
            )
        lanes.replace(op, results)


class ScalarExtract(LanePattern):
    """
    A lane; at a position that is computed, a choice among all.

    ```mlir
    %v = vector.broadcast %s : f32 to vector<2xf32>
    %w = vector.insert %x, %v [1] : f32 into vector<2xf32>
    %y = vector.extract %w[1] : f32 from vector<2xf32>
    %z = arith.negf %y : f32
    // ->
    %z = arith.negf %x : f32
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: vector.ExtractOp, rewriter: PatternRewriter) -> None:
        pieces, build = self.lanes.pieces(op.vector), self.lanes.builder
        position = _position(op, op.static_position, op.dynamic_position)
        if isinstance(position, int):
            self.lanes.replace(op, pieces[position])
            return
        found = pieces[0]
        for lane, piece in enumerate(pieces[1:], 1):
            here = build.compare("eq", position, build.number(lane, INDEX))
            found = build.value(arith.SelectOp(here, piece, found))
        self.lanes.replace(op, found)


class ScalarInsert(LanePattern):
    """
    The other lanes, and a value in the place of one; at a position that is computed, a choice in each.

    ```mlir
    %v = vector.broadcast %s : f32 to vector<2xf32>
    %w = vector.insert %x, %v [0] : f32 into vector<2xf32>
    %y = vector.extract %w[1] : f32 from vector<2xf32>
    %z = arith.negf %y : f32
    // ->
    %z = arith.negf %s : f32
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: vector.InsertOp, rewriter: PatternRewriter) -> None:
        pieces, build = list(self.lanes.pieces(op.dest)), self.lanes.builder
        position = _position(op, op.static_position, op.dynamic_position)
        if isinstance(position, int):
            pieces[position] = op.source
        else:
            for lane, piece in enumerate(pieces):
                here = build.compare("eq", position, build.number(lane, INDEX))
                pieces[lane] = build.value(arith.SelectOp(here, op.source, piece))
        self.lanes.replace(op, pieces)


def _position(
    op: Operation, static: DenseArrayBase[IntegerType], dynamic: tuple[SSAValue, ...]
) -> int | SSAValue:
    """The only position of an op. Raises: StepwellError `unsupported` for several."""
    numbers = static.get_values()
    if len(numbers) != 1:
        help = "run unroll-vectors first: it leaves vectors of one dimension"
        raise StepwellError("unsupported", op, f"{op.name} in a vector of several dimensions", help=help)
    return dynamic[0] if numbers[0] == DYNAMIC_INDEX else int(numbers[0])


class ScalarShuffle(LanePattern):
    """
    Lanes in another order.

    ```mlir
    %v = arith.constant dense<[1.0, 2.0]> : vector<2xf32>
    %w = vector.shuffle %v, %v [1, 0] : vector<2xf32>, vector<2xf32>
    %y = vector.extract %w[0] : f32 from vector<2xf32>
    %z = arith.negf %y : f32
    // ->
    %c = arith.constant 2.0 : f32
    %z = arith.negf %c : f32
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: vector.ShuffleOp, rewriter: PatternRewriter) -> None:
        both = [*self.lanes.pieces(op.v1), *self.lanes.pieces(op.v2)]
        mask = cast("DenseArrayBase[IntegerType]", op.mask).get_values()
        self.lanes.replace(op, [both[int(lane)] for lane in mask])


class ScalarCast(LanePattern):
    """
    The bits of each lane as another type; a cast of the shape alone is nothing.

    ```mlir
    %v = vector.broadcast %s : f32 to vector<1xf32>
    %w = vector.bitcast %v : vector<1xf32> to vector<1xi32>
    %y = vector.extract %w[0] : i32 from vector<1xi32>
    %z = arith.addi %y, %y : i32
    // ->
    %y = arith.bitcast %s : f32 to i32
    %z = arith.addi %y, %y : i32
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: vector.BitcastOp | ShapeCastOp, rewriter: PatternRewriter) -> None:
        source, result = op.operands[0], op.results[0]
        if len(source_types := self.lanes.types(source)) != len(types := self.lanes.types(result)):
            message = f"{op.name} of {source.type} to {result.type}: lanes would be cut or joined"
            raise StepwellError("unsupported", op, message)
        pieces = self.lanes.pieces(source)
        if source_types != types:
            build = self.lanes.builder
            casts = [
                arith.BitcastOp.create(operands=[piece], result_types=[type])
                for piece, type in zip(pieces, types, strict=True)
            ]
            pieces = [build.value(cast) for cast in casts]
        self.lanes.replace(op, list(pieces))


class ScalarReduction(LanePattern):
    """
    Lanes combined one after the other (rounding: sums of floats may have been in pairs).

    ```mlir
    %v = vector.broadcast %s : f32 to vector<1xf32>
    %w = vector.insert %x, %v [0] : f32 into vector<1xf32>
    %y = vector.reduction <add>, %w, %s : vector<1xf32> into f32
    // ->
    %y = arith.addf %s, %x : f32
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: vector.ReductionOp, rewriter: PatternRewriter) -> None:
        values = list(self.lanes.pieces(op.vector))
        result, *others = values if op.acc is None else [op.acc, *values]
        for other in others:
            result = combined(self.lanes.builder, op.kind.data, result, other)
        self.lanes.replace(op, result)


class ScalarMask(LanePattern):
    """
    A comparison for each lane.

    ```mlir
    %m = vector.create_mask %n : vector<2xi1>
    %y = vector.extract %m[1] : i1 from vector<2xi1>
    %z = arith.select %y, %s, %x : f32
    // ->
    %c0 = arith.constant 0 : index
    %unused = arith.cmpi slt, %c0, %n : index
    %c1 = arith.constant 1 : index
    %y = arith.cmpi slt, %c1, %n : index
    %z = arith.select %y, %s, %x : f32
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: vector.CreateMaskOp, rewriter: PatternRewriter) -> None:
        build, count = self.lanes.builder, len(self.lanes.types(op.mask_vector))
        (size,) = op.mask_dim_sizes
        self.lanes.replace(
            op, [build.compare("slt", build.number(lane, INDEX), size) for lane in range(count)]
        )


class ScalarIf(LanePattern):
    """
    A branch whose results are lanes.

    ```mlir
    %r = scf.if %c -> (vector<1xf32>) {
      %v = vector.broadcast %s : f32 to vector<1xf32>
      scf.yield %v : vector<1xf32>
    } else {
      %w = vector.broadcast %x : f32 to vector<1xf32>
      scf.yield %w : vector<1xf32>
    }
    %y = vector.extract %r[0] : f32 from vector<1xf32>
    %z = arith.negf %y : f32
    // ->
    %y = scf.if %c -> (f32) { scf.yield %s : f32 } else { scf.yield %x : f32 }
    %z = arith.negf %y : f32
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: scf.IfOp, rewriter: PatternRewriter) -> None:
        lanes = self.lanes
        if not any(lanes.is_split(result.type) for result in op.results):
            return
        for region in op.regions:
            for block in region.blocks:
                lanes.convert_block(block)
        types = [lanes.types(r) if lanes.is_split(r.type) else [r.type] for r in op.results]
        branch = scf.IfOp(
            op.cond, [type for each in types for type in each], op.detach_region(0), _last_region(op)
        )
        lanes.builder.insert(branch)
        lanes.replace(op, *lanes.collected(op.results, branch.results, map(len, types)))


def _last_region(op: Operation) -> Region:
    """The last region of an op, detached from it."""
    return op.detach_region(len(op.regions) - 1)


class EnterRegions(LanePattern):
    """The bodies of an op that neither carries nor returns vectors are converted; the op stays."""

    takes = (Operation,)

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        if not op.regions:
            return
        split = [v for v in (*op.operands, *op.results) if self.lanes.is_split(v.type)]
        if split:
            message = f"{op.name} carries {split[0].type}, which has no form on scalars there"
            raise StepwellError("unsupported", op, message)
        for region in op.regions:
            for block in region.blocks:
                self.lanes.convert_block(block)
        rewriter.has_done_action = True
