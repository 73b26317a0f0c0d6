"""Loops made by patterns: `scf.for` over i64, which are flattened by their own pattern afterwards."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects import scf
from xdsl.ir import Block, Operation, Region, SSAValue

from stepwell.lowering.loops_to_llvm.code import Code
from stepwell.lowering.loops_to_llvm.state import I64, Extent


def make_loop(lb: SSAValue, ub: SSAValue, step: SSAValue, body: Block) -> scf.ForOp:
    """
    A loop whose body is a block with the induction variable as argument; the block gets its terminator here.
    """
    body.add_op(scf.YieldOp.create())
    return scf.ForOp.create(operands=[lb, ub, step], regions=[Region(body)])


def loop_nest(
    code: Code, sizes: Sequence[Extent], make_body: Callable[[Code, Sequence[SSAValue]], None]
) -> None:
    """
    Append nested loops from 0 to each of `sizes`; `make_body` fills the innermost one from their indices.
    """
    blocks = [Block(arg_types=[I64]) for _ in sizes]
    indices = [block.args[0] for block in blocks]
    if not blocks:
        make_body(code, [])
        return
    # Bounds of inner loops are computed before the outermost one, where all of them are known.
    zero, one = code.integer(0), code.integer(1)
    bounds = [code.materialize(size) for size in sizes]
    inner = Code(code.state, blocks[-1])
    make_body(inner, indices)
    ops: list[Operation] = inner.ops
    for block, bound in zip(reversed(blocks), reversed(bounds), strict=True):
        block.add_ops(ops)
        ops = [make_loop(zero, bound, one, block)]
    code.insert(ops)
