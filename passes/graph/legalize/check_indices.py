"""`check-indices`: run-time checks of the indices of gathers and scatters, and of the bounds of slices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.context import Context
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from stepwell.dialects import graph
from stepwell.dialects._xdsl import weights_of
from stepwell.dialects.graph.structure import constant_of
from stepwell.dialects.graph_ir.annotations import IN_BOUNDS
from stepwell.dialects.graph_ir.checked_indices import checked_indices
from stepwell.dialects.ir_builder import IRBuilder
from stepwell.dialects.types import dims_of
from stepwell.passes.base import FunctionPass
from stepwell.runtime.dims import Dim, atom_operands
from stepwell.runtime.files.weights import WeightStore


@dataclass(frozen=True)
class CheckIndicesPass(FunctionPass):
    """
    Insert checks of gathers' and scatters' indices before their kernels, which clamp them to the bounds.

    ```mlir
    %y = graph.fused (%a = %x : tensor<8x4xf32>, %b = %i : tensor<2xi64>) -> (tensor<2x4xf32>) {
      %g = graph.gather %a, %b axis 0 batch_dims 0 bounds "check"
        : (tensor<8x4xf32>, tensor<2xi64>) -> tensor<2x4xf32>
      graph.yield %g : tensor<2x4xf32>
    }
    // ->
    graph.check_indices %i within <[8]> : tensor<2xi64>
    %y = graph.fused (%a = %x : tensor<8x4xf32>, %b = %i : tensor<2xi64>) -> (tensor<2x4xf32>) {
      %g = graph.gather %a, %b axis 0 batch_dims 0 bounds "check"
        : (tensor<8x4xf32>, tensor<2xi64>) -> tensor<2x4xf32>
      graph.yield %g : tensor<2x4xf32>
    }
    ```
    An offset of `graph.insert_slice`, or a start or limit of `graph.slice`, that sizes do not prove to be
    within bounds is checked before the op, or the kernel that it is in: nothing clamps those.

    ```mlir
    %y = graph.insert_slice %u into %x at <["p"]> : (tensor<2xf32>, tensor<8xf32>) -> tensor<8xf32>
    // ->
    graph.check_offsets <["p"]> up_to <[6]>
    %y = graph.insert_slice %u into %x at <["p"]> : (tensor<2xf32>, tensor<8xf32>) -> tensor<8xf32>
    ```
    Class: exact. Runs after `fuse-ops`, by which no kernel computes indices that must be checked; leaves out
    constant indices within the bounds.
    """

    name = "check-indices"

    def apply_to_function(self, ctx: Context, func: FuncOp) -> None:
        checked = _Checked()
        for op in list(func.body.walk()):
            if isinstance(op, graph.InsertSliceOp | graph.SliceOp):
                _check_offsets(op, checked)
            if isinstance(op, graph.CheckIndicesOp):
                checked.add(op, (_known_as(op.indices), tuple(op.sizes.get())))
            if isinstance(op, graph.CheckOffsetsOp):
                for pair in zip(op.offsets.get(), op.limits.get(), strict=True):
                    checked.add(op, pair)
            if isinstance(kernel := op.parent_op(), graph.FusedOp):
                indices = checked_indices(op)
                if indices is not None and (value := _outside(indices, kernel)) is not None:
                    _check(op, value, kernel, checked, weights_of(ctx))


class _Checked:
    """What is checked before the op that a walk is at, by the block of the check: a branch may not run."""

    def __init__(self) -> None:
        self._in_block: dict[Block | None, set[object]] = {}

    def add(self, check: Operation, what: object) -> None:
        """Record a check that is at the place of an op."""
        self._in_block.setdefault(check.parent, set()).add(what)

    def has(self, op: Operation, what: object) -> bool:
        """Whether a check was recorded in a block around an op."""
        around: Operation | None = op
        while around is not None:
            if what in self._in_block.get(around.parent, ()):
                return True
            around = around.parent_op()
        return False


def _known_as(indices: SSAValue) -> object:
    """What stands for indices among checked ones: the numbers of constants, of which kernels have copies."""
    return indices.owner.value if isinstance(indices.owner, graph.ConstantOp) else indices


def _check(
    op: Operation, indices: SSAValue, kernel: graph.FusedOp, checked: _Checked, weights: WeightStore
) -> None:
    """Insert a check of indices before their op's kernel, unless they are constants or there is a check."""
    sizes = _sizes(op)
    if any(size.is_unknown for size in sizes) or checked.has(kernel, (_known_as(indices), sizes)):
        return
    if _is_inside(indices, sizes, weights):
        return
    checked.add(kernel, (_known_as(indices), sizes))
    build = IRBuilder(InsertPoint.before(kernel), op.location)
    if isinstance(constant := indices.owner, graph.ConstantOp) and constant.parent_op() is kernel:
        indices = build.value(constant.clone())
    build.insert(graph.CheckIndicesOp(indices, sizes))


