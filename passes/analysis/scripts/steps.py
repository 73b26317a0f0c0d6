"""Steps that change the kernel, on stages of a replay."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TypeAlias

from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue

from stepwell.dialects.schedule_script import (
    OPEN,
    BindOp,
    CacheReadOp,
    CacheWriteOp,
    ComputeAtOp,
    ComputeInlineOp,
    FuseOp,
    InsideOp,
    PadOp,
    ParallelOp,
    PrimitiveOp,
    ReorderOp,
    ReverseComputeInlineOp,
    RewriteOp,
    RfactorOp,
    SamplePlaceOp,
    SampleTileOp,
    ScriptOp,
    SplitOp,
    StorageAlignOp,
    TensorizeOp,
    TileOp,
    TransformLayoutOp,
    UnrollOp,
    VectorizeOp,
)
from stepwell.passes.analysis.scripts.inlining import compute_inline, reverse_compute_inline, transform_layout
from stepwell.passes.analysis.scripts.nest import IllegalStepError, Loop, Nest
from stepwell.passes.analysis.scripts.padding import pad
from stepwell.passes.analysis.scripts.rewrites import Place, Target, cache_read, cache_write, fuse, rfactor
from stepwell.passes.analysis.scripts.storing import storage_align
from stepwell.passes.analysis.scripts.tensorizing import intrinsic_named, tensorize
from stepwell.passes.context import remark

TargetOf: TypeAlias = Callable[[SSAValue], Target]
LoopOf: TypeAlias = Mapping[SSAValue, Loop]


def is_rewrite(op: Operation) -> bool:
    """Whether a step changes the kernel at once."""
    if isinstance(op, SamplePlaceOp):
        return op.changes_kernel
    return isinstance(op, RewriteOp) or (isinstance(op, ComputeAtOp) and op.loop is not None)


def changes_kernel(script: ScriptOp) -> bool:
    """Whether a script has steps that change the kernel."""
    return any(is_rewrite(op) for op in script.steps)


def take_rewrite(op: Operation, target_of: TargetOf, loops: LoopOf, taken: Collection[str]) -> str | None:
    """
    Carry a step out.

    Args: `target_of` is the stage of a value, also that of a loop; `taken` are the names of stages.
    Returns: the name of the stage that the step makes, if any.
    Raises: IllegalStepError, before anything is changed.
    """
    match op:
        case CacheReadOp():
            name = _unique(f"{_plain(op.tensor.data)}_cache", taken)
            cache_read(op.tensor.data, [target_of(value) for value in op.readers], op.scope.data, name)
        case CacheWriteOp():
            target = target_of(op.stage)
            name = _unique(f"{target.name}_cache", taken)
            cache_write(target, op.scope.data, name)
        case RfactorOp():
            target = target_of(op.loop)
            name = _unique(f"{target.name}_rf", taken)
            rfactor(target, loops[op.loop], op.axis.value.data, name)
        case TransformLayoutOp():
            name = _unique(f"{_plain(op.tensor.data)}_packed", taken)
            transform_layout(op.tensor.data, target_of(op.reader), op.layout.data, name)
        case _:
            _take_unnamed(op, target_of, loops)
            return None
    return name


def _take_unnamed(op: Operation, target_of: TargetOf, loops: LoopOf) -> None:
    """Carry out a step that makes no stage."""
    match op:
        case ComputeInlineOp():
            compute_inline(target_of(op.stage))
        case ReverseComputeInlineOp():
            reverse_compute_inline(target_of(op.stage))
        case FuseOp():
            if target_of(op.outer).name != target_of(op.inner).name:
                raise IllegalStepError("they are loops of two stages")
            fuse(target_of(op.outer), loops[op.outer], loops[op.inner])
        case PadOp():
            pad(target_of(op.loop), loops[op.loop], op.multiple.value.data)
        case StorageAlignOp():
            numbers = (op.axis.value.data, op.factor.value.data, op.offset.value.data)
            storage_align(target_of(op.stage), *numbers)
        case TensorizeOp():
            tensorize(target_of(op.loop), loops[op.loop], intrinsic_named(op.intrinsic.data, op))
        case ComputeAtOp() if op.loop is not None:
            reader = target_of(op.consumer)
            if target_of(op.loop).name != reader.name:
                raise IllegalStepError(f"loop {loops[op.loop].name} is none of {reader.name}")
            Place(target_of(op.stage), reader, loops[op.loop]).compute()
        case _:
            raise IllegalStepError(f"{op.name} is no step of a script")


def sampled_factors(op: SampleTileOp, loop: Loop) -> list[int]:
    """The factors that a search has chosen; inner ones are clamped to a loop's iterations, with a remark."""
    return _clamped(op, loop, [OPEN, *list(op.factors.get_values())[1:]])


