"""The form of tree ensembles: walks from node to node, or words of bits for vectors of rows."""

from __future__ import annotations

from xdsl.dialects.builtin import DYNAMIC_INDEX

from stepwell.dialects.linalg_ext import TreeEnsembleOp
from stepwell.dialects.sched import Schedule
from stepwell.dialects.tensor_ir.structured import tensor_element, tensor_shape
from stepwell.dialects.types import element_bytes
from stepwell.runtime.machine.target import TargetDescription


def schedule_trees(op: TreeEnsembleOp, target: TargetDescription) -> Schedule:
    """`bits` where its comparisons of all nodes of a tree cost less than walks of its depth, else `walk`."""
    if op.words:
        return Schedule(form="bits", sizes=(("rows", 32), ("least", 8), ("trees", 16)))
    return Schedule(form="walk", sizes=(("rows", 8), ("block", 64), ("trees", 16)))
