"""Parallel loops that are given to the blocks and the threads of a device."""

from __future__ import annotations

from xdsl.dialects import scf
from xdsl.dialects.builtin import AffineMapAttr, ArrayAttr
from xdsl.dialects.gpu import LoopDimMapAttr, ProcessorAttr, ProcessorEnum
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.ir.affine import AffineMap

from stepwell.dialects.gpu.attributes import MAPPING
from stepwell.dialects.ir_builder import INDEX, Index, IRBuilder


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


def _insert_loop(
    build: IRBuilder, bounds: tuple[SSAValue, SSAValue, SSAValue], block: Block, processor: ProcessorEnum
) -> None:
    """Insert a parallel loop that is given to a processor."""
    lower, upper, step = bounds
    loop = scf.ParallelOp([lower], [upper], [step], Region(block))
    loop.attributes[MAPPING] = _mapping(processor)
    build.insert(loop)


def _mapping(processor: ProcessorEnum) -> Attribute:
    """The attribute that gives a loop to a processor."""
    same = AffineMapAttr(AffineMap.identity(1))
    return ArrayAttr([LoopDimMapAttr(ProcessorAttr(processor), same, same)])
