"""
Symbolic evaluation of shape arithmetic: the elements of small integer tensors as dimension expressions.

Exporters write target shapes as graphs (`Shape → Gather → Mul → Concat → Reshape`). Evaluated on symbols they
are expressions over the dimensions of the inputs, and the tensors are not needed at run time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from itertools import count
from math import prod
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import TensorType, f32, f64, i32, i64
from xdsl.ir import SSAValue

from stepwell.dialects import graph
from stepwell.dialects.graph.base import GraphOp, operand_slots, plain_properties
from stepwell.dialects.graph.relations import is_bool, is_float, is_integer
from stepwell.dialects.graph.structure import constant_array
from stepwell.dialects.types import dims_of, tensor_of
from stepwell.runtime.dims import UNKNOWN, Dim, atom_operands
from stepwell.runtime.files.weights import WeightStore
from stepwell.runtime.meaning import Array, evaluate, has_meaning

MAX_ELEMS = 256
"""Larger tensors are data, not shapes."""

Symbolic = npt.NDArray[np.object_]
"""An array whose elements are `Dim`."""


def symbolic_dims(value: SSAValue, weights: WeightStore) -> tuple[Dim, ...] | None:
    """The elements of an integer tensor, in order, as expressions over symbols; None when they are data."""
    return SymbolicValues(weights).dims(value)


def partly_symbolic_dims(value: SSAValue, weights: WeightStore) -> tuple[Dim, ...] | None:
    """The elements of an integer tensor as in `symbolic_dims`, data-dependent ones as unknown dimensions."""
    return SymbolicValues(weights, allow_data=True).dims(value)


class SymbolicValues:
    """
    A memoized symbolic evaluator of values. Arrays are numbers where all elements are known, else symbolic.

    With `allow_data`, data-dependent elements of small integer tensors are distinct unknown dimensions.
    """

    def __init__(self, weights: WeightStore, *, allow_data: bool = False):
        self._weights = weights
        self._unknown = count() if allow_data else None
        self._known: dict[SSAValue, Array | None] = {}

    def dims(self, value: SSAValue) -> tuple[Dim, ...] | None:
        """The elements of an integer tensor, in order, as expressions; None when their values are unknown."""
        array = self.of(value)
        if array is None or array.dtype.kind not in "iubO":
            return None
        return tuple(Dim.of(element if isinstance(element, Dim) else int(element)) for element in array.flat)

    def of(self, value: SSAValue) -> Array | None:
        """The array of a value, None when it is not known; without recursion, since chains may be long."""
        stack = [value]
        while stack:
            current = stack[-1]
            if current in self._known:
                stack.pop()
                continue
            sources = self._sources(current)
            if missing := [source for source in sources or () if source not in self._known]:
                stack += missing
                continue
            found = None if sources is None else self._evaluate(current)
            self._known[current] = self._data(current) if found is None else found
            stack.pop()
        return self._known[value]

    def _data(self, value: SSAValue) -> Array | None:
        """Distinct unknown dimensions as elements of a data-dependent value; None without `allow_data`."""
        if self._unknown is None or not _is_small(value) or not is_integer(tensor_of(value).element_type):
            return None
        array = np.empty([dim.value for dim in dims_of(value.type)], np.object_)
        for index in np.ndindex(array.shape):
            array[index] = Dim.symbol(f"{UNKNOWN}{next(self._unknown)}")
        return array

    def _sources(self, value: SSAValue) -> list[SSAValue] | None:
        """The values to evaluate before a value; None when this evaluator does not evaluate its op."""
        op = value.owner
        if not isinstance(op, GraphOp) or not _is_small(value):
            return None
        if isinstance(op, graph.ConstantOp | graph.ShapeOfOp | graph.ExtentsOp):
            return []
        return list(op.operands) if has_meaning(op.name) else None

    def _evaluate(self, value: SSAValue) -> Array | None:
        op = cast(GraphOp, value.owner)
        match op:
            case graph.ConstantOp():
                return constant_array(op, self._weights)
            case graph.ShapeOfOp():
                dims = dims_of(op.input.type)[op.start.value.data : op.end.value.data]
                return _simplified(np.array(dims, np.object_))
            case graph.ExtentsOp():
                return _simplified(np.array(op.dims.get(), np.object_))
            case _:
                pass
        if any(self._known[operand] is None for operand in op.operands):
            return self._settled(op)
        operands = [None if slot is None else self._known[slot] for slot in operand_slots(op)]
        try:
            results = _results(op, operands)
        except (IndexError, ValueError, KeyError, ZeroDivisionError):
            return None  # an error of the model, reported where the value is used
        return None if results is None else _simplified(results[op.results.index(value)])

    def _settled(self, op: GraphOp) -> Array | None:
        """False elements for a conjunction that is false whatever its unknown operands are."""
        if not isinstance(op, graph.AndOp) or not is_bool(tensor_of(op.results[0]).element_type):
            return None
        known = [self._known[operand] for operand in op.operands]
        is_false = any(each is not None and each.dtype == np.bool_ and not each.any() for each in known)
        if not is_false and not self._rounds_below_zero(op):
            return None
        return np.zeros([dim.value for dim in dims_of(op.results[0].type)], np.bool_)

    def _rounds_below_zero(self, op: graph.AndOp) -> bool:
        """
        Whether a conjunction is `sign(a) != 1 and a remainder b != 0` of sizes.

        It is how JAX asks whether a quotient that is rounded to zero is above the floor: for sizes it is not.
        """
        pairs = [_different(operand) for operand in op.operands]
        for signs, rests in (pairs, pairs[::-1]):
            if signs is None or rests is None:
                continue
            sign, rest = signs[0].owner, rests[0].owner
            if not isinstance(sign, graph.SignOp) or not isinstance(rest, graph.RemainderOp):
                continue
            a, b = rest.operands
            numbers = [self.dims(value) for value in (b, signs[1], rests[1])]
            if sign.input is a and _is_size(self.dims(a)) and numbers[1:] == [(Dim.of(1),), (Dim.of(0),)]:
                divisor = numbers[0]
                return divisor is not None and divisor[0].is_static and divisor[0].value > 0
        return False


def _different(value: SSAValue) -> tuple[SSAValue, SSAValue] | None:
    """The operands of a `!=`, or of a negated `==`; None for any other value."""
    op = value.owner
    if isinstance(op, graph.NotOp) and isinstance(op.input.owner, graph.EqualOp):
        op = op.input.owner
        return op.operands[0], op.operands[1]
    return (op.operands[0], op.operands[1]) if isinstance(op, graph.NotEqualOp) else None


def _is_size(dims: tuple[Dim, ...] | None) -> bool:
    """Whether a tensor has one element, which is not negative."""
    return dims is not None and len(dims) == 1 and dims[0].is_nonnegative


def _is_small(value: SSAValue) -> bool:
    if not isinstance(value.type, TensorType):
        return False
    dims = dims_of(tensor_of(value))
    return all(dim.is_static for dim in dims) and prod(dim.value for dim in dims) <= MAX_ELEMS


def _simplified(array: Array) -> Array:
    """An array of i64 numbers for one of dimension expressions that are all static; else the array."""
    if array.dtype == np.object_ and all(isinstance(e, Dim) and e.is_static for e in array.flat):
        return np.array([e.value for e in cast("list[Dim]", array.flat)], np.int64).reshape(array.shape)
    return array


def _results(op: GraphOp, operands: list[Array | None]) -> tuple[Array, ...] | None:
    given = [array for array in operands if array is not None]
    if not any(array.dtype == np.object_ for array in given):
        return evaluate(op.name, operands, plain_properties(op))
    if op.name in _MOVES:
        if any(array.dtype == np.object_ for array in given[1:]):
            return None
        results = evaluate(op.name, operands, plain_properties(op))
        return tuple(np.asarray(result, np.object_) for result in results)
    evaluated = _EVALUATED.get(op.name)
    result = None if evaluated is None else evaluated(op, given)
    return None if result is None else (result,)


_MOVES = (
    "graph.reshape",
    "graph.expand_dims",
    "graph.squeeze",
    "graph.transpose",
    "graph.split",
    "graph.slice",
    "graph.gather",
    "graph.broadcast_to",
    "graph.full",
    "graph.tile",
    "graph.reverse",
)
"""Ops whose numpy meaning only moves elements of the first operand, and so works on arrays of `Dim` too."""


def _lifted(array: Array) -> Symbolic:
    """An array of numbers converted to one of `Dim`. Raises: ValueError for a number that is not whole."""
    if array.dtype == np.object_:
        return cast(Symbolic, array)
    whole = array.astype(np.int64)
    if (whole != array).any():
        raise ValueError("a fraction is no dimension")
    result = np.empty(array.shape, np.object_)
    for index in np.ndindex(array.shape):
        result[index] = Dim.of(int(whole[index]))
    return result


def _elementwise(function: Callable[..., object]) -> Callable[[GraphOp, list[Array]], Array]:
    """An evaluation that applies a function of `Dim`s to operands element by element, with broadcasting."""

    def evaluated(op: GraphOp, operands: list[Array]) -> Array:
        lifted = [_lifted(array) for array in operands]
        applied = np.frompyfunc(function, len(lifted), 1)
        return np.asarray(applied(*lifted), np.object_)

    return evaluated


def _concatenated(op: GraphOp, operands: list[Array]) -> Array:
    return np.concatenate([_lifted(array) for array in operands], cast(graph.ConcatOp, op).axis.value.data)


def _divided(op: GraphOp, operands: list[Array]) -> Array:
    """The quotients of a division: exact ones, and floors of non-negative integers, which ONNX truncates."""
    whole = not is_float(tensor_of(op.results[0]).element_type)

    def divide(a: Dim, b: Dim) -> Dim:
        quotient = a // b
        if not (quotient * b == a or (whole and a.is_nonnegative and b.is_nonnegative)):
            raise ValueError("not a dimension expression")
        return quotient

    return _elementwise(divide)(op, operands)


def _remainder(op: GraphOp, operands: list[Array]) -> Array:
    """The remainders of divisions of non-negative integers by positive numbers."""

    def remain(a: Dim, b: Dim) -> Dim:
        if not (a.is_nonnegative and b.is_static and b.value > 0):
            raise ValueError("not a dimension expression")
        return a - b * (a // b)

    return _elementwise(remain)(op, operands)


def _equal(a: Dim, b: Dim) -> bool:
    if a.proves_equal(b):
        return True
    if (a - b - 1).is_nonnegative or (b - a - 1).is_nonnegative:
        return False
    raise ValueError("not known to be equal or different")


def _less(a: Dim, b: Dim) -> bool:
    if (b - a - 1).is_nonnegative:
        return True
    if (a - b).is_nonnegative or (b.is_static and b.value <= 0 and _is_remainder(a)):
        return False
    raise ValueError("not known to be less or not")


def _is_remainder(dim: Dim) -> bool:
    """Whether an expression is `a - b * (a floordiv b)`, of a non-negative `a` and a positive number `b`."""
    for monomial, coefficient in dim.terms():
        kind, a, b = (atom_operands(monomial[0]) if len(monomial) == 1 else None) or ("", dim, dim)
        if kind == "floordiv" and b.is_static and b.value == -coefficient > 0 and a.is_nonnegative:
            return dim == a - b * (a // b)
    return False


def _compared(op: GraphOp, operands: list[Array]) -> Array:
    return _elementwise(_equal)(op, operands).astype(np.bool_)


def _selected(op: GraphOp, operands: list[Array]) -> Array | None:
    condition, on_true, on_false = operands
    if condition.dtype == np.object_:
        return None
    return np.where(condition.astype(np.bool_), _lifted(on_true), _lifted(on_false))


_REDUCTIONS: Mapping[str, Callable[[Dim, Dim], Dim]] = {
    "sum": Dim.__add__,
    "prod": Dim.__mul__,
    "max": Dim.maximum,
    "min": Dim.minimum,
}


def _reduced(op: GraphOp, operands: list[Array]) -> Array | None:
    """The sum, product, maximum or minimum of all elements, as in exporters' element counts; else None."""
    assert isinstance(op, graph.ReduceOp)
    combine = _REDUCTIONS.get(op.kind.data)
    elements = cast("list[Dim]", list(_lifted(operands[0]).flat))
    if combine is None or not elements or prod(dim.value for dim in dims_of(op.result.type)) != 1:
        return None
    shape = [dim.value for dim in dims_of(op.result.type)]
    return np.array(reduce(combine, elements), np.object_).reshape(shape)


_EVALUATED: Mapping[str, Callable[[Any, list[Array]], Array | None]] = {
    "graph.add": _elementwise(Dim.__add__),
    "graph.subtract": _elementwise(Dim.__sub__),
    "graph.multiply": _elementwise(Dim.__mul__),
    "graph.neg": _elementwise(Dim.__neg__),
    "graph.maximum": _elementwise(Dim.maximum),
    "graph.minimum": _elementwise(Dim.minimum),
    "graph.divide": _divided,
    "graph.remainder": _remainder,
    "graph.equal": _compared,
    "graph.less": lambda op, operands: _elementwise(_less)(op, operands).astype(np.bool_),
    "graph.where": _selected,
    "graph.concat": _concatenated,
    "graph.reduce": _reduced,
    # Whole numbers stay what they are; to i1 or to f16 they might not.
    "graph.cast": lambda op, operands: operands[0] if _keeps_whole_numbers(op) else None,
    "graph.floor": lambda op, operands: operands[0],
    "graph.ceil": lambda op, operands: operands[0],
    "graph.round": lambda op, operands: operands[0],
}


def _keeps_whole_numbers(op: GraphOp) -> bool:
    return tensor_of(op.results[0]).element_type in (i32, i64, f32, f64)
