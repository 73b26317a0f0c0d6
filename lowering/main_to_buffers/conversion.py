"""The conversion of `@main` on tensors to buffers: the values and memory that its patterns share."""

from __future__ import annotations

from bisect import bisect_right
from collections import ChainMap
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import prod
from typing import cast

from xdsl.dialects import memref
from xdsl.dialects.builtin import DYNAMIC_INDEX, IndexType, MemRefType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.pattern_rewriter import RewritePattern

from stepwell.dialects import runtime_calls
from stepwell.dialects.graph.symbols import defined_symbols
from stepwell.dialects.ir_builder import Index
from stepwell.dialects.runtime_calls import BYTES
from stepwell.dialects.types import Tensor, element_bytes
from stepwell.lowering.main_to_buffers.allocated_bytes import allocated_bytes
from stepwell.lowering.main_to_buffers.facts import memref_of
from stepwell.lowering.main_to_buffers.plan import Buffer, MainPlan, Shaped
from stepwell.patterns.driver.one_to_many import OneToMany
from stepwell.runtime.dims import Dim


class MainOnBuffers(OneToMany[Shaped | int]):
    """
    The conversion of the body of `@main`, by a plan that does not change.

    The pieces of a tensor are its buffer and shape, of a Python object its index in the table of a call; the
    plan has both. Memrefs are made where they are used. Mutable are the values of symbols and the memory of
    buffers that are found on the way; what a region adds is not known after it.
    """

    def __init__(self, main: FuncOp, plan: MainPlan):
        self.plan = plan
        self._begins = plan.arena.begins
        self._parts = {begin: number for number, begin in enumerate(self._begins)}
        self._symbols: ChainMap[str, SSAValue] = ChainMap()
        self._memory: ChainMap[Buffer, SSAValue | None] = ChainMap()
        """The memory of buffers outside of the arena; None where it is to be requested again."""
        super().__init__(main, self._symbols, hoist_constants=False)
        self._replace_arguments(main.body.block)

    def _replace_arguments(self, block: Block) -> None:
        """Let `@main` take buffers of inputs and outputs, and the arena, before the values of symbols."""
        self.split_arguments(block)
        memories = max(1, len(self.plan.pools))
        types = [*map(self.argument_type, self.plan.outputs), *[BYTES] * memories]
        first = len(block.args) - len(self.plan.symbols)
        added = [block.insert_arg(type, first + i) for i, type in enumerate(types)]
        self._outputs, self._memories = added[:-memories], added[-memories:]
        self._symbols |= zip(self.plan.symbols, block.args[first + len(types) :], strict=True)

    def argument_type(self, value: SSAValue) -> MemRefType[Attribute]:
        """The type of the caller's buffer for a value; bytes if the caller cannot know the size."""
        return BYTES if self.plan.is_placeholder(value) else memref_of(cast(Tensor, value.type))

    # The conversion of types

    def is_split(self, type: Attribute) -> bool:
        return not isinstance(type, IndexType)

    def types(self, value: SSAValue) -> Sequence[Attribute]:
        """The caller's buffer for an input; none for an argument of a region, which is in a planned one."""
        return [self.argument_type(value)] if value in self.plan.inputs else []

    def gathered(self, value: SSAValue, values: Sequence[SSAValue]) -> Shaped | int:
        pieces = self.whole(value)
        if values and isinstance(pieces, Shaped):
            self._memory[pieces.buffer] = values[0]
        return pieces

    def values(self, pieces: Shaped | int) -> Sequence[SSAValue]:
        return [self.builder.extent(pieces) if isinstance(pieces, int) else self.view(pieces)]

    def whole(self, value: SSAValue) -> Shaped | int:
        index = self.plan.objects.get(value)
        return self.plan.shaped[value] if index is None else index

    # Scopes

    def convert_block(
        self, block: Block, begin: Callable[[], object] | None = None, *, written: Iterable[SSAValue] = ()
    ) -> None:
        """Convert a block, which requests the memory of values that it has `written` itself."""
        self._symbols.maps.insert(0, {})
        self._memory.maps.insert(0, {})
        self.forget(written)
        super().convert_block(block, begin)
        del self._symbols.maps[0], self._memory.maps[0]

    def forget(self, values: Iterable[SSAValue]) -> None:
        """Request the memory of values again at the next use, if it is allocated."""
        for value in values:
            if (shaped := self.plan.shaped.get(value)) is not None:
                self.forget_memory(shaped.buffer)

    def forget_memory(self, buffer: Buffer) -> None:
        """Request the memory of a buffer again at the next use, if it is allocated."""
        if buffer.kind in ("slot", "host") or buffer.is_allocated:
            self._memory[buffer] = None

    def define(self, name: str, value: SSAValue) -> None:
        """Define a symbol's value for the following ops; publish it if outputs depend on it."""
        self._symbols[name] = value
        if name in self.plan.published:
            index = len(self.plan.symbols) + self.plan.published.index(name)
            self.builder.insert(runtime_calls.PublishOp(index, value))

    def finish(self, op: Operation) -> None:
        """Replace an op whose results are in their buffers, and whose symbols are defined."""
        symbols = [self._symbols[name] for name, _ in defined_symbols(op)]
        values = op.results[: len(op.results) - len(symbols)]
        self.replace(op, *map(self.pieces, values), *symbols)

    # Memory

    def remember(self, value: SSAValue, memory: SSAValue) -> None:
        """Let the buffer of a value be in some memory from now on."""
        self._memory[self.plan.shaped[value].buffer] = memory

    def memref(self, value: SSAValue) -> SSAValue:
        """The buffer of a tensor, in its shape."""
        return self.view(self.plan.shaped[value])

    def load(self, value: SSAValue) -> SSAValue:
        """The one element of a tensor of rank 0."""
        return self.builder.value(memref.LoadOp.get(self.memref(value), []))

    def dims(self, value: SSAValue) -> tuple[Dim, ...]:
        """The dimensions of a value; none for an object."""
        shaped = self.plan.shaped.get(value)
        return () if shaped is None else shaped.dims

    def view(self, shaped: Shaped) -> SSAValue:
        """A buffer in a shape: in the arena, the caller's memory, or memory requested at its first use."""
        buffer = shaped.buffer
        if buffer.kind == "arena":
            return self._view_of_arena(shaped)
        if buffer.kind == "output" and not buffer.is_allocated:
            return self.reshaped(self._outputs[buffer.index], shaped.type, shaped.dims)
        memory = self._memory.get(buffer)
        if buffer.kind in ("input", "weight"):
            assert memory is not None
            return self.reshaped(memory, shaped.type, shaped.dims)
        if memory is None:  # at the op that writes it, or at the start or end of a region
            size = prod(shaped.dims, start=Dim.of(element_bytes(shaped.type.element_type)))
            memory = self._memory[buffer] = self.allocated(buffer.index, size)
        return self.view_of(memory, shaped)

    def _view_of_arena(self, shaped: Shaped) -> SSAValue:
        """A view of the arena, or of the memory of it that a buffer is in."""
        offset = shaped.buffer.offset
        if not self.plan.pools:
            self._add_up(offset)
            return self.view_of(self._memories[0], shaped, offset)
        begins = [begin.value for begin in self._begins]
        number = bisect_right(begins, offset.value) - 1
        return self.view_of(self._memories[number], shaped, offset - begins[number])

    def _add_up(self, offset: Dim) -> None:
        """
        Compute the begin of a part of the arena as a sum with the begin before, if this takes fewer ops.

        With many open sizes a begin is a long sum: sums of their own would grow with the square.
        """
        arena, builder = self.plan.arena, self.builder
        for number in range(1, self._parts.get(offset, 0) + 1):
            begin, before, part = self._begins[number], self._begins[number - 1], arena.parts[number - 1]
            if len(begin.terms()) > 1 + len(part.terms()):
                builder.once(
                    begin,
                    lambda a=before, b=part: builder.materialize(
                        builder.plus(builder.size(a), builder.size(b))
                    ),
                )

    def output(self, index: int, shaped: Shaped) -> SSAValue:
        """The caller's buffer for a result, in a shape."""
        return self.reshaped(self._outputs[index], shaped.type, shaped.dims)

    def allocated(self, slot: int, size: Dim) -> SSAValue:
        """Run-time memory of some size in a slot."""
        return self.builder.value(runtime_calls.AllocateOp(slot, allocated_bytes(size, self.builder)))

    def view_of(self, memory: SSAValue, shaped: Shaped, offset: Dim | int = 0) -> SSAValue:
        """Bytes, from an offset on, as a dense buffer of a shape; values of a shape share them in turn."""
        type, builder = shaped.type, self.builder
        shift = builder.extent(offset)
        sizes = [
            builder.extent(d)
            for d, n in zip(shaped.dims, type.get_shape(), strict=True)
            if n == DYNAMIC_INDEX
        ]
        key = memory, shift, tuple(sizes), type
        return builder.once(key, lambda: builder.value(memref.ViewOp(memory, shift, sizes, type)))

    def reshaped(self, source: SSAValue, type: MemRefType[Attribute], dims: tuple[Dim, ...]) -> SSAValue:
        """A dense buffer reinterpreted in another shape."""
        if source.type == type:
            return source
        builder = self.builder

        def make() -> SSAValue:
            sizes = [
                builder.extent(dim) if n == DYNAMIC_INDEX else builder.size(dim)  # known, but not by the type
                for dim, n in zip(dims, type.get_shape(), strict=True)
            ]
            strides: list[Index] = [1]
            for size in sizes[:0:-1]:
                strides.insert(0, builder.times(strides[0], size))
            return builder.value(
                memref.ReinterpretCastOp.from_dynamic(source, [0], sizes, strides[: len(dims)], type)
            )

        return builder.once((source, type, dims), make)


@dataclass
class MainPattern(RewritePattern):
    """The base class of patterns that replace an op of `@main` by ops on buffers and runtime calls."""

    main: MainOnBuffers
