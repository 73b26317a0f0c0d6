"""Structured ops for groups of stores: operands for affine reads, and a body for the rest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects import tensor
from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import TensorType
from xdsl.dialects.linalg.ops import FillOp, IndexOp, YieldOp
from xdsl.ir import Block, Operation, OpResult, Region, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from stepwell.dialects.fields import names_attr
from stepwell.dialects.ir_builder import Index as Size
from stepwell.dialects.ir_builder import IRBuilder
from stepwell.dialects.linalg_builder.support import PARALLEL, REDUCTION
from stepwell.dialects.sched import AXIS, LOOPS, NAME
from stepwell.dialects.tensor_ir.combiners import combiner_of
from stepwell.dialects.tensor_ir.slices import Slice, extract_slice, insert_slice
from stepwell.dialects.tensor_ir.structured import generic, single_dim
from stepwell.passes.tensor.script.raising.dependences import summed
from stepwell.passes.tensor.script.raising.extents import extents_of, same_extents
from stepwell.passes.tensor.script.raising.nests import (
    Buffer,
    Group,
    Index,
    LoopNode,
    Nest,
    NotRaisedError,
    Store,
)


class StructuredNest:
    """Emits the structured ops of a nest before it, in the order of its groups."""

    def __init__(self, nest: Nest, emit: IRBuilder):
        self.nest, self.emit = nest, emit
        self.current: dict[Buffer, SSAValue] = {
            b: b.init for b in nest.results.values() if b.init is not None
        }
        """The value of each buffer after the groups so far."""
        self.made: list[tuple[Operation, tuple[LoopNode, ...]]] = []
        """The ops, each with the loops that it stands for."""
        self._outside: dict[SSAValue, SSAValue] = {}

    def run(self) -> None:
        """Emit all groups. Raises: NotRaisedError."""
        for group in self.nest.groups:
            for store in group.stores:
                if store.buffer not in self.current:
                    sizes = [self.extent(loop) for loop in store.buffer.loops]
                    self.current[store.buffer] = self.emit.empty(store.buffer.element, sizes)
            self._emitted(group)

    def extent(self, loop: LoopNode) -> Size:
        """The number of a loop's iterations, as a value before the nest. Raises: NotRaisedError."""
        return number if (number := loop.extent) is not None else self.outside(loop.op.ub)

    def outside(self, value: SSAValue) -> SSAValue:
        """A value computed before the nest. Raises: NotRaisedError for one that depends on an iteration."""
        owner = value.owner
        if not (
            self.nest.top.is_ancestor(owner) if isinstance(owner, Operation) else _is_in(owner, self.nest.top)
        ):
            return value
        if (known := self._outside.get(value)) is None:
            if not isinstance(owner, Operation) or owner.regions or isinstance(owner, tensor.ExtractOp):
                raise NotRaisedError(
                    "the number of iterations of a loop depends on another loop", self.nest.top
                )
            for operand in owner.operands:
                self.outside(operand)
            clone = self.emit.insert(owner.clone(self._outside))
            self._outside |= dict(zip(owner.results, clone.results, strict=True))
            known = self._outside[value]
        return known

    def _emitted(self, group: Group) -> None:
        """Emit the op of a group, and let its results be the buffers' values."""
        self.emit.location = group.stores[0].op.location
        windows = [_Window(self, store, group) for store in group.stores]
        if (alias := self._alias(group, windows)) is not None:
            self.current[group.stores[0].buffer] = alias
            return
        if (filled := self._filled(group, windows)) is not None:
            results: Sequence[SSAValue] = [filled]
        else:
            results = _Body(self, group, windows).op()
        for store, window, result in zip(group.stores, windows, results, strict=True):
            result.name_hint = store.buffer.name
            self.current[store.buffer] = window.replaced(result)

    def _alias(self, group: Group, windows: Sequence[_Window]) -> SSAValue | None:
        """The value of a number's buffer, for a group of a single copy to a whole tensor."""
        store = group.stores[0]
        source = self.nest.scalars.get(store.value)
        if len(windows) != 1 or source is None or source is store.buffer or not windows[0].is_whole:
            return None
        place = [index.loop for index in self.nest.place(store, group.loops)]
        is_same = place == list(source.loops) and self.current[source].type == self.current[store.buffer].type
        return self.current[source] if is_same else None

    def _filled(self, group: Group, windows: Sequence[_Window]) -> SSAValue | None:
        """A `linalg.fill` for a constant everywhere."""
        owner = group.stores[0].value.owner
        if len(windows) != 1 or not isinstance(owner, ConstantOp) or summed(self.nest, group):
            return None
        number = self.emit.insert(owner.clone()).result
        into = windows[0].fresh()
        fill = FillOp([number], [into], [into.type])
        self.emit.insert(fill)
        self.made.append((fill, group.loops))
        return fill.results[0]


