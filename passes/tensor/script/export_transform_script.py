"""`export-transform-script`: the schedules of kernels as a script of MLIR's transform dialect."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects import transform
from xdsl.dialects.builtin import (
    DenseArrayBase,
    DictionaryAttr,
    ModuleOp,
    StringAttr,
    UnitAttr,
    UnregisteredOp,
    i1,
    i64,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint

from stepwell.dialects.linalg_ext import FormsOp
from stepwell.dialects.sched import Schedule, place_of, schedule_of
from stepwell.dialects.schedule_levels import Level
from stepwell.dialects.tensor_ir.structured import Structured
from stepwell.passes.base import Pass, functions_of
from stepwell.passes.context import remark

_ENTRY = "__transform_main"
"""The sequence that upstream's `transform-interpreter` runs."""
_HANDLE = transform.AnyOpType()
_VECTORIZE = "transform.structured.vectorize"


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
    for op, handle in zip(ops, handles, strict=True):
        if (schedule := schedule_of(op)) is not None:
            _write_schedule(emit, handle, op, schedule)
        elif place_of(op) is not None:
            remark(op, "not exported: sched.at; upstream's fuse_into_containing_op needs the loops' handle")


def _write_schedule(emit: Builder, handle: SSAValue, op: Operation, schedule: Schedule) -> None:
    """The loops of a schedule from the outermost to the innermost, then its lanes."""
    for level in schedule.levels():
        for dims in _groups(level):
            sizes = [size if dim in dims else 0 for dim, size in enumerate(level.tile)]
            handle = _tiled(emit, handle, sizes, is_parallel=dims[0] in level.parallel)
    if schedule.unroll:
        remark(op, "not exported: unroll, which upstream's loop.unroll does on handles of loops")
    if schedule.vectorize is None:
        return
    view = Structured.of(op)
    assert view is not None
    tiles = [_innermost(schedule, dim) or extent for dim, extent in enumerate(view.extents)]
    sizes = [size for size in tiles if size is not None]
    if len(sizes) < len(tiles):
        remark(op, "not exported: vectors of extents that are known at run time")
        return
    lanes = {
        "static_vector_sizes": DenseArrayBase.from_list(i64, sizes),
        "scalable_sizes": DenseArrayBase.from_list(i1, [0] * len(sizes)),
    }
    emit.insert(UnregisteredOp.with_name(_VECTORIZE).create(operands=[handle], attributes={**lanes}))


def _groups(level: Level) -> Iterator[tuple[int, ...]]:
    """The groups of loops of a level: parallel loops together if they are in order, other loops alone."""
    loops, count = level.loops(), len(level.parallel)
    shared, serial = loops[:count], loops[count:]
    if shared and list(shared) == sorted(shared):
        yield tuple(shared)
    else:
        yield from ((dim,) for dim in shared)
    yield from ((dim,) for dim in serial)


def _tiled(emit: Builder, handle: SSAValue, sizes: Sequence[int], *, is_parallel: bool) -> SSAValue:
    """The handle of the op in loops of these steps."""
    if is_parallel:
        made = transform.TileToForallOp(handle, [], [], None, None, [], sizes, None)
        return emit.insert(made).results[0]  # upstream's first result is the op
    return emit.insert(transform.TileOp(handle, static_sizes=sizes)).tiled_linalg_op


def _innermost(schedule: Schedule, dim: int) -> int:
    """The last tile of a loop; 0 where it has none."""
    return next((level.tile[dim] for level in reversed(schedule.levels()) if level.tile[dim]), 0)
