"""
Moves of a search that change a kernel before it is scheduled: partial results, staged operands, prefetches.

Each is a script of primitives; the choosers schedule the changed kernel.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

from stepwell.passes.analysis.scripts.stages import numbered
from stepwell.tools.tuning.candidate import Access, TiledOp

_FEW_RESULTS = 4096
_LONG_SUM = 256
"""Partial results pay where an op has at most so many results, each of at least so many terms."""
_PARTS = (4, 8)
"""The parts of a sum that are added up by themselves."""
_FAR_BYTES = 1 << 20
"""Operands that a level-2 cache has no room for: only these are staged or fetched ahead."""
_AHEAD = (4, 16, 64)
"""Iterations of a loop before which an operand is fetched."""


def changes_of(ops: Sequence[TiledOp]) -> Iterator[tuple[str, str]]:
    """The changes of a kernel with some ops, as kind and script: `rfactor`, `stage`."""
    for stage, op in zip(numbered(op.name for op in ops), ops, strict=True):
        yield from (("rfactor", text) for text in _partial_results(stage, op))
        yield from (("stage", text) for text in _staged(stage, op))


def prefetches_of(ops: Sequence[TiledOp]) -> Iterator[tuple[str, str]]:
    """The inputs of a kernel that may be fetched ahead, as kind and script; its ops stay as they are."""
    for stage, op in zip(numbered(op.name for op in ops), ops, strict=True):
        for access in _far_inputs(op):
            moving = [position for position, dim in enumerate(_order(op)) if access.strides[dim] > 0]
            for position in dict.fromkeys([*moving[:1], *moving[-1:]]):
                for ahead in _AHEAD:
                    step = f'sched.prefetch %l{position} "%{access.input}" ahead {ahead}'
                    yield "prefetch", _script(stage, op, step)


def _order(op: TiledOp) -> list[int]:
    """The loops of an op as `sched.loops` names them: parallel ones first."""
    return sorted(range(op.rank), key=lambda d: not op.parallel[d])


def _script(stage: str, op: TiledOp, *steps: str) -> str:
    """The script of some steps about the loops `%l0`, `%l1`, … of a stage `%c`."""
    loops = ", ".join(f"%l{position}" for position in range(op.rank))
    lines = [f'%c = sched.stage "{stage}"', f"{loops} = sched.loops %c", *steps]
    return 'sched.script @change for "kernel" {\n' + "".join(f"  {line}\n" for line in lines) + "}"


def _partial_results(stage: str, op: TiledOp) -> Iterator[str]:
    """Lanes of a long sum as results of their own, or parts of it."""
    results = prod(op.extents[d] or _FEW_RESULTS + 1 for d in range(op.rank) if op.parallel[d])
    sums = [d for d in range(op.rank) if not op.parallel[d]]
    if results > _FEW_RESULTS or prod(op.extents[d] for d in sums) < _LONG_SUM:
        return
    loop = max(sums, key=lambda d: op.extents[d])
    position, extent = _order(op).index(loop), op.extents[loop]
    for inner in dict.fromkeys((op.lanes, 4 * op.lanes)):
        if inner < extent and extent % inner == 0:
            split = f"%r0, %r1 = sched.split %l{position} by [?, {inner}]"
            yield _script(stage, op, split, "%f = sched.rfactor %r1")
    for parts in _PARTS:
        if parts * op.lanes <= extent and extent % parts == 0:
            split = f"%r0, %r1 = sched.split %l{position} by [?, {extent // parts}]"
            yield _script(stage, op, split, "%f = sched.rfactor %r0")


def _staged(stage: str, op: TiledOp) -> Iterator[str]:
    """Copies of the operands of a product, and of its result."""
    reads = [access for access in op.accesses if not access.is_result]
    if all(op.parallel) or len(reads) < 2:
        return
    head = f'%c = sched.stage "{stage}"'
    steps = [f'%a = sched.cache_read "%{access.input}" for %c' for access in _far_inputs(op)]
    for step in [*steps, "%w = sched.cache_write %c"]:
        yield f'sched.script @change for "kernel" {{\n  {head}\n  {step}\n}}'


def _far_inputs(op: TiledOp) -> list[Access]:
    """The operands that are inputs of the kernel and larger than a cache."""
    return [
        access
        for access in op.accesses
        if access.input >= 0 and not access.is_result and _span_bytes(op, access) > _FAR_BYTES
    ]


def _span_bytes(op: TiledOp, access: Access) -> int:
    """The bytes from the first to the last element of an operand that an op reads."""
    steps = zip(op.extents, access.strides, strict=True)
    return (1 + sum((max(extent, 1) - 1) * abs(stride) for extent, stride in steps)) * access.element_bytes
