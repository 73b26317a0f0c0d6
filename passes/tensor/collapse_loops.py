"""Merge loops that walk all their operands together, so that rows are long and loops are few."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from xdsl.context import Context
from xdsl.dialects import tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineExpr, AffineMap

from stepwell.dialects.ir_builder import Constants, IRBuilder
from stepwell.dialects.sched import SCHEDULE
from stepwell.dialects.sched_kernel import is_kernel
from stepwell.dialects.tensor_ir.dead import erase_dead
from stepwell.dialects.tensor_ir.reshapes import collapse, expand
from stepwell.dialects.tensor_ir.rewrites.merge_loops import (
    merged_map,
    merged_position,
    rebuilt,
    runs,
    uses_index,
)
from stepwell.dialects.tensor_ir.sizes import size_of
from stepwell.dialects.tensor_ir.structured import Structured, dims_by_result, single_dim, tensor_shape
from stepwell.passes.tensor.scheduling_pass import SchedulingPass

_RESHAPES = (tensor.CollapseShapeOp, tensor.ExpandShapeOp)
# Users for which a merged result is expanded to its own shape again.
_BOUNDARY = (ReturnOp, *_RESHAPES)


class CollapseLoopsPass(SchedulingPass):
    """
    Merge neighbouring loops that are neighbouring dimensions wherever they appear.

    ```mlir
    %1 = linalg.generic {… (d0, d1, d2) -> (d0, d1, d2), (d0, d1, d2) -> (d0), …}
         ins(%x, %b : tensor<4x7x7xf32>, tensor<4xf32>) outs(%0 : tensor<4x7x7xf32>) …
    // ->
    %y = tensor.collapse_shape %x [[0], [1, 2]] : tensor<4x7x7xf32> into tensor<4x49xf32>
    %1 = linalg.generic {… (d0, d1) -> (d0, d1), (d0, d1) -> (d0), …} ins(%y, %b : …) outs(…) …
    %2 = tensor.expand_shape %1 [[0], [1, 2]] output_shape [4, 7, 7] : tensor<4x49xf32> into tensor<4x7x7xf32>
    ```
    All ops of a kernel agree on it, so reshapes occur only at its inputs and results, as views. A window of
    one point counts as none: the pixels of a 1x1 convolution are one loop. A static loop inside of an open
    one stays, as its vectors need no rest. Kernels with schedules stay as they are.
    """

    name = "collapse-loops"

    def apply_to_function(self, ctx: Context, func: FuncOp) -> None:
        if not is_kernel(func) or any(SCHEDULE in op.attributes for op in func.body.block.ops):
            return
        ops = [_Op.of(view) for op in func.body.block.ops if (view := Structured.of(op)) is not None]
        joined = _joined_dims(ops)
        if any(joined.values()):
            _Rewriter(joined, Constants(func)).run(func, ops)
            erase_dead(func)


@dataclass(frozen=True, eq=False)
class _Op:
    """A structured op with maps in which loops of one iteration move nothing."""

    view: Structured
    maps: tuple[AffineMap, ...]

    @staticmethod
    def of(view: Structured) -> _Op:
        operands = zip(view.op.operands, view.maps, strict=True)
        return _Op(view, tuple(_without_unit_loops(v, map, view) for v, map in operands))

    @cached_property
    def operands(self) -> list[tuple[SSAValue, AffineMap]]:
        """The tensors with their maps, results included."""
        pairs = [
            *zip(self.view.op.operands, self.maps, strict=True),
            *zip(self.view.op.results, self.maps[len(self.view.inputs) :], strict=True),
        ]
        return [(v, m) for v, m in pairs if isinstance(v.type, TensorType)]

    @cached_property
    def loops(self) -> list[tuple[SSAValue, list[int | None]]]:
        """The tensors with the loop of each dimension, None where that is not a single loop."""
        return [(value, [single_dim(e) for e in map.results]) for value, map in self.operands]

    @cached_property
    def pairs(self) -> dict[int, list[tuple[SSAValue, int | None]]]:
        """Maps each loop that can merge with the next one to its positions in the operands of both loops."""
        view = self.view
        used = [(value, map, dims_by_result(map)) for value, map in self.operands]
        return {
            dim: [
                (value, merged_position(map, dims, dim))
                for value, map, dims in used
                if any(dim in each or dim + 1 in each for each in dims)
            ]
            for dim in range(view.rank - 1)
            if view.parallel[dim] == view.parallel[dim + 1]
            and _may_join(*view.extents[dim : dim + 2])
            and not uses_index(view, dim)
        }

    def joined(self, joined: Mapping[SSAValue, set[int]]) -> set[int]:
        """The loops that are together with the next one in every operand, or in none."""
        return {
            dim
            for dim, pairs in self.pairs.items()
            if all(position in joined[value] for value, position in pairs)
        }


def _may_join(outer: int | None, inner: int | None) -> bool:
    """Whether a loop of two extents is worth more than two loops: where its length is no less known."""
    return inner is None or outer is not None


def _without_unit_loops(value: SSAValue, map: AffineMap, view: Structured) -> AffineMap:
    zero = AffineConstantExpr(0)
    dims: list[AffineExpr] = [zero if n == 1 else AffineDimExpr(d) for d, n in enumerate(view.extents)]
    results = list(map.results)
    for position, index in enumerate(map.results):
        if single_dim(index) is None:
            moved = index.replace_dims_and_symbols(dims, [])
            loop = single_dim(moved)
            # The single window of a longer dimension keeps its index: a loop alone would reach all of it.
            if loop is None or _is_extent(view, loop, value, position):
                results[position] = moved
    return AffineMap(map.num_dims, 0, tuple(results))


def _is_extent(view: Structured, loop: int, value: SSAValue, position: int) -> bool:
    """Whether the extent of a loop is known to be the size of a dimension."""
    source, size = view.sources[loop], size_of(value, position)
    extent = None if source is None else size_of(*source)
    return size is not None and extent is not None and extent.proves_equal(size)


def _joined_dims(ops: Sequence[_Op]) -> dict[SSAValue, set[int]]:
    """
    Maps each tensor to the dimensions that merge with their successor.

    Starts with all that may be merged, and drops those that some op cannot merge until all ops agree.
    """
    inside: set[Operation] = {op.view.op for op in ops}
    joined: dict[SSAValue, set[int]] = {}
    for op in ops:
        for value, _ in op.operands:
            shape = tensor_shape(value)
            extents = [None if n == DYNAMIC_INDEX else n for n in shape]
            good = {t for t, pair in enumerate(pairwise(extents)) if _may_join(*pair)}
            joined[value] = good if _is_free(value, inside) else set()
    changed = True
    while changed:
        changed = False
        for op in ops:
            good = op.joined(joined)
            for value, loops in op.loops:
                kept = {t for t in joined[value] if loops[t] in good}
                changed |= kept != joined[value]
                joined[value] = kept
            for init, result in zip(op.view.inits, op.view.op.results, strict=True):
                both = joined[init] & joined[result]
                changed |= both != joined[init] or both != joined[result]
                joined[init], joined[result] = both, set(both)
    return joined


def _is_free(value: SSAValue, inside: set[Operation]) -> bool:
    """Whether a tensor may change shape: the ops at both ends are rewritten ops, reshapes or the return."""
    if isinstance(value, BlockArgument) or isinstance(value.owner, _RESHAPES):
        return True
    users = [use.operation for use in value.uses]
    if isinstance(value.owner, tensor.EmptyOp):
        return all(user in inside for user in users)
    return value.owner in inside and all(user in inside or isinstance(user, _BOUNDARY) for user in users)


class _Rewriter:
    """Builds the ops again on merged dimensions."""

    def __init__(self, joined: Mapping[SSAValue, set[int]], constants: Constants):
        self._joined = joined
        self._constants = constants
        self._merged: dict[SSAValue, SSAValue] = {}

    def run(self, func: FuncOp, ops: Sequence[_Op]) -> None:
        """Rebuild the ops in order on merged dimensions, and expand results for other users."""
        for op in ops:
            self._rebuild(op)
        rebuilt = {op.view.op for op in ops}
        # Also the bodies of ops that read a tensor at computed positions.
        for result in [result for op in ops for result in op.view.op.results]:
            for use in [use for use in result.uses if use.operation not in rebuilt]:
                emit = IRBuilder.before(use.operation, self._constants)
                seen = expand(emit, self._merged[result], result, self._groups(result))
                use.operation.operands[use.index] = seen
        for op in reversed(ops):
            op.view.op.detach()
            op.view.op.erase()

    def _groups(self, value: SSAValue) -> list[list[int]]:
        """The reassociation of a tensor: its dimensions in order, merged ones in one group."""
        return runs(len(tensor_shape(value)), self._joined.get(value, set()))

    def _rebuild(self, op: _Op) -> None:
        view = op.view
        loops = runs(view.rank, op.joined(self._joined))
        emit = IRBuilder.before(view.op, self._constants)
        operands = [self._operand(emit, value) for value in view.op.operands]
        count = len(view.inputs)
        maps = [
            merged_map(map, loops, self._groups(value))
            for value, map in zip(view.op.operands, op.maps, strict=True)
        ]
        made = rebuilt(emit, view, operands[:count], operands[count:], maps, loops)
        self._merged.update(zip(view.op.results, made, strict=True))

    def _operand(self, emit: IRBuilder, value: SSAValue) -> SSAValue:
        """The operand in its merged shape: the rebuilt tensor, or a `collapse_shape` of it."""
        groups = self._groups(value)
        if value in self._merged:
            return self._merged[value]
        if len(groups) == len(tensor_shape(value)):
            return value
        # An argument that several ops read is viewed once; every op has an init of its own.
        merged = collapse(emit, value, groups)
        if not isinstance(value.owner, tensor.EmptyOp):
            self._merged[value] = merged
        return merged
