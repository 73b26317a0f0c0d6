"""Reading and writing pieces of vectors: slices of slices fold into indices of the tensor they come from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from xdsl.dialects import tensor, vector
from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.dialects.linalg import ops as linalg
from xdsl.ir import SSAValue

from stepwell.dialects.costs.machine import MACHINE
from stepwell.dialects.costs.schedules import VECTORS
from stepwell.dialects.ir_builder import Index, IRBuilder
from stepwell.dialects.tensor_ir import transfers
from stepwell.dialects.tensor_ir.pieces import Layout, Pieces, Position, broadcast, extract, gather
from stepwell.dialects.tensor_ir.reshapes import collapse, joined_rows
from stepwell.dialects.tensor_ir.sizes import constant_index
from stepwell.dialects.tensor_ir.structured import tensor_element, tensor_shape
from stepwell.dialects.tensor_ir.transfers import DimOf, dim_of, vector_type
from stepwell.dialects.tensor_ir.transposes import assembled, shuffle, transposed

_VIEWS = (tensor.ExtractSliceOp, tensor.CollapseShapeOp, tensor.ExpandShapeOp, tensor.CastOp)
_READS = (vector.TransferReadOp, tensor.ExtractOp, tensor.DimOp)


@dataclass(frozen=True)
class StridedView:
    """A block of a tensor: element `i` of the block is element `offset + stride * i` of `root`."""

    root: SSAValue
    offsets: tuple[Index, ...]
    strides: tuple[int, ...]
    kept: tuple[int, ...]
    """The dimension of `root` for each of the block: slices may drop some, whose index is the offset."""

    @staticmethod
    def of(emit: IRBuilder, value: SSAValue) -> StridedView:
        """The view of a tensor: a slice as a block of its innermost unsliced source, any other as a whole."""
        if not isinstance(op := value.owner, tensor.ExtractSliceOp) or len(op.strides):
            rank = len(tensor_shape(value))
            return StridedView.whole(value, rank)
        view = StridedView.of(emit, op.source).cut(emit, slice_offsets(op), op.static_strides.get_values())
        return replace(view, kept=tuple(view.kept[d] for d in kept_dims(op, value)))

    @property
    def drops_dims(self) -> bool:
        """Whether the block has fewer dimensions than its root."""
        return len(self.kept) < len(self.offsets)

    @staticmethod
    def whole(value: SSAValue, rank: int) -> StridedView:
        """All of a tensor."""
        return StridedView(value, (0,) * rank, (1,) * rank, tuple(range(rank)))

    def cut(self, emit: IRBuilder, offsets: Sequence[Index], strides: Sequence[int]) -> StridedView:
        """The block at offsets and strides within this block."""
        moved, steps = list(self.offsets), list(self.strides)
        for dim, offset, stride in zip(self.kept, offsets, strides, strict=True):
            moved[dim] = emit.plus(moved[dim], emit.times(offset, steps[dim]))
            steps[dim] *= stride
        return replace(self, offsets=tuple(moved), strides=tuple(steps))

    def at(self, emit: IRBuilder, indices: Sequence[int]) -> list[SSAValue]:
        """The indices of an element in the root."""
        return [
            emit.materialize(emit.plus(o, s * i) if i else o)
            for o, s, i in zip(self.offsets, self.strides, indices, strict=True)
        ]


def kept_dims(op: tensor.ExtractSliceOp | tensor.InsertSliceOp, block: SSAValue) -> tuple[int, ...]:
    """The dimensions of a sliced tensor that a block has; the others are 1 long, the last that can be."""
    wanted, kept = list(tensor_shape(block)), list[int]()
    for dim, size in enumerate(op.static_sizes.get_values()):
        if wanted and wanted[0] == size:
            wanted.pop(0)
            kept.append(dim)
    return tuple(kept)


def slice_offsets(op: tensor.ExtractSliceOp | tensor.InsertSliceOp) -> list[Index]:
    """The offsets of a slice."""
    dynamic = iter(op.offsets)
    return [next(dynamic) if n == DYNAMIC_INDEX else n for n in op.static_offsets.get_values()]


def slice_sizes(op: tensor.ExtractSliceOp | tensor.InsertSliceOp) -> list[Index]:
    """The sizes of a slice."""
    dynamic = iter(op.sizes)
    return [next(dynamic) if n == DYNAMIC_INDEX else n for n in op.static_sizes.get_values()]


def start_of(
    emit: IRBuilder, view: StridedView, op: vector.TransferReadOp | vector.TransferWriteOp
) -> StridedView:
    """The part of a view that begins at the first element of a transfer."""
    numbers = [constant_index(i) for i in op.indices]
    start = [i if n is None else n for i, n in zip(op.indices, numbers, strict=True)]
    return view.cut(emit, start, (1,) * len(start))


def _root_dims(view: StridedView, op: vector.TransferReadOp | vector.TransferWriteOp) -> DimOf:
    """The dimension of a view's root for each of a transfer's vector; None for one that repeats."""
    return tuple(None if dim is None else view.kept[dim] for dim in dim_of(op))


def reads(emit: IRBuilder, op: vector.TransferReadOp, layout: Layout) -> Pieces:
    """
    The pieces of a `vector.transfer_read`, each read once however often it repeats.

    A piece is read where it is first used, so that few are in registers at a time; but here when something
    else overwrites the tensor, perhaps before that use, or uses the vector in a loop.
    """
    view = start_of(emit, StridedView.of(emit, op.source), op)
    dims, home = _root_dims(view, op), op.parent
    seen: dict[tuple[object, ...], SSAValue] = {}

    def indices_of(position: Position) -> list[int]:
        lead, start, _ = position
        return indices_at(view, dims, (*lead, start))

    def make(at: IRBuilder, position: Position) -> SSAValue:
        indices, size = indices_of(position), position[2]
        key = (at.insertion_point.block, size, *indices)
        if key not in seen:
            seen[key] = _read(at, view, indices, vector_lanes=dims[-1], size=size)
        return seen[key]

    if (rows := _rows(view, dims, layout)) is not None:
        by_rows = _read_alternating if _alternates(view, dims, layout.leading[rows]) else _read_transposed
        return Pieces(layout, by_rows(emit, view, dims, layout, rows))
    same = [tuple(indices_of(p)) for p in layout.positions] if dims[-1] is None else None
    pieces = Pieces(layout, make=make, same=same)
    is_local = all(use.operation.parent is home for use in op.result.uses)
    return pieces if is_local and _is_only_read(view.root) else pieces.settle(emit)


def reads_to_the_end(emit: IRBuilder, op: vector.TransferReadOp, layout: Layout) -> Pieces:
    """The pieces of a `vector.transfer_read` along a row that may end inside; lanes after it are padding."""
    pieces = [
        transfers.read(
            emit,
            op.source,
            _moved(emit, op, start),
            vector_type(layout.element, (size,)),
            dim_of(op),
            op.padding,
        )
        for _, start, size in layout.positions
    ]
    return Pieces(layout, pieces)


def write_to_the_end(emit: IRBuilder, op: vector.TransferWriteOp, pieces: Pieces, into: SSAValue) -> SSAValue:
    """`into` with the pieces of a `vector.transfer_write` in it, as far as the row goes."""
    for piece, (_, start, _) in zip(pieces.all(emit), pieces.layout.positions, strict=True):
        into = transfers.write(emit, piece, into, _moved(emit, op, start), dim_of(op), in_bounds=False)
    return into


def _moved(emit: IRBuilder, op: vector.TransferReadOp | vector.TransferWriteOp, lanes: int) -> list[SSAValue]:
    """The indices of a transfer, advanced by some lanes along the last dimension."""
    *outer, last = op.indices
    number = constant_index(last)
    return [*outer, emit.materialize(emit.plus(last if number is None else number, lanes))]


def indices_at(view: StridedView, dims: DimOf, position: Sequence[int]) -> list[int]:
    """The indices, in the block that a vector is read from, of the element at a position of the vector."""
    indices = [0] * len(view.offsets)
    for d, i in zip(dims, position, strict=True):
        if d is not None:
            indices[d] = i
    return indices


def _rows(view: StridedView, dims: DimOf, layout: Layout) -> int | None:
    """The dimension of a vector along which elements are neighbours in memory, when it is not the last."""
    last = len(view.offsets) - 1
    if dims[-1] in (None, last) or last not in dims or view.strides[last] != 1:
        return None
    row = dims.index(last)
    return row if layout.width > 1 and layout.leading[row] > 1 else None


def _read_transposed(
    emit: IRBuilder, view: StridedView, dims: DimOf, layout: Layout, row: int
) -> list[SSAValue]:
    """All pieces of a vector from blocks that are read along their rows and transposed in registers."""
    made: dict[Position, SSAValue] = {}
    for lead, start, size in layout.positions:
        if lead[row]:
            continue
        rows: list[SSAValue] = []
        for lane in range(start, start + size):
            indices = indices_at(view, dims, (*lead, lane))
            rows.append(_read(emit, view, indices, vector_lanes=dims[row], size=layout.leading[row]))
        for i, column in enumerate(transposed(emit, rows)):
            made[(*lead[:row], i, *lead[row + 1 :]), start, size] = column
    return [made[position] for position in layout.positions]


def _alternates(view: StridedView, dims: DimOf, width: int) -> bool:
    """Whether a block has whole, contiguous rows of few elements along the lanes."""
    last = len(view.offsets) - 1
    is_whole = view.offsets[last] == 0 and tensor_shape(view.root)[last] == width
    is_few = width <= VECTORS.alternating_reads
    return is_few and is_whole and dims[-1] == last - 1 and view.strides[last - 1] == 1


def _read_alternating(
    emit: IRBuilder, view: StridedView, dims: DimOf, layout: Layout, row: int
) -> list[SSAValue]:
    """
    All pieces of a vector whose rows alternate in memory: contiguous reads, then a shuffle a row.

    ```mlir
    %0 = vector.transfer_read %x[%c0], %p {in_bounds = [true]} : tensor<512xf32>, vector<4xf32>
    %1 = vector.transfer_read %x[%c4], %p {in_bounds = [true]} : tensor<512xf32>, vector<4xf32>
    %even = vector.shuffle %0, %1 [0, 2, 4, 6] : vector<4xf32>, vector<4xf32>
    %odd = vector.shuffle %0, %1 [1, 3, 5, 7] : vector<4xf32>, vector<4xf32>
    ```
    """
    made: dict[Position, SSAValue] = {}
    width, rank = layout.leading[row], len(view.offsets)
    joined = collapse(emit, view.root, joined_rows(rank))
    for lead, start, size in layout.positions:
        if lead[row]:
            continue
        *outer, first, _ = view.at(emit, indices_at(view, dims, (*lead, start)))
        type = vector_type(layout.element, (size,))
        parts = [
            transfers.read(
                emit, joined, [*outer, joined_index(emit, first, width, k * size)], type, (rank - 2,)
            )
            for k in range(width)
        ]
        for i in range(width):
            lanes = [lane * width + i for lane in range(size)]
            made[(*lead[:row], i, *lead[row + 1 :]), start, size] = assembled(emit, parts, lanes)
    return [made[position] for position in layout.positions]


def joined_index(emit: IRBuilder, row: SSAValue, width: int, lane: int) -> SSAValue:
    """The index `row * width + lane` of an element of a tensor whose rows were merged into one dimension."""
    number = constant_index(row)
    return emit.materialize(emit.plus(emit.times(row if number is None else number, width), lane))


def _is_only_read(value: SSAValue) -> bool:
    """Whether no op has a tensor, or a view of it, as its destination."""
    for use in value.uses:
        op = use.operation
        if isinstance(op, _READS):  # most of the uses, which each read asks about
            continue
        if isinstance(op, _VIEWS):
            if not _is_only_read(op.results[0]):
                return False
        elif isinstance(op, linalg.GenericOp | tensor.InsertSliceOp):
            if use.index >= (len(op.inputs) if isinstance(op, linalg.GenericOp) else 1):
                return False
        else:
            return False
    return True


def _read(
    emit: IRBuilder, view: StridedView, indices: list[int], *, vector_lanes: int | None, size: int
) -> SSAValue:
    """Read a piece: as a broadcast scalar, a contiguous vector, a strided one, or element by element."""
    if vector_lanes is None:
        return broadcast(emit, element_at(emit, view, indices), size)
    if _is_contiguous(view, vector_lanes) or size == 1:
        element = tensor_element(view.root)
        type = vector_type(element, (size,))
        lanes: DimOf = (len(indices) - 1 if size == 1 else vector_lanes,)
        return transfers.read(emit, view.root, view.at(emit, indices), type, lanes)
    is_near = view.strides[-1] <= MACHINE.shuffled_stride
    if vector_lanes == len(indices) - 1 and is_near and size >= MACHINE.least_lanes:
        return _read_apart(emit, view, indices, size)
    scalars: list[SSAValue] = []
    for lane in range(size):
        moved = list(indices)
        moved[vector_lanes] += lane
        scalars.append(element_at(emit, view, moved))
    return gather(emit, scalars)


def _read_apart(emit: IRBuilder, view: StridedView, indices: list[int], size: int) -> SSAValue:
    """Read elements with a small stride: contiguous vectors from the first to the last, then shuffles."""
    stride = view.strides[-1]
    dense = replace(view, strides=(*view.strides[:-1], 1))
    first, last = indices[-1] * stride, (size - 1) * stride
    value, start = None, 0
    while start <= last:
        at = min(start, last - size + 1)  # nothing beyond the last one is read
        chunk = _read(emit, dense, [*indices[:-1], first + at], vector_lanes=len(indices) - 1, size=size)
        lanes = [lane * stride - at for lane in range(size)]
        if value is None:
            value, mask = chunk, [lane if lane < size else 0 for lane in lanes]
        else:
            mask = [
                size + lane if 0 <= lane < size and lane + at >= start else i for i, lane in enumerate(lanes)
            ]
        value = shuffle(emit, value, chunk, mask)
        start += size
    assert value is not None
    return value


def write(
    emit: IRBuilder,
    op: vector.TransferWriteOp,
    pieces: Pieces,
    into: SSAValue,
    view: StridedView | None = None,
) -> SSAValue:
    """`into` after the pieces of a `vector.transfer_write`, whose tensor is the block `view` if given."""
    if view is None:
        view = StridedView.whole(into, len(op.indices))
    view, dims = start_of(emit, view, op), _root_dims(view, op)
    for number, (lead, start, size) in enumerate(pieces.layout.positions):
        indices = [0] * len(view.offsets)
        for d, i in zip(dims, (*lead, start), strict=True):
            assert d is not None  # writes repeat nothing
            indices[d] = i
        value, lanes = pieces.get(emit, number), dims[-1]
        assert lanes is not None
        into = _write(emit, view, indices, value, into, (lanes, size))
    return into


def _write(
    emit: IRBuilder,
    view: StridedView,
    indices: list[int],
    value: SSAValue,
    into: SSAValue,
    lanes: tuple[int, int],
) -> SSAValue:
    dim, size = lanes
    if _is_contiguous(view, dim) or size == 1:
        return transfers.write(
            emit, value, into, view.at(emit, indices), (len(indices) - 1 if size == 1 else dim,)
        )
    for lane in range(size):
        moved = list(indices)
        moved[dim] += lane
        operands = [extract(emit, value, lane), into, *view.at(emit, moved)]
        into = emit.value(tensor.InsertOp.create(operands=operands, result_types=[into.type]))
    return into


def element_at(emit: IRBuilder, view: StridedView, indices: Sequence[int]) -> SSAValue:
    """Read a single element of a block as a scalar."""
    operands = [view.root, *view.at(emit, indices)]
    return emit.value(tensor.ExtractOp.create(operands=operands, result_types=[tensor_element(view.root)]))


def _is_contiguous(view: StridedView, dim: int) -> bool:
    """Whether a dimension of a block is contiguous in memory: the last one, with stride 1."""
    return dim == len(view.offsets) - 1 and view.strides[dim] == 1
