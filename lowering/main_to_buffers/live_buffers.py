"""
The buffer and lifetime of each value of `@main`: inputs, outputs, weights, the arena, or memory whose size
depends on data.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Literal, TypeAlias, cast

from xdsl.dialects import arith, func, tensor
from xdsl.dialects.builtin import IndexType, IntegerAttr, UnrealizedConversionCastOp, UnregisteredOp
from xdsl.ir import Operation, SSAValue

from stepwell.dialects import graph
from stepwell.dialects.advice import on_open_size
from stepwell.dialects.graph.host import is_opaque
from stepwell.dialects.graph.symbols import defined_symbols
from stepwell.dialects.graph_ir.in_place import is_written_in_place
from stepwell.dialects.graph_ir.state import length_argument, state_pairs
from stepwell.dialects.sched_kernel import symbols_of
from stepwell.dialects.types import dims_of, element_bytes, tensor_of
from stepwell.lowering.main_to_buffers.facts import (
    declared_dims,
    inputs_of,
    known_symbols,
    object_indices,
    signature_of,
)
from stepwell.lowering.main_to_buffers.kernel_signature import KernelSignature
from stepwell.lowering.main_to_buffers.length_bounds import LengthBounds
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError, describe_location

Kind: TypeAlias = Literal["input", "output", "weight", "arena", "slot", "host"]
"""`slot`: allocated at run time, since the size depends on data; `host`: allocated by a host call."""

# Ops of `@main` that only give a value another shape or type.
VIEWS = (
    graph.ReshapeOp,
    graph.ExpandDimsOp,
    graph.SqueezeOp,
    graph.WordsOp,
    UnrealizedConversionCastOp,
    tensor.CastOp,
)


@dataclass(eq=False)
class LiveBuffer:
    """Memory shared by a value and its views, whose lifetime and kind the analysis still changes."""

    kind: Kind
    index: int
    size: Dim
    first: int
    last: int
    name: str
    is_allocated: bool = False


@dataclass
class LiveBuffers:
    """The result of the analysis of one `@main`, as far as it went."""

    known: frozenset[str]
    """The symbols that the shapes of the inputs give; all others depend on data."""
    objects: dict[SSAValue, int]
    """Indices of Python objects in the table of a call."""
    of: dict[SSAValue, LiveBuffer] = field(default_factory=dict[SSAValue, LiveBuffer])
    dims: dict[SSAValue, tuple[Dim, ...]] = field(default_factory=dict[SSAValue, tuple[Dim, ...]])
    scratch: dict[Operation, LiveBuffer] = field(default_factory=dict[Operation, LiveBuffer])
    arena: list[LiveBuffer] = field(default_factory=list[LiveBuffer])
    allocated: list[LiveBuffer] = field(default_factory=list[LiveBuffer])
    copies: list[tuple[SSAValue, int]] = field(default_factory=list[tuple[SSAValue, int]])
    """Results that must be copied to an output: (value, output index)."""
    in_place: list[int] = field(default_factory=list[int])
    """The outputs that are written over the states before."""
    symbols: dict[SSAValue, str] = field(default_factory=dict[SSAValue, str])
    """Names, or numbers, of the `index` values that sizes are computed from."""
    moves: dict[Operation, list[tuple[LiveBuffer, LiveBuffer, SSAValue]]] = field(
        default_factory=dict[Operation, "list[tuple[LiveBuffer, LiveBuffer, SSAValue]]"]
    )
    """Copies before a loop, and at the end of a region, from a buffer to another in the shape of a value."""
    overwritable: list[tuple[int, SSAValue, SSAValue]] = field(
        default_factory=list[tuple[int, SSAValue, SSAValue]]
    )
    """Calls by position, with a result that may be in the memory of an operand which nothing reads later."""

    def has_late_shape(self, value: SSAValue) -> bool:
        """Whether the shape of a value is known in the middle of a call only."""
        return any(self.depends_on_data(dim) for dim in self.dims[value])

    def replace(self, old: LiveBuffer, new: LiveBuffer) -> None:
        """Let all values of a buffer be in another one."""
        self.of = {value: new if buffer is old else buffer for value, buffer in self.of.items()}
        for moves in self.moves.values():
            moves[:] = [(new if a is old else a, new if b is old else b, value) for a, b, value in moves]

    def depends_on_data(self, size: Dim) -> bool:
        """Whether a size is known in the middle of a call only."""
        return not size.symbols() <= self.known


class BlockAnalysis:
    """Finds the buffers of ops without regions, in order, and records them in `found`."""

    def __init__(self, main: func.FuncOp, kernels: dict[str, KernelSignature], keep: bool):
        """Args: `keep` gives each value memory that nothing else is written to until the call ends."""
        self.kernels = kernels
        self.keep = keep
        self.found = LiveBuffers(frozenset(known_symbols(main)), object_indices(main))
        indices = [arg for arg in main.args if isinstance(arg.type, IndexType)]
        self.found.symbols |= zip(indices, symbols_of(main), strict=True)
        self.weights = 0
        self.states = {pair.result: main.args[pair.argument] for pair in state_pairs(main)}
        """By output, the argument with the value of the state before the call."""
        self.bounds = LengthBounds(length_argument(main), self.found.known)
        attrs = main.arg_attrs.data if main.arg_attrs is not None else ()
        for index, arg in enumerate(inputs_of(main)):
            if not is_opaque(arg.type):
                dims = declared_dims(arg.type, attrs[arg.index].data if attrs else {})
                self.own(arg, dims, "input", 0, index)

    def visit(self, op: Operation, position: int) -> None:
        """Visit an op: extend its operands' lifetimes and give its results buffers."""
        for operand in op.operands:
            if operand in self.found.of:
                self.found.of[operand].last = position
        if isinstance(op, func.CallOp):
            self._visit_call(op, position)
        elif isinstance(op, graph.HostCallOp):
            self._visit_host_call(op, position)
        elif isinstance(op, func.ReturnOp):
            self._visit_return(op)
        elif isinstance(op, graph.ConstantOp):
            self.own(op.results[0], dims_of(op.results[0].type), "weight", position, self.weights)
            self.weights += 1
        elif isinstance(op, graph.BindSizesOp | graph.DefineSizesOp):
            self.found.symbols |= {value: name for name, value in defined_symbols(op)}
            self.bounds.visit(op)
        elif isinstance(op, arith.ConstantOp):
            self.found.symbols[op.result] = str(cast("IntegerAttr[IndexType]", op.value).value.data)
        elif isinstance(
            op, graph.AssertOp | graph.CheckAccessesOp | graph.CheckIndicesOp | graph.CheckOffsetsOp
        ):
            self.bounds.visit(op)  # they have no results
        elif isinstance(op, graph.InsertSliceOp):
            self._visit_update(op, position)
        elif isinstance(op, VIEWS):
            source, result = op.operands[0], op.results[0]
            dims = view_dims(op, self.found.dims[source])
            if any(dim.is_unknown for dim in dims):
                raise StepwellError(
                    "unsupported",
                    op,
                    f"{op.name}: the size of a dimension of the result is unknown",
                    help=on_open_size(op),
                )
            self.found.dims[result] = dims
            self.found.of[result] = self.found.of[source]
        else:
            raise _not_lowered(op)

    def _visit_update(self, op: graph.InsertSliceOp, position: int) -> None:
        """
        Let an update share the buffer of its operand, unless later ops read the operand, or values are kept.
        """
        if not self.keep and is_written_in_place(op):
            self.found.of[op.result], self.found.dims[op.result] = (
                self.found.of[op.input],
                self.found.dims[op.input],
            )
            return
        buffer = self.own(op.result, self.found.dims[op.input], "arena", position)
        buffer.name = describe_location(op) or op.name
        self.allocate(buffer)

    def _visit_call(self, op: func.CallOp, position: int) -> None:
        """Give the results and the scratch of a kernel call buffers."""
        kernel = self.kernels[op.callee.string_value()]
        values = [self.found.symbols[a] for a in op.arguments if a in self.found.symbols]
        names = {inner: Dim.of(outer) for inner, outer in zip(kernel.symbols, values, strict=True)}
        for result, dims in zip(op.results, kernel.result_dims, strict=True):
            known = tuple(d.substitute(names) for d in dims)
            buffer = self.own(result, known, "arena", position)
            buffer.name = describe_location(op) or op.callee.string_value()
            self.allocate(buffer)
        tensors = [a for a in op.arguments if a not in self.found.symbols]
        self.found.overwritable += (
            (position, op.results[output], tensors[number])
            for output, number in kernel.in_place
            if not self._is_read_otherwise(tensors, number, [i for o, i in kernel.in_place if o == output])
        )
        if kernel.scratch != 0:
            size = kernel.scratch.substitute(names)
            self.found.scratch[op] = LiveBuffer("arena", 0, size, position, position, "scratch")
            self.allocate(self.found.scratch[op])

    def _is_read_otherwise(self, operands: Sequence[SSAValue], number: int, allowed: Sequence[int]) -> bool:
        """Whether an operand's buffer is another operand too, and that one may not be overwritten."""
        buffer = self.found.of[operands[number]]
        return any(
            at not in allowed and self.found.of.get(operand) is buffer for at, operand in enumerate(operands)
        )

    def _visit_host_call(self, op: graph.HostCallOp, position: int) -> None:
        """Give the tensor results of a host call buffers; the host allocates those whose sizes it defines."""
        own = dict(defined_symbols(op))
        self.found.symbols |= {value: name for name, value in own.items()}
        for value, type in zip(op.values, signature_of(op).outputs, strict=False):
            if is_opaque(type):
                continue
            dims = dims_of(type)
            makes = any(dim.symbols() & own.keys() for dim in dims)
            buffer = self.own(value, dims, "host" if makes else "arena", position)
            buffer.name = describe_location(op) or op.callee.data
            if not makes:
                self.allocate(buffer)

    def allocate(self, buffer: LiveBuffer) -> None:
        """
        Plan a buffer in the arena if its size, or the most that it can be, is known before the call, else as
        a region of its own.
        """
        buffer.size = self.bounds.most(buffer.size)
        if self.found.depends_on_data(buffer.size):
            buffer.kind = "slot"
            self.found.allocated.append(buffer)
        else:
            self.found.arena.append(buffer)

    def release(self, buffer: LiveBuffer) -> None:
        """Remove a buffer from the plan: its values are in another one."""
        (self.found.arena if buffer.kind == "arena" else self.found.allocated).remove(buffer)

    def _visit_return(self, op: func.ReturnOp) -> None:
        """Make the buffers of returned values outputs, or record copies; then number buffers and slots."""
        written: set[int] = set()
        for index, value in enumerate(op.operands):
            if value in self.found.objects:
                continue  # the runtime gets it from the table
            buffer = self.found.of[value]
            if (state := self.states.get(index)) is not None and self._is_in_place(value, state):
                self.found.in_place.append(index)
            elif buffer.kind in ("arena", "slot") and id(buffer) not in written:
                written.add(id(buffer))
                self.release(buffer)
                buffer.kind, buffer.index = "output", index
                buffer.is_allocated = self.found.has_late_shape(value)
            else:
                # The caller's own input, a weight, a result of a host call, or a second name for an output.
                self.found.copies.append((value, index))
        if self.keep:
            self._stretch_lifetimes()
        for index, buffer in enumerate(self.found.arena):
            buffer.index = index
        _share_slots(self.found.allocated, first_slot=len(op.operands))

    def _is_in_place(self, value: SSAValue, state: SSAValue) -> bool:
        """
        Whether a state's next value is in the buffer of the value before; it is put there where the last read
        of that buffer is earlier.
        """
        before, after = self.found.of[state], self.found.of[value]
        if after is before:
            return True
        if self.keep or after.kind != "arena" or self.found.dims[value] != self.found.dims[state]:
            return False
        if before.last >= after.first:
            return False
        self.release(after)
        self.found.replace(after, before)
        return True

    def _stretch_lifetimes(self) -> None:
        """Let all memory but scratch be alive during the whole call."""
        scratch = set(map(id, self.found.scratch.values()))
        buffers = [*self.found.arena, *self.found.allocated]
        end = max((buffer.last for buffer in buffers), default=0)
        for buffer in buffers:
            if id(buffer) not in scratch:
                buffer.first, buffer.last = 0, end

    def own(
        self, value: SSAValue, dims: tuple[Dim, ...], kind: Kind, position: int, index: int = 0
    ) -> LiveBuffer:
        """Give a value a buffer of its own; an `arena` one must still be planned."""
        size = prod(dims, start=Dim.of(element_bytes(tensor_of(value).element_type)))
        buffer = LiveBuffer(kind, index, size, position, position, value.name_hint or kind)
        self.found.of[value], self.found.dims[value] = buffer, dims
        return buffer


