"""Sizes and positions that are data: names for the numbers that a tensor is computed from."""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import i64
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from stepwell.dialects import graph
from stepwell.dialects.graph.relations import is_integer
from stepwell.dialects.graph.symbols import fresh_symbols
from stepwell.dialects.locations import adopt_location
from stepwell.dialects.types import dims_of, tensor_of
from stepwell.passes.analysis.symbolic_values import SymbolicValues
from stepwell.runtime.dims import Dim
from stepwell.runtime.files.weights import WeightStore
from stepwell.runtime.interface import Array


def bound_sizes(value: SSAValue, op: Operation, weights: WeightStore) -> tuple[Dim, ...] | None:
    """
    The elements of a small tensor of whole numbers as expressions over sizes and names of data.

    The numbers that it is computed from, such as the counter of a loop, get names where they are made, each
    once: `i` and `i + 1` are expressions over one name. A negative number ends the call with an error.
    Args: `op` needs the value. Returns: None for a tensor that is large, or not of whole numbers.
    """
    return _Bound(weights, op).dims(value)


class _Bound(SymbolicValues):
    """Symbolic values in which data has names."""

    def __init__(self, weights: WeightStore, op: Operation):
        super().__init__(weights, allow_data=True)
        self._op = op

    def _data(self, value: SSAValue) -> Array | None:
        if super()._data(value) is None or not is_integer(tensor_of(value).element_type):
            return None
        array = np.empty([dim.value for dim in dims_of(value.type)], np.object_)
        named = _names_of(value) or self._named(value)
        for index, name in zip(np.ndindex(array.shape), named, strict=True):
            array[index] = name
        return array

    def _named(self, value: SSAValue) -> tuple[Dim, ...]:
        """New names for the elements of a value, right after it is made."""
        if isinstance(owner := value.owner, Operation):
            place = InsertPoint.after(owner)
        else:
            place = InsertPoint.at_start(owner)
        count = int(np.prod([dim.value for dim in dims_of(value.type)]))
        names, made = fresh_symbols(self._op, count), list[Operation]()
        if tensor_of(value).element_type != i64:
            made.append(graph.CastOp(value, i64))
        made.append(graph.BindSizesOp(made[0].results[0] if made else value, names))
        for each in made:
            adopt_location(each, self._op.location)
        Rewriter.insert_op(made, place)
        return tuple(Dim.symbol(name) for name in names)


def _names_of(value: SSAValue) -> tuple[Dim, ...] | None:
    """The names that the elements of a value have already."""
    for use in value.uses:
        if isinstance(use.operation, graph.BindSizesOp) and use.operation.signed is None:
            return use.operation.elements
        if isinstance(use.operation, graph.CastOp) and tensor_of(use.operation.result).element_type == i64:
            if (found := _names_of(use.operation.result)) is not None:
                return found
    return None
