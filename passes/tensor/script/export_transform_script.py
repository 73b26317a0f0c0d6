"""`export-transform-script`: the schedules of kernels as a script of MLIR's transform dialect."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects import transform
from xdsl.dialects.builtin import (
    DenseArrayBase,
    DictionaryAttr,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    UnitAttr,
    UnregisteredOp,
    i1,
    i64,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint

from stepwell.dialects.linalg_ext import FormsOp
from stepwell.dialects.sched import NAME, ROOT, Schedule, place_of, schedule_of
from stepwell.dialects.schedule_levels import Level
from stepwell.dialects.tensor_ir.structured import Structured
from stepwell.passes.base import Pass, functions_of
from stepwell.passes.context import remark

_ENTRY = "__transform_main"
"""The sequence that upstream's `transform-interpreter` runs."""
_HANDLE = transform.AnyOpType()
_VECTORIZE = "transform.structured.vectorize"
_FUSE = "transform.structured.fuse_into_containing_op"
_UNROLL = "transform.loop.unroll"


class ExportTransformScriptPass(Pass):
    """
    Write the schedules of kernels as steps of upstream's transform dialect; the module is these steps then.

    ```mlir
    %y = linalg.generic {…} ins(%x : tensor<512xf32>) outs(%0 : tensor<512xf32>)
      attrs = {sched.schedule = #sched.schedule<tile = [64], parallel = [0], vectorize = 0>} …
    // ->
    builtin.module attributes {transform.with_named_sequence} {
      transform.named_sequence @__transform_main(%0: !transform.any_op {transform.readonly}) {
        %1 = transform.structured.match ops{["func.func"]} attributes {sym_name = "k0"} in %0 : …
        %2 = transform.structured.match ops{["linalg.fill", "linalg.generic"]} in %1 : …
        %3, %4 = "transform.structured.tile_using_forall"(%2) <{static_tile_sizes = array<i64: 64>, …}> : …
        "transform.structured.vectorize"(%3) {static_vector_sizes = array<i64: 64>, …} : …
        transform.yield
      }
    }
    ```
    For `mlir-opt --transform-interpreter` on the same kernels. A remark says what has no equivalent there.
    Class: exact.
    """

    name = "export-transform-script"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        body = Block(arg_types=[_HANDLE])
        emit = Builder(InsertPoint.at_end(body))
        for func in functions_of(op):
            _write_kernel(emit, body.args[0], func)
        emit.insert(transform.YieldOp())
        for inner in list(op.ops):
            inner.detach()
        readonly = [DictionaryAttr({"transform.readonly": UnitAttr()})]
        op.body.block.add_op(
            transform.NamedSequenceOp(_ENTRY, ([_HANDLE], []), Region(body), arg_attrs=readonly)
        )
        op.attributes["transform.with_named_sequence"] = UnitAttr()


def _write_kernel(emit: Builder, module: SSAValue, func: FuncOp) -> None:
    """Match the structured ops of a kernel in their order, and transform those that have schedules."""
    for op in func.walk():
        if isinstance(op, FormsOp) and schedule_of(op) is not None:
            remark(op, f"not exported: forms of {op.name} are no loops of upstream's")
    ops = [op for op in func.walk() if Structured.of(op) is not None]
    if not any(schedule_of(op) is not None for op in ops):
        return
    symbol: dict[str, StringAttr] = {"sym_name": func.sym_name}
    kernel = emit.insert(transform.MatchOp(module, ["func.func"], op_attrs={**symbol})).result
    found = emit.insert(transform.MatchOp(kernel, sorted({op.name for op in ops}))).result
    handles: Sequence[SSAValue] = [found]
    if len(ops) > 1:
        handles = emit.insert(transform.SplitHandleOp(found, len(ops), True, True)).results
    of = dict(zip(ops, handles, strict=True))
    fused = _fused_producers(ops)
    for op, handle in of.items():
        if (schedule := schedule_of(op)) is not None and place_of(op) in (None, ROOT):
            _Loops(emit, op, schedule, [of[producer] for producer in fused.get(op, ())]).write(handle)


