"""Reductions along axes, positions of extremes, sorts."""

from __future__ import annotations

from xdsl.dialects.builtin import i32
from xdsl.ir import Attribute

from stepwell.dialects import graph
from stepwell.dialects.graph.relations import is_bool
from stepwell.lowering.stablehlo_to_graph.support import Call, converts
from stepwell.lowering.to_graph import Value

_KINDS = {"add": "sum", "mul": "prod", "max": "max", "min": "min"}
_TRUTH = {"or": "max", "and": "min", "add": "max", "mul": "min", "max": "max", "min": "min"}


@converts("reduce")
def reduce(call: Call) -> list[Value | None]:
    """The elements along axes combined, or the extreme and its position."""
    operands, axes, kind = call.tensors(), sorted(call.integers("dimensions")), str(call.value("kind"))
    if kind in ("argmax", "argmin"):
        return list(_extreme(operands[0], axes[0], kind, call))
    return [_reduced(call, x, axes, kind) for x in operands]


def _reduced(call: Call, x: Value, axes: list[int], kind: str) -> Value:
    if not axes:
        return x
    if is_bool(x.element):
        return x.cast(i32).reduce(_TRUTH[kind], axes).cast(x.element)
    if kind not in _KINDS:
        raise call.unsupported(f"a reduction of numbers by {kind}")
    return x.reduce(_KINDS[kind], axes)


def _extreme(x: Value, axis: int, kind: str, call: Call) -> tuple[Value, Value]:
    """The greatest or least element along an axis, and its first position."""
    is_max = kind == "argmax"
    x = x.cast(i32) if is_bool(x.element) else x
    op_type = graph.ArgmaxOp if is_max else graph.ArgminOp
    position = call.at.op(op_type(x.ssa, axis))
    extreme = x.reduce("max" if is_max else "min", [axis])
    elements = [result.type for result in call.op.results]
    return extreme.cast(call.element), position.cast(_element(elements[1]))


def _element(type: object) -> Attribute:
    return getattr(type, "element_type")  # noqa: B009


@converts("sort")
def sort(call: Call) -> list[Value | None]:
    """All operands in the order of a key; the sort is stable."""
    operands, axis, key = call.tensors(), call.integer("dimension"), call.integer("key")
    is_ascending = call.value("kind") == "ascending"
    keys = operands[key]
    keys = keys.cast(i32) if is_bool(keys.element) else keys
    values, positions = call.insert(graph.TopKOp(keys.ssa, keys.dims[axis], axis, largest=not is_ascending))
    return [
        values.cast(each.element) if i == key else _taken(call, each, positions, axis)
        for i, each in enumerate(operands)
    ]


def _taken(call: Call, x: Value, positions: Value, axis: int) -> Value:
    return call.at.op(graph.GatherElementsOp(x.ssa, positions.ssa, axis))


@converts("top_k")
def top_k(call: Call) -> list[Value | None]:
    """The greatest elements of each row, in order, and their positions."""
    x = call.tensor()
    values, positions = call.insert(graph.TopKOp(x.ssa, call.integer("k"), x.rank - 1))
    return [values, positions.cast(i32)]