class _Window:
    """The part of a tensor that a store writes, and the order of the loops along its dimensions."""

    def __init__(self, out: StructuredNest, store: Store, group: Group):
        self._out, self._store = out, store
        self._place = out.nest.place(store, group.loops)
        if any(
            len(index.terms) != 1 or index.terms[0][1] != 1 or index.constant < 0 for index in self._place
        ):
            raise NotRaisedError(
                f"an index of {store.buffer.name} is not a loop's, with a constant", store.op
            )
        self._sizes = tuple(out.extent(index.terms[0][0]) for index in self._place)
        self.map = AffineMap(
            len(group.loops),
            0,
            tuple(AffineExpr.dimension(group.loops.index(index.terms[0][0])) for index in self._place),
        )

    @property
    def is_whole(self) -> bool:
        """Whether the part is all of the tensor."""
        extents = extents_of(self._out.current[self._store.buffer], self._out.emit)
        return all(index.constant == 0 for index in self._place) and same_extents(self._sizes, extents)

    def _slice(self) -> Slice:
        return Slice(tuple(i.constant for i in self._place), self._sizes, (1,) * len(self._place))

    def old(self) -> SSAValue:
        """The elements before the store."""
        value = self._out.current[self._store.buffer]
        return value if self.is_whole else extract_slice(self._out.emit, value, self._slice())

    def fresh(self) -> SSAValue:
        """A tensor for the elements, of which the store needs none of the old ones."""
        return self._out.emit.empty(self._store.buffer.element, self._sizes)

    def replaced(self, result: SSAValue) -> SSAValue:
        """The tensor with the elements that a store has written."""
        if self.is_whole:
            return result
        return insert_slice(self._out.emit, result, self._out.current[self._store.buffer], self._slice())


