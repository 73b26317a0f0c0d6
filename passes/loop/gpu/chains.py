"""Chains of elementwise ops after another op, computed by one thread for each element."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TypeAlias

from xdsl.dialects import memref
from xdsl.dialects.linalg.ops import FillOp
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineMap
from xdsl.traits import is_side_effect_free

from stepwell.dialects.ir_builder import Index, IRBuilder
from stepwell.dialects.tensor_ir.structured import projected_permutation
from stepwell.passes.loop.gpu.nests import Nest, computed, is_buffer, load_element, root_of, store_element

_MOST = 24
"""Ops in one chain: the kernels of generated code stay readable."""
Coordinates = tuple[int, ...]
"""The dimension of the chain's space along each dimension of a buffer."""


@dataclass(frozen=True)
class Link:
    """An op of a chain."""

    nest: Nest
    space: tuple[int, ...]
    """The dimension of the chain's space of each loop."""

    def coordinates(self, map: AffineMap) -> Coordinates | None:
        """The dimension of the chain's space along each dimension of an operand; None for another index."""
        return _coordinates(map, self.space)


Load: TypeAlias = Callable[[IRBuilder, Link, SSAValue, AffineMap, Sequence[Index]], SSAValue]
"""What loads an element of an operand of a link, at indices of the link's loops."""


def _load_element(
    build: IRBuilder, link: Link, value: SSAValue, map: AffineMap, indices: Sequence[Index]
) -> SSAValue:
    return load_element(build, value, map, indices)


@dataclass
class Chain:
    """
    A space of points, each with a thread, and ops that read and write elements of this point.

    The first op's output determines the space. Buffers that the ops write have an element for each point, and
    an op reads only the element of its own point; so the ops need no order between threads.
    """

    nest: Nest
    rank: int
    own: dict[SSAValue, Coordinates]
    """Buffers of which threads access the element of their own point alone."""
    written: set[SSAValue]
    """The roots of buffers that are written."""
    read: set[SSAValue]
    """The roots of buffers that are read at other points."""
    links: list[Link] = field(default_factory=list[Link])

    @staticmethod
    def after(nest: Nest) -> Chain:
        """The chain of an op with one output."""
        (output,) = nest.outputs
        count = len(nest.output_maps[0].results)
        read = {root_of(value) for value in nest.inputs if is_buffer(value)} | nest.captured
        return Chain(nest, count, {output: tuple(range(count))}, {root_of(output)}, read)

    @staticmethod
    def of_points(nest: Nest) -> Chain:
        """The empty chain of the points of an op with parallel loops alone, which is to be added."""
        place = projected_permutation(nest.output_maps[0]) or ()
        return Chain(nest, len(nest.parallel), {nest.outputs[0]: place}, set(), set())

    def add(self, op: Operation) -> bool:
        """Whether an op fits, which then is the next link."""
        nest = Nest.of(op)
        if nest is None or not all(nest.parallel) or len(nest.parallel) != self.rank:
            return False
        operands = [(v, m) for v, m in zip(op.operands, nest.maps, strict=True) if is_buffer(v)]
        if (space := self._space(nest, operands)) is None:
            return False
        places = [(value, _coordinates(map, space)) for value, map in operands]
        outputs = places[len(places) - len(nest.outputs) :]
        written = {root_of(value) for value, _ in outputs}
        if not self._may_read(places) or not self._may_write(outputs):
            return False
        if nest.captured & (self.written | written):
            return False
        self.read |= nest.captured
        for value, place in places:
            is_own = place is not None and _covers(place, self.rank)
            if place is None or not is_own or self.own.setdefault(value, place) != place:
                self.read.add(root_of(value))
        self.written |= written
        self.links.append(Link(nest, space))
        return True

    def _space(self, nest: Nest, operands: Iterable[tuple[SSAValue, AffineMap]]) -> tuple[int, ...] | None:
        """The dimension of the space of each loop, by a buffer that the chain has already."""
        for value, map in operands:
            loops = projected_permutation(map)
            if value in self.own and loops is not None and len(loops) == self.rank:
                found = dict(zip(loops, self.own[value], strict=True))
                return tuple(found[loop] for loop in range(self.rank))
        return None

    def _may_read(self, places: Sequence[tuple[SSAValue, Coordinates | None]]) -> bool:
        """Whether what is read of written buffers is of the thread's own point."""
        return all(
            self.own.get(value) == place and _covers(place, self.rank)
            for value, place in places
            if root_of(value) in self.written
        )

    def _may_write(self, outputs: Sequence[tuple[SSAValue, Coordinates | None]]) -> bool:
        """Whether no other point needs what is written."""
        return all(
            _covers(place, self.rank)
            and root_of(value) not in self.read
            and self.own.get(value, place) == place
            and not any(root_of(value) is root_of(other) and value is not other for other in self.own)
            for value, place in outputs
        )

    def points(
        self,
        build: IRBuilder,
        known: dict[SSAValue, SSAValue],
        point: Sequence[Index],
        read: Mapping[SSAValue, SSAValue] = MappingProxyType({}),
    ) -> None:
        """
        Compute and store the elements of a point.

        Args: `known` has the elements of buffers that the thread has computed, and are to be stored; `read`
        those that it has loaded for the first op.
        """
        for value, result in self.results(build, known, point, read).items():
            self.store(build, value, result, point)

    def results(
        self,
        build: IRBuilder,
        known: dict[SSAValue, SSAValue],
        point: Sequence[Index],
        read: Mapping[SSAValue, SSAValue] = MappingProxyType({}),
        load: Load = _load_element,
    ) -> dict[SSAValue, SSAValue]:
        """
        Compute the elements of a point; returns those that are to be stored, by buffer.

        Args: `known` and `read` as for `points`; `load` loads the elements of operands.
        """
        written = dict.fromkeys(known)
        for link in self.links:
            indices = [point[dim] for dim in link.space]
            nest = link.nest
            operands: list[SSAValue] = []
            for value, map, argument in zip(
                nest.op.operands, nest.maps, nest.op.body.block.args, strict=True
            ):
                if not argument.uses:
                    operands.append(value)  # of no op of the body
                elif value in known:
                    operands.append(known[value])
                else:
                    is_read = link is self.links[0] and value in read
                    operands.append(read[value] if is_read else load(build, link, value, map, indices))
                    if value in self.own:
                        known[value] = operands[-1]
            for value, result in zip(nest.outputs, computed(build, nest, operands, indices), strict=True):
                known[value] = result
                written[value] = None
        return {value: known[value] for value in written if not self._is_dead(value)}

    def store(self, build: IRBuilder, value: SSAValue, result: SSAValue, point: Sequence[Index]) -> None:
        """Store the element of a buffer at a point."""
        place = self.own[value]
        map = AffineMap.identity(len(place))
        store_element(build, result, value, map, [point[dim] for dim in place])

    @property
    def every_dimension(self) -> Coordinates:
        """The place of a buffer with a dimension along each one of the space, in its order."""
        return tuple(range(self.rank))

    def _is_dead(self, value: SSAValue) -> bool:
        """Whether a buffer is made for ops of the chain alone."""
        ops = {self.nest.op, *(link.nest.op for link in self.links)}
        is_made = isinstance(value.owner, memref.AllocaOp | memref.AllocOp)
        return is_made and all(use.operation in ops for use in value.uses)


