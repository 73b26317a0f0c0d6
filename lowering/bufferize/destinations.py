"""
Replaces `tensor.empty` destinations while values still are tensors, so that results are computed in place.

A `tensor.empty` has no contents, so it may become anything of its type: the function's output, the slice of
a larger tensor that its value is inserted in, or an operand that is not read afterwards. The in-place
analysis then finds a chain of ops on one buffer, and no copy.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from xdsl.dialects import scf, tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX, ArrayAttr, DenseArrayBase, IntegerType
from xdsl.dialects.linalg.abstract_ops import LinalgStructuredOperation
from xdsl.dialects.linalg.ops import FillOp, GenericOp
from xdsl.dialects.utils import get_dynamic_index_list
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import IsTerminator, is_side_effect_free

from stepwell.dialects.ir_builder import IRBuilder
from stepwell.dialects.types import tensor_of
from stepwell.lowering.bufferize.access_paths import slice_step
from stepwell.lowering.bufferize.accesses import carried_tensors, covers, destinations, is_tensor
from stepwell.lowering.bufferize.availability import make_available
from stepwell.lowering.bufferize.index_forms import IndexForms
from stepwell.lowering.bufferize.origins import Origin
from stepwell.lowering.bufferize.whole import copy_into, sizes_before


class Found(NamedTuple):
    """The ops of a function that the functions below look at, in order; one walk finds them all."""

    generics: list[GenericOp]
    inserts: list[tensor.InsertSliceOp]
    branches: list[scf.IfOp]
    loops: list[scf.ForOp]

    @staticmethod
    def in_body(body: Block) -> Found:
        """The ops in the body of a function."""
        found = Found([], [], [], [])
        lists: dict[type[Operation], list[Any]] = dict(
            zip((GenericOp, tensor.InsertSliceOp, scf.IfOp, scf.ForOp), found, strict=True)
        )
        for op in body.walk():
            if (ops := lists.get(type(op))) is not None:
                ops.append(op)
        return found


def own_inits(body: Block) -> None:
    """
    Give each user of a shared `tensor.empty`, or `linalg.fill` of one, a clone right before it.

    Shared, the second user would find what the first has written; outside a parallel loop, so would every
    iteration.
    """
    ops = list(body.walk())
    inits = [op for op in ops if type(op) in (tensor.EmptyOp, FillOp)]
    users = {use.operation for op in inits for result in op.results for use in result.uses}
    for op in [op for op in ops if op in users]:
        for index, operand in enumerate(op.operands):
            if not is_tensor(operand) or not isinstance(init := operand.owner, tensor.EmptyOp | FillOp):
                continue
            if operand.has_one_use() and init.parent is op.parent:
                continue
            if isinstance(init, tensor.EmptyOp):
                op.operands[index] = _clone_before(op, init)
            elif isinstance(init.outputs[0].owner, tensor.EmptyOp) and _is_overwritten(op, index):
                fill = IRBuilder.before(op).insert(init.clone())
                fill.operands[1] = _clone_before(fill, init.outputs[0].owner)
                op.operands[index] = fill.results[0]
    erase_unused(body)


def erase_unused(body: Block) -> None:
    """Erase ops on tensors whose results have no uses; a loop goes when it only computes tensors."""
    for op in reversed(list(body.ops)):
        for region in op.regions:
            for block in region.blocks:
                if isinstance(op, scf.ForOp | scf.IfOp | scf.WhileOp):
                    erase_unused(block)
        if op.results and all([is_tensor(r) and r.first_use is None for r in op.results]) and _is_pure(op):
            Rewriter.erase_op(op)


def _is_pure(op: Operation) -> bool:
    """Whether an op on tensors has no effect but its results."""
    if isinstance(op, LinalgStructuredOperation):
        return bool(op.res)
    inside = [inner for region in op.regions for block in region.blocks for inner in block.ops]
    if inside:
        return all(_is_pure(inner) or inner.has_trait(IsTerminator) for inner in inside)
    return any(is_tensor(result) for result in op.results) or is_side_effect_free(op)


def _clone_before(user: Operation, op: tensor.EmptyOp) -> SSAValue:
    """A clone of a `tensor.empty` right before a user."""
    return IRBuilder.before(user).insert(op.clone()).tensor


def _is_overwritten(op: Operation, index: int) -> bool:
    """Whether an operand is a destination of an op, or a tensor that a loop carries."""
    if isinstance(op, scf.ForOp):
        return any(carried.index == index for carried in carried_tensors(op))
    return any(destination.index == index for destination in destinations(op))


def write_over_dead_operands(generics: Sequence[GenericOp]) -> None:
    """
    Let an elementwise op overwrite an operand that is not read afterwards.

    ```mlir
    %y = linalg.generic … ins(%x, %b) outs(%empty) { ^bb0(%a, %c, %o): … }
    // ->
    %y = linalg.generic … ins(%b) outs(%x) { ^bb0(%c, %a): … }
    ```
    """
    for op in generics:
        for k in range(len(op.outputs)):
            if (index := _dead_operand(op, k)) is not None:
                op = _overwrite(op, index, k)


def _dead_operand(op: GenericOp, k: int) -> int | None:
    """
    The input of `op` that output `k` may overwrite: same type and map, and no later use; None if there is
    none.
    """
    output = op.outputs[k]
    inputs = len(op.inputs)
    map = op.indexing_maps.data[inputs + k]
    if not isinstance(output.owner, tensor.EmptyOp) or op.body.block.args[inputs + k].uses:
        return None
    if not covers(map.data, tensor_of(output)) or len(map.data.results) != map.data.num_dims:
        return None
    for index, value in enumerate(op.inputs):
        if value.type == output.type and op.indexing_maps.data[index] == map:
            if _is_last_user(op, value) and Origin.of(value) is not None:
                return index
    return None


def _is_last_user(op: Operation, value: SSAValue) -> bool:
    """Whether a value is computed in the op's block, and all its other users come before the op."""
    block = value.owner.parent if isinstance(value.owner, Operation) else None
    if block is None or block is not op.parent or sum(operand is value for operand in op.operands) != 1:
        return False
    if any(value in inner.operands for inner in op.walk() if inner is not op):
        return False
    users = (block.find_ancestor_op_in_block(use.operation) for use in value.uses)
    return all(user is op or (user is not None and user.is_before_in_block(op)) for user in users)


