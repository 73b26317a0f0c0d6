"""Accumulators in registers: a loop carries a vector instead of the tile that it reads and writes whole."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import scf, vector
from xdsl.dialects.builtin import TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, SSAValue

from stepwell.dialects.ir_builder import Constants, IRBuilder
from stepwell.dialects.tensor_ir import transfers
from stepwell.dialects.tensor_ir.dead import erase_dead
from stepwell.dialects.tensor_ir.structured import tensor_shape
from stepwell.dialects.tensor_ir.transfers import covers_tensor, dim_of, vector_of
from stepwell.passes.tensor.scheduling_pass import SchedulingPass
from stepwell.passes.tensor.vector.forward import as_read, forward_tiles


class HoistAccumulatorsPass(SchedulingPass):
    """
    Replace loop-carried tiles that are only read and written whole by vectors, innermost loops first.

    ```mlir
    %r = scf.for %k = %c0 to %c8 step %c1 iter_args(%t = %t0) -> (tensor<4x16xf32>) {
      %v = vector.transfer_read %t[%c0, %c0], %zero : tensor<4x16xf32>, vector<4x16xf32>
      %w = vector.fma %a, %b, %v : vector<4x16xf32>
      %u = vector.transfer_write %w, %t[%c0, %c0] : vector<4x16xf32>, tensor<4x16xf32>
      scf.yield %u : tensor<4x16xf32>
    }
    // ->
    %v0 = vector.transfer_read %t0[%c0, %c0], %zero : tensor<4x16xf32>, vector<4x16xf32>
    %s = scf.for %k = %c0 to %c8 step %c1 iter_args(%v = %v0) -> (vector<4x16xf32>) {
      %w = vector.fma %a, %b, %v : vector<4x16xf32>
      scf.yield %w : vector<4x16xf32>
    }
    %r = vector.transfer_write %s, %t0[%c0, %c0] : vector<4x16xf32>, tensor<4x16xf32>
    ```
    """

    name = "hoist-accumulators"

    def apply_to_function(self, ctx: Context, func: FuncOp) -> None:
        constants = Constants(func)
        for op in list(func.body.walk(region_first=True)):
            if isinstance(op, scf.ForOp):
                hoist(op, constants)
        forward_tiles(func)
        erase_dead(func)


@dataclass(frozen=True)
class _Accumulator:
    """The number of a loop-carried tile, and the write that fills it at the end of an iteration."""

    position: int
    write: vector.TransferWriteOp


def hoist(loop: scf.ForOp, constants: Constants) -> None:
    """Rebuild a loop with vectors as carried values in place of accumulator tiles."""
    found = [a for i in range(len(loop.iter_args)) if (a := _accumulator(loop, i)) is not None]
    if not found:
        return
    block, emit = loop.body.block, IRBuilder.before(loop, constants)
    last = block.last_op
    assert last is not None
    carried = list(loop.iter_args)
    for accumulator in found:
        write, position = accumulator.write, accumulator.position
        tile = carried[position]
        start = [constants.index(0)] * len(write.indices)
        carried[position] = transfers.read(emit, tile, start, vector_of(write.vector), dim_of(write))
        last.operands[position] = write.vector
        _carry_vector(block, accumulator, tile, constants)
    _replace_loop(loop, carried, found, emit)


def _accumulator(loop: scf.ForOp, position: int) -> _Accumulator | None:
    """The accumulator at a position of a loop, if all reads and writes cover the whole tile; else None."""
    argument, last = loop.body.block.args[position + 1], loop.body.block.last_op
    assert last is not None
    write = last.operands[position].owner
    if not isinstance(argument.type, TensorType) or not isinstance(write, vector.TransferWriteOp):
        return None
    if write.parent is not loop.body.block or not covers_tensor(write) or not _is_used_once(write):
        return None
    for use in argument.uses:
        user = use.operation
        if isinstance(user, vector.TransferReadOp):
            if not covers_tensor(user) or not _has_same_layout(user, write):
                return None
        elif not isinstance(user, vector.TransferWriteOp) or use.index != 1 or not covers_tensor(user):
            return None
    return _Accumulator(position, write)


def _is_used_once(write: vector.TransferWriteOp) -> bool:
    return write.result is not None and write.result.has_one_use()


def _has_same_layout(read: vector.TransferReadOp, write: vector.TransferWriteOp) -> bool:
    return read.result.type == write.vector.type and dim_of(read) == dim_of(write)


def _carry_vector(block: Block, accumulator: _Accumulator, tile: SSAValue, constants: Constants) -> None:
    """Replace the tile among a loop's block arguments by its vector, in reads and writes too."""
    write, position = accumulator.write, accumulator.position
    old = block.args[position + 1]
    new = block.insert_arg(write.vector.type, position + 1)
    for use in list(old.uses):
        user = use.operation
        if isinstance(user, vector.TransferReadOp):
            value = as_read(IRBuilder.before(user, constants), new, dim_of(write), user)
            assert value is not None
            user.result.replace_all_uses_with(value)
            user.detach()
            user.erase()
        else:
            user.operands[use.index] = tile  # a whole write overwrites its destination, whichever it is
    write.detach()
    write.erase()
    block.erase_arg(old)


def _before_whole_writes(tile: SSAValue) -> SSAValue:
    """The tensor before a chain of whole writes; a further whole write may start from it as well."""
    while isinstance(write := tile.owner, vector.TransferWriteOp) and covers_tensor(write):
        tile = write.source
    return tile


def _replace_loop(
    loop: scf.ForOp, carried: list[SSAValue], found: list[_Accumulator], emit: IRBuilder
) -> None:
    """Rebuild the loop around its body with carried vectors, and write their final values to the tiles."""
    tiles = list(loop.iter_args)
    new = scf.ForOp.create(
        operands=[loop.lb, loop.ub, loop.step, *carried],
        result_types=[value.type for value in carried],
        attributes=loop.attributes,
        regions=[loop.detach_region(0)],
    )
    emit.insert(new)
    arrangement = {a.position: dim_of(a.write) for a in found}
    for position, (old, result) in enumerate(zip(loop.results, new.results, strict=True)):
        if position in arrangement:
            start = [emit.materialize(0)] * len(tensor_shape(tiles[position]))
            into = _before_whole_writes(tiles[position])
            result = transfers.write(emit, result, into, start, arrangement[position])
        old.replace_all_uses_with(result)
    loop.detach()
    loop.erase()