def _clamped(op: PrimitiveOp, loop: Loop, chosen: Sequence[int]) -> list[int]:
    """Factors of which the inner ones are at most the iterations of a loop, with a remark about others."""
    clamped, left = list[int](), loop.extent
    for factor in reversed(chosen[1:]):
        fitting = factor if left is None or factor < 1 else max(1, min(factor, left))
        left = None if left is None else left // max(1, fitting)
        clamped.insert(0, fitting)
    if clamped != chosen[1:]:
        first = "?" if chosen[0] == OPEN else str(chosen[0])
        before, after = (", ".join([first, *map(str, each)]) for each in (chosen[1:], clamped))
        remark(op, f"{op.word}({loop.name}): [{before}] is [{after}] for {loop.extent} iterations")
    return [chosen[0], *clamped]


def take_on_loops(
    op: PrimitiveOp, nest: Nest, loops: Sequence[Loop], tiles: Mapping[SSAValue, Sequence[int]]
) -> tuple[Nest, Sequence[Loop]]:
    """The nest after a step on loops, and the loops from that step. Raises: IllegalStepError."""
    match op:
        case SplitOp():
            return nest.split(loops[0], _factors(op, loops[0], tiles))
        case TileOp():
            return _tiled(nest, loops, op.factors.get_values())
        case ReorderOp():
            return nest.reorder(loops), ()
        case ParallelOp():
            for loop in loops:
                nest = nest.parallel(loop)
        case InsideOp():
            for loop in loops:
                nest = nest.inside(loop)
        case VectorizeOp():
            nest = nest.vectorize(loops[0])
        case UnrollOp():
            nest = nest.unroll(loops[0], op.most)
        case BindOp():
            nest = nest.bind(loops[0], op.axis.data)
        case _:
            raise IllegalStepError(f"{op.name} is about no loops")
    return nest, ()


def _factors(op: SplitOp, loop: Loop, tiles: Mapping[SSAValue, Sequence[int]]) -> Sequence[int]:
    """The factors of a split, those that a search has chosen clamped."""
    if op.tile is not None:
        return tiles[op.tile]
    return _clamped(op, loop, op.sizes) if op.sampled else op.sizes


def _tiled(nest: Nest, loops: Sequence[Loop], factors: Sequence[int]) -> tuple[Nest, Sequence[Loop]]:
    """Two splits, and the outer parts first."""
    (x, y), (fx, fy) = loops, factors
    nest, (xo, xi) = nest.split(x, [OPEN, fx])
    nest, (yo, yi) = nest.split(y, [OPEN, fy])
    parts = (xo, yo, xi, yi)
    return nest.reorder(parts), parts


def _plain(tensor: str) -> str:
    """The name of a tensor as a part of another one: `input0` of the input `%0`."""
    return f"input{tensor[1:]}" if tensor.startswith("%") else tensor


def _unique(name: str, taken: Collection[str]) -> str:
    plain, number = name, 1
    while name in taken:
        name, number = f"{plain}{number}", number + 1
    return name


def adopt_body(func: FuncOp, made: FuncOp) -> None:
    """Give a function the body of another one, which has none afterwards."""
    for block in list(func.body.blocks):
        func.body.erase_block(block, safe_erase=False)
    blocks: list[Block] = list(made.body.blocks)
    for block in blocks:
        made.body.detach_block(block)
        func.body.add_block(block)
