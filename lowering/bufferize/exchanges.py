"""Loops that exchange carried tensors: each tensor is moved through a buffer of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects import scf, tensor
from xdsl.ir import SSAValue

from stepwell.dialects.ir_builder import IRBuilder
from stepwell.lowering.bufferize.accesses import carried_tensors, previous, viewed
from stepwell.lowering.bufferize.index_forms import IndexForms
from stepwell.lowering.bufferize.whole import copy_into, sizes_before
from stepwell.runtime.errors import StepwellError


def separate_exchanges(loops: Sequence[scf.ForOp], forms: IndexForms) -> None:
    """
    Copy the yielded tensors of a loop that form a cycle of moves; a chain of moves has an order instead.

    ```mlir
    scf.yield %b, %a : tensor<4xf32>, tensor<4xf32>  // %a and %b are the first and second iteration argument
    // ->
    %e = tensor.empty() : tensor<4xf32>
    %c = tensor.insert_slice %b into %e[0] [4] [1] : tensor<4xf32> into tensor<4xf32>
    …
    scf.yield %c, %d : tensor<4xf32>, tensor<4xf32>
    ```
    """
    for op in loops:
        carried = {c.arg: c for c in carried_tensors(op)}
        origins = {arg: _origin(c.yielded, op) for arg, c in carried.items()}
        for arg in carried:
            if _leads_back(arg, origins):
                terminator = op.body.block.last_op
                assert terminator is not None
                terminator.operands[carried[arg].index - 3] = _copy(carried[arg].yielded, op, forms)
                origins[arg] = None


def _leads_back(arg: SSAValue, origins: Mapping[SSAValue, SSAValue | None]) -> bool:
    """
    Whether the moves between iterations form a cycle through an argument: its buffer's old value is needed
    elsewhere.
    """
    at = origins.get(arg)
    if at is arg:
        return False
    for _ in origins:
        if at is None or at is arg:
            break
        at = origins.get(at)
    return at is arg


def _origin(value: SSAValue, loop: scf.ForOp) -> SSAValue | None:
    """
    The loop argument in whose buffer a yielded value would be computed; None when it is in another buffer.
    """
    while value.owner is not loop.body.block:
        source = viewed(value) or previous(value)
        if source is None:
            return None
        value = source
    return value


def _copy(value: SSAValue, loop: scf.ForOp, forms: IndexForms) -> SSAValue:
    """A copy of a yielded value in a new tensor, at the end of the loop's body."""
    terminator = loop.body.block.last_op
    assert terminator is not None
    sizes = sizes_before(value, terminator, forms)
    if sizes is None:
        raise StepwellError("unsupported", loop, f"a loop exchanges tensors of unknown size: {value.type}")
    empty = tensor.EmptyOp(sizes, value.type)
    IRBuilder.before(terminator).insert(empty)
    return copy_into(value, empty.tensor, terminator)
