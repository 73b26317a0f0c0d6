"""Rows shorter than a register and contiguous in memory: each register contains several of them."""

from __future__ import annotations

from xdsl.dialects import scf, tensor, vector
from xdsl.dialects.builtin import VectorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import BlockArgument, Operation, SSAValue, Use

from stepwell.dialects.costs.schedules import VECTORS
from stepwell.dialects.ir_builder import IRBuilder
from stepwell.dialects.tensor_ir import transfers
from stepwell.dialects.tensor_ir.memory import (
    StridedView,
    element_at,
    indices_at,
    joined_index,
    slice_offsets,
    start_of,
)
from stepwell.dialects.tensor_ir.pieces import Layout, Pieces, Position, broadcast
from stepwell.dialects.tensor_ir.reshapes import collapse, expand, joined_rows
from stepwell.dialects.tensor_ir.sizes import constant_index
from stepwell.dialects.tensor_ir.structured import tensor_element, tensor_shape
from stepwell.dialects.tensor_ir.transfers import dim_of, vector_of, vector_type
from stepwell.dialects.tensor_ir.transposes import shuffle


def vectors_of_short_rows(func: FuncOp, lanes: int) -> set[SSAValue]:
    """
    The vectors of short rows, whose last two dimensions are best cut into registers as one.

    They are written to whole rows of a tensor that are shorter than a register. So are all vectors that they
    are computed from, or that are computed from them. Reads are short rows, a row for each lane of a short
    row, or elements that are repeated along it.
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
    """The vectors connected to one by elementwise ops, itself included; none unless it has short rows."""
    shape = vector_of(value).get_shape()
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
    """Whether the producer and all users of a vector can work on registers of several rows."""
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
    """Whether a write fills consecutive whole rows of a tensor that is dense in memory."""
    assert op.result is not None
    (*_, rows, row) = dim_of(op)
    last = len(op.indices) - 1
    use = op.result.get_user_of_unique_use()
    if isinstance(use, tensor.InsertSliceOp) and use.source is op.result:
        into, is_row = use.dest, _is_whole(use, _columns(use.dest))
    else:
        into, is_row = op.source, True
    is_row = is_row and _columns(into) == _width(op.vector) and _starts_row(op)
    return is_row and (rows, row) == (last - 1, last) and _is_dense(into)


def _reads_rows(op: vector.TransferReadOp) -> bool:
    """Whether registers of several short rows can be filled from a read without single-element reads."""
    (*_, rows, row) = dim_of(op)
    last = len(op.indices) - 1
    if rows is None:
        return row is None
    root, strides, whole = _root(op.source)
    if row is None or (rows == last and _width(op.result) <= VECTORS.alternating_rows):
        return rows == last and strides[last] == 1
    are_neighbours = (rows, row) == (last - 1, last) and strides[last - 1] == 1
    is_row = are_neighbours and whole and _columns(root) == _width(op.result) and _starts_row(op)
    return is_row and _is_dense(root)


def _is_dense(value: SSAValue) -> bool:
    """
    Whether consecutive rows of a tensor will be contiguous in memory as well.

    They are not when it, or a tensor that loops and writes make of it, is inserted into a tensor with longer
    rows: `bufferize` allocates it there from the start. A view of its rows as one would need a copy.
    """
    seen, open_values = {value}, [value]
    while open_values:
        value = open_values.pop()
        near = list(_same_buffer_before(value))
        for use in value.uses:
            op = use.operation
            if (
                isinstance(op, tensor.InsertSliceOp)
                and use.index == 0
                and not _is_whole(op, _columns(op.dest))
            ):
                return False
            near += _same_buffer_after(use)
        if isinstance(op := value.owner, tensor.ExtractSliceOp):
            if not _is_whole(op, _columns(op.source)):
                return False
            near.append(op.source)
        open_values += [v for v in near if v not in seen]
        seen.update(near)
    return True


def _same_buffer_before(value: SSAValue) -> list[SSAValue]:
    """The tensor that a write or a loop updates in place to make this one; empty for other producers."""
    if isinstance(value, BlockArgument):
        loop = value.block.parent_op()
        return [loop.iter_args[value.index - 1]] if isinstance(loop, scf.ForOp) and value.index else []
    match value.owner:
        case vector.TransferWriteOp(source=source):
            return [source]
        case tensor.InsertSliceOp(dest=dest) | tensor.InsertOp(dest=dest):
            return [dest]
        case scf.ForOp() as loop:
            return [loop.iter_args[loop.results.index(value)]]
        case _:
            return []


def _same_buffer_after(use: Use) -> list[SSAValue]:
    """The tensors that a use makes in place: results of writes, values that loops carry."""
    match use.operation:
        case vector.TransferWriteOp() | tensor.InsertSliceOp() | tensor.InsertOp() as op:
            return list(op.results)
        case scf.YieldOp() as op:
            loop = op.parent_op()
            return [loop.results[use.index]] if isinstance(loop, scf.ForOp) else []
        case scf.ForOp() as loop if use.index >= 3:
            return [loop.body.block.args[use.index - 2], loop.results[use.index - 3]]
        case _:
            return []


def _root(value: SSAValue) -> tuple[SSAValue, list[int], bool]:
    """The tensor that slices were cut from, their strides in it, and whether their rows are whole."""
    op = value.owner
    if not isinstance(op, tensor.ExtractSliceOp) or len(op.strides):
        return value, [1] * len(tensor_shape(value)), True
    root, strides, whole = _root(op.source)
    own = op.static_strides.get_values()
    both = [s * t for s, t in zip(strides, own, strict=True)]
    return root, both, whole and _is_whole(op, _columns(root))


def _is_whole(op: tensor.ExtractSliceOp | tensor.InsertSliceOp, width: int) -> bool:
    """Whether a slice covers all of the last dimension, with stride 1 in it and in the one before."""
    size, strides = op.static_sizes.get_values()[-1], op.static_strides.get_values()
    return not len(op.strides) and slice_offsets(op)[-1] == 0 and size == width and strides[-2:] == (1, 1)


def _columns(tensor: SSAValue) -> int:
    return tensor_shape(tensor)[-1]


def _width(value: SSAValue) -> int:
    return vector_of(value).get_shape()[-1]


def _starts_row(op: vector.TransferReadOp | vector.TransferWriteOp) -> bool:
    return constant_index(op.indices[-1]) == 0


def reads(emit: IRBuilder, op: vector.TransferReadOp, layout: Layout) -> Pieces:
    """
    The pieces of a `vector.transfer_read` of short rows.

    ```mlir
    %0 = vector.transfer_read %x[%c0], %pad {permutation_map = affine_map<(d0) -> (d0, 0)>}
       : tensor<8xf32>, vector<8x2xf32>
    // ->
    %1 = vector.transfer_read %x[%c0], %pad : tensor<8xf32>, vector<8xf32>
    %2 = vector.shuffle %1, %1 [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7] : vector<8xf32>, vector<8xf32>
    ```
    """
    view, width = StridedView.of(emit, op.source), _width(op.result)
    if view.drops_dims:  # rows are joined in the tensor that has just them
        view = StridedView.whole(op.source, len(op.indices))
    view = start_of(emit, view, op)
    dims, last = dim_of(op), len(op.indices) - 1
    made: list[SSAValue] = []
    joined = collapse(emit, view.root, joined_rows(last + 1)) if dims[-1] == last else None
    seen: dict[tuple[object, ...], SSAValue] = {}
    for position in layout.positions:
        lead, start, size = position
        key = (start, size, *indices_at(view, dims, (*lead, 0, 0)))
        if key not in seen:
            indices = view.at(emit, indices_at(view, dims, (*lead, start // width, 0)))
            if dims[-2] is None:
                element = element_at(emit, view, indices_at(view, dims, (*lead, 0, 0)))
                seen[key] = broadcast(emit, element, size)
            elif joined is not None:
                at = [*indices[:-2], joined_index(emit, indices[-2], width, start % width)]
                type = vector_type(layout.element, (size,))
                seen[key] = transfers.read(emit, joined, at, type, (last - 1,))
            else:
                seen[key] = _spread(emit, op, view, position)
        made.append(seen[key])
    return Pieces(layout, made)


def _spread(emit: IRBuilder, op: vector.TransferReadOp, view: StridedView, position: Position) -> SSAValue:
    """A register shuffled from reads of columns: elements repeated along rows, or alternating in memory."""
    (lead, start, size), width, dims = position, _width(op.result), dim_of(op)
    first = start // width
    count = (start + size - 1) // width - first + 1
    type = vector_type(tensor_element(view.root), (count,))
    rows = [
        transfers.read(
            emit, view.root, view.at(emit, indices_at(view, dims, (*lead, first, k))), type, (dims[-2],)
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
    emit: IRBuilder,
    op: vector.TransferWriteOp,
    pieces: Pieces,
    into: SSAValue,
    view: StridedView | None = None,
) -> SSAValue:
    """`into` after the pieces of a `vector.transfer_write` of short rows, to the block `view` if given."""
    rank, width = len(op.indices), _width(op.vector)
    view = start_of(emit, view or StridedView.whole(into, rank), op)
    groups = joined_rows(rank)
    joined = collapse(emit, into, groups)
    for number, (lead, start, _) in enumerate(pieces.layout.positions):
        indices = view.at(emit, indices_at(view, dim_of(op), (*lead, start // width, 0)))
        at = [*indices[:-2], joined_index(emit, indices[-2], width, start % width)]
        joined = transfers.write(emit, pieces.get(emit, number), joined, at, (rank - 2,))
    return expand(emit, joined, into, groups)