def view_dims(view: Operation, source: tuple[Dim, ...]) -> tuple[Dim, ...]:
    """
    The dimensions of a view's result, from the op and its source: the types of level 2 do not name them.
    """
    match view:
        case graph.ReshapeOp():
            return view.target
        case graph.ExpandDimsOp():
            dims = list(source)
            for axis in view.axes.get_values():
                dims.insert(axis, Dim.of(1))
            return tuple(dims)
        case graph.WordsOp():
            return (*source[:-1], source[-1] // view.parts)
        case graph.SqueezeOp():
            return tuple(d for axis, d in enumerate(source) if axis not in view.axes.get_values())
        case _:
            return source


def _share_slots(regions: Sequence[LiveBuffer], first_slot: int) -> None:
    """Number the slots of regions after those of outputs; regions with disjoint lifetimes share one."""
    ends: list[int] = []
    for buffer in sorted(regions, key=lambda b: b.first):
        slot = next((i for i, last in enumerate(ends) if last < buffer.first), len(ends))
        ends[slot : slot + 1] = [buffer.last]
        buffer.index = first_slot + slot


def _not_lowered(op: Operation) -> StepwellError:
    """The error for an op that is left in `@main`; names the passes that convert it."""
    name = op.op_name.data if isinstance(op, UnregisteredOp) else op.name
    dialect = name.partition(".")[0]
    if dialect == graph.Graph.name:
        return StepwellError(
            "unsupported-op",
            op,
            f"{name} is not allowed in @main on buffers",
            note="@main may contain calls of kernels, constants and reshapes",
            help="give its function the attribute graph.backend, which names the backend that computes it"
            if isinstance(op, graph.ExternalOp)
            else "run `fuse-ops` and `convert-graph-to-linalg` first",
        )
    return StepwellError(
        "unsupported-op",
        op,
        f"nothing has lowered {name}: no conversion leads from `{dialect}` to kernels by itself",
        note="a program is of `onnx` or `graph`, or it is what `stepwell compile --emit` wrote",
        help=f"let the plugin of `{dialect}` lower {name} to `graph`, by a function with `@lower`: "
        "docs/write-a-dialect.md has one",
    )
