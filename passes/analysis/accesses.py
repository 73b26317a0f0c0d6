"""The accesses of a kernel's arguments on level 3: their order, the loops around them, and the elements."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeAlias, cast

from xdsl.dialects import memref, scf, vector
from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType, VectorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr

from stepwell.dialects.tensor_ir.sizes import declared_size
from stepwell.dialects.types import element_bytes
from stepwell.passes.analysis.linear_indices import Linear, LinearIndices, Loop, loops_of
from stepwell.runtime.dims import Dim

Extent: TypeAlias = "int | Dim"


class Layout(NamedTuple):
    """The row-major layout of a dense buffer, in which the first extent plays no part."""

    element_bytes: int
    inner: tuple[Extent, ...]
    """The extents but the first."""


class Part(NamedTuple):
    """Consecutive indices along a dimension: the first one, and how many there are."""

    first: Linear
    length: int


class Access(NamedTuple):
    """Reads, or writes, of elements one after the other: a box of indices that contains them."""

    argument: int
    is_write: bool
    order: int
    """The position in the text: of the last one of several reads, of the first one of several writes."""
    loops: tuple[Loop, ...]
    """From the outermost to the innermost."""
    layout: Layout
    box: tuple[Part, ...]
    ops: tuple[Operation, ...]


class _Dimension(NamedTuple):
    """A dimension of the buffer under a view: the first index, the stride, and the dimension of the view."""

    first: Linear
    stride: int
    of_view: int | None
    """The view's dimension; None if the view has a single index there."""


class _View(NamedTuple):
    """A view of an argument, in the layout of the argument or of a reshaped view of all of it."""

    argument: int
    layout: Layout
    dimensions: tuple[_Dimension, ...]
    is_whole: bool


_RESHAPES = (memref.CollapseShapeOp, memref.ExpandShapeOp, memref.ReinterpretCastOp, memref.CastOp)
_HARMLESS = (memref.DimOp, memref.ExtractAlignedPointerAsIndexOp)
_SEQUENTIAL = (scf.ForOp, scf.ParallelOp, scf.IfOp)


class Accesses:
    """The reads and writes of the arguments of a kernel, where each use of an argument is understood."""

    def __init__(self, kernel: FuncOp):
        self.indices = LinearIndices()
        self.unknown: set[int] = set()
        """The arguments with a use of another kind."""
        self.found: list[Access] = []
        self._views: dict[SSAValue, _View] = {}
        self._order = 0
        for number, argument in enumerate(kernel.body.block.args):
            if isinstance(argument.type, MemRefType):
                if (layout := _layout_of(argument)) is None:
                    self.unknown.add(number)
                else:
                    self._views[argument] = _whole(number, argument, layout)
        self._visit(kernel.body.block, ())

    def is_whole(self, memory: SSAValue) -> bool:
        """Whether a buffer is an argument, or a reshaped view of all of one."""
        return memory in self._views and self._views[memory].is_whole

    def _visit(self, block: Block, loops: tuple[Loop, ...]) -> None:
        for op in block.ops:
            self._order += 1
            if op.regions:
                self._visit_regions(op, loops)
            elif any(operand in self._views for operand in op.operands):
                self._visit_use(op, loops)

    def _visit_regions(self, op: Operation, loops: tuple[Loop, ...]) -> None:
        """Visit loops and branches; arguments that any other op uses, or that a loop carries, are unknown."""
        if isinstance(op, _SEQUENTIAL):
            self._forget(op.operands)
            inner = (*loops, *loops_of(op))
            for region in op.regions:
                for block in region.blocks:
                    self._visit(block, inner)
        else:
            for each in op.walk():
                self._forget(each.operands)

    def _forget(self, values: Sequence[SSAValue]) -> None:
        self.unknown.update(self._views[value].argument for value in values if value in self._views)

    def _visit_use(self, op: Operation, loops: tuple[Loop, ...]) -> None:
        view: _View | None = None
        match op:
            case memref.LoadOp():
                self._add(op, op.memref, op.indices, (), loops)
            case memref.StoreOp():
                self._add(op, op.memref, op.indices, (), loops)
            case vector.TransferReadOp() | vector.TransferWriteOp():
                self._add(op, op.source, op.indices, _counts(op), loops)
            case vector.LoadOp():
                self._add(op, op.base, op.indices, _trailing(op.result, op.indices), loops)
            case vector.StoreOp():
                self._add(op, op.base, op.indices, _trailing(op.vector, op.indices), loops)
            case memref.AssumeAlignmentOp():
                view = self._views[op.memref]
            case memref.SubviewOp():
                view = self._subview(op)
            case _ if isinstance(op, _RESHAPES):
                view = self._reshaped(op)
            case _ if isinstance(op, _HARMLESS):
                return
            case _:
                self._forget(op.operands)
                return
        if op.results and isinstance(op.results[0].type, MemRefType):
            if view is None:
                self._forget(op.operands)
            else:
                self._views[op.results[0]] = view

    def _reshaped(self, op: Operation) -> _View | None:
        """A reshaped view of a whole buffer; None for other views, and for sizes that are not known."""
        source = self._views[op.operands[0]]
        layout = _layout_of(op.results[0])
        is_dense = not isinstance(op, memref.ReinterpretCastOp) or _begins_at_0(op)
        if not source.is_whole or layout is None or not is_dense:
            return None
        return _whole(source.argument, op.results[0], layout)

    def _subview(self, op: memref.SubviewOp) -> _View | None:
        """The view of a part of a buffer; None if a stride is not known, or which dimensions are dropped."""
        source = self._views[op.source]
        offsets, strides = op.static_offsets.get_values(), op.static_strides.get_values()
        sizes, dynamic = op.static_sizes.get_values(), iter(op.offsets)
        firsts = [
            self.indices.of(next(dynamic)) if offset == DYNAMIC_INDEX else Linear((), offset)
            for offset in offsets
        ]
        rank = len(op.result.type.get_shape())
        if DYNAMIC_INDEX in strides or (kept := _kept(sizes, rank)) is None:
            return None
        dimensions = tuple(
            each
            if each.of_view is None
            else _Dimension(
                each.first + firsts[each.of_view].scaled(each.stride),
                each.stride * strides[each.of_view],
                kept[each.of_view],
            )
            for each in source.dimensions
        )
        return source._replace(dimensions=dimensions, is_whole=False)

    def _add(
        self,
        op: Operation,
        memory: SSAValue,
        indices: Sequence[SSAValue],
        counts: Sequence[int],
        loops: tuple[Loop, ...],
    ) -> None:
        """Add an access of `counts` elements along the dimensions; without counts, of one."""
        if (view := self._views.get(memory)) is None:
            self._forget(op.operands)
            return
        is_write = not op.results
        box = tuple(self._part(each, indices, counts) for each in view.dimensions)
        access = Access(view.argument, is_write, self._order, loops, view.layout, box, (op,))
        if (joined := _joined(self.found[-1], access) if self.found else None) is not None:
            self.found[-1] = joined
        else:
            self.found.append(access)

    def _part(self, each: _Dimension, indices: Sequence[SSAValue], counts: Sequence[int]) -> Part:
        if each.of_view is None:
            return Part(each.first, 1)
        first = each.first + self.indices.of(indices[each.of_view]).scaled(each.stride)
        count = counts[each.of_view] if counts else 1
        return Part(first, (count - 1) * each.stride + 1)