def _check_offsets(op: graph.InsertSliceOp | graph.SliceOp, checked: _Checked) -> None:
    """Insert a check of slice bounds, but for bounds proved by sizes, checked before or marked as safe."""
    if IN_BOUNDS in op.attributes:
        return
    at = kernel if isinstance(kernel := op.parent_op(), graph.FusedOp) else op
    pairs = [
        (offset, last)
        for offset, last in dict.fromkeys(_bounds(op))
        if not (offset.is_nonnegative and _is_at_most(offset, last)) and not checked.has(at, (offset, last))
    ]
    if pairs and not any(dim.is_unknown for pair in pairs for dim in pair):
        for pair in pairs:
            checked.add(at, pair)
        check = graph.CheckOffsetsOp([offset for offset, _ in pairs], [last for _, last in pairs])
        IRBuilder(InsertPoint.before(at), op.location).insert(check)


def _is_at_most(dim: Dim, other: Dim) -> bool:
    """Whether an expression is provably at most another one, as min(N, p) is at most N."""
    if (other - dim).is_nonnegative:
        return True
    match dim.terms():
        case (((atom,), 1),):
            parts = atom_operands(atom)
            return parts is not None and parts[0] == "min" and any(_is_at_most(p, other) for p in parts[1:])
        case _:
            return False


def _bounds(op: graph.InsertSliceOp | graph.SliceOp) -> Iterator[tuple[Dim, Dim]]:
    """The offsets of a slice, each with the greatest that lies within the tensor."""
    if isinstance(op, graph.InsertSliceOp):
        if op.offsets is not None:
            yield from zip(op.offsets.get(), op.last_offsets(), strict=True)
        return
    if op.starts is None or op.limits is None:
        return
    sizes, steps = dims_of(op.input.type), op.steps.get_values()
    for size, start, limit, step in zip(sizes, op.starts.get(), op.limits.get(), steps, strict=True):
        # A negative step may begin at the last element, and end before the first one.
        shifted = [bound if step > 0 else bound + 1 for bound in (start, limit)]
        yield from ((bound, size) for bound in shifted if bound not in (Dim.of(0), size))


def _outside(indices: SSAValue, kernel: graph.FusedOp) -> SSAValue | None:
    """The operand of a kernel, or the constant in it, that indices are; None if the kernel computes them."""
    if isinstance(indices, BlockArgument) and indices.block is kernel.body.block:
        return kernel.inputs[indices.index]
    return indices if isinstance(indices.owner, graph.ConstantOp) else None


def _sizes(op: Operation) -> tuple[Dim, ...]:
    """The sizes of the dimensions that the indices of a gather or scatter index, one for each coordinate."""
    dims = dims_of(op.operands[0].type)
    match op:
        case graph.GatherOp() | graph.GatherElementsOp() | graph.ScatterElementsOp():
            return (dims[op.axis.value.data],)
        case graph.GatherNdOp():
            batch = op.batch_dims.value.data
            return dims[batch : batch + dims_of(op.indices.type)[-1].value]
        case _:
            return dims[: dims_of(op.operands[1].type)[-1].value]


def _is_inside(value: SSAValue, sizes: Sequence[Dim], weights: WeightStore) -> bool:
    """Whether indices are constants within `-size` to `size - 1`."""
    array = constant_of(value, weights)
    if array is None or not all(size.is_static for size in sizes):
        return False
    limits = np.array([size.value for size in sizes], np.int64)
    indices = array.astype(np.int64)
    return bool(((-limits <= indices) & (indices < limits)).all())
