"""Ops on known tensors, computed by their meanings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import cast

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue
from xdsl.traits import is_side_effect_free

from stepwell.dialects import graph
from stepwell.dialects.graph.base import GraphOp, Kind, operand_slots, plain_properties
from stepwell.dialects.locations import adopt_location
from stepwell.dialects.types import Tensor
from stepwell.runtime.files.weights import WeightStore
from stepwell.runtime.meaning import Array, evaluate, has_meaning

MOST_ELEMENTS = 1024
"""The most elements of a tensor whose value is followed."""
_FAILURES = (ArithmeticError, IndexError, KeyError, TypeError, ValueError)


def computed(
    op: Operation, operands: Mapping[SSAValue, Array], weights: WeightStore
) -> Sequence[tuple[graph.ConstantOp, Array]] | None:
    """The results of an op as constants, with their arrays; None for what has to run in the program."""
    if not isinstance(op, GraphOp) or op.KIND is Kind.STRUCTURE or op.regions or not has_meaning(op.name):
        return None
    if not is_side_effect_free(op) or not all(map(is_small, op.results)):
        return None
    try:
        with np.errstate(all="ignore"):
            slots = [None if slot is None else operands[slot] for slot in operand_slots(op)]
            found = evaluate(op.name, slots, plain_properties(op))
    except _FAILURES:
        return None
    constants = [graph.ConstantOp.of(array, weights, op.name) for array in found]
    for constant in constants:
        adopt_location(constant, op.location)
    if any(made.result.type != old.type for made, old in zip(constants, op.results, strict=True)):
        return None
    return list(zip(constants, found, strict=True))


def is_small(value: SSAValue) -> bool:
    """Whether a value is a tensor of known sizes, of at most `MOST_ELEMENTS` elements."""
    if value.type.name != TensorType.name:
        return False
    shape = cast(Tensor, value.type).get_shape()
    return all(size >= 0 for size in shape) and prod(shape) <= MOST_ELEMENTS
