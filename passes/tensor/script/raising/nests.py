"""The stores of a nest of loops over tensors, in groups that one structured op can compute each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from xdsl.dialects import scf, tensor
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue
from xdsl.traits import is_side_effect_free

from stepwell.dialects.graph.expression_reads import affine_index
from stepwell.dialects.tensor_ir.structured import linear


class NotRaisedError(Exception):
    """The reason why loops stay loops, with the op that it is about."""

    def __init__(self, reason: str, op: Operation, points: tuple[str, str] | None = None):
        super().__init__(reason)
        self.reason, self.op = reason, op
        self.points = points
        """Two points of the loops that meet in an element."""


@dataclass(eq=False)
class LoopNode:
    """A loop of a nest, from 0 by 1."""

    op: scf.ForOp

    @property
    def index(self) -> SSAValue:
        """The index of an iteration."""
        return self.op.body.block.args[0]

    @property
    def name(self) -> str:
        """The name of the index."""
        return self.index.name_hint or "i"

    @property
    def extent(self) -> int | None:
        """The number of iterations, where it is known."""
        return number_of(self.op.ub)


@dataclass(eq=False)
class Buffer:
    """A tensor that a nest writes; or a number that it carries, an element an outer iteration."""

    element: Attribute
    name: str
    init: SSAValue | None = None
    """The tensor before the nest."""
    loops: tuple[LoopNode, ...] = ()
    """The loops whose indices are those of the element of a number."""


@dataclass(frozen=True)
class Index:
    """An index: a sum of the indices of loops, each with its factor, and a constant."""

    terms: tuple[tuple[LoopNode, int], ...]
    constant: int = 0

    @property
    def loop(self) -> LoopNode | None:
        """The loop whose iterations have different indices; None where several or none move the index."""
        return self.terms[0][0] if len(self.terms) == 1 else None


@dataclass(eq=False)
class Store:
    """An element that is written."""

    buffer: Buffer
    indices: tuple[SSAValue, ...] | None
    """None for the element of a number: at the indices of the buffer's loops."""
    value: SSAValue
    op: Operation
    before: SSAValue | None = None
    """The tensor without the element."""


@dataclass(eq=False)
class Group:
    """Stores in the same loops that happen together."""

    loops: tuple[LoopNode, ...]
    stores: list[Store] = field(default_factory=list[Store])
    position: int = 0