class _Body:
    """The `linalg.generic` of a group, made."""

    def __init__(self, out: StructuredNest, group: Group, windows: Sequence[_Window]):
        self._out, self._group, self._windows = out, group, windows
        self._block = Block()
        self._known: dict[SSAValue, SSAValue] = {}
        self._operands: dict[tuple[SSAValue, tuple[Index, ...]], SSAValue] = {}
        self._maps: list[AffineMap] = []
        self._sources: list[SSAValue] = []
        self._own = {store.buffer: position for position, store in enumerate(group.stores)}
        self._is_read = [False] * len(group.stores)
        self._outs = [self._block.insert_arg(s.buffer.element, len(self._block.args)) for s in group.stores]

    def op(self) -> Sequence[SSAValue]:
        """The results of the op. Raises: NotRaisedError."""
        nest, group = self._out.nest, self._group
        values = [self._value(store.value) for store in group.stores]
        self._block.add_op(YieldOp(*values))
        sums = summed(nest, group)
        is_declared = any(AXIS in loop.op.attributes for loop in group.loops)
        if sums and not is_declared and combiner_of(self._block) is None:
            raise NotRaisedError(f"nothing known combines the steps of {sums[0].name}", group.stores[0].op)
        self._cover(sums)
        inits = [
            window.old() if is_read or sums else window.fresh()
            for window, is_read in zip(self._windows, self._is_read, strict=True)
        ]
        kinds = [REDUCTION if loop in sums else PARALLEL for loop in group.loops]
        maps = [*self._maps, *(window.map for window in self._windows)]
        made = generic(self._sources, inits, Region(self._block), maps, kinds)
        self._out.emit.insert(made)
        if (name := group.loops[0].op.attributes.get(NAME)) is not None:
            made.attributes |= {NAME: name, LOOPS: names_attr([loop.name for loop in group.loops])}
        self._out.made.append((made, group.loops))
        return made.results

    def _value(self, value: SSAValue) -> SSAValue:
        """A value of the nest, in the body."""
        if (known := self._known.get(value)) is None:
            known = self._known[value] = self._made(value)
        return known

    def _made(self, value: SSAValue) -> SSAValue:
        nest = self._out.nest
        for position, loop in enumerate(self._group.loops):
            if value is loop.index:
                return self._add(IndexOp(position)).results[0]
        if (scalar := nest.scalars.get(value)) is not None:
            if (own := self._own.get(scalar)) is not None:
                self._is_read[own] = True
                return self._outs[own]
            return self._operand(
                self._out.current[scalar], tuple(Index(((loop, 1),)) for loop in scalar.loops)
            )
        owner = value.owner
        if not isinstance(owner, Operation):
            if _is_in(owner, nest.top):
                raise NotRaisedError("a body uses what another body computes", self._group.stores[0].op)
            return value
        if not nest.top.is_ancestor(owner):
            return value
        if isinstance(owner, tensor.ExtractOp):
            return self._element(owner)
        for inner in owner.walk():
            for operand in inner.operands:
                if not _is_defined_in(operand, owner):
                    self._outer(operand, inner)
        clone = self._add(owner.clone(self._known))
        return clone.results[cast("OpResult", value).index]

    def _outer(self, operand: SSAValue, user: Operation) -> None:
        """Make what an op with regions uses of the nest, tensors too."""
        if isinstance(operand.type, TensorType):
            self._known[operand] = self._tensor(operand, user)
        else:
            self._value(operand)

    def _tensor(self, value: SSAValue, user: Operation) -> SSAValue:
        """A tensor as it is when the group is computed. Raises: NotRaisedError where that is another one."""
        nest, buffer = self._out.nest, self._out.nest.buffer(value)
        if buffer is None:
            return value
        version = nest.version(value)
        later, before = nest.replaced.get(version), nest.made.get(version)
        is_stale = later is not None and later.position < self._group.position
        is_early = before is not None and before.position >= self._group.position
        if is_stale or is_early or buffer in self._own:
            raise NotRaisedError(f"{buffer.name} is read between stores", user)
        return self._out.current[buffer]

    def _element(self, op: tensor.ExtractOp) -> SSAValue:
        """An element of a tensor: of an operand where the indices allow it."""
        nest, group = self._out.nest, self._group
        found = [nest.index(index, group.loops) for index in op.indices]
        place = tuple(index for index in found if index is not None)
        if (
            (buffer := nest.buffer(op.tensor)) is not None
            and buffer in self._own
            and len(place) == len(found)
        ):
            position = self._own[buffer]
            if place == nest.place(group.stores[position], group.loops):
                if nest.made.get(nest.version(op.tensor)) is group:
                    return self._value(group.stores[position].value)
                self._is_read[position] = True
                return self._outs[position]
        source = self._tensor(op.tensor, op)
        if len(place) == len(found) and all(self._is_forward(index) for index in place):
            return self._operand(source, place)
        clone = tensor.ExtractOp.create(
            operands=[source, *map(self._value, op.indices)], result_types=[op.result.type]
        )
        return self._add(clone).results[0]

    @staticmethod
    def _is_forward(index: Index) -> bool:
        return index.constant >= 0 and all(factor > 0 for _, factor in index.terms)

    def _operand(self, source: SSAValue, place: tuple[Index, ...]) -> SSAValue:
        """The argument for an operand that is read at a place."""
        if (known := self._operands.get((source, place))) is None:
            extents = extents_of(source, self._out.emit)
            windows = [self._window(extents[axis], index) for axis, index in enumerate(place)]
            sizes = [size for _, size, _ in windows]
            is_whole = all(offset == 0 for offset, _, _ in windows) and same_extents(sizes, extents)
            block = Slice(tuple(offset for offset, _, _ in windows), tuple(sizes), (1,) * len(sizes))
            value = source if is_whole else extract_slice(self._out.emit, source, block)
            known = self._block.insert_arg(cast("TensorType", source.type).element_type, len(self._sources))
            self._sources.append(value)
            self._maps.append(AffineMap(len(self._group.loops), 0, tuple(e for _, _, e in windows)))
            self._operands[source, place] = known
        return known

    def _window(self, extent: Size, index: Index) -> tuple[int, Size, AffineExpr]:
        """The first index along a dimension, the number of indices, and the index from the first."""
        loops = list(self._group.loops)
        terms = [AffineExpr.dimension(loops.index(loop)) * factor for loop, factor in index.terms]
        expr = sum(terms[1:], terms[0]) if terms else AffineExpr.constant(0)
        if (loop := index.loop) is not None and index.terms[0][1] == 1:
            return index.constant, self._out.extent(loop), AffineExpr.dimension(loops.index(loop))
        if not index.terms:
            return index.constant, 1, expr
        if index.constant == 0:
            return 0, extent, expr
        size = self._out.emit.minus(extent, index.constant)
        return index.constant, size, expr

    def _cover(self, sums: Sequence[LoopNode]) -> None:
        """Add operands for the extents of summed loops that no read moves along alone."""
        loops = list(self._group.loops)
        alone = {single_dim(expr) for map in self._maps for expr in map.results}
        for loop in sums:
            if loops.index(loop) not in alone:
                empty = self._out.emit.empty(self._group.stores[0].buffer.element, [self._out.extent(loop)])
                self._block.insert_arg(cast("TensorType", empty.type).element_type, len(self._sources))
                self._sources.append(empty)
                self._maps.append(AffineMap(len(loops), 0, (AffineExpr.dimension(loops.index(loop)),)))

    def _add(self, op: Operation) -> Operation:
        self._block.add_op(op)
        return op


def _is_in(block: object, top: Operation) -> bool:
    return isinstance(block, Block) and (parent := block.parent_op()) is not None and top.is_ancestor(parent)


def _is_defined_in(value: SSAValue, op: Operation) -> bool:
    owner = value.owner
    if isinstance(owner, Operation):
        return op is not owner and op.is_ancestor(owner)
    return _is_in(owner, op)
