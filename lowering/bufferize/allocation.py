"""
Memory for the buffers of a kernel that are neither inputs nor outputs.

Small ones of known size are on the stack, at the start of the function, or of the body of the parallel loop
that uses them, so that threads do not share them. Others are views of the kernel's scratch argument, planned
by lifetime; inside a parallel loop each iteration has a part of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import mul

from xdsl.dialects import memref, scf, tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerAttr, MemRefType, i8, i64
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from stepwell.dialects.costs.schedules import BUFFERS
from stepwell.dialects.ir_builder import IRBuilder
from stepwell.dialects.sched import PARALLEL
from stepwell.dialects.types import element_bytes, tensor_of
from stepwell.lowering.bufferize.access_paths import AccessPaths
from stepwell.lowering.bufferize.accesses import VIEWS
from stepwell.lowering.bufferize.bounds import upper_bound
from stepwell.lowering.bufferize.index_forms import LOCAL, IndexForms
from stepwell.lowering.bufferize.layouts import MemRef, dense
from stepwell.lowering.bufferize.shapes import extents_of
from stepwell.lowering.bufferize.timeline import Timeline
from stepwell.passes.analysis.arena import Interval, aligned, plan_arena
from stepwell.runtime.abi import ARENA_ALIGNMENT
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError

MAX_STACK_BYTES_OF_ALL = 1024 * 1024
"""The most stack that all buffers of a kernel use; workers of the thread pool have twice as much."""


@dataclass(frozen=True)
class Request:
    """A buffer to allocate: type, extents, size bound and the parallel loops around it."""

    root: SSAValue
    type: MemRef
    extents: tuple[Dim, ...]
    bytes: Dim
    """An upper bound of its size, known on entry to the function."""
    loops: tuple[scf.ForOp, ...]
    """The parallel loops around it, outermost first."""

    @property
    def is_small(self) -> bool:
        """Whether it is small enough, and of static size, for the stack."""
        limit = BUFFERS.loop_stack_bytes if self.loops else BUFFERS.stack_bytes
        return self.bytes.is_static and self.bytes.value <= limit

    @property
    def is_local(self) -> bool:
        """Whether an extent depends on values computed inside the function, not on symbols alone."""
        return any(symbol.startswith(LOCAL) for extent in self.extents for symbol in extent.symbols())


class Storage:
    """
    Allocates every buffer that starts inside the function, on the stack, in an output or in scratch.

    Raises: StepwellError `unsupported` for a buffer whose size has no bound on entry to the kernel.
    """

    def __init__(
        self,
        body: Block,
        paths: AccessPaths,
        forms: IndexForms,
        timeline: Timeline,
        outputs: Sequence[SSAValue] = (),
        alignment: int = ARENA_ALIGNMENT,
    ):
        self._body = body
        self._forms = forms
        self._alignment = alignment
        self._buffers: dict[SSAValue, SSAValue] = {}
        last = _last_moments(body, paths, timeline)
        self._in_outputs = _buffers_of_results(body, paths, outputs)
        last = {root: moment for root, moment in last.items() if root not in self._in_outputs}
        self._requests = {root: _request(root, forms, timeline) for root in last}
        self._on_stack = _roots_on_stack(self._requests.values())
        scratch = [request for request in self._requests.values() if request.root not in self._on_stack]
        lifetimes = [_lifetime(r, last[r.root], forms, timeline, alignment) for r in scratch]
        plan = plan_arena(lifetimes, alignment)
        self._offsets = {r.root: offset for r, offset in zip(scratch, plan.offsets, strict=True)}
        self.scratch_bytes = plan.total
        """Bytes of scratch that the function needs, over its symbols."""

    def reserve(self, arguments: Mapping[SSAValue, SSAValue], scratch: SSAValue | None) -> None:
        """
        Insert the allocations: on the stack, or as views of `scratch`, which is not None when any needs it.

        Args: `arguments` maps the function's tensors to its buffers.
        """
        self._buffers = {root: arguments[output] for root, output in self._in_outputs.items()}
        # In reverse: each allocation is inserted before those of the requests after it.
        for request in reversed(self._requests.values()):
            block = request.loops[-1].body.block if request.loops else self._body
            builder = IRBuilder(InsertPoint.at_start(block), symbols=self._forms.values)
            self._buffers[request.root] = self._reserved(request, builder, scratch)

    def _reserved(self, request: Request, builder: IRBuilder, scratch: SSAValue | None) -> SSAValue:
        """The buffer; if its extents are not known at the start of the block, its bytes."""
        on_stack = request.root in self._on_stack
        bytes_type = MemRefType(i8, [request.bytes.value if on_stack else DYNAMIC_INDEX])
        if on_stack:
            return _alloca(builder, bytes_type if request.is_local else request.type)
        assert scratch is not None
        part = _iteration(request.loops, self._forms) * aligned(request.bytes, self._alignment)
        start = self._offsets[request.root] + part
        type = bytes_type if request.is_local else request.type
        sizes = [request.bytes] if request.is_local else _dynamic(type, request.extents)
        return _view(builder, scratch, builder.extent(start), [builder.extent(d) for d in sizes], type)

    def buffer(self, root: SSAValue, at: Operation) -> SSAValue:
        """
        The buffer of `root`, usable by `at` and the ops after it; a typed view where only bytes were
        reserved.
        """
        request = self._requests.get(root)
        if root in self._in_outputs or (request is not None and not request.is_local):
            return self._buffers[root]
        builder = IRBuilder.before(at, symbols=self._forms.values)
        if request is None:
            # Nothing reads or writes it: it only gives the extents of a window.
            assert isinstance(root.owner, tensor.EmptyOp)
            return _alloca(builder, dense(tensor_of(root)), root.owner.dynamic_sizes)
        if isinstance(root.owner, tensor.EmptyOp):
            sizes = root.owner.dynamic_sizes
        else:
            sizes = [builder.extent(dim) for dim in _dynamic(request.type, request.extents)]
        return _view(builder, self._buffers[root], builder.extent(0), sizes, request.type)


def _roots_on_stack(requests: Iterable[Request]) -> set[SSAValue]:
    """
    The buffers for the stack: small ones, in ascending order of size, until the limit of all is reached.
    """
    roots: set[SSAValue] = set()
    total = 0
    for request in sorted((r for r in requests if r.is_small), key=lambda r: r.bytes.value):
        total += request.bytes.value
        if total > MAX_STACK_BYTES_OF_ALL:
            break
        roots.add(request.root)
    return roots


def _alloca(builder: IRBuilder, type: MemRef, sizes: Sequence[SSAValue] = ()) -> SSAValue:
    """Insert an aligned stack allocation."""
    properties = {"alignment": IntegerAttr(ARENA_ALIGNMENT, i64)}
    op = memref.AllocaOp.build(operands=[sizes, []], result_types=[type], properties=properties)
    return builder.insert(op).memref


def _view(
    builder: IRBuilder, source: SSAValue, offset: SSAValue, sizes: Sequence[SSAValue], type: MemRef
) -> SSAValue:
    """Insert a view of bytes as a buffer."""
    return builder.value(memref.ViewOp(source, offset, sizes, type))


def _dynamic(type: MemRef, extents: Sequence[Dim]) -> list[Dim]:
    return [extent for n, extent in zip(type.get_shape(), extents, strict=True) if n == DYNAMIC_INDEX]


def _request(root: SSAValue, forms: IndexForms, timeline: Timeline) -> Request:
    """The request for a buffer, with a bound of its size over the kernel's symbols."""
    type = dense(tensor_of(root))
    extents = extents_of(root, forms)
    maker = timeline.maker(root)
    loops = [loop for loop in timeline.loops_around(maker) if isinstance(loop, scf.ForOp)]
    parallel = tuple(loop for loop in loops if PARALLEL in loop.attributes)
    elems = reduce(mul, (_bound(extent, root) for extent in extents), Dim.of(1))
    return Request(root, type, extents, elems * element_bytes(type.element_type), parallel)