def _whole(argument: int, memory: SSAValue, layout: Layout) -> _View:
    """A view of all of an argument; a scalar is the element 0 of a dimension that the view has not."""
    rank = len(cast("MemRefType[Attribute]", memory.type).get_shape())
    dimensions = [_Dimension(Linear((), 0), 1, at) for at in range(rank)]
    return _View(argument, layout, tuple(dimensions) or (_Dimension(Linear((), 0), 1, None),), is_whole=True)


def _layout_of(value: SSAValue) -> Layout | None:
    """The layout of a dense buffer; None where an extent but the first is not known."""
    type = cast("MemRefType[Attribute]", value.type)
    inner: list[Extent] = []
    for axis, extent in list(enumerate(type.get_shape()))[1:]:
        size = declared_size(value, axis) if extent == DYNAMIC_INDEX else extent
        if size is None or (isinstance(size, Dim) and size.is_unknown):
            return None
        inner.append(size)
    try:
        return Layout(element_bytes(type.element_type), tuple(inner))
    except (TypeError, ValueError):
        return None


def _begins_at_0(op: memref.ReinterpretCastOp) -> bool:
    shape = op.result.type.get_shape()
    expected = [1]
    for extent in shape[:0:-1]:
        expected.insert(0, expected[0] * extent)
    strides = op.static_strides.get_values()
    return (
        op.static_offsets.get_values() == (0,) and DYNAMIC_INDEX not in shape[1:] and [*strides] == expected
    )


def _kept(sizes: Sequence[int], rank: int) -> list[int | None] | None:
    """
    The dimension of a subview for each dimension of its source; None if it is not clear which are dropped.
    """
    if len(sizes) == rank:
        return list(range(rank))
    if sizes.count(1) != len(sizes) - rank:
        return None
    left = iter(range(rank))
    return [None if size == 1 else next(left) for size in sizes]


def _counts(op: vector.TransferReadOp | vector.TransferWriteOp) -> list[int]:
    """The elements along each dimension of the memory that a transfer touches at most."""
    type = op.result.type if isinstance(op, vector.TransferReadOp) else op.vector.type
    counts = [1] * len(op.indices)
    for expr, length in zip(
        op.permutation_map.data.results, cast("VectorType[Attribute]", type).get_shape(), strict=True
    ):
        if isinstance(expr, AffineDimExpr):
            counts[expr.position] = length
    return counts


def _trailing(value: SSAValue, indices: Sequence[SSAValue]) -> list[int]:
    """The elements along each dimension of the memory that a vector has in its last ones."""
    shape = cast("VectorType[Attribute]", value.type).get_shape()
    return [*[1] * (len(indices) - len(shape)), *shape]


def _joined(before: Access, access: Access) -> Access | None:
    """Two accesses of a kind in one, with the box around both; None where their indices have other loops."""
    if before[:2] != access[:2] or before.loops != access.loops or before.layout != access.layout:
        return None
    parts: list[Part] = []
    for a, b in zip(before.box, access.box, strict=True):
        if a.first.terms != b.first.terms:
            return None
        low = min(a.first.constant, b.first.constant)
        end = max(a.first.constant + a.length, b.first.constant + b.length)
        parts.append(Part(Linear(a.first.terms, low), end - low))
    order = before.order if access.is_write else access.order
    return access._replace(order=order, box=tuple(parts), ops=before.ops + access.ops)


def bytes_of(access: Access) -> Iterator[tuple[Part, int]]:
    """The parts of a box, each with the bytes from one index to the next; none for extents that are open."""
    stride = access.layout.element_bytes
    strides = [stride]
    for extent in reversed(access.layout.inner):
        if not isinstance(extent, int):
            return
        strides.insert(0, strides[0] * extent)
    yield from zip(access.box, strides, strict=True)
