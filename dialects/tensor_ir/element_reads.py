"""Vectorization of `tensor.extract` at computed indices: indices as vectors, elements lane by lane."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product

from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import IntegerAttr, TensorType
from xdsl.dialects.linalg import ops as linalg
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from stepwell.dialects.ir_builder import Index, IRBuilder
from stepwell.dialects.tensor_ir.pieces import extract, insert
from stepwell.dialects.tensor_ir.vector_values import VectorValues


def is_element_read(op: Operation) -> bool:
    """Whether an op of a body reads an element of a tensor from outside."""
    return isinstance(op, tensor.ExtractOp) and isinstance(op.tensor.type, TensorType)


def positions_in_data(op: Operation) -> set[BlockArgument]:
    """The block arguments from which the indices of an element read are computed."""
    assert isinstance(op, tensor.ExtractOp)
    found: set[BlockArgument] = set()
    seen: set[SSAValue] = set()
    values = list(op.indices)
    while values:
        value = values.pop()
        if value in seen:
            continue
        seen.add(value)
        if isinstance(value, BlockArgument):
            if value.block is op.parent:
                found.add(value)
        elif isinstance(owner := value.owner, Operation) and owner.parent is op.parent:
            values += owner.operands
    return found


def read_lanes(op: tensor.ExtractOp, values: VectorValues, loops: Mapping[int, Sequence[int]]) -> None:
    """
    Read an element for each lane; `loops` has the step of each loop in all lanes.

    An index computed from loops alone stays a scalar; any other is extracted from its vector, lane by lane.

    ```mlir
    %column = vector.extract %columns[0, 1] : index from vector<1x16xindex>
    %element = tensor.extract %table[%row, %column] : tensor<8x100xf32>
    %next = vector.insert %element, %elements [0, 1] : f32 into vector<1x16xf32>
    ```
    """
    emit, block = values.emit, op.parent
    assert block is not None
    result: SSAValue | None = None
    for lane, at in enumerate(product(*map(range, values.shape))):
        steps = {loop: numbers[lane] for loop, numbers in loops.items()}
        indices: list[SSAValue] = []
        for index in op.indices:
            known = _from_loops(emit, index, block, steps)
            indices.append(extract(emit, values[index], *at) if known is None else emit.materialize(known))
        read = tensor.ExtractOp.create(operands=[op.tensor, *indices], result_types=[op.result.type])
        element = emit.value(read)
        result = values.broadcast(element) if result is None else insert(emit, element, result, *at)
    assert result is not None
    values[op.result] = result


def _from_loops(emit: IRBuilder, value: SSAValue, block: Block, steps: Mapping[int, int]) -> Index | None:
    """An index that is a sum of loops, constants and values from outside; None for any other."""
    owner = value.owner
    if owner is block:
        return None
    if not isinstance(owner, Operation) or owner.parent is not block:
        return value
    if isinstance(owner, linalg.IndexOp):
        return steps[owner.dim.value.data]
    if isinstance(owner, arith.ConstantOp) and isinstance(owner.value, IntegerAttr):
        return owner.value.value.data
    if not isinstance(owner, arith.AddiOp):
        return None
    lhs, rhs = (_from_loops(emit, operand, block, steps) for operand in owner.operands)
    return None if lhs is None or rhs is None else emit.plus(lhs, rhs)
