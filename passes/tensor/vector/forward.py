"""Store-to-load forwarding of vectors: a read of a whole tile is replaced by the vector written to it."""

from __future__ import annotations

from xdsl.dialects import vector
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue

from stepwell.dialects.ir_builder import Constants, IRBuilder
from stepwell.dialects.tensor_ir.transfers import DimOf, Vector, covers_tensor, dim_of, vector_of, vector_type
from stepwell.dialects.vector import ShapeCastOp


def forward_tiles(func: FuncOp) -> None:
    """
    Replace a `transfer_read` of a whole tensor that a `transfer_write` filled whole by the written vector.

    ```mlir
    %t = vector.transfer_write %v, %0[%c0, %c0] : vector<4x16xf32>, tensor<4x16xf32>
    %w = vector.transfer_read %t[%c0, %c0], %zero : tensor<4x16xf32>, vector<4x16xf32>
    // -> %w is %v; a read that repeats the tile along a new dimension becomes a `vector.broadcast`
    ```
    """
    constants = Constants(func)
    for op in list(func.walk()):
        if isinstance(op, vector.TransferReadOp) and isinstance(op.source.owner, vector.TransferWriteOp):
            written = op.source.owner
            if covers_tensor(op) and covers_tensor(written):
                emit = IRBuilder.before(op, constants)
                value = as_read(emit, written.vector, dim_of(written), op)
                if value is not None:
                    op.result.replace_all_uses_with(value)
                    op.detach()
                    op.erase()


def as_read(emit: IRBuilder, value: SSAValue, written: DimOf, read: vector.TransferReadOp) -> SSAValue | None:
    """
    A vector of a whole tensor, rearranged to the type of a whole read: repeated, or with unit dimensions.

    None when the read transposes it.
    """
    wanted = dim_of(read)
    type = vector_of(read.result)
    if written == wanted and value.type == type:
        return value
    sizes = dict(zip(written, vector_of(value).get_shape(), strict=True))
    kept = [d for d in wanted if d is not None]
    if [d for d in written if d in kept] != kept or any(n != 1 for d, n in sizes.items() if d not in kept):
        return None
    narrow = vector_type(type.element_type, tuple(1 if d is None else sizes[d] for d in wanted))
    if narrow != value.type:
        value = emit.value(ShapeCastOp.create(operands=[value], result_types=[narrow]))
    return value if narrow == type else _broadcast(emit, value, type)


def _broadcast(emit: IRBuilder, value: SSAValue, type: Vector) -> SSAValue:
    return emit.value(vector.BroadcastOp.create(operands=[value], result_types=[type]))