def _fused_producers(ops: Sequence[Operation]) -> dict[Operation, list[Operation]]:
    """Maps ops to the producers in their parallel loops, the last producer first."""
    names = {at.data: op for op in ops if isinstance(at := op.attributes.get(NAME), StringAttr)}
    found: dict[Operation, list[Operation]] = {}
    for op in reversed(ops):
        if (place := place_of(op)) in (None, ROOT):
            continue
        consumer = names.get(place or "")
        schedule = None if consumer is None else schedule_of(consumer)
        if consumer is None or schedule is None or ops.index(op) > ops.index(consumer):
            remark(op, "not exported: sched.at; upstream's fuse_into_containing_op takes producers")
        elif not schedule.parallel:
            remark(op, "not exported: sched.at; the loops of other levels are outside of the parallel ones")
        else:
            found.setdefault(consumer, []).append(op)
            if schedule_of(op) is not None:
                remark(op, f"not exported: the schedule of an op in the loops of {place}")
    return found


@dataclass
class _Loops:
    """The loops of a schedule, outermost first, then the lanes, then the loops that are written out."""

    emit: Builder
    op: Operation
    schedule: Schedule
    producers: list[SSAValue]
    """The handles of ops to compute in the parallel loops, the last one first."""
    unrolled: list[tuple[SSAValue, int]] = field(default_factory=list[tuple[SSAValue, int]])
    """The handles of loops to write out, with the number of their iterations."""

    def write(self, handle: SSAValue) -> None:
        """Add the steps for the op of a handle."""
        levels = self.schedule.levels()
        for number, level in enumerate(levels):
            for dims in _groups(level):
                handle = self._tiled(handle, level, dims, is_last=number == len(levels) - 1)
        if self.schedule.vectorize is not None:
            self._vectorize(handle)
        for loop, count in reversed(self.unrolled):
            self._insert(_UNROLL, [loop], {"factor": IntegerAttr(count, i64)})

    def _tiled(self, handle: SSAValue, level: Level, dims: Sequence[int], *, is_last: bool) -> SSAValue:
        """The handle of the op in loops of one step each."""
        sizes = [size if dim in dims else 0 for dim, size in enumerate(level.tile)]
        if dims[0] in level.parallel:
            made = self.emit.insert(transform.TileToForallOp(handle, [], [], None, None, [], sizes, None))
            tiled, loop = made.results  # upstream's first result is the op
            self.producers = [
                self._insert(_FUSE, [producer, loop], {}, count=2)[0] for producer in self.producers
            ]
            return tiled
        made = self.emit.insert(transform.TileOp(handle, static_sizes=sizes))
        if is_last and dims[0] in self.schedule.unroll:
            self._unroll(made.loops[0], dims[0])
        return made.tiled_linalg_op

    def _unroll(self, loop: SSAValue, dim: int) -> None:
        """Write a loop out, at the end."""
        tiles = [level.tile[dim] for level in self.schedule.levels() if level.tile[dim]]
        outer = tiles[-2] if len(tiles) > 1 else self._extent(dim)
        if outer is None or outer % tiles[-1]:
            remark(self.op, "not exported: unroll of a loop with a rest, or of open extent")
        else:
            self.unrolled.append((loop, outer // tiles[-1]))

    def _vectorize(self, handle: SSAValue) -> None:
        tiles = [
            _innermost(self.schedule, dim) or self._extent(dim) for dim in range(len(self.schedule.tile))
        ]
        sizes = [size for size in tiles if size is not None]
        if len(sizes) < len(tiles):
            remark(self.op, "not exported: vectors of extents that are known at run time")
            return
        lanes = {
            "static_vector_sizes": DenseArrayBase.from_list(i64, sizes),
            "scalable_sizes": DenseArrayBase.from_list(i1, [0] * len(sizes)),
        }
        self._insert(_VECTORIZE, [handle], {**lanes})

    def _extent(self, dim: int) -> int | None:
        view = Structured.of(self.op)
        assert view is not None
        return view.extents[dim]

    def _insert(
        self, name: str, operands: Sequence[SSAValue], attributes: dict[str, Attribute], count: int = 0
    ) -> Sequence[SSAValue]:
        """The handles that a step of upstream makes, which xDSL has no op of."""
        made = UnregisteredOp.with_name(name).create(
            operands=operands, attributes=attributes, result_types=[_HANDLE] * count
        )
        return self.emit.insert(made).results


def _groups(level: Level) -> Iterator[tuple[int, ...]]:
    """The groups of loops of a level: parallel loops together if they are in order, other loops alone."""
    loops, count = level.loops(), len(level.parallel)
    shared, serial = loops[:count], loops[count:]
    if shared and list(shared) == sorted(shared):
        yield tuple(shared)
    else:
        yield from ((dim,) for dim in shared)
    yield from ((dim,) for dim in serial)


def _innermost(schedule: Schedule, dim: int) -> int:
    """The last tile of a loop; 0 where it has none."""
    return next((level.tile[dim] for level in reversed(schedule.levels()) if level.tile[dim]), 0)
