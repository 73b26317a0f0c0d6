"""Rows shorter than a register, one behind the other in memory: registers hold several of them."""

from __future__ import annotations

from xdsl.dialects import tensor, vector
from xdsl.dialects.builtin import IntegerType, VectorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from stepwell.passes.tensor import transfers
from stepwell.passes.tensor.emit import Emitter
from stepwell.passes.tensor.memory import Place, element_at, indices_at, slice_offsets, start_of
from stepwell.passes.tensor.pieces import Layout, Pieces, Position, broadcast
from stepwell.passes.tensor.reshapes import collapse, expand
from stepwell.passes.tensor.structured import tensor_element, tensor_shape
from stepwell.passes.tensor.transfers import constant_index, dim_of, vector_of, vector_type
from stepwell.passes.tensor.transposes import shuffle

# More operands that alternate along the lanes take more shuffles than stores are saved.
_MOST_TURNED = 4


def vectors_of_short_rows(func: FuncOp, lanes: int) -> set[SSAValue]:
    """
    The vectors whose last two dimensions are best cut into registers as one.

    They are written to whole rows of a tensor that are shorter than a register, and so is all that is
    computed from them and that they are computed from; what is read is a row for each lane of the short ones,
    elements that are repeated along these, or such rows themselves.
    """
    found: set[SSAValue] = set()
    seen: set[SSAValue] = set()
    for op in func.walk():
        if isinstance(op, vector.TransferWriteOp) and op.vector not in seen:
            group = _connected(op.vector, lanes)
            seen |= group
            if all(_can_join(value, group) for value in group):
                found |= group
    return found


def _connected(value: SSAValue, lanes: int) -> set[SSAValue]:
    """A vector with all that elementwise ops make of it, or it of; none without short rows of floats."""
    shape = vector_of(value).get_shape()
    if isinstance(vector_of(value).element_type, IntegerType):
        return set()  # rows of bytes came out wrong in quantized models
    if len(shape) < 2 or shape[-2] < 2 or not 1 < shape[-1] <= lanes // 2:
        return set()
    group, open_values = {value}, [value]
    while open_values:
        value = open_values.pop()
        ops = [use.operation for use in value.uses]
        if isinstance(value.owner, Operation):
            ops.append(value.owner)
        near = [v for op in ops if _is_elementwise(op) for v in (*op.operands, *op.results)]
        new = [v for v in near if isinstance(v.type, VectorType) and v not in group]
        group.update(new)
        open_values += new
    return group


def _is_elementwise(op: Operation) -> bool:
    return op.name.startswith(("arith.", "math.")) or isinstance(op, vector.FMAOp)


def _can_join(value: SSAValue, group: set[SSAValue]) -> bool:
    """Whether what makes a vector, and all that uses it, can do so in registers of several rows."""
    match value.owner:
        case vector.TransferReadOp() as op:
            if not _reads_rows(op):
                return False
        case vector.BroadcastOp(source=source):
            if isinstance(source.type, VectorType):
                return False
        case Operation() as op if not _is_elementwise(op):
            return False
        case Operation():
            pass
        case _:
            return False
    return all(_takes_rows(use.operation) for use in value.uses)


def _takes_rows(op: Operation) -> bool:
    return _writes_rows(op) if isinstance(op, vector.TransferWriteOp) else _is_elementwise(op)


def _writes_rows(op: vector.TransferWriteOp) -> bool:
    """Whether a write fills whole rows, each behind the one before."""
    assert op.result is not None
    (*_, rows, row) = dim_of(op)
    last = len(op.indices) - 1
    use = op.result.get_user_of_unique_use()
    if isinstance(use, tensor.InsertSliceOp) and use.source is op.result:
        width = tensor_shape(use.dest)[-1]
        if not _is_whole(use, width):
            return False
    else:
        width = tensor_shape(op.source)[-1]
    return (rows, row) == (last - 1, last) and width == _width(op.vector) and _starts_row(op)


def _reads_rows(op: vector.TransferReadOp) -> bool:
    """Whether a read finds what registers of several short rows hold without going element by element."""
    (*_, rows, row) = dim_of(op)
    last = len(op.indices) - 1
    if rows is None:
        return row is None
    root, strides, whole = _root(op.source)
    if row is None or (rows == last and _width(op.result) <= _MOST_TURNED):
        return rows == last and strides[last] == 1
    is_behind = (rows, row) == (last - 1, last) and strides[last - 1] == 1
    return is_behind and whole and tensor_shape(root)[-1] == _width(op.result) and _starts_row(op)


def _root(value: SSAValue) -> tuple[SSAValue, list[int], bool]:
    """What a tensor was cut from, how far its elements lie apart there, and whether its rows are whole."""
    op = value.owner
    if not isinstance(op, tensor.ExtractSliceOp) or len(op.strides):
        return value, [1] * len(tensor_shape(value)), True
    root, strides, whole = _root(op.source)
    own = op.static_strides.get_values()
    both = [s * t for s, t in zip(strides, own, strict=True)]
    return root, both, whole and _is_whole(op, tensor_shape(root)[-1])


