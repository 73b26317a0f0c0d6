"""Operands of elementwise ops that are dense along another loop than the output."""

from __future__ import annotations

from stepwell.dialects.tensor_ir.structured import projected_permutation
from stepwell.passes.loop.gpu.nests import Nest, is_buffer, root_of


def crossed_loops(nest: Nest, operand: int) -> tuple[int, int] | None:
    """
    The loop along which an input is dense, and the loop of the output.

    Returns: None where both are the same loop; for an operand that is no input, lacks a loop, or is accessed
    in another way too.
    """
    if operand >= len(nest.inputs) or not is_buffer(source := nest.inputs[operand]):
        return None
    inward, outward = projected_permutation(nest.maps[operand]), projected_permutation(nest.output_maps[0])
    if inward is None or outward is None or {len(inward), len(outward)} != {len(nest.parallel)}:
        return None
    roots = [root_of(value) for value in nest.op.operands if is_buffer(value)]
    if not inward or inward[-1] == outward[-1] or roots.count(root_of(source)) > 1:
        return None
    return inward[-1], outward[-1]


def crossed_operand(nest: Nest) -> tuple[int, tuple[int, int]] | None:
    """The first input that is dense along another loop than the output, with both; None without one."""
    for operand in range(len(nest.inputs)):
        if (loops := crossed_loops(nest, operand)) is not None:
            return operand, loops
    return None
