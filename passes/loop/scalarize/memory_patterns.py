"""Patterns of `scalarize-vectors` for memory: a load or store of each lane that is inside and not masked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects import arith, memref, scf, vector
from xdsl.dialects.builtin import ArrayAttr, IntegerAttr
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineMap
from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern

from stepwell.dialects.ir_builder import INDEX, IRBuilder
from stepwell.passes.loop.scalarize.scalar_lanes import LanePattern
from stepwell.runtime.errors import StepwellError


class _MemoryPattern(LanePattern):
    """A pattern that reads or writes each lane at its own index."""

    def read(
        self,
        base: SSAValue,
        indices: Sequence[SSAValue],
        count: int,
        conditions: Sequence[SSAValue] | None,
        others: Sequence[SSAValue],
    ) -> list[SSAValue]:
        """A load for each lane; where its condition does not hold, a value of `others`."""
        build = self.lanes.builder
        found: list[SSAValue] = []
        for lane in range(count):
            place = _at_lane(build, indices, lane)
            if conditions is None:
                found.append(build.value(memref.LoadOp.get(base, place)))
                continue
            inside, outside = Block(), Block([scf.YieldOp(others[lane])])
            load = memref.LoadOp.get(base, place)
            inside.add_ops([load, scf.YieldOp(load.res)])
            branch = scf.IfOp(conditions[lane], [load.res.type], Region(inside), Region(outside))
            found.append(build.value(branch))
        return found

    def write(
        self,
        values: Sequence[SSAValue],
        base: SSAValue,
        indices: Sequence[SSAValue],
        conditions: Sequence[SSAValue] | None,
    ) -> None:
        """A store of each lane whose condition holds."""
        build = self.lanes.builder
        for lane, value in enumerate(values):
            store = memref.StoreOp.get(value, base, _at_lane(build, indices, lane))
            if conditions is None:
                build.insert(store)
            else:
                build.insert(scf.IfOp(conditions[lane], [], Region(Block([store, scf.YieldOp()])), Region()))

    def conditions(
        self, op: vector.TransferReadOp | vector.TransferWriteOp, count: int
    ) -> list[SSAValue] | None:
        """The condition of each lane of a transfer; None where all lanes are inside and unmasked."""
        build = self.lanes.builder
        mask = None if op.mask is None else self.lanes.pieces(op.mask)
        flags = cast("ArrayAttr[IntegerAttr]", op.in_bounds)
        if all(flag.value.data for flag in flags):
            return mask
        last = len(op.indices) - 1
        size = build.value(memref.DimOp(op.source, build.number(last, INDEX)))
        place = [_at_lane(build, op.indices, lane)[-1] for lane in range(count)]
        inside = [build.compare("slt", index, size) for index in place]
        if mask is None:
            return inside
        return [build.value(arith.AndIOp(a, b)) for a, b in zip(inside, mask, strict=True)]


def _at_lane(build: IRBuilder, indices: Sequence[SSAValue], lane: int) -> list[SSAValue]:
    """The indices of a lane: it runs along the last dimension."""
    *rest, last = indices
    return [*rest, build.materialize(build.plus(last, lane))]


def _is_along_last(op: Operation, map: AffineMap) -> bool:
    """Whether lanes run along the last dimension; False where all are one element."""
    match map.results:
        case (AffineConstantExpr(),):
            return False
        case (AffineDimExpr(position=position),) if position == map.num_dims - 1:
            return True
        case _:
            help = "run unroll-vectors first: it leaves vectors of one dimension"
            raise StepwellError("unsupported", op, f"{op.name} along another dimension", help=help)


class ScalarRead(_MemoryPattern):
    """
    A load for each lane of a `transfer_read`, or one for all.

    ```mlir
    %v = vector.transfer_read %m[%i], %p {in_bounds = [true]} : memref<8xf32>, vector<1xf32>
    %y = vector.extract %v[0] : f32 from vector<1xf32>
    %z = arith.negf %y : f32
    // ->
    %y = memref.load %m[%i] : memref<8xf32>
    %z = arith.negf %y : f32
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: vector.TransferReadOp, rewriter: PatternRewriter) -> None:
        count = len(self.lanes.types(op.result))
        if not _is_along_last(op, op.permutation_map.data):
            element = self.lanes.builder.value(memref.LoadOp.get(op.source, list(op.indices)))
            self.lanes.replace(op, [element] * count)
            return
        conditions = self.conditions(op, count)
        self.lanes.replace(op, self.read(op.source, op.indices, count, conditions, [op.padding] * count))


class ScalarWrite(_MemoryPattern):
    """
    A store of each lane of a `transfer_write`.

    ```mlir
    %v = vector.broadcast %s : f32 to vector<1xf32>
    vector.transfer_write %v, %m[%i] {in_bounds = [true]} : vector<1xf32>, memref<8xf32>
    // ->
    memref.store %s, %m[%i] : memref<8xf32>
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: vector.TransferWriteOp, rewriter: PatternRewriter) -> None:
        values = self.lanes.pieces(op.vector)
        if not _is_along_last(op, op.permutation_map.data):
            raise StepwellError("unsupported", op, f"{op.name} of lanes that are all written to one element")
        self.write(values, op.source, op.indices, self.conditions(op, len(values)))
        self.lanes.replace(op)


class ScalarLoad(_MemoryPattern):
    """
    A load for each lane, of those that the mask has set.

    ```mlir
    %v = vector.load %m[%i] : memref<8xf32>, vector<1xf32>
    %y = vector.extract %v[0] : f32 from vector<1xf32>
    %z = arith.negf %y : f32
    // ->
    %y = memref.load %m[%i] : memref<8xf32>
    %z = arith.negf %y : f32
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: vector.LoadOp | vector.MaskedLoadOp, rewriter: PatternRewriter) -> None:
        count = len(self.lanes.types(op.results[0]))
        masked = isinstance(op, vector.MaskedLoadOp)
        mask = self.lanes.pieces(op.mask) if masked else None
        others = self.lanes.pieces(op.pass_thru) if masked else []
        self.lanes.replace(op, self.read(op.base, op.indices, count, mask, others))


class ScalarStore(_MemoryPattern):
    """
    A store of each lane, of those that the mask has set.

    ```mlir
    %v = vector.broadcast %s : f32 to vector<1xf32>
    vector.store %v, %m[%i] : memref<8xf32>, vector<1xf32>
    // ->
    memref.store %s, %m[%i] : memref<8xf32>
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: vector.StoreOp | vector.MaskedStoreOp, rewriter: PatternRewriter) -> None:
        masked = isinstance(op, vector.MaskedStoreOp)
        stored = op.value_to_store if masked else op.vector
        mask = self.lanes.pieces(op.mask) if masked else None
        self.write(self.lanes.pieces(stored), op.base, op.indices, mask)
        self.lanes.replace(op)
