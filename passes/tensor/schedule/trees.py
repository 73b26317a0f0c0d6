"""The form of tree ensembles: walks from node to node, or bit vectors for rows in lanes."""

from __future__ import annotations

from math import ceil

from xdsl.dialects.builtin import DYNAMIC_INDEX

from stepwell.dialects.costs.kernels import TREES
from stepwell.dialects.linalg_ext import TreeEnsembleOp
from stepwell.dialects.sched import Schedule
from stepwell.dialects.tensor_ir.structured import tensor_element, tensor_shape
from stepwell.dialects.types import element_bytes
from stepwell.runtime.machine.target import TargetDescription


def schedule_trees(op: TreeEnsembleOp, target: TargetDescription) -> Schedule:
    """`bits` where all comparisons of a tree, on vectors, cost less than a walk to the depth, else `walk`."""
    if op.bit_vectors and (bits := _by_bits(op, target)) is not None:
        return bits
    walks = TREES.walks
    return Schedule(form="walk", sizes=(("rows", walks), ("block", TREES.block_rows), ("trees", walks)))


def _by_bits(op: TreeEnsembleOp, target: TargetDescription) -> Schedule | None:
    """The schedule of form `bits`, with the fewest rows that it pays for; None where walking costs less."""
    (rows, columns), trees = tensor_shape(op.x), tensor_shape(op.trees)[0]
    bytes = max(element_bytes(tensor_element(value)) for value in (op.x, op.bit_vectors[1]))
    registers, lanes = TREES.bit_registers, target.lanes(bytes)
    if rows != DYNAMIC_INDEX:
        registers = max(1, min(registers, ceil(rows / lanes)))
    # Cycles for each tree: of a block, and of one row by either form.
    block = registers * TREES.cut_cycles * tensor_shape(op.bit_vectors[0])[0] / trees
    walk = op.depth.value.data * TREES.step_cycles
    own = TREES.leaf_cycles + TREES.column_cycles * columns / trees
    least = ceil(block / (walk - own)) if walk > own else DYNAMIC_INDEX
    if not 0 < least <= registers * lanes or 0 <= rows < least:
        return None
    sizes = (("rows", registers * lanes), ("least", least), ("trees", TREES.walks))
    return Schedule(form="bits", sizes=sizes)