def followers(chain: Chain, op: Operation) -> list[Operation]:
    """Add the ops after one to a chain, until one does not fit; returns them."""
    found: list[Operation] = []
    while (op := next_in_effect(op)) is not None and len(found) < _MOST and chain.add(op):  # pyright: ignore[reportAssignmentType]
        found.append(op)
    return found


def sink_fills(ops: Iterable[Operation]) -> None:
    """Move each fill before the first access of the filled buffer."""
    for op in list(ops):
        if not isinstance(op, FillOp) or op.results:
            continue
        root, after = root_of(op.outputs[0]), op.next_op
        while after is not None and after.next_op is not None and not touches(after, root):
            after = after.next_op
        if after is not None and after is not op.next_op:
            op.detach()
            assert after.parent is not None
            after.parent.insert_op_before(op, after)


def touches(op: Operation, root: SSAValue) -> bool:
    """Whether an op accesses a buffer: making a view of it is no access."""
    if is_side_effect_free(op) or isinstance(op, memref.AllocaOp | memref.AllocOp):
        return False
    return any(is_buffer(value) and root_of(value) is root for each in op.walk() for value in each.operands)


def next_in_effect(op: Operation) -> Operation | None:
    """The next op after those that only make numbers, views and buffers."""
    found = op.next_op
    while found is not None and (
        is_side_effect_free(found) or isinstance(found, memref.AllocaOp | memref.AllocOp)
    ):
        found = found.next_op
    return found


def _coordinates(map: AffineMap, space: Sequence[int]) -> Coordinates | None:
    """The dimension of the space along each dimension of an operand; None where it is another index."""
    loops = projected_permutation(map)
    return None if loops is None else tuple(space[loop] for loop in loops)


def _covers(place: Coordinates | None, rank: int) -> bool:
    """Whether an operand has an element for each point."""
    return place is not None and len(place) == rank