def _overwrite(op: GenericOp, index: int, k: int) -> GenericOp:
    """`op` without input `index`, which becomes the initial value of output `k`."""
    inputs, outputs = list(op.inputs), list(op.outputs)
    maps = list(op.indexing_maps.data)
    body = op.detach_region(op.body)
    body.block.args[index].replace_all_uses_with(body.block.args[len(inputs) + k])
    body.block.erase_arg(body.block.args[index])
    outputs[k] = inputs.pop(index)
    maps.pop(index)
    new = GenericOp(
        inputs, outputs, body, ArrayAttr(maps), op.iterator_types, op.result_types, op.doc, op.library_call
    )
    new.attributes = dict(op.attributes)
    new.location = op.location
    Rewriter.replace_op(op, new)
    return new


def compute_into_output(value: SSAValue, output: SSAValue, forms: IndexForms) -> None:
    """Compute `value`, which the function returns, directly in `output`."""
    if (origin := Origin.of(value)) is not None:
        origin.replace(output, forms)


def compute_into_slices(inserts: Sequence[tensor.InsertSliceOp], forms: IndexForms) -> None:
    """
    Compute the source of each `tensor.insert_slice` directly in its slice of the larger tensor.

    ```mlir
    %e = tensor.empty() : tensor<4xf32>
    %p = linalg.generic … outs(%e)
    %d1 = tensor.insert_slice %p into %d[8] [4] [1]
    // ->
    %e = tensor.extract_slice %d[8] [4] [1]
    ```
    """
    for insert in reversed(inserts):
        origin = Origin.of(insert.source)
        # A slice has gaps: its dimensions can be split, but not merged.
        if origin is not None and not any(isinstance(r, tensor.ExpandShapeOp) for r in origin.reshapes):
            _compute_into_slice(insert, origin, forms)