def _is_whole(op: tensor.ExtractSliceOp | tensor.InsertSliceOp, width: int) -> bool:
    """Whether a slice takes all of the last dimension, and neighbours along the one before."""
    size, strides = op.static_sizes.get_values()[-1], op.static_strides.get_values()
    return not len(op.strides) and slice_offsets(op)[-1] == 0 and size == width and strides[-2:] == (1, 1)


def _width(value: SSAValue) -> int:
    return vector_of(value).get_shape()[-1]


def _starts_row(op: vector.TransferReadOp | vector.TransferWriteOp) -> bool:
    return constant_index(op.indices[-1]) == 0


def _joined(rank: int) -> list[list[int]]:
    """The dimensions of a tensor in groups: the last two as one."""
    return [*([d] for d in range(rank - 2)), [rank - 2, rank - 1]]


def reads(emit: Emitter, op: vector.TransferReadOp, layout: Layout) -> Pieces:
    """
    The pieces of a `vector.transfer_read` of short rows.

    ```mlir
    %0 = vector.transfer_read %x[%c0], %pad {permutation_map = (i) -> (i, 0)} : tensor<8xf32>, vector<8x2xf32>
    // ->
    %1 = vector.transfer_read %x[%c0], %pad : tensor<8xf32>, vector<8xf32>
    %0 = vector.shuffle %1, %1 [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7] : vector<8xf32>, vector<8xf32>
    ```
    """
    place, width = start_of(emit, Place.of(emit, op.source), op), _width(op.result)
    dims, last = dim_of(op), len(op.indices) - 1
    made: list[SSAValue] = []
    joined = collapse(emit, place.root, _joined(last + 1)) if dims[-1] == last else None
    seen: dict[tuple[object, ...], SSAValue] = {}
    for position in layout.positions:
        lead, start, size = position
        key = (start, size, *indices_at(place, dims, (*lead, 0, 0)))
        if key not in seen:
            indices = place.at(emit, indices_at(place, dims, (*lead, start // width, 0)))
            if dims[-2] is None:
                element = element_at(emit, place, indices_at(place, dims, (*lead, 0, 0)))
                seen[key] = broadcast(emit, element, size)
            elif joined is not None:
                at = [*indices[:-2], _behind(emit, indices[-2], width, start % width)]
                type = vector_type(layout.element, (size,))
                seen[key] = transfers.read(emit, joined, at, type, (last - 1,))
            else:
                seen[key] = _spread(emit, op, place, position)
        made.append(seen[key])
    return Pieces(layout, made)


def _behind(emit: Emitter, row: SSAValue, width: int, lane: int) -> SSAValue:
    """The place of a lane of a row where rows of a width are joined."""
    number = constant_index(row)
    return emit.materialize(emit.plus(emit.times(row if number is None else number, width), lane))


def _spread(emit: Emitter, op: vector.TransferReadOp, place: Place, position: Position) -> SSAValue:
    """A register of elements that are repeated along the short rows, or of rows whose elements alternate."""
    (lead, start, size), width, dims = position, _width(op.result), dim_of(op)
    first = start // width
    count = (start + size - 1) // width - first + 1
    type = vector_type(tensor_element(place.root), (count,))
    rows = [
        transfers.read(
            emit, place.root, place.at(emit, indices_at(place, dims, (*lead, first, k))), type, (dims[-2],)
        )
        for k in range(1 if dims[-1] is None else width)
    ]
    lanes = [divmod(start + i, width) for i in range(size)]
    if len(rows) == 1:
        return shuffle(emit, rows[0], rows[0], [n - first for n, _ in lanes])
    value = shuffle(emit, rows[0], rows[1], [n - first + min(k, 1) * count for n, k in lanes])
    for number, row in enumerate(rows[2:], 2):
        wide = shuffle(emit, row, row, [n - first for n, _ in lanes])
        value = shuffle(emit, value, wide, [i + size * (k == number) for i, (_, k) in enumerate(lanes)])
    return value


def write(
    emit: Emitter, op: vector.TransferWriteOp, pieces: Pieces, into: SSAValue, place: Place | None = None
) -> SSAValue:
    """`into` with the pieces of a `vector.transfer_write` of short rows; its tensor is the block `place`."""
    rank, width = len(op.indices), _width(op.vector)
    place = start_of(emit, place or Place(into, (0,) * rank, (1,) * rank), op)
    groups = _joined(rank)
    joined = collapse(emit, into, groups)
    for number, (lead, start, _) in enumerate(pieces.layout.positions):
        indices = place.at(emit, indices_at(place, dim_of(op), (*lead, start // width, 0)))
        at = [*indices[:-2], _behind(emit, indices[-2], width, start % width)]
        joined = transfers.write(emit, pieces.get(emit, number), joined, at, (rank - 2,))
    return expand(emit, joined, into, groups)
