"""Products with the used part of a growing state as operand, without a copy."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.ir import Attribute, Block, SSAValue, Use
from xdsl.rewriter import InsertPoint

from stepwell.dialects import graph
from stepwell.dialects._xdsl import set_type
from stepwell.dialects.graph_ir.state import is_growing_state
from stepwell.dialects.ir_builder import IRBuilder
from stepwell.dialects.types import dims_of, tensor_of, tensor_type
from stepwell.passes.context import count


def read_states_in_place(block: Block) -> None:
    """
    Move slices of growing states into the kernels of products that read them: a product reads rows of any
    distance as fast.

    ```mlir
    %part = graph.fused (%k = %state …) { graph.slice %k starts <[0, 0]> limits <["P", 4]> … }
    %y = graph.fused (%q = %x …, %p = %part …) { graph.matmul %q, %p … }
    // ->
    %y = graph.fused (%q = %x …, %k = %state …) { %p = graph.slice %k …  graph.matmul %q, %p … }
    ```
    """
    for kernel in [op for op in block.ops if isinstance(op, graph.FusedOp)]:
        if (part := _part_of_state(kernel)) is None:
            continue
        for use in list(kernel.results[0].uses):
            _move(part, kernel.operands[0], use)
        if not any(result.uses for result in kernel.results):
            kernel.detach()
            kernel.erase()


def _part_of_state(kernel: graph.FusedOp) -> graph.SliceOp | None:
    """The slice that is all of a kernel, if it is the first rows of a growing state."""
    first, *others = kernel.body.block.ops
    if not isinstance(first, graph.SliceOp) or len(others) != 1 or not is_growing_state(kernel.operands[0]):
        return None
    is_first = first.starts is not None and all(start == 0 for start in first.starts.get())
    return first if is_first and set(first.steps.get_values()) == {1} else None


def _move(part: graph.SliceOp, state: SSAValue, use: Use) -> None:
    """Move a slice, or one with axes of size 1 added, into the kernel of the product that reads the slice."""
    reader = use.operation
    if isinstance(reader, graph.FusedOp) and _is_for_products(reader, use.index):
        _read_there(reader, use.index, state, part.attributes)
    elif isinstance(reader, graph.ExpandDimsOp):
        inner = list(reader.result.uses)
        for each in inner:
            if isinstance(kernel := each.operation, graph.FusedOp) and _is_for_products(kernel, each.index):
                builder = IRBuilder(InsertPoint.before(kernel), reader.location)
                wide = graph.ExpandDimsOp(state, list(reader.axes.get_values()))
                builder.insert(wide)
                _read_there(kernel, each.index, wide.result, part.attributes)
        if not reader.result.uses:
            reader.detach()
            reader.erase()


def _is_for_products(kernel: graph.FusedOp, operand: int) -> bool:
    """Whether an operand of a kernel is read by products alone."""
    readers = [use.operation for use in kernel.body.block.args[operand].uses]
    return bool(readers) and all(isinstance(reader, graph.MatmulOp) for reader in readers)


def _read_there(kernel: graph.FusedOp, operand: int, state: SSAValue, marks: Mapping[str, Attribute]) -> None:
    """Let a kernel take a whole state, and cut the part itself, by a slice with some attributes."""
    argument = kernel.body.block.args[operand]
    dims = dims_of(argument.type)
    uses = list(argument.uses)
    kernel.operands[operand] = state
    set_type(argument, tensor_type(tensor_of(state).element_type, dims_of(state.type)))
    part = graph.SliceOp(argument, [0] * len(dims), dims, [1] * len(dims))
    part.attributes |= marks
    IRBuilder(InsertPoint.at_start(kernel.body.block), uses[0].operation.location).insert(part)
    for use in uses:
        use.operation.operands[use.index] = part.result
    count("states read in place")
