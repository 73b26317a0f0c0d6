"""The form of tree ensembles: walks from node to node, or bit vectors for rows in lanes."""

from __future__ import annotations

from math import ceil

from xdsl.dialects.builtin import DYNAMIC_INDEX

from stepwell.dialects.costs.kernels import TREES
from stepwell.dialects.linalg_ext import TreeEnsembleOp
from stepwell.dialects.tensor_ir.structured import tensor_element, tensor_shape
from stepwell.dialects.types import element_bytes
from stepwell.passes.tensor.schedule.form_choice import Choice
from stepwell.runtime.machine.target import TargetDescription


def tree_choices(op: TreeEnsembleOp, target: TargetDescription) -> list[Choice]:
    """`bits` first where all comparisons of a tree, on vectors, cost less than a walk to the depth."""
    sizes = {"rows": TREES.walks, "block": TREES.block_rows, "trees": TREES.walks}
    rows, trees = tensor_shape(op.x)[0], tensor_shape(op.trees)[0]
    steps = op.depth.value.data * TREES.step_cycles * trees
    walk = Choice("walk", sizes, None if rows == DYNAMIC_INDEX else rows * steps)
    if not op.bit_vectors:
        return [walk]
    bits, is_faster = _by_bits(op, target)
    return [bits, walk] if is_faster else [walk, bits]


def _by_bits(op: TreeEnsembleOp, target: TargetDescription) -> tuple[Choice, bool]:
    """The form `bits`, with the fewest rows that pay, and whether the rows of the op are enough."""
    (rows, columns), trees = tensor_shape(op.x), tensor_shape(op.trees)[0]
    bytes = max(element_bytes(tensor_element(value)) for value in (op.x, op.bit_vectors[1]))
    registers, lanes = TREES.bit_registers, target.lanes(bytes)
    if rows != DYNAMIC_INDEX:
        registers = max(1, min(registers, ceil(rows / lanes)))
    # Cycles for each tree: of a block, and of one row by either form.
    block = registers * TREES.cut_cycles * tensor_shape(op.bit_vectors[0])[0] / trees
    walk = op.depth.value.data * TREES.step_cycles
    own = TREES.leaf_cycles + TREES.column_cycles * columns / trees
    most = registers * lanes
    least = ceil(block / (walk - own)) if walk > own else most + 1
    pays = 0 < least <= most and not 0 <= rows < least
    sizes = {"rows": most, "least": min(max(1, least), most), "trees": TREES.walks}
    cycles = None if rows == DYNAMIC_INDEX else trees * (ceil(rows / most) * block + rows * own)
    return Choice("bits", sizes, cycles), pays
