"""Sorting, the largest elements, and the places of true elements."""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.dialects.builtin import i32, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from stepwell.dialects import graph
from stepwell.dialects.graph.relations import is_bool
from stepwell.dialects.graph.symbols import defined_symbols, fresh_symbols
from stepwell.dialects.types import dims_of
from stepwell.lowering.to_graph import Value
from stepwell.lowering.torch_to_graph.movement import prod_of
from stepwell.lowering.torch_to_graph.support import Call, converts
from stepwell.runtime.dims import Dim


@converts("topk.default")
def topk(call: Call) -> list[Value]:
    """The k largest or smallest elements along an axis, sorted, and their positions."""
    x = call.tensor()
    if x.rank == 0:
        return [x, call.at.number(0, i64)]
    (k,) = call.sizes("k")
    return _sorted(call, x, k, call.axis(), largest=call.flag("largest"))


@converts("sort.default", "sort.stable")
def sort(call: Call) -> list[Value]:
    """The elements along an axis in order, and their positions."""
    x = call.tensor()
    if x.rank == 0:
        return [x, call.at.number(0, i64)]
    axis = call.axis()
    return _sorted(call, x, x.dims[axis], axis, largest=call.flag("descending"))


@converts("argsort.default", "argsort.stable", "msort.default")
def argsort(call: Call) -> Value:
    """The positions of the elements along an axis in order; for `msort` the elements."""
    x = call.tensor()
    is_msort = "msort" in call.op.SIGNATURE.name
    if x.rank == 0:
        return x if is_msort else call.at.number(0, i64)
    axis = 0 if is_msort else call.axis()
    largest = not is_msort and call.flag("descending")
    values, positions = _sorted(call, x, x.dims[axis], axis, largest=largest)
    return values if is_msort else positions


def _sorted(call: Call, x: Value, k: Dim, axis: int, *, largest: bool) -> list[Value]:
    numbers = x.cast(i32) if is_bool(x.element) else x
    values, positions = call.insert(graph.TopKOp(numbers.ssa, k, axis, largest))
    return [values.cast(x.element), positions]


@converts("nonzero.default", "argwhere.default")
def nonzero(call: Call) -> Value:
    """The indices of the elements other than 0, a row for each."""
    x = call.tensor()
    mask = x if is_bool(x.element) else x.equals(0).negated()
    if x.rank == 0:
        return true_positions(call, mask.reshape([1]))[0].unsqueeze(1).slice(1, 0, 0)
    return call.at.concat([each.unsqueeze(1) for each in true_positions(call, mask)], 1)


def true_positions(call: Call, mask: Value) -> list[Value]:
    """
    The index along each axis of the true elements, in order.

    A running count is the position in the result of each true element; all others are written to an extra
    element, which is cut off.
    """
    at, dims = mask.formula, mask.dims
    total = prod_of(dims)
    flat = mask.reshape([total])
    flags = flat.cast(i64)
    count = as_size(flags.reduce("sum", [0]).reshape([1]), _size_of_data(call))
    running = at.op(graph.ScanOp(flags.ssa, "sum", 0))
    position = at.where(flat, running - 1, at.extent(count, i64))
    room = at.full(0, [count + 1], i64)
    placed = at.op(graph.ScatterElementsOp(room.ssa, position.ssa, at.iota(total, i64).ssa, 0))
    rest = placed.slice(0, 0, count)
    found: list[Value] = []
    for dim in reversed(dims):
        size = at.extent(dim, i64)
        found.insert(0, rest % size)
        rest = rest / size
    return found


def as_size(number: Value, name: str | None = None) -> Dim:
    """A vector of one number as a size, of a name; one that the program has already is the same size."""
    owner = number.ssa.owner
    assert isinstance(owner, Operation)
    if name is None:
        (name,) = fresh_symbols(owner, 1)
    if not any(name == known for op in _main_of(owner).walk() for known, _ in defined_symbols(op)):
        number.formula.rewriter.insert(graph.BindSizesOp(number.ssa, [name]))
    return Dim.symbol(name)


def _size_of_data(call: Call) -> str | None:
    """The program's name of a size that depends on data, or None."""
    values = (*call.op.operands, *call.op.results)
    known = {name for argument in _main_of(call.op).body.block.args for name in _symbols_of([argument])}
    names = _symbols_of(values) - known
    return next(iter(names)) if len(names) == 1 else None


def _symbols_of(values: Iterable[SSAValue]) -> set[str]:
    return {name for value in values for dim in dims_of(value.type) for name in dim.symbols()}


def _main_of(op: Operation) -> FuncOp:
    """The function of an op."""
    while not isinstance(op, FuncOp):
        parent = op.parent_op()
        assert parent is not None
        op = parent
    return op