def _compute_into_slice(insert: tensor.InsertSliceOp, origin: Origin, forms: IndexForms) -> None:
    """Replace the origin of an inserted tensor by a slice of the destination, if it is available there."""
    step = slice_step(insert, forms)
    whole = insert.dest
    # Where the slice is computed, the larger tensor may be incomplete: an earlier state has the same buffer,
    # and serves as well when the slices inserted in between do not overlap this one.
    while not make_available(whole, origin.empty):
        between = whole.owner
        if not isinstance(between, tensor.InsertSliceOp) or not step.is_apart(slice_step(between, forms)):
            return
        whole = between.dest
    indices = (*insert.offsets, *insert.sizes, *insert.strides)
    if not all(make_available(index, origin.empty) for index in indices):
        return
    part = tensor.ExtractSliceOp(
        whole,
        _mixed(insert.static_offsets, insert.offsets),
        _mixed(insert.static_sizes, insert.sizes),
        _mixed(insert.static_strides, insert.strides),
        insert.source.type,
    )
    origin.replace(IRBuilder(InsertPoint.before(origin.empty), insert.location).value(part), forms)


def _mixed(static: DenseArrayBase[IntegerType], dynamic: Sequence[SSAValue]) -> list[SSAValue | int]:
    return get_dynamic_index_list(static.get_values(), dynamic, DYNAMIC_INDEX)


def compute_into_branch_results(branches: Sequence[scf.IfOp], forms: IndexForms) -> None:
    """
    Compute the tensor results of an `scf.if` in both branches into one tensor from outside.

    ```mlir
    %r = scf.if %c -> (tensor<4xf32>) {
      %e = tensor.empty() : tensor<4xf32>
      …
    // ->
    %e = tensor.empty() : tensor<4xf32>
    %r = scf.if %c -> (tensor<4xf32>) {
      …
    ```
    """
    for op in branches:
        for k, result in enumerate(op.output):
            if is_tensor(result):
                _compute_into_result(op, k, forms)


def _compute_into_result(op: scf.IfOp, k: int, forms: IndexForms) -> None:
    """
    Replace the origins of result `k` in the branches of `op` by a `tensor.empty` before it, or copy into it.
    """
    ends = [region.block.last_op for region in op.regions]
    origins = [None if end is None else Origin.of(end.operands[k]) for end in ends]
    origins = [o if o is not None and op.is_ancestor(o.empty) else None for o in origins]
    if not any(origins) or (sizes := sizes_before(op.output[k], op, forms)) is None:
        return
    whole = IRBuilder.before(op).insert(tensor.EmptyOp(sizes, op.output[k].type))
    for end, origin in zip(ends, origins, strict=True):
        if end is not None and (origin is None or not origin.replace(whole.tensor, forms)):
            end.operands[k] = copy_into(end.operands[k], whole.tensor, end)


def compute_into_carried(loops: Sequence[scf.ForOp], forms: IndexForms) -> None:
    """
    Compute the next value of a carried tensor in the buffer of its current one, as far as the in-place
    analysis allows.

    ```mlir
    %r = scf.for … iter_args(%h = %h0) -> (tensor<4xf32>) {
      %e = tensor.empty() : tensor<4xf32>
      %n = linalg.generic … ins(%h) outs(%e)
      scf.yield %n
    // ->
      %n = linalg.generic … ins(%h) outs(%h)
    ```
    """
    for op in loops:
        for carried in carried_tensors(op):
            origin = Origin.of(carried.yielded)
            if origin is not None and op.is_ancestor(origin.empty) and _is_written_whole(origin.empty):
                origin.replace(carried.arg, forms)


def _is_written_whole(empty: tensor.EmptyOp) -> bool:
    """Whether every user overwrites all of a tensor: without the buffer, no copy is needed then."""
    users = {use.operation: use.index for use in empty.tensor.uses}
    return all(
        any(d.index == index and not d.is_read for d in destinations(user)) for user, index in users.items()
    )
