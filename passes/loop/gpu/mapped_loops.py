"""Parallel loops that are given to the blocks and the threads of a device."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import AffineMapAttr, ArrayAttr, IntegerAttr
from xdsl.dialects.gpu import LoopDimMapAttr, ProcessorAttr, ProcessorEnum
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.ir.affine import AffineMap

from stepwell.dialects.gpu.attributes import MAPPING
from stepwell.dialects.ir_builder import INDEX, Index, IRBuilder

Bounds: TypeAlias = tuple[SSAValue, SSAValue, SSAValue]
"""The lower bound, the upper bound and the step of a loop."""
WARP = 32
"""Blocks of fewer iterations than threads are rounded up to this."""


def open_grid(build: IRBuilder, blocks: Index, threads: int) -> tuple[Block, IRBuilder]:
    """
    Parallel loops of blocks and of threads.

    Returns: the body of the outer one, and a builder in the inner one, which still lacks its `scf.reduce`.
    """
    outer, inner = Block(arg_types=[INDEX]), Block(arg_types=[INDEX])
    outer.args[0].name_hint, inner.args[0].name_hint = "block", "thread"
    zero, one = build.materialize(0), build.materialize(1)
    counts = [build.materialize(count) for count in (blocks, threads)]
    _insert_loop(build, (zero, counts[0], one), outer, ProcessorEnum.Block_X)
    inside = build.inside(outer)
    _insert_loop(inside, (zero, counts[1], one), inner, ProcessorEnum.Thread_X)
    inside.insert(scf.ReduceOp())
    return outer, build.inside(inner)


def _insert_loop(build: IRBuilder, bounds: Bounds, block: Block, processor: ProcessorEnum) -> None:
    """Insert a parallel loop that is given to a processor."""
    lower, upper, step = bounds
    loop = scf.ParallelOp([lower], [upper], [step], Region(block))
    loop.attributes[MAPPING] = _mapping(processor)
    build.insert(loop)


def _mapping(processor: ProcessorEnum) -> Attribute:
    """The attribute that gives a loop to a processor."""
    same = AffineMapAttr(AffineMap.identity(1))
    return ArrayAttr([LoopDimMapAttr(ProcessorAttr(processor), same, same)])


def bounds_of(loop: scf.ParallelOp) -> list[Bounds]:
    """The lower bound, the upper bound and the step of each dimension of a parallel loop."""
    return list(zip(loop.lowerBound, loop.upperBound, loop.step, strict=True))


def extents_of(loop: scf.ParallelOp, build: IRBuilder) -> list[Index]:
    """The number of iterations of each dimension of a parallel loop."""
    return [
        build.ceildiv(build.minus(number_of(upper), number_of(lower)), number_of(step))
        for lower, upper, step in bounds_of(loop)
    ]


def positions(
    place: IRBuilder, number: Index, extents: Sequence[Index], bounds: Sequence[Bounds]
) -> list[SSAValue]:
    """The index of each loop from the number of an iteration."""
    found: list[SSAValue] = []
    for position in reversed(range(len(extents))):
        lower, _, step = bounds[position]
        index = number
        if position:
            index = place.binary(arith.RemUIOp, number, extents[position])
            number = place.binary(arith.DivUIOp, number, extents[position])
        index = place.plus(place.times(index, number_of(step)), number_of(lower))
        found.insert(0, place.materialize(index))
    return found


def move_body(loop: scf.ParallelOp, indices: Sequence[SSAValue], place: IRBuilder) -> None:
    """Move the ops of a parallel loop, for the iteration of some indices."""
    source = loop.body.block
    for argument, index in zip(source.args, indices, strict=True):
        index.name_hint = index.name_hint or argument.name_hint
        argument.replace_all_uses_with(index)
    for op in list(source.ops):
        if not isinstance(op, scf.ReduceOp):
            op.detach()
            place.insert(op)


def number_of(value: SSAValue) -> Index:
    """A constant as a number."""
    owner = value.owner
    if isinstance(owner, arith.ConstantOp) and isinstance(owner.value, IntegerAttr):
        return owner.value.value.data
    return value
