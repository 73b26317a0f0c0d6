"""Reading and writing pieces of vectors: slices of slices fold into indices of the tensor they come from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import tensor, vector
from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.dialects.linalg import ops as linalg
from xdsl.ir import SSAValue

from stepwell.dialects.tensor_ir import transfers
from stepwell.dialects.tensor_ir.emit import Emitter, Index
from stepwell.dialects.tensor_ir.pieces import Layout, Pieces, Position, broadcast, extract, gather
from stepwell.dialects.tensor_ir.reshapes import collapse, joined_rows
from stepwell.dialects.tensor_ir.structured import tensor_element, tensor_shape
from stepwell.dialects.tensor_ir.transfers import DimOf, constant_index, dim_of, vector_type
from stepwell.dialects.tensor_ir.transposes import assembled, shuffle, transposed

_VIEWS = (tensor.ExtractSliceOp, tensor.CollapseShapeOp, tensor.ExpandShapeOp, tensor.CastOp)
# Vectors of elements that lie farther apart, or are shorter, are gathered one by one.
_LARGEST_STRIDE, _LEAST_LANES = 4, 4
# Columns that alternate in memory are picked from whole registers, unless they are too many.
MOST_ALTERNATING = 3
_READS = (vector.TransferReadOp, tensor.ExtractOp, tensor.DimOp)


@dataclass(frozen=True)
class Place:
    """A block of a tensor: element `i` of the block is element `offset + stride * i` of `root`."""

    root: SSAValue
    offsets: tuple[Index, ...]
    strides: tuple[int, ...]

    @staticmethod
    def of(emit: Emitter, value: SSAValue) -> Place:
        """Where a tensor lies: a slice in what it was cut from, anything else in itself."""
        if not isinstance(op := value.owner, tensor.ExtractSliceOp) or len(op.strides):
            rank = len(tensor_shape(value))
            return Place(value, (0,) * rank, (1,) * rank)
        return Place.of(emit, op.source).cut(emit, slice_offsets(op), op.static_strides.get_values())

    def cut(self, emit: Emitter, offsets: Sequence[Index], strides: Sequence[int]) -> Place:
        """A block of this block."""
        inner = [emit.times(o, s) for o, s in zip(offsets, self.strides, strict=True)]
        return Place(
            self.root,
            tuple(emit.plus(o, i) for o, i in zip(self.offsets, inner, strict=True)),
            tuple(s * t for s, t in zip(self.strides, strides, strict=True)),
        )

    def at(self, emit: Emitter, indices: Sequence[int]) -> list[SSAValue]:
        """The indices of an element in the root."""
        return [
            emit.materialize(emit.plus(o, s * i))
            for o, s, i in zip(self.offsets, self.strides, indices, strict=True)
        ]


def slice_offsets(op: tensor.ExtractSliceOp | tensor.InsertSliceOp) -> list[Index]:
    """The offsets of a slice."""
    dynamic = iter(op.offsets)
    return [next(dynamic) if n == DYNAMIC_INDEX else n for n in op.static_offsets.get_values()]


def slice_sizes(op: tensor.ExtractSliceOp | tensor.InsertSliceOp) -> list[Index]:
    """The sizes of a slice."""
    dynamic = iter(op.sizes)
    return [next(dynamic) if n == DYNAMIC_INDEX else n for n in op.static_sizes.get_values()]


def start_of(emit: Emitter, place: Place, op: vector.TransferReadOp | vector.TransferWriteOp) -> Place:
    """The place whose first element is the first one of a transfer."""
    numbers = [constant_index(i) for i in op.indices]
    start = [i if n is None else n for i, n in zip(op.indices, numbers, strict=True)]
    return place.cut(emit, start, (1,) * len(start))


def reads(emit: Emitter, op: vector.TransferReadOp, layout: Layout) -> Pieces:
    """
    The pieces of a `vector.transfer_read`, each read once however often it repeats.

    A piece is read where it is first used, so that few are in registers at a time; but here when something
    else overwrites the tensor, perhaps before that use, or uses the vector in a loop.
    """
    place = start_of(emit, Place.of(emit, op.source), op)
    dims, home = dim_of(op), op.parent
    seen: dict[tuple[object, ...], SSAValue] = {}

    def indices_of(position: Position) -> list[int]:
        lead, start, _ = position
        return indices_at(place, dims, (*lead, start))

    def make(at: Emitter, position: Position) -> SSAValue:
        indices, size = indices_of(position), position[2]
        key = (at.block, size, *indices)
        if key not in seen:
            seen[key] = _read(at, place, indices, vector_lanes=dims[-1], size=size)
        return seen[key]

    if (rows := _rows(place, dims, layout)) is not None:
        turned = _read_alternating if _alternates(place, dims, layout.leading[rows]) else _read_turned
        return Pieces(layout, turned(emit, place, dims, layout, rows))
    same = [tuple(indices_of(p)) for p in layout.positions] if dims[-1] is None else None
    pieces = Pieces(layout, make=make, same=same)
    is_local = all(use.operation.parent is home for use in op.result.uses)
    return pieces if is_local and _is_only_read(place.root) else pieces.settle(emit)


def reads_to_the_end(emit: Emitter, op: vector.TransferReadOp, layout: Layout) -> Pieces:
    """The pieces of a `vector.transfer_read` along a row that may end inside: those behind it are padding."""
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


def write_to_the_end(emit: Emitter, op: vector.TransferWriteOp, pieces: Pieces, into: SSAValue) -> SSAValue:
    """`into` with the pieces of a `vector.transfer_write` in it, as far as the row goes."""
    for piece, (_, start, _) in zip(pieces.all(emit), pieces.layout.positions, strict=True):
        into = transfers.write(emit, piece, into, _moved(emit, op, start), dim_of(op), in_bounds=False)
    return into


def _moved(emit: Emitter, op: vector.TransferReadOp | vector.TransferWriteOp, lanes: int) -> list[SSAValue]:
    """Where a transfer along the last dimension is so many lanes after its start."""
    *outer, last = op.indices
    number = constant_index(last)
    return [*outer, emit.materialize(emit.plus(last if number is None else number, lanes))]


def indices_at(place: Place, dims: DimOf, position: Sequence[int]) -> list[int]:
    """Where an element of a vector lies in the block that the vector is read from."""
    indices = [0] * len(place.offsets)
    for d, i in zip(dims, position, strict=True):
        if d is not None:
            indices[d] = i
    return indices


def _rows(place: Place, dims: DimOf, layout: Layout) -> int | None:
    """The dimension of a vector along which elements are neighbours in memory, when it is not the last."""
    last = len(place.offsets) - 1
    if dims[-1] in (None, last) or last not in dims or place.strides[last] != 1:
        return None
    row = dims.index(last)
    return row if layout.width > 1 and layout.leading[row] > 1 else None


def _read_turned(emit: Emitter, place: Place, dims: DimOf, layout: Layout, row: int) -> list[SSAValue]:
    """All pieces of a vector from blocks that are read by rows, as they lie, and transposed in registers."""
    made: dict[Position, SSAValue] = {}
    for lead, start, size in layout.positions:
        if lead[row]:
            continue
        rows: list[SSAValue] = []
        for lane in range(start, start + size):
            indices = indices_at(place, dims, (*lead, lane))
            rows.append(_read(emit, place, indices, vector_lanes=dims[row], size=layout.leading[row]))
        for i, column in enumerate(transposed(emit, rows)):
            made[(*lead[:row], i, *lead[row + 1 :]), start, size] = column
    return [made[position] for position in layout.positions]


def _alternates(place: Place, dims: DimOf, width: int) -> bool:
    """Whether the lanes of a vector are whole rows of so few elements, one behind the other in memory."""
    last = len(place.offsets) - 1
    is_whole = place.offsets[last] == 0 and tensor_shape(place.root)[last] == width
    return width <= MOST_ALTERNATING and is_whole and dims[-1] == last - 1 and place.strides[last - 1] == 1


def _read_alternating(emit: Emitter, place: Place, dims: DimOf, layout: Layout, row: int) -> list[SSAValue]:
    """
    All pieces of a vector whose rows alternate in memory: read as they lie, then each row's lanes picked.

    ```mlir
    %0 = vector.transfer_read %x[%c0], %p {in_bounds = [true]} : tensor<512xf32>, vector<4xf32>
    %1 = vector.transfer_read %x[%c4], %p {in_bounds = [true]} : tensor<512xf32>, vector<4xf32>
    %even = vector.shuffle %0, %1 [0, 2, 4, 6] : vector<4xf32>, vector<4xf32>
    %odd = vector.shuffle %0, %1 [1, 3, 5, 7] : vector<4xf32>, vector<4xf32>
    ```
    """
    made: dict[Position, SSAValue] = {}
    width, rank = layout.leading[row], len(place.offsets)
    joined = collapse(emit, place.root, joined_rows(rank))
    for lead, start, size in layout.positions:
        if lead[row]:
            continue
        *outer, first, _ = place.at(emit, indices_at(place, dims, (*lead, start)))
        type = vector_type(layout.element, (size,))
        parts = [
            transfers.read(emit, joined, [*outer, behind(emit, first, width, k * size)], type, (rank - 2,))
            for k in range(width)
        ]
        for i in range(width):
            lanes = [lane * width + i for lane in range(size)]
            made[(*lead[:row], i, *lead[row + 1 :]), start, size] = assembled(emit, parts, lanes)
    return [made[position] for position in layout.positions]


def behind(emit: Emitter, row: SSAValue, width: int, lane: int) -> SSAValue:
    """The place of a lane of a row where rows of a width are joined."""
    number = constant_index(row)
    return emit.materialize(emit.plus(emit.times(row if number is None else number, width), lane))


def _is_only_read(value: SSAValue) -> bool:
    """Whether no op takes a tensor, or a view of it, as the place to write its result to."""
    for use in value.uses:
        op = use.operation
        if isinstance(op, _VIEWS):
            if not _is_only_read(op.results[0]):
                return False
        elif isinstance(op, linalg.GenericOp | tensor.InsertSliceOp):
            if use.index >= (len(op.inputs) if isinstance(op, linalg.GenericOp) else 1):
                return False
        elif not isinstance(op, _READS):
            return False
    return True


def _read(
    emit: Emitter, place: Place, indices: list[int], *, vector_lanes: int | None, size: int
) -> SSAValue:
    """One piece: a scalar in all lanes, neighbours in memory, or single elements gathered."""
    if vector_lanes is None:
        return broadcast(emit, element_at(emit, place, indices), size)
    if _is_contiguous(place, vector_lanes) or size == 1:
        element = tensor_element(place.root)
        type = vector_type(element, (size,))
        lanes: DimOf = (len(indices) - 1 if size == 1 else vector_lanes,)
        return transfers.read(emit, place.root, place.at(emit, indices), type, lanes)
    if vector_lanes == len(indices) - 1 and place.strides[-1] <= _LARGEST_STRIDE and size >= _LEAST_LANES:
        return _read_apart(emit, place, indices, size)
    scalars: list[SSAValue] = []
    for lane in range(size):
        moved = list(indices)
        moved[vector_lanes] += lane
        scalars.append(element_at(emit, place, moved))
    return gather(emit, scalars)


def _read_apart(emit: Emitter, place: Place, indices: list[int], size: int) -> SSAValue:
    """Elements that lie a few places apart: all between the first and the last are read, and some dropped."""
    stride = place.strides[-1]
    dense = Place(place.root, place.offsets, (*place.strides[:-1], 1))
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
    emit: Emitter, op: vector.TransferWriteOp, pieces: Pieces, into: SSAValue, place: Place | None = None
) -> SSAValue:
    """`into` with the pieces of a `vector.transfer_write` in it; its tensor is the block `place`."""
    if place is None:
        rank = len(op.indices)
        place = Place(into, (0,) * rank, (1,) * rank)
    place, dims = start_of(emit, place, op), dim_of(op)
    for number, (lead, start, size) in enumerate(pieces.layout.positions):
        indices = [0] * len(place.offsets)
        for d, i in zip(dims, (*lead, start), strict=True):
            assert d is not None  # writes repeat nothing
            indices[d] = i
        value, lanes = pieces.get(emit, number), dims[-1]
        assert lanes is not None
        into = _write(emit, place, indices, value, into, (lanes, size))
    return into


def _write(
    emit: Emitter, place: Place, indices: list[int], value: SSAValue, into: SSAValue, lanes: tuple[int, int]
) -> SSAValue:
    dim, size = lanes
    if _is_contiguous(place, dim) or size == 1:
        return transfers.write(
            emit, value, into, place.at(emit, indices), (len(indices) - 1 if size == 1 else dim,)
        )
    for lane in range(size):
        moved = list(indices)
        moved[dim] += lane
        operands = [extract(emit, value, lane), into, *place.at(emit, moved)]
        into = emit.value(tensor.InsertOp.create(operands=operands, result_types=[into.type]))
    return into


def element_at(emit: Emitter, place: Place, indices: Sequence[int]) -> SSAValue:
    """One element of a block."""
    operands = [place.root, *place.at(emit, indices)]
    return emit.value(tensor.ExtractOp.create(operands=operands, result_types=[tensor_element(place.root)]))


def _is_contiguous(place: Place, dim: int) -> bool:
    """Whether neighbours along a dimension of a block are neighbours in memory: only along the last one."""
    return dim == len(place.offsets) - 1 and place.strides[dim] == 1