class Nest:
    """
    A nest of loops: its buffers, and groups of stores in the order of the text.

    Raises: NotRaisedError for what is no store, or is under a condition.
    """

    def __init__(self, top: scf.ForOp):
        self.top = top
        self.groups: list[Group] = []
        self.results: dict[SSAValue, Buffer] = {}
        """The buffers of the results of the outermost loop."""
        self.scalars: dict[SSAValue, Buffer] = {}
        """Numbers that loops carry, by their values."""
        self._buffers: dict[SSAValue, Buffer] = {}
        self._same: dict[SSAValue, SSAValue] = {}
        self.made: dict[SSAValue, Group] = {}
        """The group that computes a version of a tensor."""
        self.replaced: dict[SSAValue, Group] = {}
        """The group that writes the first element after a version of a tensor."""
        self._current: dict[Buffer, SSAValue] = {}
        self._loop(top, ())

    def buffer(self, value: SSAValue) -> Buffer | None:
        """The buffer of a tensor of the nest; None for one from outside."""
        return self._buffers.get(value)

    def version(self, value: SSAValue) -> SSAValue:
        """The value by which a version of a tensor is known: loops give it further ones."""
        while value in self._same:
            value = self._same[value]
        return value

    def index(self, value: SSAValue, loops: Sequence[LoopNode]) -> Index | None:
        """An index as a sum of those of loops; None for any other."""
        expr = affine_index(value, {loop.index: at for at, loop in enumerate(loops)})
        form = None if expr is None else linear(expr)
        return None if form is None else Index(tuple((loops[d], c) for d, c in form.terms), form.constant)

    def place(self, store: Store, loops: Sequence[LoopNode]) -> tuple[Index, ...]:
        """The indices of a store. Raises: NotRaisedError for one that depends on data."""
        if store.indices is None:
            return tuple(Index(((loop, 1),)) for loop in store.buffer.loops)
        found = [self.index(value, loops) for value in store.indices]
        if None in found:
            raise NotRaisedError(f"an index of {store.buffer.name} is no sum of loops", store.op)
        return cast("tuple[Index, ...]", tuple(found))

    def _loop(self, op: scf.ForOp, outer: tuple[LoopNode, ...]) -> None:
        if number_of(op.lb) != 0 or number_of(op.step) != 1:
            raise NotRaisedError("the loop is not from 0 by 1", op)
        block = op.body.block
        loops = (*outer, LoopNode(op))
        begin = Group(outer)
        pairs = list(zip(op.iter_args, block.args[1:], op.results, strict=True))
        for init, argument, result in pairs:
            if isinstance(init.type, TensorType):
                self._carry(init, argument, result, op)
            elif _is_passed_on(init, result):
                self.scalars |= {argument: self.scalars[init], result: self.scalars[init]}
            else:
                buffer = Buffer(init.type, argument.name_hint or "number", loops=outer)
                self.scalars |= {argument: buffer, result: buffer}
                begin.stores.append(Store(buffer, None, init, op))
                if op is self.top:
                    self.results[result] = buffer
        self._add(begin)
        yielded = self._walk(block, loops)
        end = Group(loops)
        for value, (_, argument, result) in zip(yielded, pairs, strict=True):
            if (scalar := self.scalars.get(argument)) is not None:
                if self.scalars.get(value) is not scalar:
                    end.stores.append(Store(scalar, None, value, op))
                continue
            buffer = self._buffers[argument]
            if self._current[buffer] is not value:
                raise NotRaisedError(f"an iteration does not end with all elements of {buffer.name}", op)
            self._same[result] = value
            self._buffers[result] = buffer
            self._current[buffer] = result
        self._add(end)

    def _carry(self, init: SSAValue, argument: SSAValue, result: SSAValue, op: scf.ForOp) -> None:
        """Follow a tensor into a loop."""
        if op is self.top:
            type = cast("TensorType[Attribute]", init.type)
            buffer = self.results[result] = Buffer(type.element_type, result.name_hint or "tensor", init)
        elif (known := self._buffers.get(init)) is None or self._current[known] is not init:
            raise NotRaisedError("the loop begins with a copy of a tensor", op)
        else:
            buffer = known
            self._same[argument] = init
        self._buffers[argument] = buffer
        self._current[buffer] = argument

    def _walk(self, block: Block, loops: tuple[LoopNode, ...]) -> Sequence[SSAValue]:
        """Collect the stores of a body; returns the values that it yields."""
        group = Group(loops)
        for op in block.ops:
            match op:
                case scf.ForOp():
                    self._add(group)
                    group = Group(loops)
                    self._loop(op, loops)
                case tensor.InsertOp():
                    self._insert(op, group)
                case scf.YieldOp():
                    self._add(group)
                    return op.operands
                case _ if not is_side_effect_free(op) or any(map(_is_tensor, op.results)) or _has_loop(op):
                    raise NotRaisedError(f"a body has {op.name}", op)
                case _:
                    pass
        return ()

    def _insert(self, op: tensor.InsertOp, group: Group) -> None:
        buffer = self._buffers.get(op.dest)
        if buffer is None or self._current[buffer] is not op.dest:
            raise NotRaisedError("an element is inserted into a copy of a tensor", op)
        group.stores.append(Store(buffer, tuple(op.indices), op.scalar, op, op.dest))
        self._buffers[op.result] = buffer
        self._current[buffer] = op.result

    def _add(self, group: Group) -> None:
        """Add the stores of a group, those that depend on other loops in groups of their own."""
        parts: dict[frozenset[LoopNode], Group] = {}
        for store in group.stores:
            moved = frozenset(loop for index in self.place(store, group.loops) for loop, _ in index.terms)
            part = parts.setdefault(moved, Group(group.loops))
            part.stores.append(store)
        for part in parts.values():
            part.position = len(self.groups)
            self.groups.append(part)
            for store in part.stores:
                if store.before is not None:
                    self.replaced.setdefault(self.version(store.before), part)
                    self.made[cast("tensor.InsertOp", store.op).result] = part


def _is_passed_on(init: SSAValue, result: SSAValue) -> bool:
    """Whether a loop gets a number of the loop around it, which goes on with the result alone."""
    block, last = init.owner, next((use.operation for use in result.uses), None)
    return (
        isinstance(init, BlockArgument)
        and isinstance(block, Block)
        and isinstance(block.parent_op(), scf.ForOp)
        and last is block.last_op
        and init.has_one_use()
        and result.has_one_use()
        and last is not None
        and last.operands[init.index - 1] is result
    )


def number_of(value: SSAValue) -> int | None:
    """The number of a constant index."""
    attribute: Any = getattr(value.owner, "properties", {}).get("value")
    is_constant = isinstance(value.owner, Operation) and value.owner.name == "arith.constant"
    return attribute.value.data if is_constant else None


def _is_tensor(value: SSAValue) -> bool:
    return isinstance(value.type, TensorType)


def _has_loop(op: Operation) -> bool:
    return any(isinstance(inner, scf.ForOp | scf.WhileOp) for inner in op.walk())