def _bound(extent: Dim, root: SSAValue) -> Dim:
    """The greatest value of an extent that is known on entry to the function."""
    if not any(symbol.startswith(LOCAL) for symbol in extent.symbols()):
        return extent
    if (bound := upper_bound(extent)) is None:
        raise StepwellError(
            "unsupported",
            root.owner,
            f"a temporary {root.type} has an extent without a bound on entry to the kernel",
            help="bound it by a constant, as `arith.minsi` with a tile size does",
        )
    return Dim.of(bound)


def _iteration(loops: Sequence[scf.ForOp], forms: IndexForms) -> Dim:
    """The linear number of the current iteration of nested loops, which selects its part of scratch."""
    number = Dim.of(0)
    for loop in loops:
        lower, step = forms.of(loop.lb), forms.of(loop.step)
        number = number * _iterations(loop, forms) + (forms.of(loop.body.block.args[0]) - lower) // step
    return number


def _iterations(loop: scf.ForOp, forms: IndexForms) -> Dim:
    return (forms.of(loop.ub) - forms.of(loop.lb)).ceildiv(forms.of(loop.step))


def _lifetime(request: Request, last: int, forms: IndexForms, timeline: Timeline, alignment: int) -> Interval:
    """
    When a buffer in scratch is alive; in a parallel loop, one copy per iteration for the loop's whole
    duration.
    """
    parts = (_bound(_iterations(loop, forms), request.root) for loop in request.loops)
    bytes = reduce(mul, parts, aligned(request.bytes, alignment))
    if request.loops:
        return Interval("", bytes, timeline.start[request.loops[0]], timeline.end[request.loops[0]])
    return Interval("", bytes, timeline.start[timeline.maker(request.root)], last)


def _buffers_of_results(
    body: Block, paths: AccessPaths, outputs: Sequence[SSAValue]
) -> dict[SSAValue, SSAValue]:
    """The buffers that can be outputs: they contain a returned value, and nothing else uses the output."""
    assert body.last_op is not None
    in_outputs: dict[SSAValue, SSAValue] = {}
    taken = {path.root for value, path in paths.of.items() if value not in outputs}
    for value, output in zip(body.last_op.operands, outputs, strict=False):
        root, steps = paths.of[value].root, paths.of[value].steps
        is_new = not (isinstance(root, BlockArgument) and root.block is body)
        if is_new and not steps and root.type == output.type and output not in taken:
            in_outputs.setdefault(root, output)
    return in_outputs


def _last_moments(body: Block, paths: AccessPaths, timeline: Timeline) -> dict[SSAValue, int]:
    """When each buffer that the function starts is used for the last time; those never used are left out."""
    last: dict[SSAValue, int] = {}
    for value, path in paths.of.items():
        root = path.root
        if isinstance(root, BlockArgument) and root.block is body:
            continue
        maker = timeline.maker(root)
        if root is value and not isinstance(maker, tensor.EmptyOp):
            last[root] = timeline.end[maker]  # which writes it
        for use in value.uses:
            if is_access(use.operation, use.index):
                moment = timeline.last_moment(use.operation, maker)
                last[root] = max(last.get(root, 0), moment)
    return last


def is_access(user: Operation, index: int) -> bool:
    """Whether a use of a tensor reads or writes its elements; a view does not, but its own uses may."""
    if isinstance(user, GenericOp) and index < len(user.inputs):
        return bool(user.body.block.args[index].uses)
    if isinstance(user, tensor.DimOp):
        return False
    return not isinstance(user, VIEWS)
