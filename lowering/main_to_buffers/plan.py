"""The plan of `@main` on buffers: everything that its conversion decides, computed before any op changes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import ClassVar, cast

from xdsl.dialects.builtin import FunctionType, MemRefType, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, SSAValue

from stepwell.dialects import graph
from stepwell.dialects.graph.host import is_opaque
from stepwell.dialects.sched_kernel import symbols_of
from stepwell.dialects.types import Tensor
from stepwell.lowering.main_to_buffers.analysis import analyse_main
from stepwell.lowering.main_to_buffers.facts import (
    fallible_ops,
    inputs_of,
    memref_of,
    published_symbols,
    returned_values,
    signature_of,
)
from stepwell.lowering.main_to_buffers.in_place import plan_in_place
from stepwell.lowering.main_to_buffers.kernel_signature import KernelSignature
from stepwell.lowering.main_to_buffers.live_buffers import Kind, LiveBuffer, LiveBuffers
from stepwell.lowering.main_to_buffers.pools import MemoryPool, plan_pools
from stepwell.passes.analysis.arena import ArenaPlan, plan_arena
from stepwell.passes.analysis.call_graph import functions_by_name
from stepwell.runtime.abi import ARENA_ALIGNMENT
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError, describe_location

_SCRATCH_ACCESSES = 2  # of a buffer without values: it is written, and read


@dataclass(frozen=True, eq=False)
class Buffer:
    """Memory shared by a value and its views."""

    kind: Kind
    index: int
    """The number of the buffer among those of its kind; of one that is allocated, the slot."""
    size: Dim
    """The size in bytes."""
    first: int
    last: int
    """The lifetime: the first and last position of the program with the buffer alive."""
    name: str
    is_allocated: bool
    """Whether the caller cannot know an output's shape: it is in the slot with the output's number then."""
    offset: Dim
    """The offset in the arena, for buffers there."""


@dataclass(frozen=True)
class Shaped:
    """A buffer, the memref type of its reads and writes, and the dimensions that the type lacks."""

    buffer: Buffer
    type: MemRefType[Attribute]
    dims: tuple[Dim, ...]


@dataclass(frozen=True)
class MainPlan:
    """
    The places of the values, symbols and run-time checks of `@main` on tensors; printed, a table of buffers.

    The keys of its dictionaries are ops and values of `@main` on tensors, which the conversion erases at its
    end.
    """

    name: ClassVar[str] = "arena-plan"

    inputs: Sequence[SSAValue]
    outputs: Sequence[SSAValue]
    symbols: tuple[str, ...]
    """The symbols that are arguments."""
    published: tuple[str, ...]
    """The symbols reported to the caller, once they are known."""
    known: frozenset[str]
    """The symbols whose values a call begins with; all others depend on data."""
    shaped: Mapping[SSAValue, Shaped]
    """By tensor value: the buffer, in the value's shape."""
    scratch: Mapping[Operation, Buffer]
    """By kernel call."""
    copies: Sequence[tuple[SSAValue, int]]
    """Results that must be copied to an output: (value, output index)."""
    in_place: Sequence[int]
    """The outputs that are states, and written over the inputs with their values before."""
    moves: Mapping[Operation, Sequence[tuple[Shaped, Shaped]]]
    """Copies from one buffer to another before a loop, or at the end of a region before its `graph.yield`."""
    objects: Mapping[SSAValue, int]
    """Indices of Python objects in the table of a call."""
    rows: Mapping[Operation, int]
    """By op that can end a call with an error: its row in the table of run-time errors."""
    callees: Mapping[Operation, int]
    """By host call: its row in the table of callees."""
    signatures: Mapping[Operation, FunctionType]
    """By branch and loop: the types of its carried values and results, before its arguments change."""
    buffers: Sequence[Buffer]
    """The buffers in the arena, then those that are allocated."""
    arena: ArenaPlan
    slots: int
    """The number of allocations that a call reuses."""
    pools: tuple[MemoryPool, ...] = ()
    """The memories that are the parts of the arena, each with the bytes of it that are used."""

    @classmethod
    def of(
        cls,
        module: Operation,
        *,
        keep: bool = False,
        pools: Sequence[MemoryPool] = (),
        alignment: int = ARENA_ALIGNMENT,
    ) -> MainPlan:
        """
        The plan of the function `@main` of a module on tensors, with the kernels that it calls.

        Args: `keep` gives the result of each call memory of its own, in which it is after `@main` has run;
        `pools` are the memories of the arena, where it is in several; `alignment` is of buffers in one.
        Raises: StepwellError `no-main`, `bad-main`, and `unsupported-op` for an op that is neither a kernel
        call, a constant nor a view.
        """
        functions = functions_by_name(cast(ModuleOp, module))
        main = functions.pop("main", None)
        if main is None or main.is_declaration:
            raise StepwellError("no-main", module, "a memory plan is of a function @main with a body")
        if any(isinstance(arg.type, MemRefType) for arg in main.args):
            raise StepwellError("bad-main", main, "the memory of @main is planned already: it is on buffers")
        live = analyse_main(main, {name: KernelSignature.of(f) for name, f in functions.items()}, keep=keep)
        return _plan(main, live, pools, alignment)

    def has_late_shape(self, value: SSAValue) -> bool:
        """Whether the shape of a value is known in the middle of a call only."""
        return any(not dim.symbols() <= self.known for dim in self.shaped[value].dims)

    def is_placeholder(self, value: SSAValue) -> bool:
        """Whether a value is an object or has a size that depends on data: the caller has no buffer of it."""
        return is_opaque(value.type) or self.has_late_shape(value)

    def __str__(self) -> str:
        """A table: offset, size and lifetime of each buffer, then the arena's size against the sum."""
        return "\n".join(self._lines()) + "\n"

    def _lines(self) -> Iterator[str]:
        yield f"{'offset':>12} {'bytes':>12} {'from':>5} {'to':>5}  buffer"
        for buffer in self.buffers:
            at = str(buffer.offset) if buffer.kind == "arena" else f"slot {buffer.index}"
            yield f"{at:>12} {buffer.size!s:>12} {buffer.first:>5} {buffer.last:>5}  {buffer.name}"
        total, apart = self.arena.total, self.arena.sum_of_sizes
        saved = f" ({100 * total.value // apart.value} %)" if _are_sizes(total, apart) else ""
        yield f"arena: {total} bytes of {apart} without sharing{saved}"
        yield from (f"memory {pool.name}: {pool.bytes} bytes" for pool in self.pools)
        yield from (f"output {index}: in place of its state before" for index in self.in_place)
        for kind, names in (("argument", self.symbols), ("published", self.published)):
            yield from (f"symbol {name}: {kind} {index}" for index, name in enumerate(names))
        for op, row in self.rows.items():
            yield f"error row {row}: {op.name} at {describe_location(op) or 'an unknown location'}"


