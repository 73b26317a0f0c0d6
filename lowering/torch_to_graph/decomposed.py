"""Calls in place of which simpler ones are converted."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from stepwell.patterns.driver.conversion import convert
from stepwell.patterns.driver.pattern_set import PatternSet
from stepwell.runtime.errors import StepwellError


def inlined(
    op: Operation, module: ModuleOp, operands: Sequence[int], patterns: PatternSet, rewriter: PatternRewriter
) -> Sequence[SSAValue] | None:
    """
    The results of a call by the converted ops of a module, which are inserted before it.

    Args: `@main` of `module` computes the call; `operands` has the number of the operand for each argument.
    Returns: None, without a change, if an op of the module is refused, too.
    """
    for inner in module.walk():
        inner.location = op.location
    try:
        convert(module, patterns, illegal=["torch"])
    except StepwellError:
        return None
    (block,) = (each.body.block for each in module.ops if isinstance(each, FuncOp))
    for argument, number in zip(block.args, operands, strict=True):
        argument.replace_all_uses_with(op.operands[number])
    last = block.last_op
    assert last is not None
    results = list(last.operands)
    last.detach()
    last.erase()
    for inner in list(block.ops):
        inner.detach()
        rewriter.insert(inner)
    return results
