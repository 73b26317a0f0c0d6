"""`linalg_ext`: structured ops by the numpy meaning of their graph ops."""

from __future__ import annotations

from stepwell.dialects.graph.base import plain
from stepwell.dialects.linalg_ext import FormsOp, GridOp, LinalgExt
from stepwell.dialects.types import dtype_of
from stepwell.lowering.interpret.engine import Step, Value, implements, packed
from stepwell.runtime.dims import Dim
from stepwell.runtime.meaning import evaluate


@implements(*(op.name for op in LinalgExt.operations if issubclass(op, FormsOp)))
def prepare_graph_op(op: FormsOp) -> Step:
    """The results of the graph op, as new arrays; elements that are stored as another type are views."""
    at = {value: position for position, value in enumerate(op.operands)}
    slots = [None if v is None else (at[v], dtype_of(op.element_of(name, v))) for name, v in op.slots()]
    places = [at[init] for init in op.written]

    def run(*values: Value) -> Value:
        inputs = [None if slot is None else values[slot[0]].view(slot[1]) for slot in slots]
        inits = [values[place] for place in places]
        properties = op.graph_properties([[Dim.of(size) for size in init.shape] for init in inits])
        known = {name: plain(value) for name, value in properties.items()}
        found = evaluate(op.GRAPH_OP.name, inputs, known)
        return packed([new.view(init.dtype) for new, init in zip(found, inits, strict=True)])

    return run


@implements(*(op.name for op in LinalgExt.operations if issubclass(op, GridOp)))
def prepare_grid_op(op: GridOp) -> Step:
    """The result of the graph op: a new array of a tensor, or written to a buffer."""
    at = {value: position for position, value in enumerate(op.operands)}
    slots = [None if value is None else at[value] for value in op.arguments()]
    target, is_tensor, keywords = at[op.written], bool(op.results), op.keywords()

    def run(*values: Value) -> Value:
        inputs = [None if slot is None else values[slot] for slot in slots]
        (found,) = evaluate(op.MEANING, inputs, keywords)
        if is_tensor:
            return found
        values[target][...] = found
        return ()

    return run
