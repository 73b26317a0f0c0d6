"""Search in constant tables, as a formula: the position of each element among sorted keys."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy.typing as npt
from xdsl.dialects.builtin import i64

from stepwell.lowering.to_graph import Formula, Value

Table: TypeAlias = npt.NDArray[Any]


def constant_table(at: Formula, table: Table) -> Value:
    """A table as a constant."""
    return at.value(at.lowering.constant(table, at.rewriter))


def found_in(keys: Table, x: Value) -> tuple[Value, Value]:
    """
    The position of each element of x in a table, and whether it is there; another element has some position.

    Binary search without branches: the position advances by falling powers of two as long as the key there is
    not above the element, so that all elements take the same steps.

    Args: `keys` are ascending, distinct, without NaN, and at least one; of x's element type.
    """
    at = x.formula
    table = constant_table(at, keys)
    position = at.full(0, x.dims, i64)
    for bit in reversed(range((len(keys) - 1).bit_length())):
        further = position + (1 << bit)
        # A position beyond the end reads the last key.
        position = at.where(table.gather(further, 0) <= x, further, position)
    position = position.minimum(len(keys) - 1)
    return position, table.gather(position, 0).equals(x)