def _are_sizes(total: Dim, apart: Dim) -> bool:
    return total.is_static and apart.is_static and apart != 0


def _plan(main: FuncOp, live: LiveBuffers, pools: Sequence[MemoryPool], alignment: int) -> MainPlan:
    """The plan from the buffers of `@main`, whose lifetimes are final: offsets, numbers of ops, slots."""
    arena = plan_in_place(
        live,
        _accesses(live),
        lambda intervals, accesses: (
            plan_pools(intervals, accesses, pools) if pools else plan_arena(intervals, alignment)
        ),
    )
    offsets = dict(zip(map(id, live.arena), arena.offsets, strict=True))

    @cache
    def final(buffer: LiveBuffer) -> Buffer:
        return Buffer(**vars(buffer), offset=offsets.get(id(buffer), Dim.of(0)))

    def shaped(buffer: LiveBuffer, value: SSAValue) -> Shaped:
        return Shaped(final(buffer), memref_of(cast(Tensor, value.type)), live.dims[value])

    outputs = returned_values(main)
    late = [index for value, index in live.copies if live.has_late_shape(value)]
    late += [b.index for b in live.of.values() if b.is_allocated]
    late += [b.index for b in live.allocated]
    calls = [op for op in main.walk() if isinstance(op, graph.HostCallOp)]
    return MainPlan(
        inputs=inputs_of(main),
        outputs=outputs,
        symbols=symbols_of(main),
        published=tuple(published_symbols(main)),
        known=live.known,
        shaped={value: shaped(buffer, value) for value, buffer in live.of.items()},
        scratch={op: final(buffer) for op, buffer in live.scratch.items()},
        copies=live.copies,
        in_place=live.in_place,
        moves={
            op: [(shaped(source, value), shaped(target, value)) for source, target, value in moves]
            for op, moves in live.moves.items()
        },
        objects=live.objects,
        rows={op: row for row, op in enumerate(fallible_ops(main), start=1)},
        callees={op: index for index, op in enumerate(calls)},
        signatures={op: signature_of(op) for op in main.walk() if isinstance(op, graph.ControlFlowOp)},
        buffers=[final(buffer) for buffer in (*live.arena, *live.allocated)],
        arena=arena,
        slots=max(late, default=-1) + 1,
        pools=tuple(
            MemoryPool(each.name, part.value) for each, part in zip(pools, arena.parts, strict=False)
        ),
    )


def _accesses(live: LiveBuffers) -> list[int]:
    """The number of times that each buffer of the arena is written or read."""
    counts = dict.fromkeys(map(id, live.arena), _SCRATCH_ACCESSES)
    for value, buffer in live.of.items():
        if id(buffer) in counts:
            counts[id(buffer)] += 1 + sum(1 for _ in value.uses)
    return [counts[id(buffer)] for buffer in live.arena]
